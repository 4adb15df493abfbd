"""A run that is killed at a random moment and resumed has the loss trace of an uninterrupted one, to the bit."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import killed_run
import torch

from fukayomi.learning.checkpoint import load_checkpoint


def test_a_killed_run_goes_on_to_the_same_trace(tmp_path: Path, train_file: Path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    killed_run.run(train_file, whole)

    command = [sys.executable, killed_run.__file__, str(train_file), str(killed)]
    with subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}) as process:
        while not (killed / "checkpoint.pt").exists():
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(random.uniform(0.0, 0.5))
        process.kill()
    assert 5 <= load_checkpoint(killed / "checkpoint.pt").step < killed_run.STEPS, "it was killed on the way"
    killed_run.run(train_file, killed, resume=True)

    assert (killed / "log.jsonl").read_text() == (whole / "log.jsonl").read_text()
    expected, found = (load_checkpoint(folder / "checkpoint.pt") for folder in (whole, killed))
    for name, tensor in (expected.model | expected.averaged).items():
        assert torch.equal(tensor, (found.model | found.averaged)[name]), name
    assert (found.averages, found.scaler) == (expected.averages, expected.scaler)
    assert found.averages == killed_run.STEPS // 4
