"""Why a move is not legal, in a word: for those who tried it."""

from enum import StrEnum

from fukayomi.shogi import BLACK, Color, Move, PieceType, Position

_LAST_RANKS = {PieceType.PAWN: 1, PieceType.LANCE: 1, PieceType.KNIGHT: 2}
"""Ranks at the far end on which an unpromoted piece could never move again."""


class Fault(StrEnum):
    """What is wrong with a move."""

    NO_PIECE = "no_piece"
    """There is no piece, on the square or in hand."""
    NOT_YOURS = "not_yours"
    """The piece is the opponent's."""
    OWN_PIECE = "own_piece"
    """A piece of one's own stands on the goal."""
    OCCUPIED = "occupied"
    """A piece stands where one is dropped."""
    WAY = "way"
    """The piece does not move like that, or another stands in its way."""
    DEAD_END = "dead_end"
    """The piece could never move again."""
    TWO_PAWNS = "two_pawns"
    """Nifu: two unpromoted pawns on a file."""
    PAWN_MATE = "pawn_mate"
    """Uchifuzume: a pawn that is dropped mates."""
    IN_CHECK = "in_check"
    """The king is in check, and stays in it."""
    EXPOSED = "exposed"
    """The king could be taken after the move."""


def fault_of(position: Position, move: Move) -> Fault | None:
    """The first fault of a move; None for a legal one.

        >>> fault_of(Position(), Move.from_usi("7g7e"))
        <Fault.WAY: 'way'>

    Args:
        position: The position in which the move is tried; it may lack kings.
        move: The move, legal or not.
    """
    if position.is_legal(move):
        return None
    return _fault_of_drop(position, move) if move.dropped is not None else _fault_of_step(position, move)


def _fault_of_drop(position: Position, move: Move) -> Fault:
    kind, goal, turn = move.dropped, move.to_square, position.turn
    assert kind is not None
    pieces = position.pieces()
    if not position.hand(turn).get(kind):
        return Fault.NO_PIECE
    if goal in pieces:
        return Fault.OCCUPIED
    if _rank(goal, turn) <= _LAST_RANKS.get(kind, 0):
        return Fault.DEAD_END
    if kind == PieceType.PAWN:
        file = goal // 9
        if any(at // 9 == file and each.color == turn and each.type == kind for at, each in pieces.items()):
            return Fault.TWO_PAWNS
        if not position.is_check():
            return Fault.PAWN_MATE
    # A pawn that takes the check away and mates is rare enough to be told as the check.
    return Fault.IN_CHECK


def _fault_of_step(position: Position, move: Move) -> Fault:
    turn = position.turn
    pieces = position.pieces()
    origin, target = move.from_square, pieces.get(move.to_square)
    piece = None if origin is None else pieces.get(origin)
    if origin is None or piece is None:
        return Fault.NO_PIECE
    if piece.color != turn:
        return Fault.NOT_YOURS
    if target is not None and target.color == turn:
        return Fault.OWN_PIECE
    if not _reaches(position, move, origin):
        return Fault.WAY
    if not move.is_promotion and _rank(move.to_square, turn) <= _LAST_RANKS.get(piece.type, 0):
        return Fault.DEAD_END
    return Fault.IN_CHECK if position.is_check() and piece.type != PieceType.KING else Fault.EXPOSED


def _reaches(position: Position, move: Move, origin: int) -> bool:
    """Whether the piece moves like that: without kings nothing is in check, and a king moves by a step."""
    pieces = position.pieces()
    if pieces[origin].type == PieceType.KING:
        files, ranks = abs(origin // 9 - move.to_square // 9), abs(origin % 9 - move.to_square % 9)
        return max(files, ranks) == 1
    own = next((at for at, each in pieces.items() if each.type == PieceType.KING and each.color == position.turn), None)
    if own is None:
        return False
    free = Position.from_sfen(_without(position.sfen(), own), allow_missing_king=True)
    usi = move.usi()[:4]
    return any(each.usi()[:4] == usi for each in free.legal_moves)


def _without(sfen: str, square: int) -> str:
    """A position in SFEN without the piece on a square."""
    board, rest = sfen.split(" ", 1)
    rows = board.split("/")
    cells: list[str] = []
    for char in rows[square % 9]:
        if char.isdigit():
            cells += [""] * int(char)
        elif cells and cells[-1] == "+":
            cells[-1] += char
        else:
            cells.append(char)
    cells[8 - square // 9] = ""
    rows[square % 9] = "".join(each or "1" for each in cells)
    return f"{'/'.join(rows)} {rest}"


def _rank(square: int, turn: Color) -> int:
    """Rank from the far end, from 1."""
    return square % 9 + 1 if turn == BLACK else 9 - square % 9
