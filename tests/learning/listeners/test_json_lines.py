"""The log of a run as JSON lines."""

import json
from pathlib import Path
from typing import Any

from learning_samples import Interrupter

from fukayomi import fan_out
from fukayomi.learning import Dataset, JsonLinesListener, TrainingSettings, runs, train
from fukayomi.learning.curves.readers import SECONDS
from fukayomi.learning.listeners import RunStart
from fukayomi.nn import NetworkConfig

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)


def points(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of a kind."""
    lines = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    return [line[kind] for line in lines if kind in line]


def test_the_log_has_the_curves_of_the_run(tmp_path: Path, train_file: Path, test_file: Path):
    out = tmp_path / "run"
    result = train(
        TINY, Dataset(train_file), out, test=Dataset(test_file), settings=TrainingSettings(steps=60, batch=8),
        device="cpu", eval_interval=30, listener=JsonLinesListener(),
    )  # fmt: skip
    assert points(out, "train") == list(result.losses.rows())
    assert points(out, "test") == list(result.history.rows())


def test_a_resumed_run_has_each_step_once(tmp_path: Path, train_file: Path, test_file: Path):
    data, test, settings = Dataset(train_file), Dataset(test_file), TrainingSettings(steps=9, batch=8, amp="off")
    train(TINY, data, tmp_path / "whole", settings=settings, device="cpu", listener=JsonLinesListener(1), threads=1)
    out = tmp_path / "parts"
    listener = fan_out(JsonLinesListener(1), Interrupter())
    train(TINY, data, out, test=test, settings=settings, device="cpu", eval_interval=4, listener=listener)
    log = out / "log.jsonl"
    # What a run that was killed later leaves.
    last = points(out, "train")[-1]
    log.write_text(log.read_text() + json.dumps({"train": last | {"step": 5}}) + "\n" + '{"train": {"st')
    train(TINY, data, out, settings=settings, device="cpu", resume=True, listener=JsonLinesListener(1))
    assert points(out, "train") == points(tmp_path / "whole", "train")
    assert [point["step"] for point in points(out, "test")] == [4]


def test_the_time_of_a_run_goes_on_where_it_was_resumed(tmp_path: Path):
    times = tmp_path / "times.jsonl"
    for first, last in ((0, 30), (20, 40)):
        listener = JsonLinesListener(10)
        listener.started(RunStart(first, 40, 8, tmp_path))
        for step in range(first + 10, last + 1, 10):
            listener._write("train", {"step": step, "policy_loss": 1.0})
            listener._write("test", {"step": step, "policy_loss": 1.0})
        listener.ended()
        if first == 0:
            lines = [json.loads(line) for line in times.read_text().splitlines()]
            assert [line["step"] for line in lines] == [10, 20, 30], "one line for both"
            lines[1]["seconds"] = 1000.0
            times.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 4')
    (run,) = runs(tmp_path).runs
    seconds = run.curves[SECONDS]
    assert seconds.steps.tolist() == [10, 20, 30, 40]
    assert seconds.values[2] >= 1000, "the first 20 steps are those of the first start"
    assert run.last_step == 40
