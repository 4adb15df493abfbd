"""No game is lost on time, though other programs use every core."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from statistics import median

import pytest
from patience import one_of_several

from fukayomi import UsiEngine, play_match
from fukayomi.arena.game.rules import MARGIN_MS
from fukayomi.arena.game.time_control import GameClock, TimeControl
from fukayomi.shogi.record import Record, Termination

MOST_LATE = 3
"""Late moves of 240 that a busy machine may cost."""
ENGINE = (sys.executable, "-m", "fukayomi", "usi")
BUSY_PROGRAM = "import os, sys; getattr(os, 'nice', int)(int(sys.argv[1]))\nwhile True: pass"


@contextmanager
def busy_cores(niceness: int) -> Generator[None]:
    """A program for each core that computes without end."""
    programs = [
        subprocess.Popen((sys.executable, "-c", BUSY_PROGRAM, str(niceness))) for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def play(games: int, clock: str, model: str, max_plies: int, margin_ms: int) -> list[Record]:
    """Let the engine play itself."""
    options = {"DNN_Model": model, "Threads": 1, "UCT_Threads": 1, "USI_Hash": 64, "PV_Interval": 0}
    engines = {name: UsiEngine(ENGINE, options=options) for name in ("one", "two")}
    rules = {"max_plies": max_plies, "margin_ms": margin_ms}
    result = play_match(engines, games=games, clock=clock, rules=rules, concurrency=2)
    assert result.is_complete
    return list(result.records())


def endings(records: list[Record]) -> Counter[Termination]:
    """How games ended."""
    return Counter(record.termination for record in records)


def late_moves(record: Record, clock: str) -> int:
    """How many moves of a game a referee without a margin would have found late."""
    sides = [GameClock(TimeControl.from_text(clock)) for _ in range(2)]
    return sum(
        not sides[ply % 2].spend(move.time_ms) for ply, move in enumerate(record.moves) if move.time_ms is not None
    )


def test_no_loss_on_time_at_a_tenth_of_a_second(record_property: Callable[[str, object], None]) -> None:
    clock = "main=100ms,increment=100ms"

    def late() -> int:
        with busy_cores(5):
            records = play(10, clock, "<hash>", 24, 1000)
        found = endings(records)
        assert found[Termination.TIME_UP] == 0
        assert found.total() == 10
        times_ms = [move.time_ms for record in records for move in record.moves if move.time_ms is not None]
        assert len(times_ms) > 100
        assert median(times_ms) <= 200, "what is on the clock at the first move"
        return sum(late_moves(record, clock) for record in records)

    # Other programs may hold any answer up for longer than the clock has, so the games are played with a margin of a
    # second, and a few late moves of 240 are no fault. On a machine with load 9 there were 0 or 1 in each of 12
    # attempts, on a slower one 2, but up to 9 when the engine kept nothing back for its lateness.
    moves = one_of_several(late, lambda moves: moves <= MOST_LATE, attempts=3)
    record_property("late moves", moves)
    assert moves <= MOST_LATE


@pytest.mark.soak
@pytest.mark.parametrize(
    ("clock", "games", "margin_ms"),
    [
        ("main=100ms,increment=100ms", 500, 0),
        ("main=3s", 20, 0),
        ("main=1s,increment=100ms", 20, 0),
        ("main=1s,byoyomi=200ms", 20, MARGIN_MS),
        ("byoyomi=100ms", 20, MARGIN_MS),
        ("byoyomi=1s", 4, MARGIN_MS),
        ("movetime=100ms", 20, MARGIN_MS),
    ],
)
def test_no_loss_on_time_for_long(
    clock: str, games: int, margin_ms: int, record_property: Callable[[str, object], None]
) -> None:
    with busy_cores(0):
        found = endings(play(games, clock, "<internal>", 160, margin_ms))
    record_property("endings", {ending.name: count for ending, count in found.items()})
    assert found[Termination.TIME_UP] == 0
    assert found.total() == games
