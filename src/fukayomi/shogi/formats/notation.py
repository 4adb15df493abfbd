"""Moves as Japanese records print them: ``☗７六歩``, ``☖同銀右不成``, ``☗５五角打``.

The names follow the Japan Shogi Association's rules (棋譜の表記方法): the marks 右 左 直 上 引 寄 and 打 appear only
where two pieces of a kind could make the move, 不成 wherever a promotion was declined, 同 where the move before went to
the same square.
"""

from collections.abc import Sequence

from rsshogi.core import Board, Move

from fukayomi.shogi import IllegalMoveError, InvalidSfenError

WORDS = {"win": "宣言勝ち", "resign": "投了"}  # what an engine may answer instead of a move
_MARKS = str.maketrans({"▲": "☗", "△": "☖", "　": None})


def japanese_moves(sfen: str, moves: Sequence[str]) -> list[str]:
    """Names of successive USI moves from a position.

    ``win`` and ``resign``, which end a line, become 宣言勝ち and 投了. The first move has no predecessor, so that it is
    never called 同: begin one move earlier and drop the first name where that matters.

    >>> japanese_moves("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", ["7g7f", "3c3d", "8h2b+"])
    ['☗７六歩', '☖３四歩', '☗２二角成']

    Raises:
        InvalidSfenError, IllegalMoveError: the text, and what is wrong with it.
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


def _name(board: Board, usi: str) -> str:
    try:
        move = Move.from_usi(usi)
        name = move.to_ki2(board) if board.is_legal_move(move) else None
    except ValueError:
        name = None
    if name is None:
        raise IllegalMoveError(f"illegal move {usi!r} in {board.to_sfen()!r}")
    return name.translate(_MARKS)
