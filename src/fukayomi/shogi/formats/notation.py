"""Moves as text: in Japanese notation, as KIF and KI2 write them, in Western notation; illegal ones, too.

Japanese notation, ``☗７六歩``, ``☖同銀右不成``, ``☗５五角打``, follows the rules of the Japan Shogi Association
(棋譜の表記方法): 右 左 直 上 引 寄 and 打 appear only if two pieces of a kind could make the move, 不成 if a promotion
was declined, 同 if the previous move went to the same square. Pinned pieces count, as in other programs: with their
marks a move is unambiguous whether a reader counts them or not. Western notation is that of ``P-7f``.

KIF and KI2 write ``７六歩(77)``, ``同　銀(31)``, ``５五角打``, ``２二角成(88)``, ``５八金右``.

A move that ended a game may be illegal: it is read from USI, CSA, and Japanese notation with an origin or without.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from fukayomi.errors import InvalidValueError
from fukayomi.shogi.position import (
    BLACK,
    Color,
    IllegalMoveError,
    InvalidMoveError,
    Move,
    PieceType,
    Position,
    square_from_usi,
    square_name,
)

WORDS = {"win": "宣言勝ち", "resign": "投了"}
"""Words that a USI engine may answer instead of a move."""

PIECE_NAMES = {
    PieceType.PAWN: "歩", PieceType.LANCE: "香", PieceType.KNIGHT: "桂", PieceType.SILVER: "銀",
    PieceType.BISHOP: "角", PieceType.ROOK: "飛", PieceType.GOLD: "金", PieceType.KING: "玉",
    PieceType.PRO_PAWN: "と", PieceType.PRO_LANCE: "成香", PieceType.PRO_KNIGHT: "成桂",
    PieceType.PRO_SILVER: "成銀", PieceType.HORSE: "馬", PieceType.DRAGON: "龍",
}  # fmt: skip
"""The name of each piece in a move."""

SQUARE_NAMES = [f"{file}{rank}" for file in "１２３４５６７８９" for rank in "一二三四五六七八九"]
"""The name of each square: 0 is １一, 80 is ９九."""

_NEVER_PROMOTE = frozenset({PieceType.GOLD, PieceType.KING})
_LONG_PROMOTED = frozenset({PieceType.HORSE, PieceType.DRAGON})


def japanese_moves(sfen: str, moves: Sequence[str]) -> list[str]:
    """Write successive USI moves from a position in Japanese notation.

    ``win`` and ``resign``, which end a line, become 宣言勝ち and 投了. The first move is never written with 同, because
    its predecessor is not known.

    >>> japanese_moves("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", ["7g7f", "3c3d", "8h2b+"])
    ['☗７六歩', '☖３四歩', '☗２二角成']

    Raises:
        InvalidSfenError: The text is not an SFEN.
        IllegalMoveError: A move is not legal.
    """
    position = Position.from_sfen(sfen, allow_missing_king=True)
    names: list[str] = []
    last: int | None = None
    for usi in moves:
        if usi in WORDS:
            names.append(_mark_of(position.turn) + WORDS[usi])
            break
        try:
            move = Move.from_usi(usi)
        except InvalidMoveError as error:
            raise IllegalMoveError(f"illegal move {usi!r} in {position.sfen()!r}") from error
        name = move_name(position, move, last)
        names.append(_mark_of(position.turn) + name)
        position.push(move)
        last = move.to_square
    return names


def japanese_move(position: Position, move: Move) -> str:
    """Write a legal move of a position in Japanese notation, with 同 after a move to the same square.

    Raises:
        IllegalMoveError: The move is not legal.
    """
    if not position.is_legal(move):
        raise IllegalMoveError(f"illegal move {move.usi()!r} in {position.sfen()!r}")
    last = last_target(position)
    return _mark_of(position.turn) + move_name(position, move, last)


def last_target(position: Position) -> int | None:
    """The square that the last move went to; None before the first one. `Position.moves` would make a list."""
    try:
        return position.peek().to_square
    except IndexError:
        return None


def move_name(position: Position, move: Move, last: int | None = None) -> str:
    """Write a legal move without the mark of the side: ``７六歩``, ``同銀右不成``.

    Args:
        position: Position before the move.
        move: A legal move; the name of an illegal one means nothing.
        last: Target of the move before, for 同.
    """
    target = move.to_square
    square = "同" if target == last else SQUARE_NAMES[target]
    if move.from_square is None:
        piece = move.dropped
        assert piece is not None
        drop = "打" if _origins(position, target, piece) else ""
        return f"{square}{PIECE_NAMES[piece]}{drop}"
    moved = position.piece_on(move.from_square)
    if moved is None:
        return square
    marks = _marks(position, move, moved.type)
    return f"{square}{PIECE_NAMES[moved.type]}{marks}{_promotion(position.turn, move, moved.type)}"


def english_move(position: Position, move: Move) -> str:
    """Write a legal move in Western notation: ``P-7f``, ``Bx2b+``, ``S*5e``, ``Nx7c=``, ``G6i-5h``.

    The square that a piece leaves appears only if another piece of its kind could make the move. ``+`` is a promotion,
    ``=`` a promotion that was declined, ``*`` a drop.

        >>> english_move(Position(), Move.from_usi("7g7f"))
        'P-7f'

    Raises:
        IllegalMoveError: The move is not legal.
    """
    if not position.is_legal(move):
        raise IllegalMoveError(f"illegal move {move.usi()!r} in {position.sfen()!r}")
    usi = move.usi()
    if move.from_square is None:
        return f"{usi[0]}*{usi[2:4]}"
    moved = position.piece_on(move.from_square)
    assert moved is not None
    origin = usi[:2] if len(_origins(position, move.to_square, moved.type)) > 1 else ""
    sign = "-" if position.piece_on(move.to_square) is None else "x"
    end = {"成": "+", "不成": "=", "": ""}[_promotion(position.turn, move, moved.type)]
    return f"{moved.sfen().upper()}{origin}{sign}{usi[2:4]}{end}"


def english_moves(sfen: str, moves: Sequence[str]) -> list[str]:
    """Write successive USI moves from a position in Western notation; see `english_move`.

    ``win`` and ``resign``, which end a line, become ``declaration`` and ``resigns``.

    Raises:
        InvalidSfenError: The text is not an SFEN.
        IllegalMoveError: A move is not legal.
    """
    position = Position.from_sfen(sfen, allow_missing_king=True)
    names: list[str] = []
    for usi in moves:
        if usi in WORDS:
            names.append({"win": "declaration", "resign": "resigns"}[usi])
            break
        move = Move.from_usi(usi)
        names.append(english_move(position, move))
        position.push(move)
    return names


def _mark_of(turn: Color) -> str:
    return "☗" if turn == BLACK else "☖"


def _origins(position: Position, target: int, piece: PieceType) -> list[int]:
    """Squares of the pieces of this kind that reach the target."""
    squares = position.attackers(position.turn, target)
    return [square for square in squares if (found := position.piece_on(square)) is not None and found.type == piece]


def _promotion(turn: Color, move: Move, piece: PieceType) -> str:
    if move.is_promotion:
        return "成"
    if piece in _NEVER_PROMOTE or piece >= PieceType.PRO_PAWN or move.from_square is None:
        return ""
    zone = (0, 1, 2) if turn == BLACK else (6, 7, 8)
    return "不成" if move.from_square % 9 in zone or move.to_square % 9 in zone else ""


def _marks(position: Position, move: Move, piece: PieceType) -> str:
    """The marks that tell this piece from others of its kind: the movement first, then the side, then both."""
    origins = _origins(position, move.to_square, piece)
    if len(origins) < 2:
        return ""
    sign = 1 if position.turn == BLACK else -1
    # Seen from the target by the player: files to the right and ranks below; files count from Black's right.
    target_file, target_rank = divmod(move.to_square, 9)
    views = {origin: (sign * (target_file - origin // 9), sign * (origin % 9 - target_rank)) for origin in origins}
    assert move.from_square is not None
    right, below = views.pop(move.from_square)
    movement = _movement(below)
    if all(_movement(other) != movement for _, other in views.values()):
        return movement
    if piece in _LONG_PROMOTED:
        return "右" if all(right > other for other, _ in views.values()) else "左"
    if right == 0:
        return "直"
    side = "右" if right > 0 else "左"
    is_alone = all(other * right <= 0 for other, _ in views.values())
    return side if is_alone else side + movement


def _movement(below: int) -> str:
    return "上" if below > 0 else "引" if below < 0 else "寄"


class MoveError(InvalidValueError):
    """A move of a record that cannot be played; the message says why."""

    def __init__(self, reason: str, *, is_illegal: bool = True) -> None:
        super().__init__(reason)
        self.is_illegal = is_illegal
        """True if it is a move, though one that the rules forbid."""


def find_moves(position: Position, target: int, piece: PieceType, marks: str, how: str | None) -> list[Move]:
    """The legal moves that Japanese notation may mean.

    Of the moves of a piece to a square, the marks choose one. 打 is a drop, 成 or 不成 a promotion or none, 上 引 寄
    the direction, 右 左 直 the side of the origin, all from the player's view.

    Args:
        position: Position before the move.
        target: Square it goes to.
        piece: The piece, before it promotes.
        marks: 右 左 直 上 引 寄 in any number.
        how: 打, 成, or something else for neither.
    """
    moves = [move for move in position.legal_moves if move.to_square == target]
    moves = [move for move in moves if _piece_of(position, move) == piece and move.is_promotion == (how == "成")]
    from_board = [move for move in moves if not move.is_drop]
    if how == "打" or not from_board:
        return [move for move in moves if move.is_drop]
    return _narrow([_Origin.of(move, position.turn) for move in from_board], marks, piece)


def _piece_of(position: Position, move: Move) -> PieceType | None:
    if move.from_square is None:
        return move.dropped
    piece = position.piece_on(move.from_square)
    return piece.type if piece is not None else None


class _Origin(NamedTuple):
    """Origin of a move, seen from its target by the player."""

    move: Move
    right: int
    """Files to the right of the target; negative to the left."""
    below: int
    """Ranks below the target; negative above."""

    @classmethod
    def of(cls, move: Move, turn: Color) -> "_Origin":
        assert move.from_square is not None
        sign = 1 if turn == BLACK else -1
        right = move.to_square // 9 - move.from_square // 9  # files count from Black's right
        below = move.from_square % 9 - move.to_square % 9
        return cls(move, sign * right, sign * below)


def _narrow(origins: list[_Origin], marks: str, piece: PieceType) -> list[Move]:
    for mark in marks:
        if mark in "上行入":
            origins = [origin for origin in origins if origin.below > 0]
        elif mark == "引":
            origins = [origin for origin in origins if origin.below < 0]
        elif mark == "寄":
            origins = [origin for origin in origins if origin.below == 0]
        elif mark == "直":
            origins = [origin for origin in origins if origin.below == 1 and origin.right == 0]
    for mark, sign in (("右", 1), ("左", -1)):
        if mark in marks and origins:
            beside = [origin for origin in origins if sign * origin.right > 0]
            if not beside or piece in (PieceType.HORSE, PieceType.DRAGON):
                # If both are on the same side of the target, the mark means the outer one.
                outermost = max(sign * origin.right for origin in origins)
                beside = [origin for origin in origins if sign * origin.right == outermost]
            origins = beside
    return [origin.move for origin in origins]


PIECES = {name: piece for piece, name in PIECE_NAMES.items()} | {
    "王": PieceType.KING, "竜": PieceType.DRAGON, "杏": PieceType.PRO_LANCE, "圭": PieceType.PRO_KNIGHT,
    "全": PieceType.PRO_SILVER,
}  # fmt: skip
"""The piece of each name in a move."""
FILES = {digit: index for digits in ("123456789", "１２３４５６７８９") for index, digit in enumerate(digits)}
"""The file of each digit, from 0."""
RANKS = {
    digit: index
    for digits in ("123456789", "１２３４５６７８９", "一二三四五六七八九")
    for index, digit in enumerate(digits)
}
"""The rank of each digit, from 0."""

JAPANESE = (
    r"(?:(?P<file>[1-9１-９])(?P<rank>[1-9１-９一二三四五六七八九])|同)[\s　、]*"
    r"(?P<piece>成[香桂銀]|[歩香桂銀金角飛玉王と杏圭全馬龍竜])"
    r"(?P<marks>[右左直上行入引寄]*)(?:(?P<how>不成|成|生|打|不?ナリ|不?なり|ナラズ|ならず)り?)?[\s　]*"
    r"(?:[(（](?P<from_file>[0-9０-９])(?P<from_rank>[0-9０-９])[)）])?"
)
"""A move without the mark of its side."""
MOVE = re.compile(rf"[\s　]*(?P<number>[0-9０-９]{{1,6}})[\s　]+(?P<move>[▲△▼▽☗☖⛊⛉]?{JAPANESE})[\s　]*(?P<rest>.*)")
"""A line of KIF with a move."""
_DROPPED = 80  # raw moves have 80 + piece type as the origin of a drop
_PROMOTION = 1 << 14

move_from_raw = lru_cache(maxsize=1 << 15)(Move.from_raw)  # more than all possible moves


def target_of(found: re.Match[str], last: int | None) -> int | None:
    """The square that a move goes to.

    Args:
        found: The move.
        last: Target of the move before, for 同.
    """
    return FILES[found["file"]] * 9 + RANKS[found["rank"]] if found["file"] else last


def how_of(found: re.Match[str]) -> str | None:
    """打, 成, or something else for neither."""
    return "成" if found["how"] in ("ナリ", "なり") else found["how"]


def is_drop(found: re.Match[str]) -> bool:
    """True if a move says that it is a drop."""
    return found["how"] == "打" or (found["from_file"] is not None and int(found["from_file"]) == 0)


def origin_of(found: re.Match[str]) -> int | None:
    """The square that a move comes from, if it says so and there is such a square."""
    if found["from_file"] is None or "0" in (str(int(found["from_file"])), str(int(found["from_rank"]))):
        return None
    return (int(found["from_file"]) - 1) * 9 + int(found["from_rank"]) - 1


def read_move(found: re.Match[str], position: Position, last: int | None) -> Move:
    """The move that a text means. It may be illegal if it has an origin or is a drop.

    Args:
        found: The move.
        position: Position before the move.
        last: Target of the move before, for 同.

    Raises:
        MoveError: There is no such move; the message says why.
    """
    target = target_of(found, last)
    if target is None:
        raise MoveError("there is no move before it")
    piece = PIECES[found["piece"]]
    if is_drop(found):
        if piece > PieceType.GOLD:
            raise MoveError("a piece in hand is not promoted, and the king is never in hand")
        return move_from_raw(target | (_DROPPED + piece) << 7)
    if found["from_file"] is None:
        return _only_move(find_moves(position, target, piece, found["marks"], how_of(found)))
    square = f"{int(found['from_file'])}{int(found['from_rank'])}"
    origin = origin_of(found)
    if origin is None:
        raise MoveError(f"there is no square {square}")
    standing = position.piece_on(origin)
    if standing is None:
        raise MoveError(f"there is no piece on {square}")
    if standing.type != piece:
        raise MoveError(f"there is {PIECE_NAMES[standing.type]} on {square}")
    if origin == target:
        raise MoveError("it does not move")
    return move_from_raw(target | origin << 7 | (_PROMOTION if how_of(found) == "成" else 0))


def _only_move(moves: list[Move]) -> Move:
    if not moves:
        raise MoveError("")
    if len(moves) > 1:
        raise MoveError(f"may mean {', '.join(map(str, moves))}", is_illegal=False)
    return moves[0]


def write_move(move: Move, piece: PieceType, last: int | None) -> str:
    """A move as KIF writes it.

    Args:
        move: The move.
        piece: The piece that moves or is dropped.
        last: Target of the move before, for 同.
    """
    square = "同　" if move.to_square == last else SQUARE_NAMES[move.to_square]
    name = f"{square}{PIECE_NAMES[piece]}"
    if move.from_square is None:
        return f"{name}打"
    file, rank = divmod(move.from_square, 9)
    return f"{name}{'成' if move.is_promotion else ''}({file + 1}{rank + 1})"


_USI = re.compile(r"(?:([1-9])([a-i])|([PLNSGBR])\*)([1-9])([a-i])(\+?)")
_CSA = re.compile(r"([+-]?)(?:([1-9])([1-9])|00)([1-9])([1-9])([A-Z]{2})")
_CSA_PIECES: dict[str, PieceType] = dict(
    zip(("FU", "KY", "KE", "GI", "KA", "HI", "KI", "OU", "TO", "NY", "NK", "NG", "UM", "RY"), PieceType, strict=True)
)
_JAPANESE = re.compile(rf"[▲△▼▽☗☖⛊⛉]?{JAPANESE}")
_LETTERS = "?PLNSBRG"


class Foul(NamedTuple):
    """A move that is illegal, or may be."""

    origin: int | None
    """None: a drop."""
    target: int
    piece: PieceType
    """Before it promotes."""
    is_promotion: bool = False

    def usi(self) -> str:
        """The move in USI."""
        if self.origin is None:
            return f"{_LETTERS[self.piece]}*{square_name(self.target)}"
        return square_name(self.origin) + square_name(self.target) + ("+" if self.is_promotion else "")

    def kif(self, last: int | None) -> str:
        """The move as KIF writes it."""
        if self.origin is None:
            return f"{self._name(last)}打"
        return f"{self._name(last)}({self.origin // 9 + 1}{self.origin % 9 + 1})"

    def _name(self, last: int | None) -> str:
        square = "同　" if self.target == last else SQUARE_NAMES[self.target]
        return f"{square}{PIECE_NAMES[self.piece]}{'成' if self.is_promotion else ''}"


def foul_of(text: str, position: Position, last: int | None) -> Foul | None:
    """The move that a text means; None if it is legal, or cannot be told.

    Args:
        text: The move.
        position: Position before it.
        last: Target of the move before, for 同.
    """
    found = _JAPANESE.fullmatch(text)
    foul = _of_japanese(found, position, last) if found else western_move(text, position)
    return foul if foul is not None and _is_illegal(foul, position) else None


def western_move(text: str, position: Position) -> Foul | None:
    """The move of a text in USI or CSA, legal or not; None if the text or the position has none."""
    if found := _USI.fullmatch(text):
        file, rank, dropped, to_file, to_rank, promotion = found.groups()
        origin = square_from_usi(file + rank) if file else None
        piece = PieceType(_LETTERS.index(dropped)) if dropped else _standing(position, origin)
        return None if piece is None else Foul(origin, square_from_usi(to_file + to_rank), piece, promotion == "+")
    found = _CSA.fullmatch(text)
    return _of_csa(found, position) if found else None


def is_japanese(text: str) -> bool:
    """True if a text is a move in Japanese notation."""
    return _JAPANESE.fullmatch(text) is not None


def usi_of(found: re.Match[str], position: Position, last: int | None) -> str:
    """A move of KIF that has an origin or is a drop, in USI; empty if it is none, or only its piece is wrong."""
    if not is_drop(found) and origin_of(found) is None:
        return ""
    foul = _of_japanese(found, position, last)
    return foul.usi() if foul is not None and _is_illegal(foul, position) else ""


def japanese_foul(text: str, position: Position, last: int | None) -> str:
    """The move without the mark of its side, such that a reader of KI2 finds it; empty if there is no such text."""
    if is_japanese(text):
        found = _JAPANESE.fullmatch(text.lstrip("▲△▼▽☗☖⛊⛉"))
        return found[0] if found else ""
    foul = foul_of(text, position, last)
    if foul is None:
        return ""
    name = foul.kif(last).partition("(")[0].replace("　", "")
    return name if foul_of(name, position, last) == foul else ""


def _standing(position: Position, square: int | None) -> PieceType | None:
    piece = position.piece_on(square) if square is not None else None
    return piece.type if piece is not None else None


def _of_csa(found: re.Match[str], position: Position) -> Foul | None:
    _, file, rank, to_file, to_rank, name = found.groups()
    target, piece = (int(to_file) - 1) * 9 + int(to_rank) - 1, _CSA_PIECES.get(name)
    if piece is None or file is None:
        return Foul(None, target, piece) if piece is not None and piece <= PieceType.GOLD else None
    origin = (int(file) - 1) * 9 + int(rank) - 1
    standing = _standing(position, origin)
    if standing is None or piece not in (standing, standing + 8):
        return None
    return Foul(origin, target, standing, piece != standing)


def _of_japanese(found: re.Match[str], position: Position, last: int | None) -> Foul | None:
    target, piece = target_of(found, last), PIECES[found["piece"]]
    if target is None:
        return None
    if is_drop(found):
        return Foul(None, target, piece) if piece <= PieceType.GOLD and piece != PieceType.KING else None
    is_promotion = how_of(found) == "成"
    if found["from_file"] is not None:
        origin = origin_of(found)
        return None if origin is None else Foul(origin, target, piece, is_promotion)
    if find_moves(position, target, piece, found["marks"], how_of(found)):
        return None  # a legal one
    origins = list(position.pieces(position.turn, piece))
    reaching = [square for square in position.attackers(position.turn, target) if square in origins]
    if len(reaching) == 1 or (not reaching and len(origins) == 1 and piece not in position.hand(position.turn)):
        return Foul((reaching or origins)[0], target, piece, is_promotion)
    is_held = piece in position.hand(position.turn) or not origins
    if not reaching and is_held and not is_promotion and piece <= PieceType.GOLD:
        return Foul(None, target, piece)
    return None


def _is_illegal(foul: Foul, position: Position) -> bool:
    return foul.origin == foul.target or not position.is_legal(Move.from_usi(foul.usi()))
