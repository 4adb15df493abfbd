"""Counts of positions that many programs agree on."""

import json
import os
import signal
import threading
import time

import pytest
from command_app import app
from places import SAMPLES
from typer.testing import CliRunner

from fukayomi.shogi import Position

CASES = json.loads((SAMPLES / "perft" / "perft.json").read_text())
CI_NODES = 200_000_000


def count_all(case: dict[str, object], smallest: int, largest: int) -> None:
    pos = Position.from_sfen(str(case["sfen"]))
    before = pos.sfen(), pos.key
    counts = case["counts"]
    assert isinstance(counts, list)
    for depth, expected in enumerate(counts, start=1):
        if smallest < expected <= largest:
            assert pos.perft(depth) == expected, f"depth {depth}"
    assert (pos.sfen(), pos.key) == before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_known_counts(case: dict[str, object]) -> None:
    count_all(case, 0, CI_NODES)


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_known_large_counts(case: dict[str, object]) -> None:
    count_all(case, CI_NODES, 10**12)


def test_depth_zero_counts_the_position_itself() -> None:
    assert Position().perft(0) == 1


@pytest.mark.parametrize("depth", [-1, 21])
def test_senseless_depth(depth: int) -> None:
    with pytest.raises(ValueError, match=str(depth)):
        Position().perft(depth)


def test_command_prints_json() -> None:
    result = CliRunner().invoke(app, ["perft", "3", "--json"])
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["nodes"] == 25470
    assert answer["seconds"] > 0


def test_command_from_an_sfen() -> None:
    most = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"
    result = CliRunner().invoke(app, ["perft", "1", "--sfen", most])
    assert result.exit_code == 0
    assert "593 positions" in result.stdout


def test_command_rejects_a_bad_sfen() -> None:
    result = CliRunner().invoke(app, ["perft", "1", "--sfen", "nonsense"])
    assert result.exit_code == 2
    assert "nonsense" in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT between processes")
def test_ctrl_c_ends_a_long_count() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            Position().perft(12)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 30


def test_a_thread_counts_too() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(Position().perft(4)))
    thread.start()
    thread.join()
    assert found == [719731]
