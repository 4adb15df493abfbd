"""Training: it learns, it resumes to the same weights, and it refuses what makes no sense."""

import itertools
import re
import signal
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learning_samples import Interrupter
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from fukayomi import fan_out
from fukayomi.data.formats.format import DataFileError
from fukayomi.learning import (
    CheckpointError,
    Dataset,
    DivergenceError,
    Metrics,
    TensorBoardListener,
    TrainingError,
    TrainingListener,
    TrainingResult,
    TrainingSettings,
    evaluate,
    load_network,
    train,
)
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.devices import fastest_threads, measure_threads, use_threads
from fukayomi.learning.listeners import RunStart, TrainingStep
from fukayomi.learning.optimization import Schedule
from fukayomi.nn import NetworkConfig

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)


def run_training(out: Path, files: tuple[Path, Path], settings: TrainingSettings, **options: Any) -> TrainingResult:
    return train(TINY, Dataset(files[0]), out, test=Dataset(files[1]), settings=settings, device="cpu", **options)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw", "muon"])
def test_resumed_weights_are_those_of_an_uninterrupted_run(tmp_path: Path, train_file, test_file, optimizer):
    files = (train_file, test_file)
    lr = {"sgd": 0.05, "adamw": 0.002, "muon": 0.002}[optimizer]
    settings = TrainingSettings(steps=9, batch=20, optimizer=optimizer, lr=lr, warmup=3, seed=4, amp="off")
    whole = run_training(tmp_path / "whole", files, settings)
    assert whole.finished

    interrupted = run_training(tmp_path / "parts", files, settings, listener=Interrupter(), eval_interval=5)
    assert (interrupted.step, interrupted.finished) == (5, False)
    resumed = run_training(tmp_path / "parts", files, settings, resume=True)
    assert (resumed.step, resumed.finished) == (9, True)

    expected, found = load_checkpoint(whole.checkpoint), load_checkpoint(resumed.checkpoint)
    assert expected.step == found.step == 9
    for name, tensor in expected.model.items():
        assert torch.equal(tensor, found.model[name]), name
    for number, state in expected.optimizer["state"].items():
        for name, value in state.items():
            assert torch.equal(torch.as_tensor(value), torch.as_tensor(found.optimizer["state"][number][name]))
    assert resumed.metrics == whole.metrics


class ThreadCounter(TrainingListener):
    """Notes how many threads each step had, and stops after some."""

    def __init__(self, stop_after: int = 0) -> None:
        self.found: list[int] = []
        self.notes: list[str] = []
        self._stop_after = stop_after

    def note(self, text: str) -> None:
        self.notes.append(text)

    def step(self, step: TrainingStep) -> None:
        self.found.append(torch.get_num_threads())
        if step.step == self._stop_after:
            signal.raise_signal(signal.SIGTERM)


def test_the_number_of_threads_is_measured_once_and_stays_with_the_run(tmp_path: Path, train_file, test_file):
    files, settings = (train_file, test_file), TrainingSettings(steps=6, batch=20, seed=4, warmup=2, amp="off")
    with use_threads(3):
        first = ThreadCounter(stop_after=3)
        run_training(tmp_path / "run", files, settings, listener=first)
        assert torch.get_num_threads() == 3, "as before the run"
    (note,) = first.notes
    assert re.fullmatch(r"training with (\d) CPU threads?: [\d,]+ positions/s with 1, [\d,]+ positions/s with 3", note)
    chosen = int(note.split()[2])
    assert first.found == [chosen] * 3
    resumed = ThreadCounter()
    result = run_training(tmp_path / "run", files, settings, resume=True, listener=resumed)
    assert (resumed.found, resumed.notes) == ([chosen] * 3, [])
    assert load_checkpoint(result.checkpoint).settings["threads"] == chosen
    whole = run_training(tmp_path / "whole", files, settings, threads=chosen)
    expected, found = load_checkpoint(whole.checkpoint).model, load_checkpoint(result.checkpoint).model
    assert all(torch.equal(tensor, found[name]) for name, tensor in expected.items())


def test_another_number_of_threads_is_told(tmp_path: Path, train_file, test_file):
    files, settings = (train_file, test_file), TrainingSettings(steps=4, batch=20, amp="off")
    run_training(tmp_path / "run", files, settings, threads=1, listener=ThreadCounter(stop_after=2))
    resumed = ThreadCounter()
    run_training(tmp_path / "run", files, settings, threads=2, resume=True, listener=resumed)
    assert (resumed.found, resumed.notes) == ([2, 2], ["threads changes from 1 to 2 after step 2"])


def test_on_a_busy_machine_fewer_threads_are_chosen():
    def wait_for_each_other() -> None:
        time.sleep(0.01 * torch.get_num_threads() ** 2)

    with use_threads(4):
        seconds = measure_threads(wait_for_each_other, 4)
        assert torch.get_num_threads() == 4
    assert list(seconds) == [1, 2, 4]
    assert fastest_threads(seconds) == 1
    assert fastest_threads({1: 1.0, 2: 0.95, 4: 0.5}) == 4
    assert fastest_threads({1: 1.0, 2: 0.95, 4: 0.92}) == 1, "not worth more threads"


def test_a_tiny_set_is_learnt_by_heart(tmp_path: Path, train_file: Path):
    settings = TrainingSettings(steps=100, batch=48, optimizer="adamw", lr=0.02, warmup=10, val_lambda=0.0)
    result = run_training(tmp_path / "run", (train_file, train_file), settings)
    assert result.metrics is not None
    assert result.metrics.positions == 96
    assert result.metrics.policy_accuracy > 0.9
    assert result.metrics.policy_loss < 0.5
    # A third of the random results are draws, whose loss cannot fall below ln 2.
    assert result.metrics.result_loss < 0.35
    assert result.metrics.value_accuracy > 0.75


def test_checkpoint_evaluates_to_the_metrics_of_the_run(tmp_path: Path, train_file: Path, test_file: Path):
    settings = TrainingSettings(steps=3, batch=16, val_lambda=0.4, amp="off")
    result = run_training(tmp_path / "run", (train_file, test_file), settings)
    assert evaluate(result.checkpoint, Dataset(test_file), val_lambda=0.4) == result.metrics


def test_the_schedule_warms_up_and_falls_to_zero():
    schedule = Schedule(TrainingSettings(lr=0.1, warmup=10), steps=1000, steps_per_epoch=100)
    rates = [schedule.learning_rate(step) for step in range(1000)]
    assert rates[0] == pytest.approx(0.01)
    assert max(rates) == pytest.approx(0.1, rel=1e-3)
    assert rates[500] == pytest.approx(0.05)
    assert rates[999] < 1e-6
    assert all(a >= b for a, b in itertools.pairwise(rates[10:]))


def test_bfloat16_trains_too(tmp_path: Path, train_file: Path, test_file: Path):
    settings = TrainingSettings(steps=2, batch=8, amp="bf16")
    result = run_training(tmp_path / "run", (train_file, test_file), settings)
    assert all(tensor.dtype != torch.bfloat16 for tensor in load_checkpoint(result.checkpoint).model.values())


def test_float16_trains_with_a_loss_scale_that_a_checkpoint_keeps(tmp_path: Path, train_file: Path, test_file: Path):
    files, settings = (train_file, test_file), TrainingSettings(steps=6, batch=8, amp="fp16", seed=2)
    whole = run_training(tmp_path / "whole", files, settings)
    run_training(tmp_path / "parts", files, settings, eval_interval=3, listener=Interrupter())
    parts = run_training(tmp_path / "parts", files, settings, resume=True)
    expected, found = load_checkpoint(whole.checkpoint), load_checkpoint(parts.checkpoint)
    assert found.scaler == expected.scaler
    assert found.scaler["scale"] > 1
    assert all(torch.equal(tensor, found.model[name]) for name, tensor in expected.model.items())
    assert all(tensor.dtype != torch.float16 for tensor in found.model.values())


def test_a_compiled_network_has_the_names_of_the_plain_one(
    tmp_path: Path, train_file: Path, test_file: Path, monkeypatch: pytest.MonkeyPatch
):
    compiled: list[Any] = []
    monkeypatch.setattr(torch, "compile", lambda module: compiled.append(module) or torch._dynamo.disable(module))
    settings = TrainingSettings(steps=2, batch=8, amp="off", seed=1)
    plain = run_training(tmp_path / "plain", (train_file, test_file), settings, threads=1)
    result = run_training(tmp_path / "run", (train_file, test_file), settings.changed(compile=True), threads=1)
    assert len(compiled) == 1
    expected, found = load_checkpoint(plain.checkpoint).model, load_checkpoint(result.checkpoint).model
    assert list(expected) == list(found)
    assert all(torch.equal(tensor, found[name]) for name, tensor in expected.items())


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_network_compiled_in_earnest_learns_the_same(tmp_path: Path, train_file: Path, test_file: Path):
    """Takes minutes of a C++ compiler; 4 steps differed by 1.2e-7 at most."""
    settings = TrainingSettings(steps=4, batch=16, lr=0.01, amp="off", seed=1)
    plain = run_training(tmp_path / "plain", (train_file, test_file), settings, threads=1)
    result = run_training(tmp_path / "run", (train_file, test_file), settings.changed(compile=True), threads=1)
    expected, found = load_checkpoint(plain.checkpoint).model, load_checkpoint(result.checkpoint).model
    for name, tensor in expected.items():
        torch.testing.assert_close(tensor, found[name], rtol=1e-4, atol=1e-5, msg=name)


def test_epochs_count_whole_batches(train_file: Path):
    count = len(Dataset(train_file))
    assert TrainingSettings(batch=20).total_steps(count) == 4
    assert TrainingSettings(epochs=2.5, batch=20).total_steps(count) == 10
    assert TrainingSettings(steps=7, batch=20).total_steps(count) == 7
    with pytest.raises(TrainingError, match="not both"):
        TrainingSettings(steps=7, epochs=1)


def test_a_folder_in_use_is_refused(tmp_path: Path, train_file: Path, test_file: Path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(TrainingError, match="not empty: resume the run"):
        run_training(tmp_path, (train_file, test_file), TrainingSettings(steps=1, batch=8))
    with pytest.raises(CheckpointError, match=r"checkpoint\.pt: no such file"):
        run_training(tmp_path, (train_file, test_file), TrainingSettings(steps=1, batch=8), resume=True)


def test_a_run_that_came_to_nothing_can_be_started_again(tmp_path: Path, train_file, test_file, broken_file):
    settings = TrainingSettings(steps=1, batch=12)
    with pytest.raises(DataFileError):
        run_training(tmp_path / "run", (broken_file, test_file), settings)
    assert run_training(tmp_path / "run", (train_file, test_file), settings).finished


def test_divergence_is_an_error_and_no_checkpoint(tmp_path: Path, train_file: Path, test_file: Path):
    settings = TrainingSettings(steps=60, batch=8, lr=1e30, warmup=0, clip=1e30)
    with pytest.raises(
        DivergenceError, match=r"the loss of step \d is \w+: training diverged before a checkpoint; lower"
    ):
        run_training(tmp_path / "run", (train_file, test_file), settings)
    assert not (tmp_path / "run" / "checkpoint.pt").exists()


def test_a_diverged_run_keeps_the_last_good_checkpoint(tmp_path: Path, train_file: Path, test_file: Path):
    out, files = tmp_path / "run", (train_file, test_file)
    good = run_training(out, files, TrainingSettings(steps=2, batch=8)).checkpoint
    before = good.read_bytes()
    diverging = TrainingSettings(steps=60, batch=8, lr=1e30, warmup=0, clip=1e30)
    message = r"the loss of step 4 is \w+: .* the last good weights, of step 2, are in .*checkpoint\.pt\. Lower"
    with pytest.raises(DivergenceError, match=message):
        run_training(out, files, diverging, resume=True)
    assert good.read_bytes() == before
    # A checkpoint that would be saved at once is not: the weights after step 3 are already beyond all numbers.
    with pytest.raises(DivergenceError, match=r"not finite after step 3|the loss of step 4"):
        run_training(out, files, diverging, resume=True, checkpoint_interval=1)
    assert load_checkpoint(good).step == 2


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path, train_file: Path, test_file: Path):
    files = (train_file, test_file)
    run_training(tmp_path / "run", files, TrainingSettings(steps=1, batch=8))
    with pytest.raises(CheckpointError, match="already at step 1 of 1"):
        run_training(tmp_path / "run", files, TrainingSettings(steps=1, batch=8), resume=True)
    with pytest.raises(CheckpointError, match="the run uses sgd, not adamw"):
        run_training(tmp_path / "run", files, TrainingSettings(steps=2, batch=8, optimizer="adamw"), resume=True)
    with pytest.raises(CheckpointError, match="channels=8"):
        train(NetworkConfig(blocks=2, channels=16), Dataset(train_file), tmp_path / "run", resume=True)


def test_a_broken_record_stops_the_run_by_name(tmp_path: Path, broken_file: Path, test_file: Path):
    with pytest.raises(DataFileError, match=r"broken\.hcpe, record 6"):
        run_training(tmp_path / "run", (broken_file, test_file), TrainingSettings(steps=1, batch=12))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("steps", 0),
        ("epochs", 0.0),
        ("batch", -1),
        ("lr", 0.0),
        ("lr", float("nan")),
        ("clip", 0.0),
        ("val_lambda", 1.5),
    ],
)
def test_senseless_settings_are_refused(field: str, value: float):
    with pytest.raises(TrainingError, match=field):
        TrainingSettings(**{field: value})


def test_a_warm_up_that_does_not_end_in_the_run_is_told(tmp_path: Path, train_file: Path, test_file: Path):
    files, settings = (train_file, test_file), TrainingSettings(steps=2, batch=8, lr=0.01, warmup=8)
    listener = ThreadCounter()
    run_training(tmp_path / "run", files, settings, threads=1, listener=listener)
    assert listener.notes == [
        "the warm-up of 8 steps is longer than the run of 2: the learning rate reaches 25% of 0.01"
    ]


def test_changed_settings_are_told_on_resumption(tmp_path: Path, train_file: Path, test_file: Path):
    run_training(tmp_path / "run", (train_file, test_file), TrainingSettings(steps=1, batch=8, lr=0.01))
    notes: list[str] = []

    class Notes(TrainingListener):
        def note(self, text: str) -> None:
            notes.append(text)

    settings = TrainingSettings(steps=2, batch=8, lr=0.005)
    run_training(tmp_path / "run", (train_file, test_file), settings, resume=True, listener=Notes())
    assert notes == ["steps changes from 1 to 2 after step 1", "lr changes from 0.01 to 0.005 after step 1"]
    notes.clear()
    more = TrainingSettings(steps=3, batch=8, lr=0.005)
    run_training(tmp_path / "run", (test_file, test_file), more, resume=True, listener=Notes())
    assert notes[1:] == [
        "files changes from ['train.hcpe'] to ['test.hcpe'] after step 2",
        "positions changes from 96 to 50 after step 2",
    ]


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 not a zip"])
def test_what_is_no_checkpoint_is_named(tmp_path: Path, content: bytes):
    path = tmp_path / "checkpoint.pt"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"checkpoint\.pt: not a checkpoint"):
        load_checkpoint(path)


def test_a_damaged_checkpoint_is_named(tmp_path: Path, train_file: Path, test_file: Path):
    result = run_training(tmp_path / "run", (train_file, test_file), TrainingSettings(steps=1, batch=8))
    data = result.checkpoint.read_bytes()
    for length in (100, len(data) // 2, len(data) - 10):
        result.checkpoint.write_bytes(data[:length])
        with pytest.raises(CheckpointError, match="or damaged"):
            load_checkpoint(result.checkpoint)
    torch.save({"format": "something else"}, result.checkpoint)
    with pytest.raises(CheckpointError, match="'something else'"):
        load_checkpoint(result.checkpoint)


class Events(TrainingListener):
    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def started(self, run: RunStart) -> None:
        self.seen.append(("started", run.step))

    def step(self, step: TrainingStep) -> None:
        self.seen.append(("step", step.step))
        assert step.as_dict()["total_loss"] > 0

    def evaluated(self, step: int, metrics: Metrics) -> None:
        self.seen.append(("evaluated", step))

    def checkpoint(self, step: int, path: Path) -> None:
        assert path.is_file()
        self.seen.append(("checkpoint", step))

    def ended(self) -> None:
        self.seen.append(("ended", 0))


def test_a_listener_follows_the_run(tmp_path: Path, train_file: Path, test_file: Path):
    first, second = Events(), Events()
    settings = TrainingSettings(steps=4, batch=16)
    listener = fan_out(first, second)
    run_training(tmp_path / "run", (train_file, test_file), settings, eval_interval=2, listener=listener)
    assert first.seen == second.seen
    assert first.seen == [
        ("started", 0), ("step", 1), ("step", 2), ("evaluated", 2), ("step", 3), ("step", 4), ("evaluated", 4),
        ("checkpoint", 4), ("ended", 0),
    ]  # fmt: skip


def test_the_end_is_reported_when_a_run_fails(tmp_path: Path, train_file: Path, broken_file: Path):
    events = Events()
    with pytest.raises(DataFileError):
        run_training(tmp_path / "run", (train_file, broken_file), TrainingSettings(steps=1, batch=8), listener=events)
    assert events.seen == [("started", 0), ("step", 1), ("checkpoint", 1), ("ended", 0)]


def test_a_run_without_listener_prints_nothing_and_returns_its_history(
    tmp_path: Path, train_file: Path, test_file: Path, capfd: pytest.CaptureFixture[str]
):
    settings = TrainingSettings(steps=101, batch=8)
    result = run_training(tmp_path / "run", (train_file, test_file), settings, eval_interval=50, test_positions=5)
    assert capfd.readouterr() == ("", "")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["checkpoint.pt", "config.toml", "lock"]
    assert [row["step"] for row in result.history.rows()] == [50, 100, 101]
    assert [row["positions"] for row in result.history.rows()] == [5, 5, 50]
    losses = result.losses.to_polars()
    assert losses["step"].to_list() == [50, 100, 101]
    assert losses["learning_rate"][1] < losses["learning_rate"][0]
    assert str(result.history).splitlines()[0].startswith("step  positions  policy_loss")


def test_tensorboard_has_the_curves(tmp_path: Path, train_file: Path, test_file: Path):
    settings = TrainingSettings(steps=60, batch=8)
    result = run_training(
        tmp_path / "run", (train_file, test_file), settings, eval_interval=30, listener=TensorBoardListener()
    )
    curves = EventAccumulator(str(tmp_path / "run")).Reload()
    for row in result.losses.rows():
        for name in ("total_loss", "policy_loss", "learning_rate", "gradient_norm"):
            (point,) = (point for point in curves.Scalars(f"train/{name}") if point.step == row["step"])
            assert point.value == pytest.approx(row[name])
    assert [point.step for point in curves.Scalars("test/policy_accuracy")] == [30, 60]


def test_what_a_killed_run_left_is_removed(tmp_path: Path, train_file: Path, test_file: Path):
    """A kill while the first checkpoint is written: the folder can be used again, and the next one cleans up."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".checkpoint.pt.0.tmp").write_bytes(b"half a checkpoint")
    assert run_training(tmp_path / "run", (train_file, test_file), TrainingSettings(steps=1, batch=8)).finished
    (tmp_path / "run" / ".checkpoint.pt.1.tmp").write_bytes(b"half a checkpoint")
    run_training(tmp_path / "run", (train_file, test_file), TrainingSettings(steps=2, batch=8), resume=True)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "checkpoint-before.pt",
        "checkpoint.pt",
        "config.toml",
        "lock",
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "adam"}, "optimizer: Input should be 'sgd', 'adamw' or 'muon', not 'adam'"),
        ({"schedule": "linear"}, "schedule: Input should be 'cosine', 'halving' or 'constant', not 'linear'"),
        ({"amp": "fp8"}, "amp: Input should be 'auto', 'bf16', 'fp16' or 'off', not 'fp8'"),
        ({"steps": 2.5}, "steps: Input should be a valid integer, .*, not 2.5"),
        ({"batch": True}, "batch: Input should be a number, not True"),
        ({"lr": "0.1"}, "lr: Input should be a number, not '0.1'"),
        ({"critic": "no"}, "critic: Input should be true or false, not 'no'"),
    ],
)
def test_a_setting_of_another_kind_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError, match=message):
        TrainingSettings(**settings)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"threads": 100_000}, "threads must be 1 to 1024, not 100000"),
        ({"eval_interval": 0}, "eval_interval must be positive"),
        ({"test_positions": -5}, "test_positions must be positive, not -5"),
        ({"checkpoint_interval": -1}, "checkpoint_interval must be positive"),
    ],
)
def test_counts_are_within_reason(
    tmp_path: Path, train_file: Path, test_file: Path, option: dict[str, int], message: str
) -> None:
    with pytest.raises(TrainingError, match=message):
        run_training(tmp_path, (train_file, test_file), TrainingSettings(steps=1, batch=20), **option)


def test_numbers_of_numpy_are_as_good_as_others(tmp_path: Path, train_file: Path, test_file: Path) -> None:
    shape = NetworkConfig(blocks=np.int64(1), channels=np.int64(8), value_hidden=8, dropout=np.float64(0.1))
    data = Dataset(
        train_file, weights=np.array([1.5]), temperature=np.float64(0.5), eval_scale=np.float32(600), n_step=np.int8(0)
    )
    settings = TrainingSettings(steps=np.int64(2), batch=np.int32(8), lr=np.geomspace(1e-3, 1e-2, 3)[1])
    options: dict[str, Any] = {"test": Dataset(test_file), "eval_interval": np.int64(1), "threads": np.int64(1)}
    result = train(shape, data, tmp_path / "run", settings=settings, **options)
    assert load_network(result.checkpoint).config == NetworkConfig(blocks=1, channels=8, value_hidden=8, dropout=0.1)
    more = settings.changed(steps=np.int64(3))
    assert train(shape, data, tmp_path / "run", settings=more, resume=True, **options).finished
    document = tomllib.loads((tmp_path / "run" / "config.toml").read_text())
    assert document["training"]["lr"] == pytest.approx(10**-2.5)
    assert (document["targets"]["temperature"], document["run"]["eval_interval"]) == (0.5, 1)


class SecondRun(TrainingListener):
    """Starts another run in the same folder."""

    def __init__(self, start: Callable[[], object]) -> None:
        self._start = start

    def step(self, step: TrainingStep) -> None:
        with pytest.raises(TrainingError, match="another run writes to"):
            self._start()


def test_one_run_at_a_time_writes_to_a_folder(tmp_path: Path, train_file: Path, test_file: Path) -> None:
    files, settings = (train_file, test_file), TrainingSettings(steps=1, batch=20, warmup=0, amp="off")

    second = SecondRun(lambda: run_training(tmp_path, files, settings, threads=1))
    assert run_training(tmp_path, files, settings, threads=1, listener=second).finished


def test_a_shape_may_be_a_name_and_nothing_else(train_file: Path, tmp_path: Path) -> None:
    settings = TrainingSettings(steps=1, batch=8)
    run = train("resnet1x8_swish_fcl8", train_file, tmp_path / "run", settings=settings, threads=1)
    network = load_network(run.checkpoint)
    with pytest.raises(TrainingError, match=r"not a PolicyValueNetwork: .* goes on by initial=network"):
        train(network, train_file, tmp_path / "other", settings=settings)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="renset"):
        train("renset1x8", train_file, tmp_path / "other", settings=settings)
