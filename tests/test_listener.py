"""Listeners: those of a kind, and the one that prints."""

import doctest
import io
import sys
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

from fukayomi import Listener, MatchListener, ProgressPrinter, fan_out, listener
from fukayomi.listener import Notes, of_kind


class Terminal(io.StringIO):
    """A terminal without a screen."""

    def isatty(self) -> bool:
        return True


def test_examples() -> None:
    assert doctest.testmod(listener).failed == 0


def test_a_plain_listener_becomes_one_of_a_kind() -> None:
    notes = Notes()
    match = of_kind(notes, MatchListener)
    assert isinstance(match, MatchListener)
    fan_out(match, MatchListener()).note("hello")
    assert notes.texts == ["hello"]
    own = MatchListener()
    assert of_kind(own, MatchListener) is own


def test_progress_is_rewritten_in_a_terminal() -> None:
    file = Terminal()
    printer = ProgressPrinter(file, interval_s=0)
    printer.progress("reading", 10, 1000)
    printer.progress("reading", 510, 1000)
    printer.note("a file was skipped")
    printer.progress("reading", 1000, 1000)
    printer.progress("reading", 1000, 1000)
    printer.progress("writing", 7, None)
    first, second, note, last, writing = (
        file.getvalue().replace("\n", "\r").replace("\r\r", "\r").strip("\r").split("\r")
    )
    assert first.rstrip() == "reading: 10 of 1,000 (1 %), 0:00"
    assert second == "reading: 510 of 1,000 (51 %), 0:00, 0:00 left"
    assert note == "a file was skipped"
    assert last == "reading: 1,000 of 1,000 (100 %), 0:00"
    assert writing == "writing: 7, 0:00"


def test_a_file_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("fukayomi.listener.time.monotonic", lambda: now[0])
    file = io.StringIO()
    printer = ProgressPrinter(file)
    for seconds in range(0, 3700, 4):
        now[0] = float(seconds)
        printer.progress("training", seconds, 7200)
    lines = file.getvalue().splitlines()
    assert lines[0] == "training: 12 of 7,200 (0 %), 0:12, 1:59:48 left"
    assert lines[-1] == "training: 3,696 of 7,200 (51 %), 1:01:36, 58:24 left"
    assert 250 < len(lines) < 370


def test_a_notebook_is_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("ipykernel.iostream")
    stream = type("OutStream", (io.StringIO,), {"__module__": module.__name__})()
    monkeypatch.setattr(sys, "stderr", stream)
    ProgressPrinter(interval_s=0).progress("reading", 1, 2)
    assert stream.getvalue() == "\rreading: 1 of 2 (50 %), 0:00"


def test_training_and_learning_take_plain_listeners(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    import learn_run

    from fukayomi import learning, nn
    from fukayomi.data import write_data
    from fukayomi.data.formats.psv import psv_record
    from fukayomi.loop import build_settings, learn
    from fukayomi.shogi import Position

    class Heard(Listener):
        stages: ClassVar = set[str]()

        def progress(self, stage: str, done: int, total: int | None) -> None:
            self.stages.add(stage)

    rows = [psv_record(Position().sfen(), "7g7f", score_cp=60, ply=1, result=1)] * 8
    write_data(tmp_path / "games.psv", rows)
    settings = learning.TrainingSettings(steps=2, batch=4)
    shape = nn.NetworkConfig(blocks=1, channels=8, value_hidden=8)
    result = learning.train(shape, str(tmp_path / "games.psv"), tmp_path / "run", test=[tmp_path / "games.psv"],
                            settings=settings, threads=1, listener=Heard())  # fmt: skip
    assert result.finished
    assert result.metrics is not None
    assert result.metrics.positions == 8
    assert "training" in Heard.stages
    Heard.stages.clear()
    assert learn(
        build_settings({**learn_run.SMALL, "generations": 1}), str(tmp_path / "learn"), listener=Heard()
    ).finished
    assert {"self-play", "training"} <= Heard.stages
