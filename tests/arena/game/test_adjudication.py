"""Adjudication by scores, exact to the move."""

import pytest

from fukayomi.arena.game.referee import Adjudicator
from fukayomi.arena.game.rules import DrawAdjudication, Resignation, Rules
from fukayomi.shogi import BLACK, WHITE
from fukayomi.shogi.record import Result


def first_verdict(rules: Rules, scores: list[int | None], plies_before: int = 0) -> tuple[int, Result] | None:
    """After how many of these moves, Black's first, the game ends, and how."""
    adjudicator = Adjudicator(rules)
    turn = BLACK
    for number, score_cp in enumerate(scores, 1):
        adjudicator.add(turn, score_cp)
        turn = turn.opponent
        verdict = adjudicator.verdict(turn, plies_before + number)
        if verdict is not None:
            return number, verdict
    return None


BOTH = Rules(resign=Resignation(score_cp=1000, moves=3))
ONE = Rules(resign=Resignation(score_cp=1000, moves=3, both_sides=False))
LEVEL = Rules(draw=DrawAdjudication(score_cp=20, moves=2, ply=10))


@pytest.mark.parametrize(
    ("rules", "scores", "end"),
    [
        # White's third bad move is the eighth; it is White's turn again after the ninth.
        (BOTH, [0, 0, *[1000, -1000] * 4], (9, Result.BLACK_WIN)),
        (BOTH, [0, 0, *[-1000, 1000] * 4], (8, Result.WHITE_WIN)),
        (BOTH, [0, 0, *[-1000, 1000] * 2, -1000], None),
        (BOTH, [0, 0, *[999, -1000] * 5], None),
        (BOTH, [0, 0, *[1000, -999] * 5], None),
        (ONE, [0, 0, *[999, -1000] * 5], (9, Result.BLACK_WIN)),
        (ONE, [0, 0, *[-1000, 999] * 5], (8, Result.WHITE_WIN)),
        # a game that its start gave away is played on by the side that is lost, not by the other one
        (BOTH, [1000, -1000] * 50, None),
        (ONE, [None, None, *[-1000, 1000] * 50], None),
        (BOTH, [1000, -1000, *[-1000, 1000] * 4], (8, Result.WHITE_WIN)),
        # both sides think they win, or lose
        (BOTH, [0, 0, *[1000, 1000] * 5], None),
        (BOTH, [0, 0, *[-1000, -1000] * 5], None),
        # a row is broken by a better score, and by none
        (BOTH, [0, 0, -1000, 1000, -1000, 1000, -999, 1000, -1000, 1000, -1000, 1000], None),
        (BOTH, [0, 0, -1000, 1000, -1000, 1000, None, 1000, -1000, 1000, -1000, 1000], None),
        (BOTH, [0, 0, -1000, 1000, -1000, 1000, -1000, 1000], (8, Result.WHITE_WIN)),
        (Rules(), [-30000, 30000] * 50, None),
    ],
)
def test_resignation(rules: Rules, scores: list[int | None], end: tuple[int, Result] | None) -> None:
    assert first_verdict(rules, scores) == end


@pytest.mark.parametrize(
    ("scores", "before", "end"),
    [
        ([20, -20] * 10, 0, (10, Result.DRAW)),
        ([20, -20] * 10, 5, (5, Result.DRAW)),
        ([20, -20] * 10, 6, (4, Result.DRAW)),
        ([20, -20] * 10, 100, (4, Result.DRAW)),
        ([21, -20] * 10, 100, None),
        ([20, 21] * 10, 100, None),
        ([20, -20, None, -20, 20, 0, 0, 0], 100, (7, Result.DRAW)),
        ([20] * 9, 0, None),
    ],
)
def test_draws(scores: list[int | None], before: int, end: tuple[int, Result] | None) -> None:
    assert first_verdict(LEVEL, scores, before) == end


def test_one_side_cannot_agree_for_both() -> None:
    adjudicator = Adjudicator(LEVEL)
    for _ in range(10):
        adjudicator.add(BLACK, 0)
    assert adjudicator.verdict(BLACK, 100) is None
    adjudicator.add(WHITE, 0)
    assert adjudicator.verdict(BLACK, 100) is None
    adjudicator.add(WHITE, 0)
    assert adjudicator.verdict(BLACK, 100) is Result.DRAW
