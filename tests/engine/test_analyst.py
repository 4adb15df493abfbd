"""Searching one position after the other within limits."""

import time
from pathlib import Path

import pytest

from fukayomi.engine.analyst import Analyst, settings_for
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import Evaluator, Slot
from fukayomi.engine.evaluators.stubs import hash_evaluator
from fukayomi.engine.settings import Settings
from fukayomi.shogi import Position

ONE_MOVE = "8k/9/9/9/9/9/7p1/9/r7K b - 1"  # only 1h is left to the king


def analyst(evaluator: Evaluator | None = None, **limits: int | None) -> Analyst:
    given = {"nodes": None, "time_ms": None} | limits
    return Analyst(evaluator or hash_evaluator(8), Settings(), **given)  # type: ignore[arg-type]


def test_nodes_are_what_was_asked_for() -> None:
    with analyst(nodes=100, multipv=4) as thinker:
        result = thinker.search(Position())
        assert result.progress.nodes == 100
        assert len(result.lines) == 4
        assert thinker.limits() == "100 nodes a position"


def test_a_forced_move_is_judged_as_deeply_as_others() -> None:
    position = Position.from_sfen(ONE_MOVE)
    assert [move.usi() for move in position.legal_moves] == ["1i1h"]
    with analyst(nodes=100, time_ms=20_000) as thinker:
        assert thinker.search(position).progress.nodes == 100
        assert thinker.limits() == "100 nodes or 20000 ms a position"


def test_time_ends_a_search() -> None:
    with analyst(time_ms=100) as thinker:
        start = time.monotonic()
        assert thinker.search(Position()).lines
        assert 0.09 < time.monotonic() - start < 10


def test_there_is_a_line_however_short_the_time() -> None:
    class Slow:
        """Takes 100 ms a batch."""

        identity, batch_sizes, slots = "slow", (8,), 1

        def __init__(self) -> None:
            self._inner = hash_evaluator(8)

        def allocate(self, capacity: int) -> Slot:
            return self._inner.allocate(capacity)

        def run(self, slot: Slot, n: int) -> None:
            time.sleep(0.1)
            self._inner.run(slot, n)

        def close(self) -> None:
            pass

    with analyst(Slow(), time_ms=1) as thinker:  # type: ignore[arg-type]
        assert thinker.search(Position()).lines


def test_some_limit_is_needed() -> None:
    with pytest.raises(ValueError, match="limit"):
        analyst()


def test_a_failing_network_is_an_error() -> None:
    class Broken:
        identity, batch_sizes, slots = "broken", (8,), 1

        def allocate(self, capacity: int) -> Slot:
            return Slot.zeros(capacity)

        def run(self, slot: Slot, n: int) -> None:
            raise EvaluatorError("out of memory")

        def close(self) -> None:
            pass

    with analyst(Broken(), nodes=10) as thinker, pytest.raises(EvaluatorError, match="out of memory"):
        thinker.search(Position())


def test_a_file_beside_the_network_suggests_settings(tmp_path: Path) -> None:
    network = tmp_path / "network.onnx"
    network.write_bytes(b"")
    (tmp_path / "network.onnx.ini").write_text("C_init=200\nNo_Such_Option=1\n")
    settings, complaints = settings_for(str(network))
    assert settings.c_init == 200
    assert settings.model == str(network)
    assert len(complaints) == 1
    assert "No_Such_Option" in complaints[0]


def test_a_missing_network_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EvaluatorError, match=r"no\.onnx"):
        settings_for(str(tmp_path / "no.onnx"))
