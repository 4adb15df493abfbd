"""Two processes that share each batch have the losses and weights of one process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import parallel_run
import pytest
import torch
from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]

from fukayomi.learning import TrainingError
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.training.parallel import Processes, join
from fukayomi.nn import NetworkConfig, PolicyValueNetwork, save_parameters


@pytest.fixture
def as_torchrun(monkeypatch: pytest.MonkeyPatch) -> Generator[dict[str, str]]:
    """This process is the first of two; the environment of the second. As torchrun does, it keeps the store in which
    they meet."""
    ends: list[Callable[[], None]] = []
    monkeypatch.setattr("fukayomi.learning.training.parallel.atexit.register", ends.append)
    monkeypatch.setattr("fukayomi.learning.training.parallel.PATIENCE", timedelta(minutes=5))
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    shared = {
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True",
        "WORLD_SIZE": "2",
    }  # fmt: skip
    for name, value in shared.items() | {("RANK", "0"), ("LOCAL_RANK", "0")}:
        monkeypatch.setenv(name, value)
    yield os.environ | {"RANK": "1", "LOCAL_RANK": "1"}
    for end in ends:
        end()


@pytest.mark.slow
def test_two_processes_train_as_one_does(tmp_path: Path, games_file: Path, request: pytest.FixtureRequest):
    alone = parallel_run.run(games_file, tmp_path / "alone")
    other: dict[str, str] = request.getfixturevalue("as_torchrun")
    out = tmp_path / "shared"
    words = [sys.executable, parallel_run.__file__, str(games_file), str(out), str(tmp_path / "second.pt")]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=other) as process:
        first = parallel_run.run_in_two_parts(games_file, out)
        _, said = process.communicate()
    assert process.returncode == 0, said
    second: dict[str, Any] = torch.load(tmp_path / "second.pt", weights_only=True)

    for mine, other in zip(alone["trace"][7:], first["trace"], strict=True):
        assert mine == pytest.approx(other, rel=1e-4), "losses, learning rate and norm of the gradient"
    for part in ("model", "averaged"):
        for name, tensor in alone[part].items():
            torch.testing.assert_close(tensor, first[part][name], rtol=1e-4, atol=1e-5, msg=name)
    assert alone["metrics"] == pytest.approx(first["metrics"], rel=1e-5)
    assert (first["step"], second["step"]) == (12, 12)
    # The second process evaluates, reports and writes nothing.
    assert (first["writes"], second["writes"]) == (2, 0)
    assert (second["trace"], second["metrics"]) == ([], None)
    names = {"checkpoint.pt", "checkpoint-before.pt", "log.jsonl", "times.jsonl"}
    assert {path.name for path in out.iterdir()} - {"config.toml", "lock"} == names


@pytest.mark.soak  # three starts of torchrun, each with two processes; what they do is that of the test above
def test_the_command_trains_in_two_processes_and_resumes(tmp_path: Path, games_file: Path):
    network = ["--blocks", "1", "--channels", "8", "--value-hidden", "8", "--threads", "1", "--amp", "off"]
    torch.manual_seed(7)
    save_parameters(
        PolicyValueNetwork(NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)),
        tmp_path / "teacher.safetensors",
    )
    taught = ["--teacher", str(tmp_path / "teacher.safetensors"), "--teacher-weight", "0.3", "--optimizer", "muon"]
    options = [
        "--batch",
        "16",
        "--schedule",
        "constant",
        "--ema-interval",
        "3",
        "--seed",
        "3",
        *network,
        *taught,
        "--json",
    ]
    train = ["-m", "fukayomi", "train", str(games_file), *options]
    shared = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]

    def run(*words: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
        )
        assert done.returncode == 0, done.stderr
        (line,) = done.stdout.splitlines()
        return json.loads(line)

    run(*train, "--out", str(tmp_path / "alone"), "--steps", "8")
    assert run(*shared, *train, "--out", str(tmp_path / "two"), "--steps", "5")["step"] == 5
    assert run(*shared, *train, "--out", str(tmp_path / "two"), "--steps", "8", "--resume")["step"] == 8

    alone, two = (load_checkpoint(tmp_path / name / "checkpoint.pt") for name in ("alone", "two"))
    for name, tensor in (alone.model | alone.averaged).items():
        torch.testing.assert_close(tensor, (two.model | two.averaged)[name], rtol=1e-3, atol=1e-4, msg=name)


def test_a_batch_is_divided_evenly_or_not_at_all():
    parts = [Processes(rank, 4).rows(32) for rank in range(4)]
    assert [row for part in parts for row in range(32)[part]] == list(range(32))
    with pytest.raises(TrainingError, match="a batch of 30 cannot be divided among 4 processes"):
        Processes(1, 4).rows(30)


def test_without_torchrun_there_is_one_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert join(torch.device("cpu")) == Processes(0, 1)
