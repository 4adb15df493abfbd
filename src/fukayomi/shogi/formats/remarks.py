"""Scores in the comments of KIF, KI2 and JKF records.

ShogiHome writes ``評価値=315`` (with a leading ``#`` if it is of an analysis), ``詰み=先手勝ち:5手`` and ``読み筋=...``
on lines of their own; ShogiGUI writes ``対局 時間 ... 評価値 -68 読み筋 ...`` or ``解析 ...`` on one line. All are
from Black's side.
"""

import re

from fukayomi._native import MATE_CP
from fukayomi.shogi.record import RecordedMove

_SCORES = (
    re.compile(r"^\*?評価値=([+-]?\d{1,9})\b", re.MULTILINE),
    re.compile(r"^\*?対局 .*?評価値 ([+-]?\d{1,9})\b", re.MULTILINE),
    re.compile(r"^\*?#評価値=([+-]?\d{1,9})\b", re.MULTILINE),
    re.compile(r"^\*?解析 .*?評価値 ([+-]?\d{1,9})\b", re.MULTILINE),
)
_MATE = re.compile(r"^\*?#?詰み=(先手|後手)勝ち(?::(\d{1,4})手)?", re.MULTILINE)
_PV = re.compile(r"^\*?(?:#?読み筋=|(?:対局|解析) .*?読み筋 )(.+)$", re.MULTILINE)


def read_remarks(comment: str, played: RecordedMove) -> None:
    """Set score, mate and PV of a move from its comment. A score of play is preferred to one of an analysis."""
    scores = (pattern.search(comment) for pattern in _SCORES)
    if found := next(filter(None, scores), None):
        played.score_cp = int(found[1])
    if found := _MATE.search(comment):
        sign = 1 if found[1] == "先手" else -1
        played.mate = sign * int(found[2]) if found[2] else None
        if played.score_cp is None:
            played.score_cp = sign * MATE_CP
    if found := _PV.search(comment):
        played.pv = found[1].strip()
