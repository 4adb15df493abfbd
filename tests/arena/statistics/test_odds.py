"""The odds at which two players are equal: coverage and bias for a known truth, edge cases, and symmetries."""

from math import exp, log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.arena.statistics.intervals import CountsError
from fukayomi.arena.statistics.odds import Level, Odds, OddsError, estimate_odds, next_amount

LEAST, MOST = 1_000.0, 1_000_000.0
PAIRS = (0, 0, 0, 0, 0)


def simulate(
    seed: int, truth: float, games: int, elo: float = 80, draws: float = 0.0, bias: float = 0.0, bend: float = 0.0,
    precision: float | None = None,
) -> tuple[Odds, int]:  # fmt: skip
    """A calibration, and how many games it took.

    Args:
        elo: What a doubling is worth.
        draws: Share of the smaller of win and loss, on both sides, that is drawn.
        bias: Standard deviation of an opening's advantage for one side, in logits.
        bend: Share by which each doubling beyond the truth is worth less than the one before.
    """
    chance = np.random.default_rng(seed)
    levels: list[Level] = []
    played = 0
    while played < games // 2:
        odds = estimate_odds(levels, LEAST, MOST)
        if odds.is_outside or (precision and odds.width and odds.width < precision):
            break
        amount = next_amount(odds, LEAST, MOST, len(levels))
        pairs = min(max(4, played // 3), games // 2 - played)
        doublings = log2(amount / truth)
        gain = elo * ((1 - exp(-bend * doublings)) / bend if bend else doublings)
        counts = [0] * 5
        for opening in chance.normal(0, bias, pairs):
            points = 0
            for side in (1, -1):
                score = 1 / (1 + exp(-gain * log(10) / 400 - side * opening))
                drawn = 2 * draws * min(score, 1 - score)
                dice = chance.random()
                points += 1 if dice < drawn else 2 * (dice < score + drawn / 2)
            counts[points] += 1
        levels.append(Level(amount, (counts[0], counts[1], counts[2], counts[3], counts[4])))
        played += pairs
    return estimate_odds(levels, LEAST, MOST), 2 * played


def assert_trustworthy(runs: int, truth: float, games: int, most_bias: float = 0.25, **model: float) -> None:
    """The 95 % interval covers the truth neither too seldom nor too often, and the estimate is hardly biased."""
    covered, errors = 0, []
    for seed in range(runs):
        odds, _ = simulate(seed, truth, games, **model)
        covered += (odds.low or 0) <= truth <= (odds.high or np.inf)
        if odds.estimate is not None:
            errors.append(log(odds.estimate / truth))
    slack = 2.5 * (0.95 * 0.05 / runs) ** 0.5 if runs < 300 else 0.0  # of the simulation itself
    assert 0.90 - slack <= covered / runs <= 0.99 + slack
    assert len(errors) > 0.95 * runs
    mean, error = np.mean(errors), np.std(errors) / len(errors) ** 0.5
    assert abs(mean) < 3 * error + most_bias * np.std(errors), "a bias is small beside the scatter"


def test_intervals_cover_the_truth() -> None:
    assert_trustworthy(100, truth=30_000, games=80)


def test_intervals_cover_the_truth_with_draws_and_openings_that_favour_a_side() -> None:
    assert_trustworthy(60, truth=30_000, games=80, draws=0.4, bias=1.0)


@pytest.mark.soak
@pytest.mark.parametrize(
    "model",
    [
        {"truth": 30_000, "games": 200},
        {"truth": 30_000, "games": 40},
        {"truth": 30_000, "games": 200, "elo": 200},
        {"truth": 30_000, "games": 200, "elo": 30},
        {"truth": 30_000, "games": 200, "draws": 0.5},
        {"truth": 30_000, "games": 1000, "draws": 0.3, "bias": 1.0},
        {"truth": 30_000, "games": 200, "elo": 100, "bend": 0.15, "most_bias": 0.6},  # no straight line is that curve
        {"truth": 1_500, "games": 200},
        {"truth": 1_000_000, "games": 200},
        {"truth": 30_000, "games": 3000, "precision": 1.3},
    ],
    ids=["plain", "few", "steep", "flat", "draws", "openings", "bend", "near-an-end", "at-an-end", "precision"],
)
def test_intervals_cover_the_truth_often(model: dict[str, float]) -> None:
    assert_trustworthy(400, **model)  # pyright: ignore[reportArgumentType]


def test_more_games_narrow_the_interval_and_precision_saves_games() -> None:
    few, many = (simulate(1, 30_000, games)[0].width for games in (100, 1600))
    assert few is not None
    assert many is not None
    assert log(many) < 0.5 * log(few)
    odds, games = simulate(1, 30_000, 20_000, precision=1.5)
    assert odds.width is not None
    assert odds.width < 1.5
    assert games < 1000


@pytest.mark.parametrize("factor", [1 / 200, 200], ids=["below", "above"])
def test_a_truth_outside_the_range_is_not_pretended_to_lie_in_it(factor: float) -> None:
    truth = (LEAST if factor < 1 else MOST) * factor
    for seed in range(20):
        odds, games = simulate(seed, truth, 400)
        assert odds.is_outside
        assert games < 400, "it is certain before all games are played"
        if odds.estimate is not None:
            assert not LEAST <= odds.estimate <= MOST
        end = odds.low if factor > 1 else odds.high
        assert end is not None, "it is bounded on the side of the range"
        assert end > MOST if factor > 1 else end < LEAST


def test_without_games_nothing_is_claimed() -> None:
    for levels in ([], [Level(5000, PAIRS)]):
        odds = estimate_odds(levels, LEAST, MOST)
        assert (odds.estimate, odds.low, odds.high, odds.width, odds.score(5000)) == (None,) * 5
        assert not odds.is_outside
        assert odds.elo == pytest.approx(80, rel=0.02)
        assert odds.middle == pytest.approx((LEAST * MOST) ** 0.5)
        assert next_amount(odds, LEAST, MOST, 0) == odds.middle


def test_games_that_are_all_won_bound_one_side_alone() -> None:
    won = estimate_odds([Level(30_000, (0, 0, 0, 0, 40))], LEAST, MOST)
    assert won.low is None
    assert won.high is not None
    assert won.high < 30_000
    lost = estimate_odds([Level(30_000, (40, 0, 0, 0, 0))], LEAST, MOST)
    assert lost.high is None
    assert lost.low is not None
    assert lost.low > 30_000
    both = estimate_odds([Level(10_000, (40, 0, 0, 0, 0)), Level(20_000, (0, 0, 0, 0, 40))], LEAST, MOST)
    assert both.estimate == pytest.approx(200**0.5 * 1000, rel=0.01)
    assert both.elo > 200


def test_draws_alone_are_equality() -> None:
    odds = estimate_odds([Level(5_000, (0, 0, 60, 0, 0))], LEAST, MOST)
    assert odds.estimate == pytest.approx(5_000, rel=0.01)
    assert odds.scatter < 0.3
    assert odds.score(5_000) == pytest.approx(0.5, abs=0.01)


COUNTS = st.tuples(*[st.integers(0, 30)] * 5)
LEVELS = st.lists(st.builds(Level, st.floats(900, 2e6), COUNTS), min_size=1, max_size=6)


@given(LEVELS)
def test_an_estimate_lies_in_its_interval(levels: list[Level]) -> None:
    odds = estimate_odds(levels, LEAST, MOST)
    assert LEAST <= odds.middle <= MOST
    assert LEAST <= next_amount(odds, LEAST, MOST, 3) <= MOST
    assert odds.elo_low < odds.elo < odds.elo_high
    assert odds.scatter > 0
    if odds.estimate is not None:
        assert odds.low is not None or odds.high is not None
        assert (odds.low or 0) < odds.estimate < (odds.high or np.inf)
        assert odds.score(odds.estimate) == pytest.approx(0.5)


@given(LEVELS, st.floats(1e-2, 1e4))
def test_the_unit_does_not_matter(levels: list[Level], factor: float) -> None:
    odds = estimate_odds(levels, LEAST, MOST)
    scaled = estimate_odds(
        [Level(level.amount * factor, level.pairs) for level in reversed(levels)], LEAST * factor, MOST * factor
    )
    assert scaled.elo == pytest.approx(odds.elo, rel=1e-6)
    assert scaled.middle == pytest.approx(odds.middle * factor, rel=1e-3)
    if odds.estimate is not None and scaled.estimate is not None:
        assert scaled.estimate == pytest.approx(odds.estimate * factor, rel=1e-2)


def test_what_is_no_range_is_said() -> None:
    for least, most in ((0, 5), (5, 5), (6, 5), (1, float("inf"))):
        with pytest.raises(OddsError, match="a range goes"):
            estimate_odds([], least, most)
    with pytest.raises(OddsError, match="above 0"):
        Level(0, PAIRS)
    with pytest.raises(CountsError, match="0 or more"):
        Level(5, (0, 0, -1, 0, 0))
