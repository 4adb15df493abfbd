"""How often the 95 % intervals of scores contain the truth, over true strengths, draw rates, openings and lengths."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from fukayomi.arena.ratings.estimate import draw_chances
from fukayomi.arena.statistics.intervals import elo_to_score, estimate_strength

LEAST = 0.93
"""What an interval of 95 % must at least hold. Scores come in steps, so it cannot be 95 % everywhere."""

SPREAD = 50
"""Elo to both sides of a true strength that are averaged over: scores of few games come in steps of 100 Elo."""


@cache
def interval(counts: tuple[int, ...]) -> tuple[float, float]:
    found = estimate_strength(counts)
    return found.score_low, found.score_high


def game(elo: float, draw_rate: float) -> np.ndarray:
    """Probabilities of a loss, a draw and a win."""
    expected = np.array([elo_to_score(elo)])
    draw = draw_chances(expected, draw_rate)[0]
    return np.array([1 - expected[0] - draw / 2, draw, expected[0] - draw / 2])


def pair(elo: float, draw_rate: float, first_move: float, opening: float) -> np.ndarray:
    """Probabilities of the points of a pair: the first move, and an opening that favours either side."""
    leads = (first_move - opening, first_move + opening)
    return sum(np.convolve(game(elo + lead, draw_rate), game(elo - lead, draw_rate)) for lead in leads) / 2


def coverage(chances: Callable[[float], np.ndarray], elo: float, results: int, matches: int) -> float:
    """Share of matches whose interval holds the expected score."""
    rng = np.random.default_rng(1)
    held = played = 0
    for truth in np.linspace(elo - SPREAD, elo + SPREAD, 11):
        probabilities = chances(float(truth))
        expected = float(probabilities @ np.linspace(0, 1, len(probabilities)))
        drawn, times = np.unique(
            rng.multinomial(results, probabilities, matches // 11), axis=0, return_counts=True
        )  # fmt: skip
        for counts, count in zip(drawn.tolist(), times.tolist(), strict=True):
            low, high = interval(tuple(counts))
            held += count * (low - 1e-12 <= expected <= high + 1e-12)
            played += count
    return held / played


@pytest.mark.parametrize("results", [5, 10, 20, 50, 200])
def test_intervals_of_games_hold_the_truth(results: int) -> None:
    for draw_rate in (0.0, 0.2, 0.6):
        for elo in (0, 100, 200, 350):
            found = coverage(lambda truth, rate=draw_rate: game(truth, rate), elo, results, 4400)
            assert found >= LEAST, (draw_rate, elo, found)


@pytest.mark.parametrize("results", [5, 10, 25, 100])
def test_intervals_of_pairs_hold_the_truth(results: int) -> None:
    for settings in ((0.0, 0, 0), (0.0, 60, 200), (0.3, 30, 0)):
        for elo in (0, 100, 200, 350):
            found = coverage(lambda truth, settings=settings: pair(truth, *settings), elo, results, 4400)
            assert found >= LEAST, (settings, elo, found)


@pytest.mark.soak
def test_the_large_table(record_property: Callable[[str, object], None]) -> None:
    for draw_rate in (0.0, 0.1, 0.3, 0.6, 0.9):
        for opening in (None, 0, 100, 300):
            for results in (5, 10, 20, 50, 100, 400):
                for elo in range(0, 351, 50):

                    def chances(
                        truth: float, draw_rate: float = draw_rate, opening: int | None = opening
                    ) -> np.ndarray:
                        return game(truth, draw_rate) if opening is None else pair(truth, draw_rate, 40, opening)

                    found = coverage(chances, elo, results, 11_000)
                    record_property(f"draws {draw_rate:.0%}, openings {opening}, {results} results, {elo} Elo", found)
                    assert found >= LEAST, (draw_rate, opening, results, elo, found)
