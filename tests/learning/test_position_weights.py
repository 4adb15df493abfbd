"""Weights of positions: they multiply losses, stay with their positions, and are refused where they do not fit."""

import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_app import app
from game_samples import one_hot_game
from learning_samples import random_records, tensors
from network_samples import HEADS
from torch import Tensor
from typer.testing import CliRunner
from verb_runs import make_games

from fukayomi.data import DataFileError
from fukayomi.data.formats.hcpe3 import join_games
from fukayomi.files.inputs import file_sha256
from fukayomi.learning import Dataset, TrainingSettings, evaluate, train
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.data.batch import training_batches
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.layers import (
    LayerError,
    LayerInfo,
    encode_weights,
    find_layer_weights,
    layer_path,
    sidecar_of,
    weights_of,
)
from fukayomi.learning.loss import LossWeights, SoftPolicy, Targets, TeacherTargets, compute_losses, head_losses
from fukayomi.learning.settings import TrainingError
from fukayomi.learning.training.configuration import RunConfiguration
from fukayomi.nn import NetworkConfig
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.settings import build, read

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)
SETTINGS = TrainingSettings(steps=4, batch=16, warmup=1, amp="off")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "games.hcpe3"
    path.write_bytes(make_games(12, seed=5, most_moves=16).write())
    return path


def weigh(games: Path, weights: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    array = np.asarray(weights, np.float32)
    weights_of(games).write_bytes(encode_weights(array))
    return array


# ------------------------------------------------------------------------------------------------------ losses


def take(targets: Targets, rows: Tensor) -> Targets:
    """Rows of targets whose policy has two moves in each row."""
    labels = 2187
    soft = targets.soft
    if soft is not None:
        places = soft.places.view(-1, 2)[rows] % labels + labels * torch.arange(len(rows)).unsqueeze(1)
        soft = SoftPolicy(places.flatten().int(), soft.weights.view(-1, 2)[rows].flatten())
    return Targets(targets.labels[rows], targets.results[rows], targets.values[rows], soft)


@pytest.mark.parametrize("is_soft", [False, True])
@pytest.mark.parametrize("critic", [False, True])
def test_a_position_of_weight_two_counts_like_two(is_soft: bool, critic: bool) -> None:
    generator = torch.Generator().manual_seed(3)
    policy, value = torch.randn(4, 2187, generator=generator), torch.randn(4, 1, generator=generator)
    labels = torch.randint(0, 2186, (4,), generator=generator)
    places = (torch.arange(4) * 2187 + labels).repeat_interleave(2) + torch.tensor([0, 1] * 4)
    soft = SoftPolicy(places.int(), torch.tensor([0.25, 0.75] * 4)) if is_soft else None
    targets = Targets(labels, *torch.rand(2, 4, generator=generator), soft)
    teacher = TeacherTargets(torch.softmax(policy.flip(1), dim=1), torch.rand(4, generator=generator), 0.3)
    settings = LossWeights(0.4, value=0.5, entropy=0.1, critic=critic)
    heavy = replace(targets, position_weights=torch.tensor([2.0, 0, 1, 1]))
    weighted = compute_losses(policy, value, heavy, settings, teacher)
    rows = torch.tensor([0, 0, 2, 3])
    repeated = replace(teacher, policy=teacher.policy[rows], values=teacher.values[rows])
    expected = compute_losses(policy[rows], value[rows], take(targets, rows), settings, repeated)
    for name, loss in expected.by_name().items():
        torch.testing.assert_close(weighted.by_name()[name], loss, msg=name)
    ones = compute_losses(policy, value, replace(targets, position_weights=torch.ones(4)), settings, teacher)
    for name, loss in compute_losses(policy, value, targets, settings, teacher).by_name().items():
        torch.testing.assert_close(ones.by_name()[name], loss, msg=name)


def test_weights_multiply_the_losses_of_heads(file: Path) -> None:
    data = Dataset(file)
    network = PolicyValueNetwork(TINY.changed(heads=tuple(HEADS))).eval()

    def losses(rows: list[int], weights: list[float] | None) -> dict[str, Tensor]:
        batch = TensorBatch.of(data.arrays(rows, heads=True), torch.device("cpu"))
        with torch.no_grad():
            _, _, outputs = network.all_outputs(*batch.features())
        chosen = None if weights is None else torch.tensor(weights)
        return head_losses(outputs, replace(batch.targets, position_weights=chosen))

    weighted, repeated = losses([0, 1, 9, 15], [2, 0, 1, 1]), losses([0, 0, 9, 15], None)
    assert set(weighted) == {name.replace("-", "_") for name in HEADS}
    for name, loss in repeated.items():
        torch.testing.assert_close(weighted[name], loss, msg=name)


# ----------------------------------------------------------------------------------------------------- reading


def test_positions_have_their_weights_in_any_order(tmp_path: Path, file: Path) -> None:
    other = tmp_path / "other.hcpe3"
    other.write_bytes(make_games(3, seed=6, most_moves=9).write())
    random_records(10, seed=1).tofile(tmp_path / "rows.hcpe")
    weights = weigh(file, 1 + np.arange(len(Dataset(file))) / 7)
    data = Dataset(other, file, tmp_path / "rows.hcpe")
    expected = np.ones(len(data), np.float32)
    expected[-len(weights) :] = weights
    order = np.random.default_rng(1).permutation(len(data))
    for each in (data, pickle.loads(pickle.dumps(data))):
        np.testing.assert_array_equal(each.arrays(order).position_weights, expected[order])
    np.testing.assert_array_equal(data.arrays(order, heads=True).position_weights, expected[order])
    assert [item["weight"].item() for item in data.torch().__getitems__([11, len(data) - 1])] == [1, weights[-1]]
    for plain in (Dataset(other, file, position_weights=False), Dataset(other)):
        assert plain.arrays([0]).position_weights is None


def test_positions_without_weight_are_in_no_batch(tmp_path: Path, file: Path) -> None:
    """A run that is resumed still sees the batches that it would have seen."""
    random_records(10, seed=1).tofile(tmp_path / "rows.hcpe")
    weights = np.arange(len(Dataset(file))) % 3 / 2
    weigh(file, weights)
    data = Dataset(file, tmp_path / "rows.hcpe", weights=[1.5, 1])
    heavy = set((10 + np.flatnonzero(weights)).tolist())
    assert (data.weightless, len(data)) == (len(weights) - len(heavy), 10 + len(weights))
    assert data.epoch_size == 10 + round(1.5 * len(heavy))
    visits = Counter(data.epoch_order(seed=4, epoch=0).tolist()) + Counter(data.epoch_order(seed=4, epoch=1).tolist())
    assert set(visits) == heavy | set(range(10))
    assert {visits[number] for number in heavy} <= {2, 3, 4}
    whole = list(training_batches(data, 4, seed=4, start=0, stop=12))
    rest = list(training_batches(data, 4, seed=4, start=5, stop=12))
    for batch, other in zip(whole[5:], rest, strict=True):
        np.testing.assert_array_equal(batch.planes1, other.planes1)
        np.testing.assert_array_equal(batch.position_weights, other.position_weights)
    assert all(batch.position_weights is not None and (batch.position_weights > 0).all() for batch in whole)


def test_a_file_of_positions_without_weight_has_no_batch(file: Path) -> None:
    weigh(file, np.zeros(len(Dataset(file))))
    data = Dataset(file)
    with pytest.raises(
        TrainingError, match=rf"0 positions \({len(data)} with those of weight 0\), fewer than one batch"
    ):
        next(training_batches(data, 4, seed=4, start=0, stop=1))


def test_processes_have_the_weights_of_their_rows(file: Path) -> None:
    weigh(file, np.arange(len(Dataset(file))))
    data = Dataset(file)
    whole = next(training_batches(data, 24, seed=5, start=0, stop=1)).position_weights
    parts = [
        next(training_batches(data, 24, seed=5, start=0, stop=1, rows=slice(first, first + 8))).position_weights
        for first in (0, 8, 16)
    ]
    assert whole is not None
    np.testing.assert_array_equal(np.concatenate([part for part in parts if part is not None]), whole)


def test_weights_stay_with_positions_where_others_are_left_out(tmp_path: Path) -> None:
    shuffling = "5i5h 5a5b 5h5i 5b5a"
    lines = (f"7g7f 3c3d {shuffling} 2g2f", f"{shuffling} {shuffling}", "7g7f 3c3d", f"{shuffling} 7g7f", shuffling)
    paths = [tmp_path / name for name in ("a.hcpe3", "b.hcpe3")]
    for first, path in zip((1, 101), paths, strict=True):
        games = join_games([one_hot_game(moves) for moves in lines])
        games.evals[:] = first + np.arange(len(games.evals))
        games = games.with_candidates(np.arange(len(games.evals)) % 5 != 2)  # some moves have no targets
        path.write_bytes(games.write())
        # The weight of a position is its evaluation, so that it can be found again.
        weigh(path, games.evals[games.candidate_counts() > 0])
    data = Dataset(*paths)
    assert data.repetitions > 4, "moves into a repetition are left out"
    found = data.arrays(range(len(data))).position_weights
    assert found is not None
    assert found.tolist() == [data[number].eval_cp for number in range(len(data))]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda weights: weights[:-1], r"weights of shape \(\d+,\) for \d+ positions with targets"),
        (lambda weights: np.append(weights, 1), r"weights of shape"),
        (lambda weights: np.append(weights, np.ones(1 << 16)), r"bytes, too many for"),
        (lambda weights: weights.reshape(1, -1), r"weights of shape"),
        (lambda weights: np.where(np.arange(len(weights)) == 5, np.nan, weights), "weight 5 is nan"),
        (lambda weights: np.where(np.arange(len(weights)) == 5, np.inf, weights), "weight 5 is inf"),
        (lambda weights: np.where(np.arange(len(weights)) == 5, -1, weights), r"weight 5 is -1\.0, which is negative"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit_are_refused(file: Path, change: Callable[[Any], Any], reason: str) -> None:
    weigh(file, change(np.ones(len(Dataset(file)), np.float32)))
    with pytest.raises(DataFileError, match=rf"games\.weights\.npy: .*{reason}|games\.weights\.npy: {reason}"):
        Dataset(file)
    assert len(Dataset(file, position_weights=False)) > 0


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"PK\x03\x04", np.arange(3).tobytes()])
def test_files_that_are_no_weights_are_refused(file: Path, content: bytes) -> None:
    weights_of(file).write_bytes(content)
    with pytest.raises(DataFileError, match=r"games\.weights\.npy: not an array of"):
        Dataset(file)


def test_the_weights_of_a_layer_multiply_those_of_its_original(file: Path) -> None:
    count = len(Dataset(file))
    layer = layer_path(file, "x")
    layer.write_bytes(file.read_bytes())
    of_file, of_layer = weigh(file, np.full(count, 0.5)), weigh(layer, np.arange(count) % 3)
    info = LayerInfo(
        original_sha256=file_sha256(file), sha256=file_sha256(layer), bytes=layer.stat().st_size, games=12,
        positions=count,
        chosen=count, changed=0, moved=0, network="n", evaluator="e", build="0", settings={},
        weights_sha256=file_sha256(weights_of(layer)),
    )  # fmt: skip
    sidecar_of(layer).write_text(info.text())
    assert find_layer_weights(layer) == weights_of(layer)
    numbers = np.arange(count)
    np.testing.assert_array_equal(Dataset(file).arrays(numbers).position_weights, of_file)
    np.testing.assert_array_equal(Dataset(file, layer="x").arrays(numbers).position_weights, of_file * of_layer)
    weigh(layer, np.ones(count))
    with pytest.raises(LayerError, match=r"games\.layer-x\.weights\.npy is missing or damaged"):
        Dataset(file, layer="x")
    sidecar_of(layer).write_text(info.model_copy(update={"weights_sha256": None}).text())
    np.testing.assert_array_equal(Dataset(file, layer="x").arrays(numbers).position_weights, of_file)


# ---------------------------------------------------------------------------------------------------- training


def model(data: Dataset, out: Path, **options: Any) -> list[Tensor]:
    result = train(TINY, data, out, settings=SETTINGS, device="cpu", threads=1, **options)
    return list(load_checkpoint(result.checkpoint).model.values())


def test_training_takes_weights_and_metrics_do_not(tmp_path: Path, file: Path) -> None:
    plain = model(Dataset(file), tmp_path / "plain")
    metrics = evaluate(tmp_path / "plain" / "checkpoint.pt", Dataset(file))
    weigh(file, np.arange(len(Dataset(file))) % 4)
    weighted = model(Dataset(file), tmp_path / "weighted")
    ignored = model(Dataset(file, position_weights=False), tmp_path / "ignored")
    assert all(torch.equal(*pair) for pair in zip(plain, ignored, strict=True))
    assert not all(torch.equal(*pair) for pair in zip(plain, weighted, strict=True))
    assert evaluate(tmp_path / "plain" / "checkpoint.pt", Dataset(file)) == metrics
    for name, has_weights in (("weighted", True), ("ignored", False)):
        configuration = build(RunConfiguration, read(RunConfiguration, tmp_path / name / "config.toml"))
        assert configuration.targets.weights is has_weights
        assert configuration.open(configuration.train).position_weights is has_weights
        assert configuration.open(configuration.train, as_test=True).position_weights is False


def test_the_command_can_ignore_weights(tmp_path: Path, file: Path) -> None:
    arguments = [
        "train", str(file), "--steps", "2", "--batch", "8", "--blocks", "1", "--channels", "8", "--threads", "1",
        "--device", "cpu",
    ]  # fmt: skip
    weigh(file, [1.0])
    refused = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "a")])
    assert refused.exit_code != 0
    assert "games.weights.npy" in refused.output.replace("\n", "")
    done = CliRunner().invoke(app, [*arguments, "--no-weights", "--out", str(tmp_path / "b")])
    assert done.exit_code == 0, done.output
    assert "weights = false" in (tmp_path / "b" / "config.toml").read_text()
    assert tensors(Dataset(file, position_weights=False), [0]).targets.position_weights is None
