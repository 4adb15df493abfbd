"""Win rates, Elo, normalised Elo and LOS: published numbers to the digit, fishtest's, and edge cases."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.arena.statistics.intervals import (
    CountsError,
    count_coin_flips,
    estimate_strength,
    score_to_elo,
    wilson,
    win_rate,
)

COUNTS = st.one_of(*(st.lists(st.integers(0, 10**6), min_size=size, max_size=size) for size in (3, 5)))


def test_the_win_rates_of_the_seed() -> None:
    gikou = win_rate(wins=76, losses=20, draws=4)
    assert f"{gikou.rate:.0%} {gikou.low:.1%}-{gikou.high:.2%}" == "79% 70.0%-86.09%"
    assert str(gikou) == "79.17% (70.00%-86.09%)"
    assert gikou.score == 0.78
    before = win_rate(67, losses=27, draws=6)
    assert f"{before.rate:.0%} {before.low * 100:.1f}~{before.high:.1%}" == "71% 61.4~79.4%"
    apery = win_rate(55, losses=41, draws=4)
    assert f"{apery.rate:.0%} {apery.low:.1%}-{apery.high:.2%}" == "57% 47.3%-66.72%"


def test_wilson_inverts_the_normal_test() -> None:
    for end in wilson(8, 2):
        assert abs(0.8 - end) / math.sqrt(end * (1 - end) / 10) == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (0, 1), (5000, 0), (0, 5000)])
def test_win_rates_at_the_ends(wins: int, losses: int) -> None:
    found = win_rate(wins, losses=losses, draws=3)
    assert 0 <= found.low < found.high <= 1
    assert found.rate == (None if wins + losses == 0 else wins / (wins + losses))
    if found.rate is not None:
        assert found.low <= found.rate <= found.high


def test_strength_is_fishtests(shared_data: Path) -> None:
    """To 1e-6; Elo where every outcome occurred (fishtest counts others as 1/1000), its error and LOS, which are normal
    approximations there, where results are many.
    """
    cases = json.loads((shared_data / "ratings" / "sprt_cases.json").read_text(encoding="utf-8"))["cases"]
    assert len(cases) == 19
    for case in cases:
        counts = case["results"]
        found = estimate_strength(counts)
        assert found.nelo == pytest.approx(case["nelo"], rel=1e-12, abs=1e-6), counts
        if min(counts) > 0:
            assert found.elo == pytest.approx(case["elo"], abs=1e-6), counts
        if max(counts) == sum(counts):
            assert (found.elo_error, found.nelo_error) == (None, None)
            continue
        assert found.nelo_error == pytest.approx(case["nelo95"], abs=1e-6)
        if sum(counts) > 1000:
            assert found.elo_error == pytest.approx(case["elo95"], rel=0.002)
            assert found.los == pytest.approx(case["los"], abs=0.0002)


def test_strength_is_fastchess_s() -> None:
    """The example of fastchess's tests: LL, LD, WL, DD, WD, WW = 34, 54, 31, 32, 64, 75. Its error is 27.65."""
    found = estimate_strength([34, 54, 31 + 32, 64, 75])
    assert f"{found.elo:.2f} {found.elo_error:.2f}" == "55.58 27.63"
    assert f"{found.nelo:.2f} {found.nelo_error:.2f}" == "57.94 28.28"
    assert (found.games, found.pairs) == (580, 290)


def test_nothing_played() -> None:
    found = estimate_strength([0, 0, 0])
    assert (found.games, found.score, found.elo, found.elo_error, found.nelo, found.los) == (
        0, None, None, None, None, 0.5,
    )  # fmt: skip
    assert (found.score_low, found.score_high, found.elo_low, found.elo_high) == (0, 1, None, None)
    assert estimate_strength([0] * 5).pairs == 0


@pytest.mark.parametrize(("wins", "losses"), [(1, 9), (0, 10), (10, 0), (5, 5), (50, 50), (34, 6)])
def test_the_interval_of_decided_games_is_wilson_s(wins: int, losses: int) -> None:
    found, rate = estimate_strength([losses, 0, wins]), win_rate(wins, losses=losses)
    assert (found.score_low, found.score_high) == pytest.approx((rate.low, rate.high), abs=1e-12)
    for elo, score in ((found.elo_low, rate.low), (found.elo_high, rate.high)):
        assert elo == (None if score in (0, 1) else pytest.approx(score_to_elo(score)))


def test_one_win_in_ten_games_by_hand() -> None:
    """In Elo, Wilson's interval is symmetric: 2 arsinh(z / 2 sqrt(n p (1 - p))) to both sides, in logits."""
    found = estimate_strength([9, 0, 1])
    half = 2 * math.asinh(1.959963985 / (2 * math.sqrt(10 * 0.1 * 0.9))) * 400 / math.log(10)
    exact = 400 * math.log10(1 / 9)
    assert (found.elo_low, found.elo_high) == pytest.approx((exact - half, exact + half), abs=1e-6)
    assert f"{found.elo:.0f} {found.elo_error:.0f}" == "-382 314"


@pytest.mark.parametrize(
    ("counts", "flips"),
    [([1, 0, 9], 10), ([0, 0, 10], 10), ([5, 10, 5], 80 / 3), ([0, 10, 0], 15), ([2, 0, 6, 0, 2], 10 * 2 * 30 / 28)],
    ids=["decided", "swept", "half drawn", "drawn", "pairs"],
)
def test_coin_flips_that_scatter_as_much(counts: list[int], flips: float) -> None:
    assert count_coin_flips(counts) == pytest.approx(flips)


@given(COUNTS)
def test_the_interval_is_level_where_superiority_is_97_5_percent(counts: list[int]) -> None:
    found = estimate_strength(counts)
    assert found.score_low <= 0.5 + 1e-9 or found.los > 0.975
    assert found.score_low >= 0.5 - 1e-9 or found.los < 0.975 + 1e-9


@given(COUNTS)
def test_strength_is_finite_and_symmetric(counts: list[int]) -> None:
    found, mirrored = estimate_strength(counts), estimate_strength(counts[::-1])
    if sum(counts) == 0:
        return
    assert found.nelo is not None
    assert math.isfinite(found.nelo)
    if found.elo is None:
        assert mirrored.elo is None
    else:
        assert abs(found.elo) < 1200
        assert mirrored.elo == pytest.approx(-found.elo, abs=1e-6)
    assert (found.elo is None) == (max(counts[0], counts[-1]) == sum(counts))
    assert mirrored.los == pytest.approx(1 - found.los, abs=1e-9)
    assert (found.elo_error is None) == (max(counts[0], counts[-1]) == sum(counts))
    assert 0 <= found.score_low <= found.score <= found.score_high <= 1
    assert (mirrored.score_low, mirrored.score_high) == pytest.approx((1 - found.score_high, 1 - found.score_low))


@pytest.mark.parametrize("counts", [[], [1, 2], [1, 2, 3, 4], [1, -1, 2]], ids=["none", "two", "four", "negative"])
def test_odd_counts_are_quoted(counts: list[int]) -> None:
    with pytest.raises(CountsError, match=r"three counts .* not \[" + ", ".join(map(str, counts))):
        estimate_strength(counts)
