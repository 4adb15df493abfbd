"""Ranges of clocks."""

import pytest

from fukayomi.arena.calibration.settings import ClockRange, ClockRangeError
from fukayomi.arena.game.time_control import TimeControl


def clock_range(low: str, high: str) -> ClockRange:
    return ClockRange(TimeControl.from_text(low), TimeControl.from_text(high))


def test_between_two_clocks_there_are_all_others() -> None:
    nodes = clock_range("nodes=100", "nodes=10000")
    assert (nodes.kind, nodes.least, nodes.most) == ("nodes", 100, 10_000)
    assert [nodes.clock(amount).text() for amount in (100, 1000, 10_000, 0.1)] == [
        "nodes=100", "nodes=1000", "nodes=10000", "nodes=1"
    ]  # fmt: skip
    times = clock_range("main=10s,increment=100ms", "main=1000s,increment=10s")
    assert (times.kind, times.least) == ("main", 10_000)
    assert times.clock(100_000).text() == "main=100s,increment=1s"
    assert times.amount(TimeControl.from_text("300+5")) == 300_000
    assert times.amount(TimeControl.from_text("nodes=5")) is None
    fixed = clock_range("main=1m,byoyomi=1s", "main=1m,byoyomi=100s")
    assert fixed.kind == "byoyomi"
    assert fixed.clock(10_000).text() == "main=1m,byoyomi=10s"


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        ("depth=1", "depth=9", "two numbers of nodes or two times"),
        ("nodes=1/2", "nodes=5/6", "two numbers of nodes or two times"),
        ("nodes=5", "movetime=9", "different kinds"),
        ("main=1s", "byoyomi=1s", "different kinds"),
        ("nodes=5", "nodes=5", "the smaller one"),
        ("main=1s,increment=9s", "main=5s,increment=1s", "the smaller one"),
    ],
    ids=["depth", "nodes", "kinds", "times", "same", "crossing"],
)
def test_what_is_no_range_of_clocks_is_said(low: str, high: str, said: str) -> None:
    with pytest.raises(ClockRangeError, match=said):
        clock_range(low, high)
