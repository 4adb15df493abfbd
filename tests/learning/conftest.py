"""Training data of random games; one thread for torch, as the networks of these tests are tiny, and a seed."""

from pathlib import Path

import pytest
import torch
from learning_samples import random_records
from verb_runs import make_games


@pytest.fixture(autouse=True)
def one_thread_and_a_seed() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def train_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """96 positions."""
    path = tmp_path_factory.mktemp("data") / "train.hcpe"
    random_records(96, seed=1).tofile(path)
    return path


@pytest.fixture(scope="session")
def test_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """50 other positions."""
    path = tmp_path_factory.mktemp("data") / "test.hcpe"
    random_records(50, seed=2).tofile(path)
    return path


@pytest.fixture
def broken_file(tmp_path: Path) -> Path:
    """Twelve records, the seventh of which (number 6) is no position."""
    records = random_records(12, seed=3)
    records["hcp"][6] = 0xFF
    path = tmp_path / "broken.hcpe"
    records.tofile(path)
    return path


@pytest.fixture(scope="session")
def games_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Games of 0 to 8 moves, of which some are searched, with visits: about 150 positions."""
    path = tmp_path_factory.mktemp("data") / "games.hcpe3"
    path.write_bytes(make_games(60, seed=3, most_moves=8).write())
    return path
