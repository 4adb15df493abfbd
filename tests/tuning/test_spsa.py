"""SPSA against the theory: its steps, the rate at which it finds an optimum, and what luck alone does to it."""

import random
from math import log

import pytest

from fukayomi.tuning import Dimension, Spsa, SpsaSettings

WIDE = 1e6


def pair_of_games(chance: random.Random, elo: float) -> float:
    """Difference of points in a pair of games without draws."""
    rate = 1 / (1 + 10 ** (-elo / 400))
    return sum(1 if chance.random() < rate else -1 for _ in range(2))


def test_a_step_is_that_of_the_formula() -> None:
    """By hand for k = 1 of N = 100: A = 10, c_1 = 20 * 100^0.101, R_1 = 0.002 / 100^0.202 * (110 / 11)^0.602."""
    tuner = Spsa([Dimension(0, 1000, 500, 20, 0.002), Dimension(0, 10, 5, 2, 0.05)], 100, seed=3)
    (proposal,) = tuner.propose(1)
    signs = [1 if one > other else -1 for one, other in zip(proposal.first, proposal.second, strict=True)]
    assert abs(proposal.first[0] - (500 + signs[0] * 20 * 100**0.101)) < 1
    assert abs(proposal.second[0] - (500 - signs[0] * 20 * 100**0.101)) < 1
    tuner.tell([2])
    steps = [20 * 100**0.101 * rate * 100**-0.202 * 10**0.602 for rate in (0.002, 0.05)]
    expected = [500 + signs[0] * 2 * steps[0], 5 + signs[1] * 2 * steps[1] / 10]
    assert tuner.values == pytest.approx(expected)
    assert [(each.low, each.high) for each in tuner.estimates()] == [(0, 1000), (0, 10)]  # nothing is known yet


def test_the_last_pair_is_played_with_c_end_and_r_end() -> None:
    tuner = Spsa([Dimension(0, 1000, 500, 20, 0.01)], 50)
    for _ in range(49):
        tuner.propose(1)
        tuner.tell([0])
    (proposal,) = tuner.propose(1)
    assert {proposal.first[0], proposal.second[0]} == {480, 520}
    tuner.tell([1])
    assert abs(tuner.values[0] - 500) == pytest.approx(0.01 * 20)


def squared_error(pairs: int, alpha: float, gamma: float) -> tuple[float, float]:
    """Mean squared distance from the optimum of a noisy quadratic function, and what it is in theory.

    With gains that fall like a / (A + k)^alpha and c / k^gamma, whatever `pairs` is. In theory the distance tends to a
    normal distribution with variance R * noise^2 / (2 * curvature) (Spall 1992, proposition 2; alpha < 1).
    """
    lines, runs, c, share = 16, 8, 200.0, 0.1
    curvature = 1 / c**2
    c_end = c * pairs**-gamma
    r_end = c**2 * (pairs * (1 + share)) ** -alpha / c_end**2
    settings = SpsaSettings(alpha=alpha, gamma=gamma, a_ratio=share)
    found = 0.0
    for seed in range(runs):
        noise = random.Random(seed)
        tuner = Spsa([Dimension(0, WIDE, WIDE / 2, c_end, r_end)] * lines, pairs, settings, seed=seed)
        for _ in range(pairs):
            (proposal,) = tuner.propose(1)
            first, second = (
                -curvature / 4 * sum((x - WIDE / 2) ** 2 for x in each) for each in (proposal.first, proposal.second)
            )
            tuner.tell([first - second + noise.gauss(0, 1)])
        found += sum((x - WIDE / 2) ** 2 for x in tuner.values) / lines / runs
    return found, r_end / (2 * curvature)


@pytest.mark.parametrize(("alpha", "gamma"), [(0.602, 0.101), (0.8, 0.1)])
def test_the_optimum_of_a_noisy_function_is_found_at_the_known_rate(alpha: float, gamma: float) -> None:
    few, few_in_theory = squared_error(300, alpha, gamma)
    many, many_in_theory = squared_error(1200, alpha, gamma)
    assert 0.75 < few / few_in_theory < 1.35
    assert 0.75 < many / many_in_theory < 1.35
    assert log(many / few) / log(4) == pytest.approx(-(alpha - 2 * gamma), abs=0.15)


@pytest.mark.parametrize("adam", [False, True])
def test_games_find_the_best_values_of_unlike_parameters(adam: bool) -> None:
    """Six parameters of different scales, each 16 Elo from its best: after 2 000 pairs less than a quarter is lost."""
    scales = (10.0, 100.0, 1000.0) * 2
    pairs = 2000
    lines = [Dimension(0, 10 * scale, 3 * scale, scale / 2, 60 / pairs) for scale in scales]

    def lost(point: "tuple[float, ...]") -> float:
        return sum(100 * ((x / scale - 5) / 5) ** 2 for x, scale in zip(point, scales, strict=True))

    tuner, chance = Spsa(lines, pairs, seed=1, adam=adam), random.Random(1)
    assert lost(tuner.values) == pytest.approx(96)
    for _ in range(pairs // 8):
        proposals = tuner.propose(8)
        tuner.tell([pair_of_games(chance, lost(each.second) - lost(each.first)) for each in proposals])
    assert lost(tuner.values) < 24
    assert all(
        estimate.low <= 5 * scale <= estimate.high for estimate, scale in zip(tuner.estimates(), scales, strict=True)
    )


@pytest.mark.parametrize("adam", [False, True])
def test_the_interval_of_a_parameter_that_matters_leaves_the_start(adam: bool) -> None:
    lines = [Dimension(0, 1000, 100, 50, 0.05), Dimension(0, 1000, 500, 50, 0.05)]
    tuner, chance = Spsa(lines, 1200, seed=4, adam=adam), random.Random(4)
    for _ in range(150):
        proposals = tuner.propose(8)
        elos = (400 * ((each.second[0] - 600) ** 2 - (each.first[0] - 600) ** 2) / 500**2 for each in proposals)
        tuner.tell([pair_of_games(chance, elo) for elo in elos])
    first, second = tuner.estimates()
    assert 300 < first.low < 600 < first.high < 1000
    assert abs(first.value - 600) < 100
    assert second.low <= 500 <= second.high


@pytest.mark.parametrize("adam", [False, True])
def test_noise_alone_keeps_the_starts_within_the_intervals(adam: bool) -> None:
    """In 95 % of the runs all of them: 181 or more of 200 with probability 0.999. The values do walk."""
    kept, walked = 0, 0.0
    for seed in range(200):
        lines = [Dimension(0, 1000, 500, 50, 0.2) for _ in range(3)]
        tuner, chance = Spsa(lines, 96, seed=seed, adam=adam), random.Random(seed)
        for _ in range(12):
            tuner.propose(8)
            tuner.tell([pair_of_games(chance, 0) for _ in range(8)])
        kept += all(estimate.low <= 500 <= estimate.high for estimate in tuner.estimates())
        walked += abs(tuner.values[0] - 500) / 200
    assert kept >= 181
    assert walked > 50


def test_results_that_do_not_count_move_nothing() -> None:
    line = Dimension(0, 100, 50, 5, 0.1)
    one, other = (Spsa([line], 10, seed=2) for _ in range(2))
    one.propose(2)
    one.tell([None, None])
    assert one.values == (50,)
    other.propose(2)
    other.tell([0, 0])
    assert one.propose(1) == other.propose(1)


def test_values_stay_in_their_ranges() -> None:
    tuner = Spsa([Dimension(0, 3, 1, 1, 1)], 40, seed=5)
    for _ in range(40):
        (proposal,) = tuner.propose(1)
        assert 0 <= min(proposal.first[0], proposal.second[0]) <= max(proposal.first[0], proposal.second[0]) <= 3
        tuner.tell([2.0 if proposal.first > proposal.second else -2.0])
    assert tuner.values == (3,)


def test_proposals_depend_on_seed_and_results_alone() -> None:
    lines = [Dimension(0, 100, 40, 5, 0.05), Dimension(0, 9, 4, 1, 0.05)]
    one, same, other = (Spsa(lines, 20, seed=seed, adam=True) for seed in (1, 1, 2))
    for results in ([2, 0, -1.5], [1, 1, -2]):
        assert one.propose(3) == same.propose(3) != other.propose(3)
        for each in (one, same, other):
            each.tell(results)
    assert one.estimates() == same.estimates()


def test_whole_numbers_are_right_in_the_mean() -> None:
    """2.3 + 0.5 is played as 2 or 3, so that the mean is 2.8."""
    tuner = Spsa([Dimension(0, 10, 2.3, 0.5, 1e-9)] * 400, 1, SpsaSettings(alpha=0, gamma=0))
    (proposal,) = tuner.propose(1)
    upper = [max(one, two) for one, two in zip(proposal.first, proposal.second, strict=True)]
    assert sum(upper) / 400 == pytest.approx(2.8, abs=0.08)
    assert set(upper) <= {2, 3}
