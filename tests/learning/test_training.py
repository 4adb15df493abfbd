"""Training: it learns, it resumes to the same weights, and it refuses what makes no sense."""

import itertools
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch
from learning_samples import InterruptingConsole
from rich.console import Console

from fukayomi.learning.checkpoint import CheckpointError, load_checkpoint
from fukayomi.learning.evaluation import evaluate_network
from fukayomi.learning.models import load_network
from fukayomi.learning.positions import PositionFiles, TrainingDataError
from fukayomi.learning.training import (
    TrainingResult,
    TrainingRun,
    TrainingRunError,
    TrainingSettings,
    learning_rate,
    steps_of_epochs,
    train,
)
from fukayomi.nn.config import NetworkConfig

CPU = torch.device("cpu")
TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)


def quiet() -> Console:
    return Console(quiet=True)


def run_training(out: Path, files: tuple[Path, Path], settings: TrainingSettings, **options: Any) -> TrainingResult:
    console = options.pop("console", quiet())
    resume = options.pop("resume", False)
    train_files, test_files = PositionFiles([files[0]]), PositionFiles([files[1]])
    run = TrainingRun(train_files, test_files, out, CPU, **{"eval_interval": 1000, **options})
    return train(TINY, settings, run, resume, console)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_resumed_weights_are_those_of_an_uninterrupted_run(tmp_path: Path, train_file, test_file, optimizer):
    files = (train_file, test_file)
    lr = {"sgd": 0.05, "adamw": 0.002}[optimizer]
    settings = TrainingSettings(steps=9, batch=20, optimizer=optimizer, lr=lr, warmup=3, seed=4)
    whole = run_training(tmp_path / "whole", files, settings)
    assert whole.finished

    interrupted = run_training(tmp_path / "parts", files, settings, console=InterruptingConsole(), eval_interval=5)
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


def test_a_tiny_set_is_learnt_by_heart(tmp_path: Path, train_file: Path):
    settings = TrainingSettings(steps=150, batch=48, optimizer="adamw", lr=0.02, warmup=10, val_lambda=0.0)
    result = run_training(tmp_path / "run", (train_file, train_file), settings)
    assert result.metrics is not None
    assert result.metrics.positions == 96
    assert result.metrics.policy_accuracy > 0.9
    assert result.metrics.policy_loss < 0.5
    # A third of the random results are draws, whose loss cannot fall below ln 2.
    assert result.metrics.result_loss < 0.35
    assert result.metrics.value_accuracy > 0.75


def test_checkpoint_evaluates_to_the_metrics_of_the_run(tmp_path: Path, train_file: Path, test_file: Path):
    settings = TrainingSettings(steps=3, batch=16, val_lambda=0.4)
    result = run_training(tmp_path / "run", (train_file, test_file), settings)
    network = load_network(result.checkpoint)
    assert evaluate_network(network, PositionFiles([test_file]), CPU, 0.4) == result.metrics
    assert any(path.name.startswith("events.out.tfevents") for path in (tmp_path / "run").iterdir())


def test_the_schedule_warms_up_and_falls_to_zero():
    settings = TrainingSettings(steps=1000, lr=0.1, warmup=10)
    rates = [learning_rate(step, settings) for step in range(1000)]
    assert rates[0] == pytest.approx(0.01)
    assert max(rates) == pytest.approx(0.1, rel=1e-3)
    assert rates[500] == pytest.approx(0.05)
    assert rates[999] < 1e-6
    assert all(a >= b for a, b in itertools.pairwise(rates[10:]))


def test_bfloat16_trains_too(tmp_path: Path, train_file: Path, test_file: Path):
    settings = TrainingSettings(steps=2, batch=8, amp=True)
    result = run_training(tmp_path / "run", (train_file, test_file), settings)
    assert all(tensor.dtype != torch.bfloat16 for tensor in load_checkpoint(result.checkpoint).model.values())


def test_epochs_count_whole_batches(train_file: Path):
    files = PositionFiles([train_file])
    assert steps_of_epochs(files, 1, batch=20) == 4
    assert steps_of_epochs(files, 2.5, batch=20) == 10
    with pytest.raises(TrainingRunError, match="must be positive, not 0"):
        steps_of_epochs(files, 0, batch=20)


def test_a_folder_in_use_is_refused(tmp_path: Path, train_file: Path, test_file: Path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(TrainingRunError, match="not empty: use --resume"):
        run_training(tmp_path, (train_file, test_file), TrainingSettings(steps=1, batch=8))
    with pytest.raises(CheckpointError, match=r"checkpoint\.pt: no such file"):
        run_training(tmp_path, (train_file, test_file), TrainingSettings(steps=1, batch=8), resume=True)


def test_a_run_that_came_to_nothing_can_be_started_again(tmp_path: Path, train_file, test_file, broken_file):
    settings = TrainingSettings(steps=1, batch=12)
    with pytest.raises(TrainingDataError):
        run_training(tmp_path / "run", (broken_file, test_file), settings)
    assert run_training(tmp_path / "run", (train_file, test_file), settings).finished


def test_divergence_is_an_error_and_no_checkpoint(tmp_path: Path, train_file: Path, test_file: Path):
    settings = TrainingSettings(steps=60, batch=8, lr=1e30, warmup=0, clip=1e30)
    with pytest.raises(TrainingRunError, match="after step 50: training diverged"):
        run_training(tmp_path / "run", (train_file, test_file), settings)
    assert not (tmp_path / "run" / "checkpoint.pt").exists()


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path, train_file: Path, test_file: Path):
    files = (train_file, test_file)
    run_training(tmp_path / "run", files, TrainingSettings(steps=1, batch=8))
    with pytest.raises(CheckpointError, match="at step 1 of 1 already"):
        run_training(tmp_path / "run", files, TrainingSettings(steps=1, batch=8), resume=True)
    with pytest.raises(CheckpointError, match="the run uses sgd, not adamw"):
        run_training(tmp_path / "run", files, TrainingSettings(steps=2, batch=8, optimizer="adamw"), resume=True)
    run = TrainingRun(PositionFiles([train_file]), None, tmp_path / "run", CPU)
    with pytest.raises(CheckpointError, match="channels=8"):
        train(NetworkConfig(2, 16), TrainingSettings(steps=2, batch=8), run, True, quiet())


def test_a_broken_record_stops_the_run_by_name(tmp_path: Path, broken_file: Path, test_file: Path):
    with pytest.raises(TrainingDataError, match=r"broken\.hcpe, record 6"):
        run_training(tmp_path / "run", (broken_file, test_file), TrainingSettings(steps=1, batch=12))


@pytest.mark.parametrize(
    ("field", "value"),
    [("steps", 0), ("batch", -1), ("lr", 0.0), ("lr", float("nan")), ("clip", 0.0), ("val_lambda", 1.5)],
)
def test_senseless_settings_are_refused(field: str, value: float):
    with pytest.raises(TrainingRunError, match=field):
        TrainingSettings(**{"steps": 1, field: value})


def test_changed_settings_are_told_on_resumption(tmp_path: Path, train_file: Path, test_file: Path):
    run_training(tmp_path / "run", (train_file, test_file), TrainingSettings(steps=1, batch=8, lr=0.01))
    console = Console(record=True, width=200, quiet=False, file=StringIO())
    settings = TrainingSettings(steps=2, batch=8, lr=0.005)
    run_training(tmp_path / "run", (train_file, test_file), settings, resume=True, console=console)
    text = console.export_text()
    assert "from step 1 on: steps 2, was 1" in text
    assert "from step 1 on: lr 0.005, was 0.01" in text
    assert "batch" not in text


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
        with pytest.raises(CheckpointError, match="a damaged one"):
            load_checkpoint(result.checkpoint)
    torch.save({"format": "something else"}, result.checkpoint)
    with pytest.raises(CheckpointError, match="'something else'"):
        load_checkpoint(result.checkpoint)
