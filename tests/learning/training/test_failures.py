"""What ends a run on the way costs no work: a checkpoint is saved before the error is reported."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import until

from fukayomi.data.formats.format import DataFileError
from fukayomi.files.disk import DiskError
from fukayomi.learning import Dataset, TrainingListener, TrainingSettings, train
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.listeners import TrainingStep
from fukayomi.learning.training import run_folder
from fukayomi.nn import NetworkConfig

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)
SETTINGS = TrainingSettings(steps=9, batch=16, warmup=0, amp="off")


class Failing(TrainingListener):
    """Cannot report a step."""

    def __init__(self, error: BaseException, at: int = 4) -> None:
        self._error, self._at = error, at

    def step(self, step: TrainingStep) -> None:
        if step.step == self._at:
            raise self._error


def run(out: Path, data: Path, **options: Any) -> Path:
    """Train; returns the path of the checkpoint."""
    return train(TINY, Dataset(data), out, settings=SETTINGS, device="cpu", threads=1, **options).checkpoint


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(141)])
def test_a_listener_that_fails_ends_the_run_after_a_checkpoint(error: BaseException, tmp_path: Path, train_file: Path):
    with pytest.raises(type(error)) as found:
        run(tmp_path / "run", train_file, listener=Failing(error))
    assert found.value is error
    assert load_checkpoint(tmp_path / "run" / "checkpoint.pt").step == 4
    whole, resumed = run(tmp_path / "whole", train_file), run(tmp_path / "run", train_file, resume=True)
    expected = load_checkpoint(whole).model
    assert all((tensor == expected[name]).all() for name, tensor in load_checkpoint(resumed).model.items())


def test_a_second_ctrl_c_still_ends_it_at_once(tmp_path: Path, train_file: Path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", train_file, listener=Failing(KeyboardInterrupt()))
    assert not (tmp_path / "run" / "checkpoint.pt").exists()


def test_a_damaged_test_record_ends_the_run_after_a_checkpoint(tmp_path: Path, train_file: Path, broken_file: Path):
    with pytest.raises(DataFileError, match=r"broken\.hcpe, record 6"):
        run(tmp_path / "run", train_file, test=Dataset(broken_file), eval_interval=2)
    assert load_checkpoint(tmp_path / "run" / "checkpoint.pt").step == 2


def test_a_damaged_training_record_ends_the_run_after_a_checkpoint(tmp_path: Path, train_file: Path, broken_file: Path):
    data = Dataset(train_file, broken_file)
    bad = len(data) - 6
    place = data.epoch_order(0, 0).tolist().index(bad)
    settings = TrainingSettings(steps=108, batch=1, warmup=0, amp="off")
    with pytest.raises(DataFileError, match=r"broken\.hcpe, record 6"):
        train(TINY, data, tmp_path / "run", settings=settings, device="cpu", threads=1)
    assert load_checkpoint(tmp_path / "run" / "checkpoint.pt").step == place > 0


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path, train_file: Path, monkeypatch: pytest.MonkeyPatch):
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(
        DiskError, match=r"the disk is full \(.* free at .*make room, and resume the run from .*point\.pt"
    ):
        run(tmp_path / "run", train_file, listener=Failing(full))

    def save(*_: object) -> None:
        raise full

    monkeypatch.setattr(run_folder, "save_checkpoint", save)
    with pytest.raises(DiskError, match=r"make room, and resume"):
        run(tmp_path / "run", train_file, resume=True)
    assert load_checkpoint(tmp_path / "run" / "checkpoint.pt").step == 4


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.soak)])
def test_the_command_saves_a_checkpoint_and_reports_the_signal(
    number: signal.Signals, tmp_path: Path, train_file: Path
):
    out = tmp_path / "run"
    command = [
        sys.executable, "-m", "fukayomi", "train", str(train_file), "--out", str(out), "--network",
        "resnet1x8_fcl8", "--batch", "16", "--steps", "1000000", "--threads", "1", "--device", "cpu",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}) as run:
        until(lambda: (out / "log.jsonl").exists() and (out / "log.jsonl").stat().st_size > 0)
        run.send_signal(number)
        _, said = run.communicate(timeout=60)
    assert run.returncode == 128 + number
    assert f"stopped after step {load_checkpoint(out / 'checkpoint.pt').step}" in said
