"""Targets and losses of the heads that only training has, on rows, games and averages, against plain formulas."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from learning_samples import tensors
from network_samples import HEADS
from numpy.typing import NDArray

from fukayomi.data.dedup import average
from fukayomi.learning import Batch, Dataset, TrainingError
from fukayomi.learning.data.dataset import require_targets
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.loss import head_losses
from fukayomi.nn.config import HeadName

SIZES: dict[HeadName, int] = {"soft-policy": 2187, "short-term-value": 2, "wdl": 3, "plies-left": 1, "reply": 2187}
Array = NDArray[np.float64]


@pytest.fixture
def mixed(games_file: Path, train_file: Path, test_file: Path, tmp_path: Path) -> Dataset:
    """Rows, games of several moves and of one, and averages."""
    average([games_file, test_file], tmp_path / "all.avg")
    return Dataset(games_file, train_file, tmp_path / "all.avg")


def log_softmax(logits: Array) -> Array:
    return logits - np.log(np.exp(logits).sum())


def bce(logit: float, target: float) -> float:
    p = 1 / (1 + np.exp(-logit))
    return -target * np.log(p) - (1 - target) * np.log(1 - p)


def soft_policy(batch: Batch, row: int, output: Array) -> float:
    target = batch.policy()[row].astype(float)
    if np.count_nonzero(target) < 2:
        return 0.0
    target = np.where(target > 0, target**0.25, 0.0)
    return -(target / target.sum() * log_softmax(output)).sum()


def reply(batch: Batch, row: int, output: Array) -> float:
    label = batch.heads.replies[row]
    return -log_softmax(output)[label] if label >= 0 else 0.0


def short_term_value(batch: Batch, row: int, output: Array) -> float:
    averages = batch.heads.short_term[row]
    return (
        0.0 if np.isnan(averages).any() else float(np.mean([bce(*each) for each in zip(output, averages, strict=True)]))
    )


def wdl(batch: Batch, row: int, output: Array) -> float:
    draws = batch.heads.draws[row]
    wins = batch.results[row] - draws / 2
    return -(np.array([wins, draws, 1 - wins - draws]) * log_softmax(output)).sum()


def plies_left(batch: Batch, row: int, output: Array) -> float:
    plies = batch.heads.plies_left[row]
    error = abs(output[0] - plies / 20)
    return 0.0 if plies == 0 else 0.5 * error**2 if error < 0.5 else 0.5 * (error - 0.25)


LOSSES: dict[HeadName, Callable[[Batch, int, Array], float]] = {
    "soft-policy": soft_policy, "short-term-value": short_term_value, "wdl": wdl, "plies-left": plies_left,
    "reply": reply,
}  # fmt: skip


@pytest.mark.parametrize("name", HEADS)
def test_losses_are_sums_over_positions_with_a_target(mixed: Dataset, name: HeadName):
    numbers = np.random.default_rng(1).permutation(len(mixed))
    batch = mixed.arrays(numbers, heads=True)
    output = torch.randn(len(batch), SIZES[name], generator=torch.Generator().manual_seed(2))
    targets = TensorBatch.of(batch, torch.device("cpu")).targets
    (found,) = head_losses({name: output}, targets).values()
    each = [LOSSES[name](batch, row, output[row].double().numpy()) for row in range(len(batch))]
    assert found.item() == pytest.approx(np.mean(each), rel=1e-5)
    without = each.count(0.0) / len(each)
    assert (without == 0.0) if name == "wdl" else (0.2 < without < 0.95)


def test_rows_know_nothing_of_their_games_and_averages_know_their_draws(mixed: Dataset, train_file: Path):
    batch = mixed.arrays(np.arange(len(mixed)), heads=True)
    assert batch.heads is not None
    rows, games = len(Dataset(train_file)), len(mixed) - len(Dataset(mixed.paths[2]))
    for part in (slice(0, rows), slice(games, None)):
        assert (batch.heads.replies[part] == -1).all()
        assert (batch.heads.plies_left[part] == 0).all()
        assert np.isnan(batch.heads.short_term[part]).all()
    followed = batch.heads.plies_left[rows:games]
    assert (np.isnan(batch.heads.short_term[rows:games]).any(axis=1) == (followed == 0)).all()
    assert 0 < (followed == 0).sum() < (followed > 0).sum()
    assert (batch.heads.draws[:games] == (batch.results[:games] == 0.5)).all()
    shares = set(batch.heads.draws[games:].tolist())
    assert {0.0, 1.0} < shares, "and positions with several results"
    assert mixed.arrays(np.arange(3)).heads is None
    assert len(mixed.arrays([], heads=True).heads.plies_left) == 0


@pytest.mark.parametrize("name", HEADS)
def test_a_head_without_targets_is_refused(name: HeadName, train_file: Path, games_file: Path):
    require_targets(HEADS, Dataset(train_file, games_file))
    if name == "wdl":
        require_targets([name], Dataset(train_file))
    else:
        needed = "policies of several moves" if name == "soft-policy" else "the moves that follow a position"
        with pytest.raises(TrainingError, match=f"the head {name} needs {needed}"):
            require_targets([name], Dataset(train_file))
    if name == "soft-policy":
        with pytest.raises(TrainingError, match="a temperature above 0"):
            require_targets([name], Dataset(games_file, temperature=0.0))


def test_a_batch_must_have_the_targets(games_file: Path):
    batch = tensors(Dataset(games_file), np.arange(4))
    with pytest.raises(ValueError, match=r"arrays\(\.\.\., heads=True\)"):
        head_losses({"wdl": torch.zeros(4, 3)}, batch.targets)
