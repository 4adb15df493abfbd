"""The verdict of the gate: a sequential test of pairs, whatever the order in which games end."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi.arena.results.game import Game
from fukayomi.arena.statistics.sprt import SprtDecision
from fukayomi.loop.matches import Verdict, judge, pair_points, passes
from fukayomi.loop.settings import GateSettings
from fukayomi.shogi.record import Result

pairs = st.lists(st.integers(0, 4), max_size=60)


@settings(max_examples=40)
@given(pairs, pairs)
def test_the_first_crossing_decides(points: list[int], more: list[int]) -> None:
    gate = GateSettings(elo1=100)
    verdict = judge(points, gate)

    if verdict.decision is SprtDecision.CONTINUE:
        assert sum(verdict.pairs) == len(points)
    else:
        assert judge(points + more, gate) == verdict
        assert judge(points[: sum(verdict.pairs) - 1], gate).decision is SprtDecision.CONTINUE


@settings(max_examples=40)
@given(pairs)
def test_the_verdict_is_that_of_the_sequential_test(points: list[int]) -> None:
    gate = GateSettings(elo0=-5, elo1=50, alpha=0.1, beta=0.02)
    verdict = judge(points, gate)

    assert verdict.llr == gate.sprt.evaluate(verdict.pairs).llr


@given(pairs)
def test_points_of_the_new_network_and_of_the_old_one_mirror_each_other(points: list[int]) -> None:
    games = [game for pair, each in enumerate(points, 1) for game in _pair(pair, each)]

    assert pair_points(games, "new") == points
    assert pair_points(games, "old") == [4 - each for each in points]


def test_a_pair_counts_when_both_games_are_there() -> None:
    games = [*_pair(1, 3), _pair(2, 4)[0]]

    assert pair_points(games, "new") == [3]


def test_an_undecided_network_passes_as_the_settings_say() -> None:
    def verdict(*counts: int) -> Verdict:
        return Verdict(counts, 0.0, SprtDecision.CONTINUE)

    better, worse, even = verdict(0, 0, 1, 1, 0), verdict(0, 1, 1, 0, 0), verdict(0, 1, 0, 1, 0)
    for undecided, expected in (("score", (True, False, True)), ("accept", (True,) * 3), ("reject", (False,) * 3)):
        gate = GateSettings(undecided=undecided)
        assert tuple(passes(each, gate) for each in (better, worse, even)) == expected


def test_a_decision_counts_more_than_the_score() -> None:
    gate = GateSettings(undecided="accept")

    assert not passes(Verdict((0, 0, 0, 0, 9), -3.0, SprtDecision.H0), gate)
    assert passes(Verdict((9, 0, 0, 0, 0), 3.0, SprtDecision.H1), gate)


def _pair(number: int, points: int) -> list[Game]:
    """Two games in which "new" scores so many half points."""
    first = min(2, points)
    results = {0: Result.WHITE_WIN, 1: Result.DRAW, 2: Result.BLACK_WIN}
    mirrored = {0: Result.BLACK_WIN, 1: Result.DRAW, 2: Result.WHITE_WIN}
    return [
        Game("new", "old", results[first], pair=number),
        Game("old", "new", mirrored[points - first], pair=number),
    ]
