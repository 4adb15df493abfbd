"""Moves in Japanese notation: ``☗７六歩``, ``☖同銀右不成``, ``☗５五角打``.

The notation follows the rules of the Japan Shogi Association (棋譜の表記方法): 右 左 直 上 引 寄 and 打 appear only if
two pieces of a kind could make the move, 不成 if a promotion was declined, 同 if the previous move went to the same
square.
"""

from collections.abc import Sequence

from rsshogi.core import Board, Move

from fukayomi.shogi.position import IllegalMoveError, InvalidSfenError, Position
from fukayomi.shogi.position import Move as OurMove

WORDS = {"win": "宣言勝ち", "resign": "投了"}
"""What a USI engine may answer instead of a move."""
_MARKS = str.maketrans({"▲": "☗", "△": "☖", "　": None})


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
    try:
        board = Board(sfen)
    except ValueError as error:
        raise InvalidSfenError(f"not an SFEN: {sfen!r}: {error}") from error
    names: list[str] = []
    for usi in moves:
        if usi in WORDS:
            names.append(("☗" if board.to_sfen().split()[1] == "b" else "☖") + WORDS[usi])
            break
        names.append(_name(board, usi))
        board.apply_usi(usi)
    return names


def japanese_move(position: Position, move: OurMove) -> str:
    """Write a legal move of a position in Japanese notation, with 同 after a move to the same square.

    Raises:
        IllegalMoveError: The move is not legal.
    """
    if not position.moves:
        return japanese_moves(position.sfen(), [move.usi()])[0]
    before = position.copy()
    last = before.pop()
    return japanese_moves(before.sfen(), [last.usi(), move.usi()])[1]


def _name(board: Board, usi: str) -> str:
    try:
        move = Move.from_usi(usi)
        name = move.to_ki2(board) if board.is_legal_move(move) else None
    except ValueError:
        name = None
    if name is None:
        raise IllegalMoveError(f"illegal move {usi!r} in {board.to_sfen()!r}")
    return name.translate(_MARKS)
