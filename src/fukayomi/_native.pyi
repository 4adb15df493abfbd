"""The native core of fukayomi: rules, encoding, search, games."""

from collections.abc import Iterator, Sequence
import enum
from typing import Annotated, SupportsIndex, overload

import numpy
from numpy.typing import NDArray

import fukayomi
import fukayomi.errors
from fukayomi.errors import InvalidValueError as _InvalidValueError
import fukayomi.shogi.svg


class ShogiError(fukayomi.errors.InvalidValueError):
    """Invalid text, move or packed data; the message quotes it."""

class InvalidSfenError(ShogiError):
    """The text is not an SFEN, or its position is impossible."""

class InvalidMoveError(ShogiError):
    """The text or number is not a move."""

class IllegalMoveError(ShogiError):
    """The move is against the rules in this position."""

class InvalidPackedError(ShogiError):
    """The bytes are not a packed position."""

class Color(enum.IntEnum):
    """A side. Black (先手) moves first."""

    BLACK = 0

    WHITE = 1

    @property
    def opponent(self) -> Color:
        """The other side."""

class PieceType(enum.IntEnum):
    """A kind of piece, numbered as in the hcpe format."""

    PAWN = 1

    LANCE = 2

    KNIGHT = 3

    SILVER = 4

    BISHOP = 5

    ROOK = 6

    GOLD = 7

    KING = 8

    PRO_PAWN = 9

    PRO_LANCE = 10

    PRO_KNIGHT = 11

    PRO_SILVER = 12

    HORSE = 13

    DRAGON = 14

    @property
    def is_promoted(self) -> bool:
        """Whether this is a promoted piece."""

    @property
    def unpromoted(self) -> PieceType:
        """The piece before promotion, as it is held in hand."""

class DeclarationRule(enum.Enum):
    """Rule for winning with an entered king (入玉宣言)."""

    NONE = 0
    """Nobody may declare."""

    POINTS_24 = 1
    """31 points; 24 to 30 are a draw (24点法)."""

    POINTS_27 = 2
    """28 points for Black, 27 for White (27点法)."""

    POINTS_24_HANDICAP = 3
    """
    POINTS_24, where the pieces that a handicap leaves out count for White.
    """

    POINTS_27_HANDICAP = 4
    """
    POINTS_27, where the pieces that a handicap leaves out count for White.
    """

    TRY = 5
    """
    The king moves to 5a (Black) or 5i (White), where the enemy's king starts (トライルール).
    """

class Repetition(enum.Enum):
    """What a repeated position means for the side to move (千日手)."""

    NONE = 0

    DRAW = 1

    WIN = 2
    """The opponent gave perpetual check (連続王手の千日手)."""

    LOSE = 3
    """The side to move gave perpetual check."""

    SUPERIOR = 4
    """Same board with more in hand; used by the search."""

    INFERIOR = 5
    """Same board with less in hand; used by the search."""

class Move:
    """
    A move, independent of a position. Immutable and hashable.

        >>> move = Move.from_usi('8h2b+')
        >>> move.is_promotion, move.to_square
        (True, 10)
    """

    def __init__(self, text: str) -> None:
        """
        A USI move, as `from_usi`.

        Raises:
            InvalidMoveError: The text is not a move.
        """

    @staticmethod
    def from_usi(text: str) -> Move:
        """
        Parse a USI move: 7g7f, 8h2b+, P*5e.

        Raises:
            InvalidMoveError: The text is not a move.
        """

    @staticmethod
    def from_raw(raw: int) -> Move:
        """
        The move with these 16 bits of the hcpe format.

        Raises:
            InvalidMoveError: The bits are not a move.
        """

    def usi(self) -> str:
        """The move in USI notation."""

    @property
    def raw(self) -> int:
        """The 16 bits of the hcpe format: to | from << 7 | promotion << 14."""

    @property
    def from_square(self) -> int | None:
        """Origin, 0 to 80; None for a drop."""

    @property
    def to_square(self) -> int:
        """Target, 0 to 80."""

    @property
    def is_drop(self) -> bool:
        """Whether the move drops a piece from the hand."""

    @property
    def is_promotion(self) -> bool:
        """Whether the piece promotes."""

    @property
    def dropped(self) -> PieceType | None:
        """The dropped piece; None for a move on the board."""

    def __eq__(self, other: Move) -> bool: ...

    def __hash__(self) -> int: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __getstate__(self) -> tuple[int]: ...

    def __setstate__(self, arg: tuple[int], /) -> None: ...

class Moves(Sequence[Move]):
    """Moves in a fixed order: a read-only sequence."""

    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, index: SupportsIndex) -> Move: ...

    @overload
    def __getitem__(self, index: slice) -> list[Move]: ...

    def __contains__(self, value: object) -> bool: ...

    def __iter__(self) -> Iterator[Move]: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __repr__(self) -> str: ...

    def __reduce__(self) -> tuple: ...

    __hash__: None = None

class Piece:
    """A piece on the board. Immutable and hashable."""

    @property
    def color(self) -> Color:
        """The side that owns it."""

    @property
    def type(self) -> PieceType:
        """The kind of piece."""

    def sfen(self) -> str:
        """The piece in SFEN notation: P, +r."""

    def __str__(self) -> str: ...

    def __eq__(self, other: Piece) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class Position:
    """
    A position with the moves that led to it.

        >>> position = Position()
        >>> position.push_usi('7g7f')
        Move.from_usi('7g7f')
        >>> position.legal_move_count
        30

    Positions are equal if board, hands and side to move are equal; the past and the ply number do not count.
    Not hashable, because playing a move changes it: use `key`. In a notebook it draws itself.
    """

    @overload
    def __init__(self) -> None:
        """The start position of an even game (平手)."""

    @overload
    def __init__(self, text: str) -> None:
        """
        A position from text.

            >>> Position('4k4/9/4P4/9/9/9/9/9/4K4 b G 1').find_mate_in_one()
            Move.from_usi('G*5b')
            >>> Position('startpos moves 7g7f 3c3d').ply
            3

        Args:
            text: An SFEN (`from_sfen`), or the arguments of USI's `position` command (`from_usi`).

        Raises:
            InvalidSfenError: It is neither.
            InvalidMoveError: A word is not a move.
            IllegalMoveError: A move is not legal.
        """

    @staticmethod
    def from_sfen(sfen: str, *, allow_missing_king: bool = False) -> Position:
        """
        Parse an SFEN.

        Args:
            sfen: Board, side to move, hands and ply number; without the number the ply is 1.
            allow_missing_king: Accept positions without a king, such as mate problems.

        Raises:
            InvalidSfenError: The text is not an SFEN, or its position is impossible.
        """

    @staticmethod
    def from_usi(text: str) -> Position:
        """
        Parse the arguments of USI's `position` command, with the word `position` or without it:
        `startpos moves 7g7f` or `sfen SFEN moves ...`.

        Raises:
            InvalidSfenError: The start is neither `startpos` nor a valid SFEN.
            InvalidMoveError: A word is not a move.
            IllegalMoveError: A move is not legal.
        """

    def sfen(self) -> str:
        """The position as SFEN."""

    def usi(self) -> str:
        """The start and the moves, as arguments of USI's `position` command."""

    def start_sfen(self) -> str:
        """The position before the first move as SFEN."""

    def copy(self) -> Position:
        """An independent copy, with its past."""

    def __copy__(self) -> Position: ...

    def __deepcopy__(self, memo: dict) -> Position: ...

    def __eq__(self, other: Position) -> bool: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __getstate__(self) -> tuple[str, list[int]]: ...

    def __setstate__(self, arg: tuple[str, Sequence[int]], /) -> None: ...

    __hash__: None = None

    @property
    def legal_moves(self) -> Moves:
        """
        All legal moves, as a sequence that does not change with the position. It includes useless
        non-promotions.

            >>> position = Position()
            >>> len(position.legal_moves)
            30
            >>> Move.from_usi('7g7f') in position.legal_moves
            True
        """

    @property
    def legal_move_count(self) -> int:
        """Number of legal moves; faster than `len(position.legal_moves)`."""

    @property
    def useful_moves(self) -> Moves:
        """
        The legal moves without useless non-promotions of pawn, lance, bishop and rook, as the search uses
        them.
        """

    @property
    def checking_moves(self) -> Moves:
        """The legal moves that give check."""

    def is_legal(self, move: Move | str) -> bool:
        """
        Whether the move, a `Move` or its USI notation, is legal.

        Raises:
            InvalidMoveError: The text is not a move.
        """

    def gives_check(self, move: Move | str) -> bool:
        """
        Whether a legal move, a `Move` or its USI notation, gives check.

        Raises:
            InvalidMoveError: The text is not a move.
            IllegalMoveError: The move is not legal.
        """

    def push(self, move: Move | str) -> None:
        """
        Play a move.

            >>> position = Position()
            >>> position.push('7g7f')
            >>> position.push(position.legal_moves[0])
            >>> position.ply
            3

        Args:
            move: A `Move`, or its USI notation.

        Raises:
            InvalidMoveError: The text is not a move.
            IllegalMoveError: The move is not legal; the position is unchanged.
        """

    def push_usi(self, text: str) -> Move:
        """
        Play a move in USI notation and return it.

        Raises:
            InvalidMoveError: The text is not a move.
            IllegalMoveError: The move is not legal; the position is unchanged.
        """

    def pop(self) -> Move:
        """
        Take back the last move and return it.

        Raises:
            IndexError: No move was played.
        """

    def peek(self) -> Move:
        """
        The last move.

        Raises:
            IndexError: No move was played.
        """

    @property
    def moves(self) -> list[Move]:
        """The moves played so far."""

    def find_mate_in_one(self) -> Move | None:
        """A move that mates at once, or None."""

    def find_mate_in_three(self) -> Move | None:
        """
        The first move of a mate in at most three plies, or None. `MateSolver` finds longer ones.
        """

    def perft(self, depth: int) -> int:
        """
        Count the positions after `depth` plies (0 to 20). The last ply is counted without playing it. Ctrl-C ends it.
        """

    @property
    def turn(self) -> Color:
        """The side to move."""

    @property
    def ply(self) -> int:
        """Number of the next move; 1 at the start of a game."""

    @property
    def key(self) -> int:
        """A 64-bit hash of board, hands and side to move, the same in every run."""

    def is_check(self) -> bool:
        """Whether the side to move is in check."""

    def is_mated(self) -> bool:
        """Whether the side to move has no legal move and so has lost."""

    def is_game_over(self) -> bool:
        """
        Whether the rules end the game here: the side to move has no legal move, or this is the fourth occurrence of the
        position (`repetition`). Resignations and declarations, which a player chooses, are not in a position.
        """

    def repetition(self) -> Repetition:
        """
        The result if this is the fourth occurrence of the position; otherwise `Repetition.NONE`.
        """

    def first_recurrence(self, window: int = 16) -> Repetition:
        """
        What games of self-play and the search make of the last occurrence of the position, or of the same board
        with other hands, if there was one.

        Args:
            window: Plies to look back.
        """

    def occurrences(self) -> int:
        """Number of times that the position has occurred, including now."""

    def can_declare_win(self, rule: DeclarationRule) -> bool:
        """
        Whether the side to move wins by a declaration (入玉宣言); under the try rule, by `try_move`.
        """

    def can_declare_draw(self, rule: DeclarationRule) -> bool:
        """
        Whether a declaration of the side to move makes the game a draw: with 24 to 30 points under a 24-point
        rule.
        """

    def try_move(self) -> Move | None:
        """
        The move of the king to the square where the enemy's king starts, 5a for Black and 5i for White, which
        wins under the try rule (トライルール); None if it is not legal.
        """

    def piece_on(self, square: int | str) -> Piece | None:
        """
        The piece on a square, or None.

            >>> Position().piece_on('8h')
            <Piece B>

        Args:
            square: 0 to 80, or a name like 8h.

        Raises:
            ValueError: There is no such square.
        """

    def pieces(self, color: Color | None = None, type: PieceType | None = None) -> dict[int, Piece]:
        """
        The pieces on the board by square, in the order of the squares.

            >>> Position().pieces(BLACK, PieceType.ROOK)
            {16: <Piece R>}

        Args:
            color: Only pieces of this side.
            type: Only pieces of this kind.
        """

    def board_array(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(81))]:
        """
        The board: uint8 [81] by square. 0 is empty, Black's pieces are their `PieceType`, White's 16 more.
        """

    def hand(self, color: Color) -> dict[PieceType, int]:
        """
        A side's pieces in hand and their counts, pawn to rook; absent kinds are left out.
        """

    def king_square(self, color: Color) -> int | None:
        """The square of a side's king; None if it has none."""

    def attackers(self, color: Color, square: int | str) -> list[int]:
        """
        Squares of the pieces of a side that attack a square, pinned pieces included.

            >>> [square_name(square) for square in Position().attackers(BLACK, '7h')]
            ['2h', '6i', '7i']

        Args:
            color: The attacking side.
            square: 0 to 80, or a name like 7h.

        Raises:
            ValueError: There is no such square.
        """

    def svg(self, *, last_move: Move | str | None = None, arrows: Sequence[Move | str | fukayomi.shogi.svg.Arrow] = (), flip: bool = False, size: int | None = 420, title: str = '') -> fukayomi.shogi.svg.Svg:
        """
        Draw the position as SVG; a notebook does so by itself. See `fukayomi.shogi.svg.board_svg`.

            >>> Position().svg(arrows=['7g7f'], flip=True)[:4]
            '<svg'

        Args:
            last_move: Move to mark; by default the last move played.
            arrows: Moves to draw as arrows.
            flip: Draw White at the bottom.
            size: Width in pixels; None leaves it to the page.
            title: Text for screen readers; by default the SFEN.
        """

    def japanese(self, move: Move) -> str:
        """
        A legal move in Japanese notation.

            >>> Position().japanese(Move.from_usi('7g7f'))
            '☗７六歩'

        Raises:
            IllegalMoveError: The move is not legal.
        """

    def push_japanese(self, text: str) -> Move:
        """
        Play a move in Japanese notation and return it.

            >>> Position().push_japanese('７六歩')
            Move.from_usi('7g7f')

        Raises:
            InvalidMoveError: The text is not a move, or fits several.
            IllegalMoveError: No legal move fits; the position is unchanged.
        """

    def planes(self) -> tuple[Annotated[NDArray[numpy.float32], dict(shape=(62, 9, 9))], Annotated[NDArray[numpy.float32], dict(shape=(57, 9, 9))]]:
        """
        The network input of the position, in dlshogi's layout: float32 [62, 9, 9] and float32 [57, 9, 9].

            >>> board, hands = Position().planes()
            >>> board.shape, hands.shape
            ((62, 9, 9), (57, 9, 9))

        The axes are plane, file and rank, as the side to move sees the board.
        """

    def policy_label(self, move: fukayomi.Move) -> int:
        """
        dlshogi's policy label of a move, 0 to 2186: direction * 81 + to, as the side to move sees the board.

        Raises:
            InvalidMoveError: No piece moves like this.
        """

    def legal_labels(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,))]:
        """
        The policy labels of `legal_moves`, in the same order: uint16 [count].

            >>> position = Position()
            >>> int(position.legal_labels()[0]) == position.policy_label(position.legal_moves[0])
            True
        """

START_SFEN: str = ...

def square_from_usi(text: str) -> int:
    """
    The number of a square, (file - 1) * 9 + (rank - 1), by its name: 7g is 60.

    Raises:
        InvalidMoveError: There is no such square.
    """

def square_name(square: int) -> str:
    """
    The name of a square (0 to 80) in USI notation.

    Raises:
        ValueError: There is no such square.
    """

class MateReason(enum.Enum):
    """Why a mate search ended."""

    MATE = 0
    """A mate was found."""

    NO_MATE = 1
    """There is no mate within the limit of plies."""

    NODES = 2
    """Undecided at the limit of nodes, or of memory."""

    TIME = 3
    """Undecided at the limit of time."""

    STOPPED = 4
    """Undecided when `MateSolver.stop` was called."""

class MateResult:
    """The result of a mate search."""

    @property
    def reason(self) -> MateReason:
        """Why the search ended."""

    @property
    def moves(self) -> list[fukayomi.Move]:
        """The whole mate; empty if none was found."""

    @property
    def plies(self) -> int | None:
        """Length of `moves`; None if no mate was found."""

    @property
    def nodes(self) -> int:
        """Number of positions whose moves were searched."""

    def __repr__(self) -> str: ...

class MateSolver:
    """
    Finds mates of any length (詰将棋) by df-pn.

        >>> solver = MateSolver(memory_mb=16)
        >>> result = solver.solve(Position.from_sfen('8l/6lpk/7n1/6S1P/9/9/9/9/K8 b RN 1'))
        >>> result.reason, result.plies, [move.usi() for move in result.moves]
        (MateReason.MATE, 3, ['N*2d', '1b2a', 'R*4a'])

    The side to move attacks: each of its moves gives check, and it mates against every defence. The moves that led to
    the position do not count. Only the king to be mated needs to be on the board. One search runs at a time.

    Args:
        memory_mb: Memory of the hash table in MiB, 1 to 65536. It is taken as searches need it.
    """

    def __init__(self, memory_mb: int = 64) -> None: ...

    def solve(self, position: fukayomi.Position, *, nodes: int = 1000000, time_ms: int | None = None, plies: int | None = None, shortest: bool = True, share: float = 1.0) -> MateResult:
        """
        Search a mate.

        Args:
            position: The position; the side to move attacks.
            nodes: Maximum number of positions to search.
            time_ms: Maximum time (ms); None: no limit.
            plies: Longest mate to look for, at most 1023 plies; None: 1023.
            shortest: After the first mate, look for shorter ones while the limits last. If they do, the mate is the
                shortest possible, and the defence resists as long as it can; otherwise another defence
                may last longer. All interpositions (合駒) count.
            share: The most of the time that the search may use a core, 0.001 to 1; in the rest it sleeps.

        Returns:
            The result; its line is a legal mate.

        Raises:
            ValueError: There is no king to mate, or a limit is out of range.
            RuntimeError: The solver is already searching.
        """

    def stop(self) -> None:
        """
        From any thread: end the running search, and those to come until `resume`.
        """

    def resume(self) -> None:
        """Undo `stop`."""

def encode_psfen(position: fukayomi.Position) -> bytes:
    """
    Pack the position into 32 bytes (packed sfen), as YaneuraOu does. Ply and past are lost.

    Raises:
        InvalidPackedError: A king is missing.
    """

def position_from_psfen(psfen: bytes) -> fukayomi.Position:
    """
    Unpack a packed sfen; the ply is 1.

    Raises:
        InvalidPackedError: The bytes are not a position.
    """

def book_key(position: fukayomi.Position) -> int:
    """The position's key in Apery's opening book (book.bin)."""

def hcps_to_psfens(hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], psfens: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu')]) -> None:
    """
    Convert positions from hcp to packed sfen.

    Args:
        hcps: uint8 [N, 32].
        psfens: uint8 [N, 32], written.

    Raises:
        InvalidPackedError: A record is not a position; the message names its index.
    """

def psfens_to_hcps(psfens: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu')]) -> None:
    """
    Convert positions from packed sfen to hcp.

    Args:
        psfens: uint8 [N, 32].
        hcps: uint8 [N, 32], written.

    Raises:
        InvalidPackedError: A record is not a position; the message names its index.
    """

def moves_to_psv(moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], psv_moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Convert moves from hcpe to psv.

    Args:
        moves: uint16 [N], as `Move.raw`; 0, no move, stays 0.
        psv_moves: uint16 [N], written.

    Raises:
        InvalidMoveError: An entry is not a move; the message names its index.
    """

def moves_from_psv(psv_moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Convert moves from psv to hcpe.

    Args:
        psv_moves: uint16 [N]; 0, no move, stays 0.
        moves: uint16 [N], written.

    Raises:
        InvalidMoveError: An entry is not a move; the message names its index.
    """

def book_keys(hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Compute the keys of positions in Apery's opening book.

    Args:
        hcps: uint8 [N, 32].
        keys: uint64 [N], written.

    Raises:
        InvalidPackedError: A record is not a position; the message names its index.
    """

def find_bad_records(packed: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, *, psv: bool = False) -> list[tuple[int, str]]:
    """
    Find records with an impossible position or an illegal move; return the index and the reason of each.

    Args:
        packed: uint8 [N, 32].
        moves: uint16 [N]; None to check only the positions. In psv 0 is no move, and not bad.
        psv: Whether positions and moves are in psv's encoding instead of hcp and `Move.raw`.
    """

class DecodedGames:
    """
    Games of hcpe3 as columns: G games with P moves and C candidates in total.

    The arrays are read-only views that keep their owner alive.
    """

    @property
    def offsets(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), writable=False)]:
        """uint64 [G]: offset of each game in the data."""

    @property
    def starts(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), writable=False)]:
        """uint8 [G, 32]: hcp of the first position."""

    @property
    def results(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]:
        """uint8 [G]: 0 draw, 1 Black won, 2 White won; plus flags."""

    @property
    def opponents(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]:
        """uint8 [G]."""

    @property
    def plies(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), writable=False)]:
        """uint64 [G + 1]: the moves of game g are plies[g] to plies[g + 1]."""

    @property
    def hcps(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), writable=False)]:
        """uint8 [P, 32]: hcp before each move."""

    @property
    def moves(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,), writable=False)]:
        """uint16 [P]: the moves played, as `Move.raw`."""

    @property
    def evals(self) -> Annotated[NDArray[numpy.int16], dict(shape=(None,), writable=False)]:
        """int16 [P]: centipawns from the side to move."""

    @property
    def candidates(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), writable=False)]:
        """
        uint64 [P + 1]: the candidates of move p are candidates[p] to candidates[p + 1].
        """

    @property
    def candidate_moves(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,), writable=False)]:
        """uint16 [C]: as `Move.raw`."""

    @property
    def candidate_visits(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,), writable=False)]:
        """uint16 [C]."""

    @property
    def damages(self) -> list[tuple[int, int, int, str]]:
        """
        The damaged parts: offset, number of bytes skipped, the offending move (from 0; -1 for the header), and the
        reason.
        """

    @property
    def consumed(self) -> int:
        """Number of bytes read; the rest is the beginning of an incomplete game."""

    @property
    def gap(self) -> int:
        """
        Number of bytes at the beginning that belong to damage of the previous data.
        """

    @property
    def searching(self) -> bool:
        """Whether the last damage may continue in the next data."""

def decode_hcpe3(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], last: bool, searching: bool = False) -> DecodedGames:
    """
    Read the complete games of a part of an hcpe3 file, which starts at a game.

    Games are replayed, so that positions, moves and candidates are known to be legal. Damaged parts are skipped
    and reported; reading continues at the next game.

    Args:
        data: uint8 [N].
        last: Whether the file ends here, so that an incomplete game is damage.
        searching: `DecodedGames.searching` of the previous part of the file.
    """

class GameEnding:
    """How the rules judge the last position of a game."""

    @property
    def is_mated(self) -> bool:
        """The side to move has no legal move."""

    @property
    def repetition(self) -> fukayomi.Repetition:
        """As `Position.repetition`."""

    @property
    def occurrences(self) -> int:
        """As `Position.occurrences`."""

    @property
    def can_declare(self) -> bool:
        """
        Whether the side to move may declare a win by 27 points or 24, or by the try rule.
        """

    @property
    def black_to_move(self) -> bool:
        """Whether Black is to move."""

    @property
    def fourfold_before(self) -> int:
        """
        Number of moves after which a position had occurred four times and the game went on; -1 if never.
        """

def judge_endings(starts: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], plies: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[GameEnding]:
    """
    Judge the last positions of games, given as columns of `DecodedGames`.

    Raises:
        ShogiError: A start is not a position, or a move is not legal.
    """

def encode_hcpe3(starts: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], results: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], opponents: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], plies: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], evals: Annotated[NDArray[numpy.int16], dict(shape=(None,), order='C', device='cpu', writable=False)], candidates: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], candidate_moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], candidate_visits: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bytes:
    """
    Encode games as hcpe3, given as columns of `DecodedGames`. Moves are not checked.

    Raises:
        ValueError: The columns do not match, a game has more than 65535 moves, or a move more than
            593 candidates.
    """

class EndReason(enum.IntEnum):
    """Why a game of self-play ended."""

    MATE = 0

    RESIGNATION = 1

    REPETITION = 2
    """A draw, or a loss by perpetual check."""

    DECLARATION = 3

    MAX_PLIES = 4

    NONE = 5
    """The game has a fault."""

class SelfplayRules:
    """What the settings of self-play promise about its games."""

    def __init__(self, *, least_plies: int, most_plies: int, resign_threshold: float, most_visits: int, declaration: fukayomi.DeclarationRule) -> None:
        """
        Args:
            least_plies: Moves of the shortest game.
            most_plies: Moves after which a game is a draw.
            resign_threshold: A game may end by resignation where abs(2 * win_probability - 1) is above it.
            most_visits: Most visits of all candidates of a move together.
            declaration: Rule of declaration wins.
        """

    @property
    def least_plies(self) -> int: ...

    @property
    def most_plies(self) -> int: ...

    @property
    def resign_threshold(self) -> float: ...

    @property
    def most_visits(self) -> int: ...

    @property
    def declaration(self) -> fukayomi.DeclarationRule: ...

class SelfplayCheck:
    """How games of self-play ended, and which broke their rules."""

    @property
    def ends(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), writable=False)]:
        """uint8 [G]: `EndReason` of each game."""

    @property
    def faults(self) -> list[tuple[int, int, str]]:
        """
        The first fault of each game that has one: game, move (from 0; -1 if it is not about a move), reason.
        """

def check_selfplay(games: DecodedGames, rules: SelfplayRules) -> SelfplayCheck:
    """
    Derive the results of games again, and check candidates, visits and evaluations.

    A game ends with mate; with the flag of a repetition (within 16 plies), a declaration or the
    maximum of plies; or by resignation, which the last evaluation must show. A side that is another program has
    no candidates and may resign at any time.
    """

class CsaGame:
    """
    A game of a CSA text with N legal moves, or the reason why it cannot be read.
    """

    @property
    def damage(self) -> tuple[int, bool, list[str]] | None:
        """
        The error of a game that cannot be read: line (from 1), whether a move is illegal, and the message, in
        which every second part is text to be quoted. None if there is no error.
        """

    @property
    def headers(self) -> list[tuple[str, str]]:
        """
        Keys and values of the header in their order: N+, N-, $EVENT and others with $, 'black_rate,
        'white_rate, 'summary, '$END_TIME, 'Max_Moves.
        """

    @property
    def initial_sfen(self) -> str:
        """The first position as SFEN."""

    @property
    def moves(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,), writable=False)]:
        """uint16 [N]: as `Move.raw`."""

    @property
    def scores(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]:
        """int32 [N]: centipawns from Black's side; NO_SCORE if unknown."""

    @property
    def times_ms(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]:
        """int64 [N]: time of each move; -1 if unknown."""

    @property
    def pvs(self) -> list[str]:
        """The PV of each score, as text."""

    @property
    def comments(self) -> list[tuple[int, str]]:
        """The other comments: number of moves before each, and its text."""

    @property
    def ending(self) -> str | None:
        """The word after %; None without one."""

    @property
    def ending_time_ms(self) -> int | None:
        """Time of the side to move before the end; None if unknown."""

    @property
    def ending_comments(self) -> list[str]:
        """Comments on the end, and text below it."""

    @property
    def outcome(self) -> str:
        """
        What a server said about the winner: black_win, white_win, draw, or empty.
        """

    @property
    def illegal_move(self) -> str:
        """
        The illegal move that ended the game, as written; empty if there is none.
        """

    @property
    def illegal_move_time_ms(self) -> int | None:
        """Time of the illegal move; None if unknown."""

    @property
    def turn(self) -> fukayomi.Color:
        """The side to move at the end."""

    def __len__(self) -> int: ...

    def hcps(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, 32))]:
        """
        The hcp before each move and after the last: uint8 [N + 1, 32].

        Raises:
            InvalidPackedError: A king is missing.
        """

NO_SCORE: int = -2147483648

MOST_PLIES: int = 10000

class CsaReader:
    """Iterates over the games of a CSA text."""

    def __init__(self, text: str) -> None: ...

    def next(self) -> CsaGame | None:
        """
        The next game, possibly damaged; None at the end. Blank lines and comments are not a game.
        """

def csa_endings() -> list[tuple[str, str]]:
    """
    Words after % at the end of a game, and the name of the `Termination` of each.
    """

def read_csa_visits(text: str, position: fukayomi.Position) -> list[tuple[fukayomi.Move, int]]:
    """
    Parse candidates with visits as AobaZero writes them: 7776FU,430m,2726FU,352l. The letter after the visits is
    optional. The visits of a repeated move are added.

    Raises:
        InvalidMoveError: The text is not such a list, or a move is not legal.
    """

FEATURES1: int = 62

FEATURES2: int = 57

PACKED1_BYTES: int = 628

PACKED2_BYTES: int = 8

POLICY_LABELS: int = 2187

NO_POLICY_LABEL: int = 65535

MAX_MOVES: int = 593

EVAL_SCALE: float = 756.0864962951762

MATE_CP: int = 30000

def centipawns(winrate: float, scale: float = 756.0) -> int:
    """
    A win rate (0 to 1) in centipawns, -scale * ln(1 / winrate - 1) as in dlshogi; +-30000 for 0 and 1, and never beyond.
    """

def encode_hcp(position: fukayomi.Position) -> bytes:
    """
    The position in 32 bytes (HuffmanCodedPos), as dlshogi and cshogi write it, without ply and past.

    Raises:
        InvalidPackedError: A king is missing.
    """

def position_from_hcp(hcp: bytes) -> fukayomi.Position:
    """
    The position encoded in 32 bytes; its ply is 1.

    Raises:
        InvalidPackedError: The bytes are not a position.
    """

def encode_position(position: fukayomi.Position) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(628))], Annotated[NDArray[numpy.uint8], dict(shape=(8))]]:
    """
    dlshogi's input planes of a position, bit-packed: uint8 [628] and uint8 [8].

    The first holds 62 planes of 81 squares, the second 57 constant planes of one bit each, and as 58th whether
    White is to move; both least significant bit first, as the side to move sees the board.
    """

def policy_label(turn: fukayomi.Color, move: fukayomi.Move) -> int:
    """
    dlshogi's label of a move, 0 to 2186: direction * 81 + to, as the side to move sees the board.

    Raises:
        InvalidMoveError: No piece moves like this.
    """

def encode_game_hcps(start: fukayomi.Position, moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, 32))]:
    """
    The hcp before every move of a game, and the one after the last: uint8 [M + 1, 32].

    Args:
        start: The first position; its past does not matter.
        moves: uint16 [M], the moves as `Move.raw`. Each must be legal.

    Raises:
        IllegalMoveError: A move is not legal; the message names its index.
        InvalidPackedError: The start has no hcp, because a king is missing.
    """

def decode_hcp(hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], planes1: Annotated[NDArray[numpy.uint8], dict(shape=(None, 628), order='C', device='cpu')], planes2: Annotated[NDArray[numpy.uint8], dict(shape=(None, 8), order='C', device='cpu')]) -> None:
    """
    Write the bit-packed input planes of many positions.

    Args:
        hcps: uint8 [N, 32].
        planes1: uint8 [N, 628], written.
        planes2: uint8 [N, 8], written.

    Raises:
        InvalidPackedError: A record is not a position; the message names its index.
    """

def decode_hcpe(records: Annotated[NDArray[numpy.uint8], dict(shape=(None, 38), order='C', device='cpu', writable=False)], planes1: Annotated[NDArray[numpy.uint8], dict(shape=(None, 628), order='C', device='cpu')], planes2: Annotated[NDArray[numpy.uint8], dict(shape=(None, 8), order='C', device='cpu')], labels: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], results: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], eval_scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
    """
    Write the bit-packed input planes and the targets of many hcpe records, as the side to move sees them.

    Args:
        records: uint8 [N, 38].
        planes1: uint8 [N, 628], written.
        planes2: uint8 [N, 8], written.
        labels: uint16 [N], written: the policy label of the best move; NO_POLICY_LABEL where the move is 0.
        results: float32 [N], written: 1 won, 0.5 drawn, 0 lost.
        values: float32 [N], written: 1 / (1 + exp(-eval / scale)).
        eval_scales: float64 [N]; None: 756.0864962951762, dlshogi's.

    Raises:
        InvalidPackedError: The position, the best move or the result of a record is invalid; the message
            names the record's index.
    """

def decode_averages(positions: Annotated[NDArray[numpy.uint8], dict(shape=(None, 64), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint8], dict(shape=(None, 16), order='C', device='cpu', writable=False)], planes1: Annotated[NDArray[numpy.uint8], dict(shape=(None, 628), order='C', device='cpu')], planes2: Annotated[NDArray[numpy.uint8], dict(shape=(None, 8), order='C', device='cpu')], labels: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], results: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], temperature: float) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
    """
    Write planes and targets of averaged positions, as `decode_hcpe` does, and return the policy: int32 [C], row *
    2187 + label, and float32 [C], the weights, which add up to 1 in each row.

    Args:
        positions: uint8 [N, 64], rows of avg.
        moves: uint8 [M, 16], their moves, in the order of the positions; `first_move` is ignored.
        planes1: uint8 [N, 628], written.
        planes2: uint8 [N, 8], written.
        labels: uint16 [N], written: policy label of the move with the greatest weight.
        results: float32 [N], written: mean result.
        values: float32 [N], written: mean value.
        temperature: Weights are visits^(1/temperature), or plays^(1/temperature) in a position without visits;
            at 0 the move with the most has the whole weight.

    Raises:
        InvalidPackedError: A position, a move or a count is invalid; the message names the row.
        ValueError: There are more moves than the positions have.
    """

def unpack_planes(planes1: Annotated[NDArray[numpy.uint8], dict(shape=(None, 628), order='C', device='cpu', writable=False)], planes2: Annotated[NDArray[numpy.uint8], dict(shape=(None, 8), order='C', device='cpu', writable=False)], features1: Annotated[NDArray[numpy.float32], dict(shape=(None, 62, 9, 9), order='C', device='cpu')], features2: Annotated[NDArray[numpy.float32], dict(shape=(None, None, 9, 9), order='C', device='cpu')]) -> None:
    """
    Write bit-packed planes as zeros and ones.

    Args:
        planes1: uint8 [N, 628].
        planes2: uint8 [N, 8].
        features1: float32 [N, 62, 9, 9], written.
        features2: float32 [N, 57, 9, 9], or [N, 58, 9, 9] with the plane of the colour to move; written.
    """

def gather_logits(policy: Annotated[NDArray[numpy.float32], dict(shape=(None, 2187), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint16], dict(shape=(None, 593), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], logits: Annotated[NDArray[numpy.float32], dict(shape=(None, 593), order='C', device='cpu')]) -> None:
    """
    Write the logits of the legal moves: logits[i, j] = policy[i, labels[i, j]] for j < counts[i].

    Args:
        policy: float32 [N, 2187].
        labels: uint16 [N, 593].
        counts: uint16 [N].
        logits: float32 [N, 593], written up to counts[i] in each row.

    Raises:
        ValueError: A count is above 593 or a label above 2186; the message names the row.
    """

class GameIndex:
    """
    The training positions of hcpe3 files by number, in any order.

    A training position has candidates, and its move does not lead into a repetition within 16
    plies. The index keeps a position every 16 moves and replays the file's moves from there.
    """

    def __init__(self) -> None: ...

    def add_file(self, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], name: str) -> None:
        """
        Add a file; `read_on` reads it.

        Args:
            data: uint8 [N], the bytes of the file, usually memory-mapped; they must not change.
            name: Name of the file, for messages.
        """

    def read_on(self, size: int) -> bool:
        """
        Read about `size` more bytes of the last file; False at its end.

        Raises:
            InvalidPackedError: A game is incomplete or invalid, or its candidates have no visits; the
                message names the file, the game, the move and the offset.
        """

    def __len__(self) -> int: ...

    @property
    def repetitions(self) -> int:
        """
        Number of positions left out because their move leads into a repetition.
        """

    @property
    def left_out(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
        """
        Positions left out because their move leads into a repetition: uint64 [R], for each the number of the training
        position that follows it, ascending.
        """

    @property
    def continued(self) -> int:
        """Number of positions of games of several moves."""

    @property
    def choices(self) -> int:
        """Number of positions with several candidates."""

    @property
    def bytes(self) -> int:
        """Memory of the index in bytes."""

    @property
    def eval_counts(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(65536, 3))]:
        """
        The evaluations of the last file: uint64 [65536, 3], the number of positions with each evaluation (row 0:
        -32768) that the side to move lost, drew and won.
        """

    @property
    def game_starts(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
        """
        The first position of each game that has training positions: uint64 [G], ascending; a game's positions are
        numbered one after the other.
        """

    def find(self, number: int) -> tuple[bytes, int, int]:
        """
        The hcp of one position, the move played in it (`Move.raw`), and the evaluation in centipawns from the side
        to move.

        Raises:
            IndexError: There is no such number.
            InvalidPackedError: A file was changed since it was indexed.
        """

    def decode(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], planes1: Annotated[NDArray[numpy.uint8], dict(shape=(None, 628), order='C', device='cpu')], planes2: Annotated[NDArray[numpy.uint8], dict(shape=(None, 8), order='C', device='cpu')], labels: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], results: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], temperature: float, eval_scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_step: int = 0) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
        """
        Write planes and targets of many positions, as `decode_hcpe` does, and return the policy: int32 [C], row *
        2187 + label, and float32 [C], the weights, which add up to 1 in each row.

        Args:
            numbers: int64 [N], the positions.
            planes1: uint8 [N, 628], written.
            planes2: uint8 [N, 8], written.
            labels: uint16 [N], written: policy label of the candidate with the most visits.
            results: float32 [N], written.
            values: float32 [N], written.
            temperature: Weights are visits^(1/temperature); at 0 the most visited move has the whole weight.
            eval_scales: float64 [F], the scale of each file's evaluations.
            n_step: Values come from the evaluation so many plies later (of the last move with candidates up to
                there), or from the result if the game ends before. 0, and games of one move: the position's
                own evaluation.

        Raises:
            IndexError: There is no such number.
            InvalidPackedError: A file was changed since it was indexed.
        """

    def follow(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], replies: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], plies_left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], horizons: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], eval_scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Write how the games of positions go on. A game of one move is a position whose game is not known: -1, 0, NaN.

        Args:
            numbers: int64 [N], the positions.
            replies: int32 [N], written: label of the opponent's next move, with its square as the side to move sees
                it; -1 at the end of a game.
            plies_left: int32 [N], written: moves to the end of the game, the position's own included.
            values: float32 [N, H], written: exponential averages of the win probabilities from the position on, and of
                the result with the weight that is left, from the side to move. Ply k weighs (1/m) (1 - 1/m)^k; a ply
                without candidates has the value before it.
            horizons: float64 [H], the m, 1 or more.
            eval_scales: float64 [F], the scale of each file's evaluations.

        Raises:
            IndexError: There is no such number.
            InvalidPackedError: A file was changed since it was indexed.
        """

class CoreEvaluator:
    """
    An evaluator in the core, which `Search.run` asks for one batch after the other.
    """

    def run(self, input: SlotInput, n: int, logits: Annotated[NDArray[numpy.float32], dict(shape=(None, 593), order='C', device='cpu')], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> bool:
        """
        Evaluate the first n rows. The result of a position depends neither on the others nor on threads.

        Args:
            input: Positions and moves, of the kind that it reads.
            n: The rows to evaluate.
            logits: float32 [C, 593], written up to the number of moves in each row.
            values: float32 [C], written: win probability of the side to move.

        Returns:
            False if a result is not finite.

        Raises:
            ValueError: The input is of another kind, a count is above 593 or a label above 2186; the message names the row.
        """

class SlotInput:
    """
    What an evaluator reads of the positions of a batch: a row for each, with the moves whose logits are wanted.

    An evaluator makes one that keeps what it needs; `Search.gather` and `SelfplayPool.gather` write it.
    """

    @property
    def capacity(self) -> int:
        """Number of rows."""

    @property
    def counts(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,), writable=False)]:
        """
        Number of moves of each row, 0 if it was never written: uint16 [capacity], read-only.
        """

    def write(self, row: int, position: fukayomi.Position, moves: Sequence[fukayomi.Move]) -> None:
        """
        Write a position and moves of it; the logits come in their order.

        Args:
            row: From 0.
            position: The position; its past does not matter.
            moves: Legal moves.

        Raises:
            IllegalMoveError: A move is not legal.
            ValueError: There is no such row, or there are more than 593 moves.
        """

    def write_hcps(self, hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None, 593), order='C', device='cpu')], labels: Annotated[NDArray[numpy.uint16], dict(shape=(None, 593), order='C', device='cpu')]) -> None:
        """
        Write packed positions into the rows from 0 on, each with all of its legal moves, in the order of
        `Position.legal_moves`; and say which moves these are.

        Args:
            hcps: uint8 [N, 32].
            moves: uint16 [N, 593], written up to counts[i] in each row: the moves as `Move.raw`.
            labels: uint16 [N, 593], written as far: their policy labels.

        Raises:
            InvalidPackedError: A record is not a position; the message names its index.
            ValueError: The arrays differ in their number of rows, or there are fewer rows.
        """

class PlaneInput(SlotInput):
    """Bit-packed planes and policy labels, in arrays of the caller."""

    def __init__(self, planes1: Annotated[NDArray[numpy.uint8], dict(shape=(None, 628), order='C', device='cpu')], planes2: Annotated[NDArray[numpy.uint8], dict(shape=(None, 8), order='C', device='cpu')], labels: Annotated[NDArray[numpy.uint16], dict(shape=(None, 593), order='C', device='cpu')], counts: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """
        The memory of C rows. It is kept as it is; numbers of moves must be 0 at the beginning.

        Args:
            planes1: uint8 [C, 628], planes of the pieces (`encode_position`).
            planes2: uint8 [C, 8], planes of hands and check.
            labels: uint16 [C, 593], policy labels of the moves; a row is written up to its count.
            counts: uint16 [C], number of moves.

        Raises:
            ValueError: The arrays differ in their number of rows.
        """

    @property
    def planes1(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, 628))]:
        """uint8 [C, 628]: the memory itself."""

    @property
    def planes2(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, 8))]:
        """uint8 [C, 8]: the memory itself."""

    @property
    def labels(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None, 593))]:
        """uint16 [C, 593]: the memory itself."""

    @property
    def counts(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,))]:
        """uint16 [C]: the memory itself."""

class JointInput(SlotInput):
    """
    Several inputs that hold the same positions, each in its own form: of evaluators that judge them together.
    """

    def __init__(self, inputs: Sequence[SlotInput]) -> None:
        """
        Args:
            inputs: At least one; the smallest one says how many rows there are.

        Raises:
            ValueError: There is none.
        """

def hash_keys(rows: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], hash_bits: int = 64) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    The hash of the 32 bytes that each row begins with: uint8 [N, at least 32] to uint64 [N].
    """

def bucket_rows(rows: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], bucket_bits: int, hash_bits: int = 64) -> tuple[Annotated[NDArray[numpy.uint32], dict(shape=(None,))], Annotated[NDArray[numpy.uint64], dict(shape=(None,))]]:
    """
    Sort rows into buckets by the highest bits of the hash of their first 32 bytes.

    Args:
        rows: uint8 [N, at least 32].
        bucket_bits: There are 2 to the power of so many; at most 16.
        hash_bits: How much of the hash counts; less than 64 in tests only.

    Returns:
        The rows' numbers, bucket after bucket, in a bucket in their own order: uint32 [N];
        and how many rows each bucket has: uint64 [buckets].
    """

def spread_rows(rows: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], bucket_bits: int, hash_bits: int = 64) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """
    Put rows, uint8 [N, at least 32], into `out`, uint8 [at least N, the same], in the order of `bucket_rows`.

    Returns:
        How many rows each bucket has: uint64 [buckets].
    """

def are_possible(records: Annotated[NDArray[numpy.uint8], dict(shape=(None, 38), order='C', device='cpu', writable=False)]) -> bool:
    """Whether results and moves of hcpe records, uint8 [N, 38], can be."""

def first_records(records: Annotated[NDArray[numpy.uint8], dict(shape=(None, 38), order='C', device='cpu', writable=False)], by_all_fields: bool, hash_bits: int = 64) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, 38))]:
    """
    The first hcpe record of each position and move, or of each kind of record: uint8 [N, 38] to [G, 38].
    """

def sum_records(records: Annotated[NDArray[numpy.uint8], dict(shape=(None, 38), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.uint8], dict(shape=(None, 72), order='C', device='cpu', writable=False)], hash_bits: int = 64) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, 72))]:
    """
    Add up hcpe records, uint8 [N, 38], by position and move, with sums made before, uint8 [S, 72]: uint8 [G, 72].

    Raises:
        ValueError: A result is none.
    """

def merge_records(records: Annotated[NDArray[numpy.uint8], dict(shape=(None, 38), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.uint8], dict(shape=(None, 72), order='C', device='cpu', writable=False)], by_mode: bool, hash_bits: int = 64) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, 38))]:
    """
    One hcpe record of each position and move, from records and sums made before: uint8 [G, 38].

    Evaluations are averaged and cut towards 0. The result is the mean of the results' numbers, 1.5 and more White
    and above 0 Black; `by_mode` the most frequent one, a draw where two are equally frequent.

    Raises:
        ValueError: A result is none.
    """

def average_rows(records: Annotated[NDArray[numpy.uint8], dict(shape=(None, 38), order='C', device='cpu', writable=False)], sights: Annotated[NDArray[numpy.uint8], dict(shape=(None, 40), order='C', device='cpu', writable=False)], candidates: Annotated[NDArray[numpy.uint8], dict(shape=(None, 4), order='C', device='cpu', writable=False)], positions: Annotated[NDArray[numpy.uint8], dict(shape=(None, 64), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint8], dict(shape=(None, 16), order='C', device='cpu', writable=False)], evenly: bool, hash_bits: int = 64) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None, 64))], Annotated[NDArray[numpy.uint8], dict(shape=(None, 16))]]:
    """
    Add up all that was seen of each position.

    Args:
        records: uint8 [N, 38], hcpe; each is one visit of its move.
        sights: uint8 [S, 40], hcpe and the number of candidates of a search.
        candidates: uint8 [C, 4], move and visits, of all sights.
        positions: uint8 [P, 64], added up before.
        moves: uint8 [M, 16], theirs.
        evenly: Whether the visits of each record, and of each sight, are made to add up to 2^32.

    Returns:
        Positions, uint8 [G, 64], and their moves, uint8 [H, 16], as `fukayomi.data.formats.averages` has them.

    Raises:
        ValueError: A count is greater than its field, or rows that are referred to are not there.
    """

class KeySet:
    """
    The positions that have been seen, by 64 bits of each: a set that only grows, up to a fixed number.

    Two positions whose 64 bits are equal count as one: among a hundred million that happens with a chance of 1 in 3 700.
    """

    def __init__(self, capacity: int) -> None:
        """
        Args:
            capacity: Maximum number of positions; each takes 11 bytes of memory.

        Raises:
            MemoryError: There is not so much memory.
            ValueError: The number is too large.
        """

    def add_new(self, games: bytes) -> tuple[bytes, int]:
        """
        Add the positions of games of one move.

        Args:
            games: hcpe3.

        Returns:
            The games whose positions were not in the set, the first of each, in their order; and their number.

        Raises:
            ValueError: The bytes are not games of one move, and nothing was added; or the set is full.
        """

    def __len__(self) -> int: ...

    @property
    def capacity(self) -> int:
        """Maximum number of positions."""

class Fpu(enum.Enum):
    """First-play urgency: the value Q of a move without visits."""

    PARENT = 0
    """
    max(0, Q of the node - fpu_reduction * sqrt(sum of P of the moves with visits)).
    """

    HALF = 1
    """0.5, as for a draw."""

    LOSS = 2
    """0, as for a lost position."""

    WIN = 3
    """1, as for a won position."""

class RootRule(enum.Enum):
    """
    The rule that shares out the visits of the root; below the root it is always PUCT.
    """

    PUCT = 0
    """PUCT, with noise and forced playouts if they are asked for."""

    GUMBEL = 1
    """
    Gumbel AlphaZero: a sample of moves, and sequential halving; without noise and forced playouts.
    """

class SearchParams:
    """
    The parameters of the search; the defaults are dlshogi's. Setting one to a bad value raises ValueError.

    A visit takes the move with the highest Q + c * P * sqrt(N) / (1 + n), where c = ln((N + c_base + 1) / c_base) +
    c_init. Q of a move without visits is what `fpu` says.

        >>> params = SearchParams()
        >>> params.c_init = 1.25
        >>> params.c_base = -1
        Traceback (most recent call last):
        ...
        ValueError: c_base is -1.000000; it must be between 1.000000 and 1000000000.000000
    """

    def __init__(self) -> None: ...

    @property
    def c_init(self) -> float:
        """Exploration below the root."""

    @c_init.setter
    def c_init(self, value: float) -> None: ...

    @property
    def c_base(self) -> float:
        """Visits over which exploration grows, below the root."""

    @c_base.setter
    def c_base(self, value: float) -> None: ...

    @property
    def fpu(self) -> Fpu:
        """First-play urgency: Q of a move without visits, below the root."""

    @fpu.setter
    def fpu(self, value: Fpu) -> None: ...

    @property
    def fpu_reduction(self) -> float:
        """The reduction of Fpu.PARENT, below the root."""

    @fpu_reduction.setter
    def fpu_reduction(self, value: float) -> None: ...

    @property
    def c_init_root(self) -> float:
        """Exploration at the root."""

    @c_init_root.setter
    def c_init_root(self, value: float) -> None: ...

    @property
    def c_base_root(self) -> float:
        """Visits over which exploration grows, at the root."""

    @c_base_root.setter
    def c_base_root(self, value: float) -> None: ...

    @property
    def fpu_root(self) -> Fpu:
        """fpu at the root."""

    @fpu_root.setter
    def fpu_root(self, value: Fpu) -> None: ...

    @property
    def fpu_reduction_root(self) -> float:
        """fpu_reduction at the root."""

    @fpu_reduction_root.setter
    def fpu_reduction_root(self, value: float) -> None: ...

    @property
    def fpu_visit_mass(self) -> bool:
        """
        Whether the reduction counts P once for each visit, as dlshogi does, instead of once for each move.
        """

    @fpu_visit_mass.setter
    def fpu_visit_mass(self, value: bool) -> None: ...

    @property
    def c_exponent(self) -> float:
        """Exponent in place of the square root of N, 0 to 1."""

    @c_exponent.setter
    def c_exponent(self, value: float) -> None: ...

    @property
    def c_variance(self) -> float:
        """
        How far c follows the spread of a node's values: it is multiplied by 1 + c_variance * (spread / c_stdev - 1).
        0: not at all; KataGo: 0.85.
        """

    @c_variance.setter
    def c_variance(self, value: float) -> None: ...

    @property
    def c_stdev(self) -> float:
        """
        The standard deviation of values that is expected, for c_variance and lcb_stdevs.
        """

    @c_stdev.setter
    def c_stdev(self, value: float) -> None: ...

    @property
    def value_correction(self) -> float:
        """
        Share of the mean error of like positions by which the value of a new one is corrected; 0: none.
        """

    @value_correction.setter
    def value_correction(self, value: float) -> None: ...

    @property
    def policy_history(self) -> float:
        """
        Nats that a move's prior in a new position gains for each win rate of 1 that the move gained elsewhere in the tree,
        0 to 100; 0: the priors stay.
        """

    @policy_history.setter
    def policy_history(self, value: float) -> None: ...

    @property
    def review_visits(self) -> int:
        """
        Visits after which a position gets the priors of a batch's `Reviewer`, 0 to 1e9; 0: never.
        """

    @review_visits.setter
    def review_visits(self, value: int) -> None: ...

    @property
    def lcb_stdevs(self) -> float:
        """
        The best root move is the one with the highest lower bound of Q, this many standard errors below Q.
        0: the one with the most visits; KataGo: 5.
        """

    @lcb_stdevs.setter
    def lcb_stdevs(self, value: float) -> None: ...

    @property
    def lcb_visits(self) -> float:
        """Share of the most visits that a move needs for that; KataGo: 0.15."""

    @lcb_visits.setter
    def lcb_visits(self, value: float) -> None: ...

    @property
    def softmax_temperature(self) -> float:
        """Divisor of the policy's logits; above 1 flattens the policy."""

    @softmax_temperature.setter
    def softmax_temperature(self, value: float) -> None: ...

    @property
    def softmax_temperature_root(self) -> float:
        """The same at the root; 0: no other."""

    @softmax_temperature_root.setter
    def softmax_temperature_root(self, value: float) -> None: ...

    @property
    def softmax_temperature_deep(self) -> float:
        """
        The same far below the root, to which each 4 plies halve the difference; 0: no other.
        """

    @softmax_temperature_deep.setter
    def softmax_temperature_deep(self, value: float) -> None: ...

    @property
    def draw_value_black(self) -> float:
        """Value of a draw for Black, 0 to 1."""

    @draw_value_black.setter
    def draw_value_black(self, value: float) -> None: ...

    @property
    def draw_value_white(self) -> float:
        """Value of a draw for White, 0 to 1."""

    @draw_value_white.setter
    def draw_value_white(self, value: float) -> None: ...

    @property
    def draw_ply(self) -> int:
        """Number of moves after which a game is drawn; 0: no limit."""

    @draw_ply.setter
    def draw_ply(self, value: int) -> None: ...

    @property
    def declaration_rule(self) -> fukayomi.DeclarationRule:
        """The rule of declaration wins (入玉宣言)."""

    @declaration_rule.setter
    def declaration_rule(self, value: fukayomi.DeclarationRule) -> None: ...

    @property
    def leaf_mate_plies(self) -> int:
        """
        The longest mate to look for at each new leaf, in plies, 0 to 3; 0: none.
        """

    @leaf_mate_plies.setter
    def leaf_mate_plies(self, value: int) -> None: ...

    @property
    def leaf_mate_nodes(self) -> int:
        """
        With leaf_mate_plies 3: positions to search at each new leaf for a longer mate, by df-pn, 0 to 10000; 0: none.
        """

    @leaf_mate_nodes.setter
    def leaf_mate_nodes(self, value: int) -> None: ...

    @property
    def root_move_mate_nodes(self) -> int:
        """
        Positions to search by df-pn for a mate after a move of the root that is visited for the 16th, 64th, 256th, ... time, for each of these visits, 0 to 10000; at most 32768 in all. 0: none.
        """

    @root_move_mate_nodes.setter
    def root_move_mate_nodes(self, value: int) -> None: ...

    @property
    def root_rule(self) -> RootRule:
        """The rule that shares out the visits of the root."""

    @root_rule.setter
    def root_rule(self, value: RootRule) -> None: ...

    @property
    def root_noise_epsilon(self) -> float:
        """
        Share of Dirichlet noise in the root's priors, 0 to 1; AlphaZero: 0.25. 0: no noise.
        """

    @root_noise_epsilon.setter
    def root_noise_epsilon(self, value: float) -> None: ...

    @property
    def root_noise_alpha(self) -> float:
        """
        Concentration of the noise; the smaller, the fewer moves get most of it. AlphaZero's for shogi: 0.15.
        """

    @root_noise_alpha.setter
    def root_noise_alpha(self, value: float) -> None: ...

    @property
    def root_visit_noise(self) -> float:
        """
        Chance of each root move to have the prior (P + 1) / 2 in a visit, 0 to 1; dlshogi: 0.003. 0: no such noise.
        Visits that would have gone elsewhere without it do not count when the move is chosen, nor for `Search.teaching`.
        """

    @root_visit_noise.setter
    def root_visit_noise(self, value: float) -> None: ...

    @property
    def forced_playouts(self) -> float:
        """
        Each root move with visits gets at least sqrt(forced_playouts * P * N) of N visits; KataGo: 2. 0: none are forced.
        `Search.teaching` leaves them out again.
        """

    @forced_playouts.setter
    def forced_playouts(self, value: float) -> None: ...

    @property
    def gumbel_moves(self) -> int:
        """Number of root moves to sample with RootRule.GUMBEL, at most."""

    @gumbel_moves.setter
    def gumbel_moves(self, value: int) -> None: ...

    @property
    def gumbel_visits(self) -> int:
        """
        Visits that there must be for each of them, on average, except for two; the paper: 1.
        """

    @gumbel_visits.setter
    def gumbel_visits(self, value: int) -> None: ...

    @property
    def gumbel_scale(self) -> float:
        """
        Scale of the Gumbel variables; 0: nothing is left to chance, the moves with the greatest priors are searched.
        """

    @gumbel_scale.setter
    def gumbel_scale(self, value: float) -> None: ...

    @property
    def gumbel_c_visit(self) -> float:
        """
        Constant of sigma(q) = (gumbel_c_visit + most visits of a move) * gumbel_c_scale * (2 q - 1).
        """

    @gumbel_c_visit.setter
    def gumbel_c_visit(self, value: float) -> None: ...

    @property
    def gumbel_c_scale(self) -> float:
        """Constant of sigma; the paper: 1 for board games."""

    @gumbel_c_scale.setter
    def gumbel_c_scale(self, value: float) -> None: ...

    @property
    def seed(self) -> int:
        """
        Random seed of the noise and of the Gumbel variables. The same seed and position give the same search.
        """

    @seed.setter
    def seed(self, value: int) -> None: ...

class SearchLine:
    """A move of the root with its line, as the side to move sees it."""

    def __init__(self, pv: Sequence[fukayomi.Move], visits: int, prior: float, winrate: float, mate: int | None = None) -> None:
        """
        A line; searches make them.

        Raises:
            ValueError: pv is empty.
        """

    @property
    def move(self) -> fukayomi.Move:
        """The move: the first of pv."""

    @property
    def pv(self) -> list[fukayomi.Move]:
        """The principal variation, beginning with the move."""

    @property
    def visits(self) -> int:
        """Number of visits."""

    @property
    def prior(self) -> float:
        """The network's probability of the move."""

    @property
    def winrate(self) -> float:
        """
        Win probability of the side to move, 0 to 1; a draw counts as its draw value.
        """

    @property
    def cp(self) -> int:
        """
        The win rate in centipawns, with dlshogi's scale of 756; +-30000 for a mate.
        """

    @property
    def mate(self) -> int | None:
        """
        Plies to a proven mate, negative if the side to move is mated; None without a proof.
        """

    @property
    def depth(self) -> int:
        """Length of pv."""

    def __eq__(self, other: SearchLine) -> bool: ...

    def __repr__(self) -> str: ...

class EvalCache:
    """
    Evaluations by one network, for all searches that use it; any thread may. The oldest make room for new ones.

        batch = search.new_batch(capacity, cache)
    """

    def __init__(self, memory_mb: int) -> None:
        """
        An empty cache.

        Args:
            memory_mb: Its memory in MiB, 1 to 65536: all of it, but touched only as entries come in.

        Raises:
            ValueError: memory_mb is out of range.
        """

    @property
    def bytes_used(self) -> int:
        """Memory in bytes, what is still untouched included."""

class Reviewer:
    """
    An evaluator in the core for the positions of a search that have become important (SearchParams.review_visits), with the
    memory of its batches. One thread at a time may use it.
    """

    def __init__(self, evaluator: CoreEvaluator, input: SlotInput, logits: NDArray[numpy.float32], values: NDArray[numpy.float32]) -> None:
        """
        Args:
            evaluator: It reads the input.
            input: Memory for C positions.
            logits: float32 [C, 593].
            values: float32 [C].

        Raises:
            ValueError: The arrays have fewer rows than the input.
        """

class Batch:
    """
    Leaves on their way to an evaluator and back. Search.new_batch makes one; one thread at a time may use it.
    """

    @property
    def capacity(self) -> int:
        """Maximum number of leaves."""

    @property
    def hits(self) -> int:
        """Number of leaves of the last gather that were found in the cache."""

    def __len__(self) -> int:
        """Number of leaves gathered and not yet applied or cancelled."""

class Search:
    """
    A tree search that an evaluator feeds a batch at a time. Any method may be called from any thread.

        search.set_position(position)
        while n := search.gather(batch, input, 0, limit):
            evaluate(n)
            search.apply(batch, logits, values)
        best = search.lines(1)[0]

    `fukayomi.engine.search.Searcher` does this in threads, with limits.
    """

    def __init__(self, params: SearchParams, memory_mb: int) -> None:
        """
        A search from the start position.

        Args:
            params: Copied; later changes have no effect.
            memory_mb: Memory limit of the tree in MiB, 1 to 65536. At the limit, what is below nodes with few visits is dropped,
                an eighth of the memory at once; the nodes keep their visits, values and proofs.

        Raises:
            ValueError: memory_mb is out of range.
        """

    def set_position(self, pos: fukayomi.Position, search_moves: Sequence[fukayomi.Move] = [], *, nodes: int | None = None, explores: bool = True) -> bool:
        """
        Make a position the root. Batches in flight are cancelled: applying them changes nothing.

        Args:
            pos: The position with its past.
            search_moves: The root moves to search; all if empty.
            nodes: Maximum number of leaves that will be evaluated, None if unknown: for root policies that plan ahead.
                It does not end the search.
            explores: False leaves out noise and forced playouts in this search, and what Gumbel leaves to chance.

        Returns:
            Whether the tree was kept: the game is the last one or goes on from it by moves in the tree.

        Raises:
            ValueError: A search move is not legal.
        """

    def compare(self, moves: Sequence[fukayomi.Move]) -> None:
        """
        Give visits to these root moves alone, to each the same number, until the position is set again.

        The other moves keep what they have. Where all of these are proven, all moves are searched again.

        Raises:
            ValueError: There is no move, or one that the root does not have.
        """

    def new_batch(self, capacity: int, cache: EvalCache | None = None, reviewer: Reviewer | None = None) -> Batch:
        """
        A batch for up to `capacity` leaves.

        Args:
            capacity: Maximum number of leaves, 1 to 65536.
            cache: Evaluations by the network that the batch goes to. Leaves found there need no row; what apply is given
                is added. None: no cache.
            reviewer: It gives positions that now have SearchParams.review_visits visits other priors, whenever results are
                applied. None: all keep those of their evaluation.

        Raises:
            ValueError: capacity is out of range.
        """

    def gather(self, batch: Batch, input: SlotInput, first: int, limit: int, nodes: int | None = None) -> int:
        """
        Select new leaves and write them into rows of an input.

        Args:
            batch: An empty batch.
            input: That of the evaluator.
            first: The first row to write.
            limit: Maximum number of rows, at most those from `first` on and the batch's capacity.
            nodes: Maximum number of leaves, those found in the cache (Batch.hits) included; None: no maximum.

        Returns:
            The number of rows filled. 0 if other batches hold all leaves that could be evaluated now, or if the
            search is stopped, full or decided.

        Raises:
            ValueError: The input or the batch has too few rows, or the batch
                is of another search.
            RuntimeError: The batch is in use.
        """

    def apply(self, batch: Batch, logits: Annotated[NDArray[numpy.float32], dict(shape=(None, 593), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Expand the leaves of a batch and back up their values; the batch is empty afterwards.

        Args:
            logits: float32 [C, 593], of the moves in the order in which they were written.
            values: float32 [C], win probability of the side to move.

        Raises:
            ValueError: A logit is not finite or a value is not in 0 to 1; the batch is cancelled.
        """

    def run(self, batch: Batch, evaluator: CoreEvaluator, input: SlotInput, logits: NDArray[numpy.float32], values: NDArray[numpy.float32], limit: int, nodes: int, visits_per_leaf: int = 0, seconds: float = 0.0) -> tuple[int, bool, bool]:
        """
        Gather, evaluate and apply batches by an evaluator of the core, one after the other.

        Args:
            batch: An empty batch.
            evaluator: It reads the input.
            input: Memory of the evaluator.
            logits: float32 [C, 593].
            values: float32 [C].
            limit: Maximum number of leaves in a batch.
            nodes: Maximum number of leaves in all, those found in the cache included.
            visits_per_leaf: A batch takes at most one leaf for so many visits of the root. 0: up to the limit.
            seconds: After this time no batch begins; there is always one.

        Returns:
            The number of leaves searched; whether it ended because there was none, as `gather` says by 0; and False
            if a result of the evaluator is not finite, whose batch is cancelled.

        Raises:
            ValueError: Memory is too small, the batch is of another search, or a logit or a value is unusable; the batch is
                cancelled.
            RuntimeError: The batch is in use.
        """

    def labelled_leaves(self, batch: Batch, logits: Annotated[NDArray[numpy.float32], dict(shape=(None, 593), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> bytes:
        """
        The positions of a batch with what the evaluator says of them, before it is applied, as bytes of hcpe3: games of one
        move without a result, with the policy as visits and the value as an evaluation. A batch that was cancelled gives
        no bytes; positions whose logits or value `apply` would refuse are left out.
        """

    def labelled_nodes(self, least_visits: int) -> bytes:
        """
        The positions of the tree that have at least so many visits, 2 or more, with what the search says of them, as bytes of
        hcpe3: games of one move without a result, with the shares of visits as the policy (moves that are proven to lose have
        none) and the mean value as the evaluation. Without positions that are proven or whose value a repetition has decided.
        """

    def cancel(self, batch: Batch) -> None:
        """Give up a gathered batch; its leaves can be gathered again."""

    def prove(self, pos: fukayomi.Position, winner: fukayomi.Color | None, mate_plies: int | None = None) -> bool:
        """
        Enter a result that was proven elsewhere, by a mate solver or a tablebase, say. It travels up the tree, and the
        search no longer visits the position. A known result stays, unless the new one is the same in fewer plies.

        Args:
            pos: The position with its past; the root or one that follows from it.
            winner: None for a draw.
            mate_plies: Plies until mate from `pos`; None if the game is won in another way.

        Returns:
            Whether the result was entered. False if the tree does not hold the position, nor the one before it
            as an evaluated node.

        Raises:
            ValueError: The winner cannot mate after this number of plies.
        """

    def enter_mate(self, pos: fukayomi.Position, moves: Sequence[fukayomi.Move]) -> bool:
        """
        Enter a mate that was found elsewhere, with its line, which the lines of the search then end with.

        Otherwise as `prove`, for the side to move.

        Args:
            pos: The position with its past; the root or one that follows from it.
            moves: The whole mate by the side to move, an odd number of moves.

        Returns:
            Whether the mate was entered. False if the tree does not hold the position; before the root is
            evaluated; or if the first move is not one that the root may play.

        Raises:
            ValueError: A move is not legal, or the last one does not mate.
        """

    def stop(self) -> None:
        """
        Make gather return 0 from now on; a gather under way gives up its leaves.
        """

    def resume(self) -> None:
        """Undo stop."""

    @property
    def nodes(self) -> int:
        """
        Number of leaves expanded since set_position, by an evaluator or from the cache.
        """

    @property
    def evaluations(self) -> int:
        """Nodes that took a row of a batch."""

    @property
    def playouts(self) -> int:
        """
        Number of ways down the tree that were backed up since set_position: nodes, and visits of proven results.
        """

    @property
    def root_visits(self) -> int:
        """Visits of the root, including those of a kept tree."""

    @property
    def is_full(self) -> bool:
        """
        Whether the memory limit has stopped the search: nothing is left to prune.
        """

    @property
    def is_decided(self) -> bool:
        """Whether the root is proven won, lost or drawn."""

    @property
    def root_move_count(self) -> int:
        """Number of root moves that are searched."""

    @property
    def bytes_used(self) -> int:
        """Memory of the tree in bytes, including what is free for reuse."""

    @property
    def bytes_live(self) -> int:
        """Memory of the tree in bytes without what is free for reuse."""

    @property
    def node_count(self) -> int:
        """Number of nodes in memory, including dropped ones not yet recycled."""

    @property
    def seldepth(self) -> int:
        """Plies to the deepest leaf since set_position."""

    @property
    def is_stopped(self) -> bool:
        """Whether the search is stopped."""

    def lines(self, multipv: int = 1) -> list[SearchLine]:
        """
        The best moves, best first: proven wins, the shortest first; then by visits, unless the root's policy has another
        order; proven losses last. Moves without visits follow by prior. Empty only if there is no legal move.
        """

    def lines_of(self, pos: fukayomi.Position) -> list[SearchLine]:
        """
        All moves of a position in the tree, best first, as its side to move sees them: a line for each, as in `lines`.
        Empty if the tree does not hold the position with its past, or has not evaluated it.
        """

    def teaching(self) -> list[tuple[fukayomi.Move, int]]:
        """
        What a network should learn of the root's moves: moves with weights of 1 to 65535.

        The first is the move to play, as in `lines`; the others follow by weight, and those without any are left out.
        With PUCT a weight is the number of visits, less those that noise and forced playouts caused; with Gumbel the
        improved policy times 65535. A proven win has all of it, a move that is proven to lose none unless all do.
        Empty as long as no move has visits.
        """

    def tree_text(self) -> str:
        """
        The whole tree, for tests: a line for each node, indented by its depth. It has move, visits, mean value and prior for
        the side that moved, and of a proven node its result for the side to move and the plies to the end.
        """

    def check_invariants(self) -> None:
        """
        Check the whole tree, for tests. No batch may be in flight.

        Raises:
            RuntimeError: An invariant does not hold.
        """

class HashEvaluator(CoreEvaluator):
    """
    Stands in for a network: logits of about N(0, 1.5) and values around 0.5, from a hash of the planes.
    """

    def __init__(self, seed: int = 0) -> None: ...

class UniformEvaluator(CoreEvaluator):
    """Gives every move the same logit and every position the value 0.5."""

    def __init__(self) -> None: ...

def cpu_instructions(precision: str = 'fp32') -> list[str]:
    """
    The vector instructions of this processor that `ResidualNetwork` can use, the fastest last; none: a precision for
    which it has none.

    Args:
        precision: "fp32" or "int16".

    Raises:
        ValueError: It is neither.
    """

class ResidualNetwork:
    """
    A network of residual blocks with dlshogi's inputs and heads, on the CPU.

    A 3x3 convolution is computed by Winograd's algorithm: a third of the multiplications, and
    results that differ from the plain sums by rounding alone.

    In int16 these convolutions multiply 16-bit integers and add them up in 32 bits, without an overflow:
    kernels have a scale at each point and output, boards one of their own. The rest is float32.
    """

    def __init__(self, activation: str, stem1: Annotated[NDArray[numpy.float32], dict(shape=(None, 62, 3, 3), order='C', device='cpu', writable=False)], stem2: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], stem_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], tower: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None, 3, 3), order='C', device='cpu', writable=False)], tower_bias: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], policy: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], policy_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], value_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], hidden: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], hidden_bias: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], last: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], last_bias: float, precision: str = 'fp32', instructions: str | None = None) -> None:
        """
        Args:
            activation: "relu" or "silu", also of the value head.
            stem1: float32 [C, 62, 3, 3], the planes that differ from square to square.
            stem2: float32 [C, 57], the constant planes; 58 with the colour to move.
            stem_bias: float32 [C].
            tower: float32 [2B, C, C, 3, 3], two convolutions for each of B blocks.
            tower_bias: float32 [2B, C].
            policy: float32 [27, C].
            policy_bias: float32 [2187].
            value: float32 [V, C].
            value_bias: float32 [V].
            hidden: float32 [H, V * 81].
            hidden_bias: float32 [H].
            last: float32 [H].
            last_bias: The win probability is the sigmoid of last times hidden units, and this.
            precision: "fp32" or "int16".
            instructions: One of `cpu_instructions`; None: the fastest for C channels.

        Raises:
            ValueError: Sizes do not fit together, or the processor has no such instructions.
        """

    @property
    def instructions(self) -> str:
        """The vector instructions that it uses."""

    @property
    def precision(self) -> str:
        """What it computes in."""

    @property
    def bytes(self) -> int:
        """Memory of the weights, in bytes."""

class NetworkRunner(CoreEvaluator):
    """
    Runs a network on the batches of one slot, with memory and threads of its own.
    """

    def __init__(self, network: ResidualNetwork, threads: int) -> None:
        """
        Args:
            network: The network.
            threads: Threads that share the positions of a batch, 1 to 1024.

        Raises:
            ValueError: There cannot be so many threads.
            RuntimeError: The system has no more threads.
        """

class SelfplayParams:
    """
    How games against itself are played; names and defaults are dlshogi's. Setting one to a bad value raises ValueError.

    Plies count from a game's first searched move, unless something else is said.
    """

    def __init__(self) -> None: ...

    @property
    def playouts(self) -> int:
        """Visits of the root's moves for each move."""

    @playouts.setter
    def playouts(self, value: int) -> None: ...

    @property
    def early_stop(self) -> bool:
        """Whether a search ends when the best move cannot be overtaken any more."""

    @early_stop.setter
    def early_stop(self, value: bool) -> None: ...

    @property
    def extension(self) -> float:
        """
        A search is extended by half, at most twice, while the best move has fewer than so many times the visits of the
        second. 0: never.
        """

    @extension.setter
    def extension(self, value: float) -> None: ...

    @property
    def reuse(self) -> bool:
        """Whether to keep the subtree of the move played."""

    @reuse.setter
    def reuse(self, value: bool) -> None: ...

    @property
    def leaves(self) -> int:
        """Maximum number of leaves that a game gives to a batch."""

    @leaves.setter
    def leaves(self, value: int) -> None: ...

    @property
    def random(self) -> int:
        """
        Number of moves that are drawn at random in proportion to visits^(1/temperature).
        """

    @random.setter
    def random(self, value: int) -> None: ...

    @property
    def random_temperature(self) -> float:
        """Temperature of the first random move; at least 0.1 counts."""

    @random_temperature.setter
    def random_temperature(self, value: float) -> None: ...

    @property
    def random_temperature_drop(self) -> float:
        """What it loses with each move of the same side."""

    @random_temperature_drop.setter
    def random_temperature_drop(self, value: float) -> None: ...

    @property
    def random_cutoff(self) -> float:
        """
        Only moves whose win rate is at most this much below the best are drawn.
        """

    @random_cutoff.setter
    def random_cutoff(self, value: float) -> None: ...

    @property
    def random_cutoff_drop(self) -> float:
        """What it loses with each move of the same side."""

    @random_cutoff_drop.setter
    def random_cutoff_drop(self, value: float) -> None: ...

    @property
    def train_random(self) -> bool:
        """Whether positions in which the move was drawn have targets."""

    @train_random.setter
    def train_random(self, value: bool) -> None: ...

    @property
    def random2(self) -> float:
        """
        After these moves: where the best move has fewer than random2 times the visits of the second, one of the two is drawn
        in proportion to visits.
        """

    @random2.setter
    def random2(self, value: float) -> None: ...

    @property
    def low_moves(self) -> float:
        """
        After them: chance of a move to be drawn evenly from all but the best, however low their values are, 0 to 1; only of
        players that teach.
        """

    @low_moves.setter
    def low_moves(self, value: float) -> None: ...

    @property
    def max_move(self) -> int:
        """
        Moves after which a game is drawn, those of its opening included, 1 to 512.
        """

    @max_move.setter
    def max_move(self, value: int) -> None: ...

    @property
    def plies(self) -> int:
        """
        Moves of its own, without those of the opening, after which a game ends without a result, up to 512; 0: no such limit.
        Unlike max_move it is unknown to the searches.
        """

    @plies.setter
    def plies(self, value: int) -> None: ...

    @property
    def keep_leaves(self) -> bool:
        """
        Whether a game keeps the positions that its searches asked the network about (FinishedGame.kept).
        """

    @keep_leaves.setter
    def keep_leaves(self, value: bool) -> None: ...

    @property
    def keep_nodes(self) -> int:
        """
        Visits from which a game keeps the positions of its trees (FinishedGame.kept), 2 or more; 0: it keeps none. Not with
        keep_leaves.
        """

    @keep_nodes.setter
    def keep_nodes(self, value: int) -> None: ...

    @property
    def threshold(self) -> float:
        """
        A game ends by resignation when |2 p - 1| exceeds it, where p is the win rate of the best move. 1: never.
        """

    @threshold.setter
    def threshold(self, value: float) -> None: ...

    @property
    def play_out(self) -> float:
        """Share of the games that are played on instead, to check resignations."""

    @play_out.setter
    def play_out(self, value: float) -> None: ...

    @property
    def cheap(self) -> float:
        """
        Share of the moves that are searched with cheap_playouts, without exploration and without a target
        (playout-cap randomisation).
        """

    @cheap.setter
    def cheap(self, value: float) -> None: ...

    @property
    def cheap_playouts(self) -> int:
        """Visits of such a search."""

    @cheap_playouts.setter
    def cheap_playouts(self, value: int) -> None: ...

    @property
    def soft_playouts(self) -> int:
        """
        Instead of ending at the threshold, a game is played on with so many visits and soft_weight; 0: it ends.
        """

    @soft_playouts.setter
    def soft_playouts(self, value: int) -> None: ...

    @property
    def soft_weight(self) -> float:
        """Weight of the positions from there on."""

    @soft_weight.setter
    def soft_weight(self, value: float) -> None: ...

    @property
    def surprise(self) -> float:
        """
        Share of the weights of a game's positions that follows the divergence of the target from the network's policy
        (policy surprise weighting); KataGo: 0.5.
        """

    @surprise.setter
    def surprise(self, value: float) -> None: ...

    @property
    def mate_depth(self) -> int:
        """Longest mate to look for at the root by df-pn, plies; 0: none."""

    @mate_depth.setter
    def mate_depth(self, value: int) -> None: ...

    @property
    def mate_nodes(self) -> int:
        """Maximum number of positions of each such search."""

    @mate_nodes.setter
    def mate_nodes(self, value: int) -> None: ...

    @property
    def seed(self) -> int:
        """Random seed. A game depends on it and on its own number."""

    @seed.setter
    def seed(self, value: int) -> None: ...

class SelfplayPlayer:
    """A side of a game."""

    def __init__(self, network: int = 0, teaches: bool = True) -> None:
        """
        Args:
            network: Number of the network that plays; 0 is the newest. OUTSIDE: another program.
            teaches: Whether its positions have targets.
        """

    @property
    def network(self) -> int:
        """Number of the network."""

    @property
    def teaches(self) -> bool:
        """Whether its positions have targets."""

    def __repr__(self) -> "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >": ...

    def __eq__(self, other: SelfplayPlayer) -> bool: ...

OUTSIDE: int = -1

class GameReason(enum.Enum):
    """Why a game against itself ended."""

    MATE = 0
    """The record ends in checkmate."""

    RESIGNATION = 1
    """The search saw the result, or an outside player gave up."""

    REPETITION = 2
    """A position came back: drawn, or lost by perpetual check (千日手)."""

    DECLARATION = 3
    """The side to move could declare a win (入玉宣言)."""

    MAX_PLIES = 4
    """
    Drawn after SelfplayParams.max_move moves, or ended after SelfplayParams.plies.
    """

class FinishedGame:
    """A game that is over."""

    @property
    def index(self) -> int:
        """Its number."""

    @property
    def data(self) -> bytes:
        """The game as hcpe3."""

    @property
    def kept(self) -> bytes:
        """
        As hcpe3. With SelfplayParams.keep_leaves the positions that its searches asked the network about, in that order, with
        what it said of them (see Search.labelled_leaves). With keep_nodes those of the trees (see Search.labelled_nodes), the
        tree of the last search first: of a position that comes twice, the first has more visits where the tree was kept.
        """

    @property
    def winner(self) -> fukayomi.Color | None:
        """None for a draw."""

    @property
    def reason(self) -> GameReason:
        """Why it ended."""

    @property
    def moves(self) -> list[fukayomi.Move]:
        """All moves, those of the opening included."""

    @property
    def plies(self) -> int:
        """Number of moves."""

    @property
    def opening_plies(self) -> int:
        """Moves of the opening."""

    @property
    def random_plies(self) -> int:
        """Moves drawn at random."""

    @property
    def searches(self) -> int:
        """Moves that were searched for."""

    @property
    def playouts(self) -> int:
        """Visits of all searches."""

    @property
    def evaluations(self) -> int:
        """Positions that a network evaluated for them."""

    @property
    def positions(self) -> int:
        """Number of positions with targets."""

    @property
    def weights(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """float32 [positions]: weight of each position with targets."""

    @property
    def is_played_out(self) -> bool:
        """
        Whether a side would have resigned, but the game was played on to check that.
        """

    @property
    def is_wrong_resignation(self) -> bool:
        """Whether that side did not lose."""

class WaitingGame:
    """A game in which another program is to move."""

    @property
    def index(self) -> int:
        """Its number."""

    @property
    def position(self) -> fukayomi.Position:
        """The position with its past; plies count from the start of the game."""

class SelfplayPool:
    """
    Many games at once, which fill batches together. Any method may be called from any thread.

        pool.add(0, Position())
        while pool.playing:
            n = pool.gather(0, input, limit)
            evaluate(n)
            pool.apply(0, logits, values)
        games = pool.take_finished()

    The games are divided into shares: threads with a share each do not wait for each other. With one leaf a game at a time
    (SelfplayParams.leaves), a game depends on parameters, seed, number, opening and networks alone.
    """

    def __init__(self, params: SelfplayParams, search: SearchParams, games: int, shares: int = 1, cache_mb: int = 0) -> None:
        """
        Args:
            params: Copied.
            search: Parameters of the trees; copied. Each game has a seed of its own.
            games: Maximum number of games at once.
            shares: Number of parts that they are divided into.
            cache_mb: Memory in MiB for what each network has said of positions; 0: none. With keep_leaves or
                keep_nodes each game has a cache of its own.

        Raises:
            ValueError: A number is out of range.
        """

    def add(self, index: int, opening: fukayomi.Position, black: SelfplayPlayer = ..., white: SelfplayPlayer = ...) -> None:
        """
        Queue a game. It begins when a place is free.

        Args:
            index: Its number; its random numbers depend on it.
            opening: The position with its past, whose moves become the first of the game, without targets.
            black: Player.
            white: Player.

        Raises:
            ValueError: The opening is over, or longer than max_move; or a game of this number is being played.
        """

    def gather(self, share: int, input: SlotInput, limit: int, network: int = 0) -> int:
        """
        Write leaves of games in which this network is to move into rows of an input, from the first on (see `Search.gather`).

        Args:
            share: Number of the share, from 0.
            input: That of the evaluator.
            limit: Maximum number of rows.

        Returns:
            The number of rows filled; 0 if no game of the share needs this network now.

        Raises:
            RuntimeError: The last batch of this share and network was not applied.
        """

    def apply(self, share: int, logits: Annotated[NDArray[numpy.float32], dict(shape=(None, 593), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], network: int = 0) -> None:
        """
        Enter what the network said of a batch.

        Raises:
            ValueError: A logit is not finite or a value is not in 0 to 1; the batch is cancelled.
        """

    def cancel(self, share: int, network: int = 0) -> None:
        """Give up a gathered batch; its leaves can be gathered again."""

    def run(self, share: int, evaluator: CoreEvaluator, input: SlotInput, logits: NDArray[numpy.float32], values: NDArray[numpy.float32], limit: int, network: int = 0, seconds: float = 0.0) -> tuple[int, bool]:
        """
        Gather, evaluate and apply batches by an evaluator of the core, one after the other, until there is no leaf.

        Args:
            share: Number of the share, from 0.
            evaluator: It reads the input.
            input: Memory of the evaluator.
            logits: float32 [C, 593].
            values: float32 [C].
            limit: Maximum number of rows of a batch.
            network: Its number.
            seconds: After this time no batch begins; there is always one.

        Returns:
            The number of positions evaluated, and False if a result of the evaluator is not finite, whose batch is
            cancelled.

        Raises:
            ValueError: Memory is too small, or a logit or a value is unusable; the batch is cancelled.
            RuntimeError: The last batch of this share and network was not applied.
        """

    def take_waiting(self) -> list[WaitingGame]:
        """
        The games in which another program has come to move since the last call. `answer` or `restart` each.
        """

    def answer(self, index: int, move: fukayomi.Move | None, eval: int = 0) -> bool:
        """
        Play the other program's move.

        Args:
            move: None: it resigns.
            eval: Its evaluation in centipawns.

        Returns:
            Whether the game was waiting for it.

        Raises:
            InvalidMoveError: The move is not legal.
        """

    def restart(self, index: int, black: SelfplayPlayer, white: SelfplayPlayer) -> bool:
        """
        Begin a game again that is waiting for another program, which failed.

        Args:
            black: Player.
            white: Player.

        Returns:
            Whether the game was waiting.

        Raises:
            ValueError: A player has a number that does not exist.
        """

    def clear_queue(self) -> int:
        """Begin no more of the games that were added. Returns their number."""

    def take_finished(self) -> list[FinishedGame]:
        """The games that have ended since the last call, in that order."""

    @property
    def queued(self) -> int:
        """Number of games that have not begun."""

    @property
    def playing(self) -> int:
        """Number of games that are queued or being played."""

    @property
    def shares(self) -> int:
        """Number of shares."""

    def totals(self) -> tuple[int, int, int]:
        """
        Moves searched for, visits and evaluations of all searches that have ended, those of games in play included.
        """

    @property
    def bytes_used(self) -> int:
        """Memory of all trees in bytes."""

SPARSE_FEATURES_VERSION: int = 1

SPARSE_ROWS: int = 24832

SPARSE_LABELS: int = 4374

MOVE_ROWS: int = 5992

def sparse_rows(position: fukayomi.Position) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,))]:
    """
    The rows of a position that a sparse network adds up: uint16 [N], each below `SPARSE_ROWS`; one that occurs twice
    counts twice.
    """

def sparse_moves(position: fukayomi.Position, moves: Sequence[fukayomi.Move]) -> tuple[Annotated[NDArray[numpy.uint16], dict(shape=(None,))], Annotated[NDArray[numpy.uint16], dict(shape=(None, 8))]]:
    """
    The features of legal moves to a sparse network.

    Returns:
        Labels, uint16 [M], each below `SPARSE_LABELS`; and the rows of the eight groups, uint16 [M, 8], each below
        `MOVE_ROWS`.

    Raises:
        IllegalMoveError: A move is not legal.
    """

def first_layer(rows: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], squares: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], attacked: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], placed: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], others: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], accumulators: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], products: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], threads: int) -> None:
    """
    Write for each position the bias and the sum of its rows, clipped to 0 to 1, and the products of their halves: the first
    layer of one head.

    Args:
        rows: Rows of all positions: uint16 [K].
        offsets: Position n has rows[offsets[n] : offsets[n + 1]]: int64 [N + 1].
        squares: Of the rows of squares, which are sums of this and the next two: float32 [C / 32, 29, 9, 81, 32].
        attacked: By content and attacks: float32 [C / 32, 29, 9, 32].
        placed: By content and square: float32 [C / 32, 29, 81, 32].
        others: The other rows: float32 [C / 32, rows, 32].
        bias: float32 [C].
        accumulators: The clipped sums: float32 [C / 32, N, 32], output.
        products: The first half of the accumulators times the second: float32 [N, C / 2], output.
        threads: CPU threads; the result does not depend on them.

    Raises:
        ValueError: A shape is wrong, or a row is beyond the table.
    """

def first_layer_backward(rows: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], accumulators: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], products: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], squares: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], attacked: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], placed: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], others: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], bias: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], threads: int) -> None:
    """
    Write the gradients of the parts and the bias of `first_layer` from those of `products`.
    """

def sum_weights(rows: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')]) -> None:
    """
    Write for each position the sum of the weights, [rows], of its rows: float32 [N].

    Raises:
        ValueError: A shape is wrong, or a row has no weight.
    """

def sum_weights_backward(rows: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], gradients: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], weight_gradients: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')]) -> None:
    """
    Write the gradients of the weights of `sum_weights` from those of the sums.
    """

def recycled_floats(count: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
    """
    Uninitialised float32 [count], in memory that such an array had before, if there is some: no page of it is new.
    """

def move_logits(labels: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], groups: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], label_table: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], label_bias: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], group_table: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], group_bias: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], hidden: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], logits: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], threads: int) -> None:
    """
    Write the logits of moves.

    Args:
        labels: uint16 [M].
        groups: uint16 [M, 8].
        offsets: Position n has the moves from offsets[n] to offsets[n + 1]: int64 [N + 1].
        label_table: float32 [H / 32, SPARSE_LABELS, 32].
        label_bias: float32 [SPARSE_LABELS].
        group_table: float32 [K / 32, MOVE_ROWS, 32]; K is at most H.
        group_bias: float32 [MOVE_ROWS].
        hidden: float32 [N, H].
        logits: float32 [M], output.
        threads: CPU threads; the result does not depend on them.

    Raises:
        ValueError: A shape is wrong, or a row is beyond its table.
    """

def move_logits_backward(labels: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], groups: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], label_table: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], label_bias: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], group_table: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], group_bias: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], hidden: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], gradients: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], label_table_gradients: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], label_bias_gradients: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], group_table_gradients: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], group_bias_gradients: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], hidden_gradients: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu')], threads: int) -> None:
    """
    Add the gradients of `move_logits`, [M], to those of its tables, and write those of `hidden`.
    """

def sparse_planes_batch(planes1: Annotated[NDArray[numpy.uint8], dict(shape=(None, 628), order='C', device='cpu', writable=False)], planes2: Annotated[NDArray[numpy.uint8], dict(shape=(None, 8), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], threads: int, has_moves: bool = True) -> tuple[Annotated[NDArray[numpy.uint16], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.uint16], dict(shape=(None,))], Annotated[NDArray[numpy.uint16], dict(shape=(None, 8))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    What a sparse network reads of packed positions, with their targets of training.

    Args:
        planes1: uint8 [N, 628].
        planes2: uint8 [N, 8].
        labels: Policy label of the move played, or NO_POLICY_LABEL: uint16 [N].
        places: Where the policy is not zero, as n * 2187 + label; n ascends: int32 [C].
        weights: The policy there: float32 [C].
        threads: CPU threads; the result does not depend on them.
        has_moves: False reads the rows alone; all that is of moves is empty.

    Returns:
        As `sparse_batch`, with the policy as shares; and for each move n * 2187 + its label, int32 [M], for each position the
        number of the move played, -1 if there is none, int64 [N]. What the search leaves out counts for its promotion.

    Raises:
        InvalidPackedError: Planes are no position that the rules allow; the message has its number.
        ValueError: A shape, a label or a place is wrong.
    """

def sparse_batch(hcps: Annotated[NDArray[numpy.uint8], dict(shape=(None, 32), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], visits: Annotated[NDArray[numpy.uint16], dict(order='C', device='cpu', writable=False)], threads: int) -> tuple[Annotated[NDArray[numpy.uint16], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.uint16], dict(shape=(None,))], Annotated[NDArray[numpy.uint16], dict(shape=(None, 8))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
    """
    What a sparse network reads of positions, and the shares of their candidates' visits.

    Args:
        hcps: Positions: uint8 [N, 32].
        offsets: Position n has the candidates from offsets[n] to offsets[n + 1]: int64 [N + 1].
        moves: Candidates, as `Move.raw`: uint16 [C].
        visits: Their visits: uint16 [C].
        threads: CPU threads; the result does not depend on them.

    Returns:
        Rows of the positions, uint16 [K], and their offsets, int64 [N + 1]; labels, uint16 [M], and group rows, uint16
        [M, 8], of the moves that the search tries, and their offsets, int64 [N + 1]; shares of visits, float32 [M].

    Raises:
        InvalidPackedError: A position is none that the rules allow; the message has its number.
        ValueError: A shape or an offset is wrong.
    """

def sparse_instructions() -> list[str]:
    """
    The vector instructions of this processor that `SparseInferenceNetwork` can use, the fastest last.
    """

def sparse_kept_rows() -> Annotated[NDArray[numpy.uint16], dict(shape=(None,))]:
    """
    The rows of positions that a file of a sparse network has, in order: uint16 [N]. The others do not occur in games, and
    count as zeros.
    """

def check_sparse_file(file: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[int, int, int, int]:
    """
    The widths that a file of a sparse network has: policy, value, shared, hidden. The hash is not compared.

    Raises:
        ValueError: It is none, or has numbers that cannot be; the message says what is wrong.
    """

class SparseInput(SlotInput):
    """What a sparse network reads of the positions of a batch."""

    def __init__(self, capacity: int) -> None:
        """
        Args:
            capacity: Rows, one for a position.
        """

class SparseInferenceNetwork:
    """
    A sparse network in integers, on the CPU.

    The result of a position depends on nothing else in the batch, and has the same bits with all
    vector instructions.
    """

    def __init__(self, file: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], instructions: str | None = None) -> None:
        """
        Args:
            file: The bytes of a file, uint8 [N]; they are copied. The hash is not compared.
            instructions: One of `sparse_instructions`; None: the fastest.

        Raises:
            ValueError: It is no file of a sparse network, or the processor has no such instructions.
        """

    @property
    def instructions(self) -> str:
        """The vector instructions that it uses."""

    @property
    def bytes(self) -> int:
        """Memory of the weights, in bytes."""

class SparseRunner(CoreEvaluator):
    """
    Runs a sparse network on the batches of one slot, with memory and threads of its own.
    """

    def __init__(self, network: SparseInferenceNetwork, threads: int) -> None:
        """
        Args:
            network: The network.
            threads: Threads that share the positions of a batch, 1 to 1024.

        Raises:
            ValueError: There cannot be so many threads.
            RuntimeError: The system has no more threads.
        """
