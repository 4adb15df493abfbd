"""The time of training: what a run writes, also when it is resumed, and curves drawn by it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import run
from learning_samples import Interrupter

from fukayomi import fan_out
from fukayomi.learning import CurveError, Dataset, JsonLinesListener, Metrics, TrainingSettings, listeners, runs, train
from fukayomi.learning.listeners import RunStart
from fukayomi.nn import NetworkConfig

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)
METRICS = Metrics(100, 2.0, 0.6, 0.5, 2.6, 0.3, 0.6, 2.0)


class Clock:
    """A clock in place of the computer's."""

    def __init__(self) -> None:
        self.now = 5000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(listeners.time, "monotonic", found.monotonic)
    return found


def write_run(folder: Path, times: dict[int, float] | None, *, first: int = 10, last: int = 100) -> Path:
    """A run with a point every ten steps; `times` are its seconds by step."""
    folder.mkdir(parents=True)
    lines: list[dict[str, Any]] = []
    for step in range(first, last + 1, 10):
        lines.append({"train": {"step": step, "policy_loss": 5 / step, "learning_rate": 0.1}})
        if step % 50 == 0:
            lines.append({"test": {"step": step, "policy_loss": 6 / step}})
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if times is not None:
        text = "".join(json.dumps({"step": step, "seconds": time}) + "\n" for step, time in times.items())
        (folder / "times.jsonl").write_text(text)
    return folder


def test_starts_add_up_and_neither_pauses_nor_lost_work_count(tmp_path: Path, clock: Clock) -> None:
    listener = JsonLinesListener()
    listener.started(RunStart(0, 1000, 8, tmp_path))
    for step, seconds in ((100, 30.0), (200, 70.0)):
        clock.now = 5000 + seconds
        listener.evaluated(step, METRICS)
    clock.now = 5000 + 90
    listener.checkpoint(237, tmp_path / "checkpoint.pt")  # stopped between two lines of the log
    listener.ended()
    assert runs(tmp_path).runs[0].seconds == 90
    clock.now += 100_000  # a pause
    begin = clock.now
    listener = JsonLinesListener()
    listener.started(RunStart(237, 1000, 8, tmp_path))
    clock.now = begin + 1000
    listener.evaluated(300, METRICS)  # and killed before a checkpoint
    listener.ended()
    clock.now += 100_000
    begin = clock.now
    listener = JsonLinesListener()
    listener.started(RunStart(237, 1000, 8, tmp_path))
    clock.now = begin + 20
    listener.evaluated(300, METRICS)
    clock.now = begin + 25  # an evaluation takes time, too
    listener.checkpoint(300, tmp_path / "checkpoint.pt")
    listener.ended()
    (found,) = runs(tmp_path).runs
    assert (found.seconds, found.duration, found.last_step) == (115, "0:01:55", 300)
    assert [(row["step"], row["seconds"]) for row in runs(tmp_path).rows()] == [(100, 30), (200, 70), (300, 115)]
    assert found.seconds_at(np.array([99, 150, 301])).tolist() == pytest.approx([np.nan, 50, np.nan], nan_ok=True)


def test_a_real_run_counts_all_of_its_parts(tmp_path: Path, train_file: Path, test_file: Path) -> None:
    data, settings = Dataset(train_file), TrainingSettings(steps=9, batch=8, amp="off")
    out, stopped = tmp_path / "run", fan_out(JsonLinesListener(), Interrupter())
    train(TINY, data, out, test=Dataset(test_file), settings=settings, device="cpu", eval_interval=4, listener=stopped)
    evaluated, first = map(json.loads, (out / "times.jsonl").read_text().splitlines())
    assert evaluated["step"] == first["step"] == 4
    assert evaluated["seconds"] <= first["seconds"]
    train(TINY, data, out, settings=settings, device="cpu", resume=True, listener=JsonLinesListener())
    lines = [json.loads(line) for line in (out / "times.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [4, 4, 9, 9], "two of each start: of the log and of the checkpoint"
    assert lines == sorted(lines, key=lambda line: line["seconds"])
    assert runs(out).runs[0].seconds == lines[-1]["seconds"] > first["seconds"]


def test_curves_stand_at_their_times(tmp_path: Path) -> None:
    slow = write_run(tmp_path / "slow", {step: step * 109.2 for step in range(10, 101, 10)})  # 3:02 hours
    fast = write_run(tmp_path / "fast", {10: 828.0, 100: 8280.0})  # 2:18 hours
    panel = runs([slow, fast]).plot(x="time", smooth=0, language="en").axes[0]
    assert [float(line.get_xdata()[-1]) for line in panel.lines] == pytest.approx([10_920 / 3600] * 2 + [2.3] * 2)
    assert np.diff(panel.lines[2].get_xdata()) == pytest.approx(828 / 3600), "between known times in proportion"
    by_steps = runs([slow, fast]).plot(smooth=0, language="en").axes[0]
    for one, other in zip(panel.lines, by_steps.lines, strict=True):
        assert list(one.get_ydata()) == list(other.get_ydata())
    assert runs([slow, fast]).plot(x="time", language="en").get_supxlabel().startswith("x: hours of training; lines")


@pytest.mark.parametrize(
    ("seconds", "en", "ja"), [(1.0, "seconds", "秒"), (7100.0, "minutes", "分"), (7200.0, "hours", "時間")]
)
def test_the_unit_fits_the_longest_run(tmp_path: Path, seconds: float, en: str, ja: str) -> None:
    found = runs(write_run(tmp_path / "run", {10: seconds / 10, 100: seconds}))
    assert f"x: {en} of training" in found.plot(x="time", language="en", log_x=True).get_supxlabel()
    assert f"学習時間({ja})" in found.plot(x="time", language="ja").get_supxlabel()


def test_the_command_compares_times(tmp_path: Path) -> None:
    write_run(tmp_path / "master", {10: 828.0, 100: 8280.0})
    write_run(tmp_path / "swa", {10: 1092.0, 100: 10_920.0})
    write_run(tmp_path / "other", None)
    page, picture = tmp_path / "a.html", tmp_path / "a.svg"
    both = (tmp_path / "master", tmp_path / "swa")
    code, printed, said = run("plot", *both, "--x", "time", "-o", page, "-o", picture)
    assert (code, said) == (0, "")
    assert printed.splitlines()[:2] == ["master: up to step 100 in 2:18:00", "swa: up to step 100 in 3:02:00"]
    assert '<td class="n">2:18:00</td>' in page.read_text()
    assert "of training; lines" in picture.read_text()
    code, printed, _ = run("plot", tmp_path / "master", tmp_path / "other", "-o", page, "--json")
    assert (code, [each["seconds"] for each in json.loads(printed)["runs"]]) == (0, [8280.0, None])
    assert '<td class="n">-</td>' in page.read_text()
    code, printed, _ = run("plot", tmp_path / "other", "-o", page)
    assert printed.startswith("other: up to step 100\n")
    assert "time of training" not in page.read_text()


def test_a_run_without_times_has_no_time_axis(tmp_path: Path) -> None:
    timed = write_run(tmp_path / "timed", {10: 1.0, 100: 10.0})
    none = write_run(tmp_path / "none", None)
    later = write_run(tmp_path / "later", {60: 1.0, 100: 5.0})
    damaged = write_run(tmp_path / "damaged", {})
    (damaged / "times.jsonl").write_text('{"step": 10, "seconds": NaN}\n{"step": 1\n')
    for folder, message in (
        (none, "none: there are no times of training, so there is no time axis .log.jsonl has them in times.jsonl"),
        (damaged, "damaged: there are no times of training"),
        (later, "later: the times of training begin at step 60, and the curves at step 10, so there is no time axis"),
    ):
        assert runs(folder).runs[0].seconds is None
        assert {row["seconds"] for row in runs(folder).rows()} == {None}
        with pytest.raises(CurveError, match=message):
            runs([timed, folder]).plot(x="time")
        code, _, said = run("plot", timed, folder, "--x", "time", "-o", tmp_path / "a.svg")
        assert (code, said.count("\n")) == (1, 1)
        assert said.startswith(f"error: {folder}: ")
        assert not (tmp_path / "a.svg").exists()


def test_a_line_that_has_no_time_yet_is_not_drawn(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", {10: 100.0, 90: 900.0})
    panel = runs(folder).plot(x="time", smooth=0).axes[0]
    places = np.asarray(panel.lines[0].get_xdata(), float)
    assert np.isnan(places).tolist() == [False] * 9 + [True]
    assert runs(folder).runs[0].seconds == 900


def event_file(folder: Path, name: str, begin: float, events: dict[int, float], restart: int | None = None) -> None:
    """A file of TensorBoard that begins at a time and has a loss at steps, with the seconds since then."""
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.summary.writer.record_writer import RecordWriter

    folder.mkdir(exist_ok=True)
    with (folder / f"events.out.tfevents.{name}").open("wb") as file:
        writer = RecordWriter(file)
        writer.write(event_pb2.Event(wall_time=begin, file_version="brain.Event:2").SerializeToString())
        if restart is not None:
            log = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            writer.write(event_pb2.Event(wall_time=begin, step=restart, session_log=log).SerializeToString())
        for step, seconds in events.items():
            value = summary_pb2.Summary.Value(tag="train/loss", simple_value=1.0)
            summary = summary_pb2.Summary(value=[value])
            event = event_pb2.Event(wall_time=begin + seconds, step=step, summary=summary)
            writer.write(event.SerializeToString())


@pytest.mark.parametrize("restart", [250, None])
def test_pauses_do_not_count_in_files_of_tensorboard(tmp_path: Path, restart: int | None) -> None:
    event_file(tmp_path / "run", "1", 1e9, {100: 10.0, 200: 20.0, 300: 30.0})
    event_file(tmp_path / "run", "2", 2e9, {300: 7.0, 400: 17.0}, restart)
    (found,) = runs(tmp_path / "run").runs
    assert found.seconds_at(np.array([100, 200, 300, 400])).tolist() == [10, 20, 27, 37]
    assert found.duration == "0:00:37"
