"""Scores in the comments of KIF, KI2 and JKF records.

ShogiHome writes ``評価値=315`` (with a leading ``#`` if it is of an analysis), ``詰み=先手勝ち:5手`` and ``読み筋=...``
on lines of their own; ShogiGUI writes ``対局 時間 ... 評価値 -68 読み筋 ...`` or ``解析 ...`` on one line, a mate as
``評価値 +詰 5``. Kishin Analytics writes ``* ... 評価値 120 読み筋 ...``, K-Shogi ``#指し手[72]``, and ShogiHome in
floodgate's form ``* 30 -3334FU``. All are from Black's side.
"""

import re

from fukayomi._native import MATE_CP
from fukayomi.shogi.record import RecordedMove

_VALUE = r"(?P<sign>[+-]?)(?:(?P<cp>[0-9]{1,9})|詰[ 　]*(?P<mate>[0-9]{1,4})?)"
_SCORES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        rf"^\*?評価値={_VALUE}",
        rf"^\*?対局 .*?評価値 {_VALUE}",
        r"^\* (?P<sign>[+-]?)(?P<cp>[0-9]{1,9})(?P<mate>)(?= [+-][0-9]{4}[A-Z]{2}|[ \r]*$)",
        rf"^\*?#評価値={_VALUE}",
        rf"^\*?解析 .*?評価値 {_VALUE}",
        rf"^\*? .*? 評価値 {_VALUE}",
        r"^#(?:形勢|指し手)\[(?P<sign>[+-]?)(?P<cp>[0-9]{1,9})(?P<mate>)\]",
    )
)
"""In the order of preference: scores of play first, then those of analyses."""
_HAS_SCORE = re.compile(r"評価値|詰み=|読み筋|^\* [+-]?[0-9]|^#(?:形勢|指し手)\[", re.MULTILINE)
_MATE = re.compile(r"^\*?#?詰み=(先手|後手)勝ち(?::(\d{1,4})手)?", re.MULTILINE)
_PV = re.compile(r"^\*?(?:#?読み筋=|(?:対局|解析)? .*?読み筋 )(.+)$", re.MULTILINE)


def read_remarks(comment: str, played: RecordedMove) -> None:
    """Set score, mate and PV of a move from its comment. A score of play is preferred to one of an analysis."""
    if _HAS_SCORE.search(comment) is None:
        return
    scores = (pattern.search(comment) for pattern in _SCORES)
    if found := next(filter(None, scores), None):
        _set_score(played, found)
    if found := _MATE.search(comment):
        sign = 1 if found[1] == "先手" else -1
        played.mate = sign * int(found[2]) if found[2] else None
        if played.score_cp is None:
            played.score_cp = sign * MATE_CP
    if found := _PV.search(comment):
        played.pv = found[1].strip()


def _set_score(played: RecordedMove, found: re.Match[str]) -> None:
    sign = -1 if found["sign"] == "-" else 1
    if found["cp"]:
        played.score_cp = sign * int(found["cp"])
    else:
        played.score_cp = sign * MATE_CP
        played.mate = sign * int(found["mate"]) if found["mate"] else None
