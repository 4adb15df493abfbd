"""Time controls as text, and the clocks that they set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from fukayomi.arena.game.time_control import LARGEST, GameClock, TimeControl, TimeControlError
from fukayomi.shogi import BLACK, WHITE

positive = st.integers(1, LARGEST)
controls = st.one_of(
    st.builds(TimeControl, main_ms=positive),
    st.builds(TimeControl, main_ms=st.integers(0, LARGEST), byoyomi_ms=positive),
    st.builds(TimeControl, main_ms=st.integers(0, LARGEST), increment_ms=positive),
    st.builds(TimeControl, movetime_ms=positive),
    st.builds(TimeControl, depth=positive),
    st.builds(TimeControl, nodes=st.lists(positive, min_size=1, max_size=4).map(tuple)),
)


@given(controls)
def test_text_is_read_back(control: TimeControl) -> None:
    assert TimeControl.from_text(control.text()) == control


@pytest.mark.parametrize(
    ("text", "control", "canonical"),
    [
        ("byoyomi=1s", TimeControl(byoyomi_ms=1000), "byoyomi=1s"),
        ("byoyomi:100", TimeControl(byoyomi_ms=100), "byoyomi=100ms"),
        ("main=300s,byoyomi=10s", TimeControl(300_000, 10_000), "main=5m,byoyomi=10s"),
        (" main = 90 s , inc = 100 ", TimeControl(90_000, 0, 100), "main=90s,increment=100ms"),
        ("300+10", TimeControl(300_000, 0, 10_000), "main=5m,increment=10s"),
        ("10+0.1", TimeControl(10_000, 0, 100), "main=10s,increment=100ms"),
        ("main=1.5m", TimeControl(90_000), "main=90s"),
        ("main=0,byoyomi=5", TimeControl(byoyomi_ms=5), "byoyomi=5ms"),
        ("movetime=100ms", TimeControl(movetime_ms=100), "movetime=100ms"),
        ("nodes=500000/600000", TimeControl(nodes=(500_000, 600_000)), "nodes=500000/600000"),
        ("depth=4", TimeControl(depth=4), "depth=4"),
    ],
)
def test_reads_every_spelling(text: str, control: TimeControl, canonical: str) -> None:
    assert TimeControl.from_text(text) == control
    assert control.text() == canonical


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("300", "'300' is not one of main=, byoyomi="),
        ("time=5", "'time=5' is not one of"),
        ("byoyomi=", "'' is not a time"),
        ("byoyomi=1h", "'1h' is not a time"),
        ("byoyomi=-1s", "'-1s' is not a time"),
        ("byoyomi=１s", "is not a time"),
        ("byoyomi=0.5ms", "not a whole number of milliseconds"),
        ("byoyomi=0", "no time at all"),
        ("0+0", "no time at all"),
        ("nodes=0", "at least 1"),
        ("nodes=1/", "not a number"),
        ("depth=4/5", "not a number"),
        ("depth=" + "9" * 5000, "not a number"),
        ("main=99999999999", "largest number that engines can take"),
        ("byoyomi=1s,byoyomi=2s", "byoyomi is given twice"),
        ("inc=1s,increment=2s", "increment is given twice"),
        ("byoyomi=1s,increment=1s", "not both"),
        ("nodes=5,byoyomi=1s", "exclude each other"),
        ("depth=5,movetime=1s", "exclude each other"),
    ],
    ids=str,
)
def test_says_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(TimeControlError, match=r"write for example byoyomi=1s") as caught:
        TimeControl.from_text(text)
    assert reason in str(caught.value)
    assert repr(text) in str(caught.value)


def test_in_settings_it_is_its_text() -> None:
    class Settings(BaseModel):
        clock: TimeControl

    settings = Settings.model_validate({"clock": "300+10"})
    assert settings.clock == TimeControl(300_000, 0, 10_000)
    assert settings.model_dump_json() == '{"clock":"main=5m,increment=10s"}'
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


# ---------------------------------------------------------------------------------------------- clocks


def clock(text: str, index: int = 0, margin_ms: int = 0) -> GameClock:
    return GameClock(TimeControl.from_text(text), index, margin_ms)


@pytest.mark.parametrize(
    ("own", "other", "as_black", "as_white"),
    [
        ("byoyomi=1s", "byoyomi=1s", "btime 0 wtime 0 byoyomi 1000", "btime 0 wtime 0 byoyomi 1000"),
        ("main=5s", "main=7s", "btime 5000 wtime 7000 byoyomi 0", "btime 7000 wtime 5000 byoyomi 0"),
        ("main=5s,byoyomi=2s", "byoyomi=9s", "btime 5000 wtime 0 byoyomi 2000", "btime 0 wtime 5000 byoyomi 2000"),
        ("5+1", "7+2", "btime 5000 wtime 7000 binc 1000 winc 2000", "btime 7000 wtime 5000 binc 2000 winc 1000"),
        ("5+1", "byoyomi=3s", "btime 5000 wtime 0 binc 1000 winc 0", "btime 0 wtime 5000 binc 0 winc 1000"),
        ("byoyomi=3s", "5+1", "btime 0 wtime 5000 byoyomi 3000", "btime 5000 wtime 0 byoyomi 3000"),
        ("main=5s", "nodes=9", "btime 5000 wtime 0 byoyomi 0", "btime 0 wtime 5000 byoyomi 0"),
        ("nodes=9", "5+1", "nodes 9", "nodes 9"),
        ("depth=4", "nodes=9", "depth 4", "depth 4"),
        ("movetime=100", "byoyomi=1s", "movetime 100", "movetime 100"),
    ],
)
def test_what_each_side_is_told(own: str, other: str, as_black: str, as_white: str) -> None:
    assert clock(own).go(BLACK, clock(other)).text() == f"go {as_black}"
    assert clock(own).go(WHITE, clock(other)).text() == f"go {as_white}"


def test_nodes_cycle() -> None:
    told = [clock("nodes=5/6/7", index).go(BLACK, clock("depth=1")).nodes for index in range(5)]
    assert told == [5, 6, 7, 5, 6]


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        # (milliseconds used, in time?, main time left)
        ("byoyomi=1s", [(1000, True, 0), (1050, True, 0), (1051, False, 0)]),
        ("main=2s,byoyomi=1s", [(500, True, 1500), (2500, True, 0), (1050, True, 0), (1051, False, 0)]),
        ("main=2s", [(1500, True, 500), (550, True, 0), (50, True, 0), (51, False, 0)]),
        ("main=2s,increment=1s", [(3000, True, 0), (400, True, 600), (1600, True, 0), (1051, False, 0)]),
        ("movetime=100", [(150, True, 0), (151, False, 0)]),
        ("nodes=5", [(10**9, True, 0)]),
    ],
)
def test_time_is_used_up(text: str, moves: list[tuple[int, bool, int]]) -> None:
    watched = clock(text, margin_ms=50)
    for used_ms, in_time, left_ms in moves:
        assert watched.spend(used_ms) is in_time
        assert watched.main_ms == left_ms


@given(controls, st.lists(st.integers(0, 10_000), max_size=20))
def test_a_clock_never_gives_more_than_there_is(control: TimeControl, uses: list[int]) -> None:
    watched = GameClock(control)
    for number, used_ms in enumerate(uses, 1):
        limit_ms = watched.limit_ms()
        assert watched.spend(used_ms) is (limit_ms is None or used_ms <= limit_ms)
        assert 0 <= watched.main_ms <= control.main_ms + number * control.increment_ms
