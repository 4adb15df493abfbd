"""Whether a choice is settled, by what the root of a search looked like: no clock and no search is needed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi._native import SearchLine
from fukayomi.engine.root_history import (
    FALL,
    KLD_INTERVAL,
    LEAST_FACTOR,
    MOST_FACTOR,
    Look,
    RootHistory,
    instability,
    kld_gain,
)
from fukayomi.shogi import Position

MOVES = Position().legal_moves


def line(move: int, visits: int, winrate: float = 0.5, mate: int | None = None) -> SearchLine:
    return SearchLine([MOVES[move]], visits, 0.1, winrate, mate)


def look(*lines: SearchLine) -> Look:
    return Look(1 + sum(one.visits for one in lines), lines)


def shares(**visits: int) -> Look:
    """A look whose moves are named by their numbers: ``shares(_0=60, _1=40)``."""
    return look(*(line(int(name[1:]), count) for name, count in visits.items()))


def test_a_lead_is_clear_if_the_coming_visits_cannot_make_it_up() -> None:
    now = shares(_0=60, _1=40)
    assert now.is_clear(19)
    assert not now.is_clear(20)
    assert not now.is_clear(math.inf)


def test_the_rival_is_the_most_visited_move_wherever_it_stands() -> None:
    now = look(line(0, 50), line(1, 10, 0.6), line(2, 45))  # ranked by something else than visits
    assert now.rival == line(2, 45)
    assert not now.is_clear(6)


def test_a_move_that_is_proven_lost_is_no_rival() -> None:
    now = look(line(0, 50), line(1, 30), line(2, 400, 0.0, -4))
    assert now.rival == line(1, 30)
    assert now.is_clear(19)
    alone = look(line(0, 5), line(2, 400, 0.0, -4))
    assert alone.rival is None
    assert alone.is_clear(1e9)
    assert not alone.is_unclear()
    assert instability([], alone) == 0


def test_unclear_is_a_close_second_or_a_better_one() -> None:
    assert shares(_0=149, _1=100).is_unclear()
    assert not shares(_0=151, _1=100).is_unclear()
    assert look(line(0, 500, 0.5), line(1, 100, 0.51)).is_unclear()


def history(*looks: Look) -> RootHistory:
    result = RootHistory()
    for one in looks:
        result.add(one)
    return result


def test_a_settled_choice_needs_less_time_and_a_contested_one_more() -> None:
    settled = history(*(shares(_0=9 * n, _1=n) for n in range(10, 100, 10)))
    assert LEAST_FACTOR <= settled.factor < 0.75
    even = history(*(shares(_0=n, _1=n) for n in range(10, 100, 10)))
    assert even.factor == MOST_FACTOR
    assert history(shares(_0=9, _1=3)).factor == pytest.approx(1.0)  # a third: what was planned


def test_a_late_change_counts_more_than_an_early_one() -> None:
    end = shares(_1=1000, _0=100)
    early = history(shares(_0=20), shares(_1=30, _0=20), end)
    late = history(shares(_0=20), shares(_0=100, _1=80), shares(_1=400, _0=100), end)
    never = history(shares(_1=20), end)
    assert never.factor == pytest.approx(early.factor, abs=0.02)
    assert late.factor > early.factor + 0.3


def test_a_falling_win_rate_needs_time_and_a_rising_one_does_not() -> None:
    def factor(before: float, after: float) -> float:
        return history(look(line(0, 600, before)), look(line(0, 900, after), line(1, 9, 0.1))).factor

    assert factor(0.6, 0.6 - FALL) == pytest.approx(MOST_FACTOR)
    assert factor(0.6, 0.6 - FALL / 2) == pytest.approx((LEAST_FACTOR + MOST_FACTOR) / 2)
    assert factor(0.5, 0.7) < 0.6
    long_ago = history(look(line(0, 100, 0.9)), look(line(0, 900, 0.5), line(1, 9, 0.1)))
    assert long_ago.factor < 0.6


COUNTS = st.lists(st.integers(0, 10_000), min_size=2, max_size=8)


@given(st.lists(COUNTS, min_size=1, max_size=20), st.lists(st.floats(0, 1), min_size=20, max_size=20))
def test_the_factor_is_always_within_its_bounds(counts: list[list[int]], winrates: list[float]) -> None:
    looks = [
        look(*(line(move, n, winrate) for move, n in enumerate(visits)))
        for visits, winrate in zip(counts, winrates, strict=False)
    ]
    looks.sort(key=lambda one: one.visits)
    assert LEAST_FACTOR <= history(*looks).factor <= MOST_FACTOR


def test_the_divergence_by_hand() -> None:
    before, now = shares(_0=75, _1=25), shares(_0=100, _1=100)
    expected = (0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)) / 100
    assert kld_gain(before, now) == pytest.approx(expected)
    assert kld_gain(shares(_0=75, _1=25), shares(_0=150, _1=50)) == pytest.approx(0)
    with pytest.raises(ValueError, match="no new visits"):
        kld_gain(now, now)


@given(COUNTS, COUNTS)
def test_the_divergence_is_never_negative(before: list[int], more: list[int]) -> None:
    first = look(*(line(move, n) for move, n in enumerate(before)))
    padded = before + [0] * (len(more) - len(before))
    added = more + [0] * (len(before) - len(more))
    second = look(*(line(move, a + b) for move, (a, b) in enumerate(zip(padded, added, strict=True))))
    if second.visits > first.visits:
        assert kld_gain(first, second) >= 0


def test_the_divergence_is_measured_over_intervals() -> None:
    measured = history(shares(_0=50, _1=50))
    assert measured.kld_gain is None
    measured.add(shares(_0=50, _1=49 + KLD_INTERVAL))
    assert measured.kld_gain is None
    measured.add(shares(_0=50, _1=50 + KLD_INTERVAL))
    first = measured.kld_gain
    assert first is not None
    assert first > 0
    measured.add(shares(_0=51, _1=50 + KLD_INTERVAL))
    assert measured.kld_gain == first
