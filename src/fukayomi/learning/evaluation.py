"""Evaluation of a network on a test set.

Any number of networks on any number of test sets: the metrics with bootstrap intervals, and paired differences.
"""

# pyright: reportUnknownMemberType=false

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from fukayomi._native import NO_POLICY_LABEL
from fukayomi.errors import InvalidValueError
from fukayomi.learning.data.batch import prefetch
from fukayomi.learning.data.dataset import Dataset, has_targets
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.devices import DeviceError, choose_device
from fukayomi.learning.loss import head_losses
from fukayomi.learning.metrics import (
    MEASURES,
    Estimate,
    Floats,
    Metrics,
    MetricsSum,
    of_positions_with_moves,
    percentile_estimates,
    position_metrics,
    resample_means,
)
from fukayomi.learning.settings import CONFIDENCE, RESAMPLES, VAL_LAMBDA
from fukayomi.listener import SILENT, Listener
from fukayomi.nn.config import HeadName
from fukayomi.nn.network import PolicyValueNetwork, evaluation_mode
from fukayomi.nn.sparse import SparseNetwork
from fukayomi.tabular import Tabular, counted

EVALUATION_BATCH = 1024


def evaluate(
    network: nn.Module | Path | str,
    data: Dataset,
    *,
    val_lambda: float = VAL_LAMBDA,
    sample: int | None = None,
    batch: int = EVALUATION_BATCH,
    device: str | torch.device | None = None,
    listener: Listener = SILENT,
) -> Metrics:
    """Compare a network's policy and value with the moves and results of a test set.

    Args:
        network: A network in torch, or a file: a checkpoint, .safetensors or .onnx.
        data: The test set.
        val_lambda: Share of the evaluation in the total loss, 0 to 1.
        sample: Evaluate this many positions, spread evenly over the test set; None: all.
        batch: Positions per batch.
        device: "cpu", "cuda", "cuda:1"; None: where the network is, for a file CUDA if there is one. ONNX files are
            evaluated on the CPU.
        listener: Follows the evaluation.

    Raises:
        ValueError: A number is out of range.
        CheckpointError, ParameterFileError, ModelFileError: The file is missing, damaged or something else, or its
            network gives numbers that are not finite.
        DataFileError: A record of the test set is damaged.
        PackedError: The test set has a position that the rules do not allow.
        DeviceError: There is no such device, or it is not the CPU and the network is a sparse one.
    """
    require_ranges(val_lambda, batch)
    if sample is not None and sample < 1:
        raise InvalidValueError(f"sample must be positive, not {sample}")
    placed, where = place_network(network, device)
    trained = placed if isinstance(placed, PolicyValueNetwork) else None
    heads: list[HeadName] = [name for name in trained.config.heads if has_targets(name, data)] if trained else []
    total = MetricsSum(val_lambda)
    indices = np.linspace(0, len(data) - 1, min(sample or len(data), len(data))).round().astype(np.int64)
    chunks = (indices[first : first + batch] for first in range(0, len(indices), batch))
    with evaluation_mode(placed), torch.inference_mode():
        for arrays in prefetch(data.arrays(chunk, heads=bool(heads)) for chunk in chunks):
            part = TensorBatch.of(arrays, where, placed, over_moves=True)
            targets = replace(part.targets, position_weights=None)  # of training alone
            if trained and heads:
                policy, value, outputs = trained.all_outputs(*part.features_for(placed))
                policy = part.of_moves(policy)
                losses = head_losses({name: outputs[name] for name in heads}, targets)
                total.add_heads(losses, len(part))
            else:
                policy, value = part.outputs_of(placed)
            total.add(policy, value, targets)
            listener.progress("evaluating", total.positions, len(indices))
    metrics = total.metrics()
    if not isinstance(network, nn.Module) and not metrics.is_finite:
        refuse_numbers(network)
    return metrics


def require_ranges(val_lambda: float, batch: int) -> None:
    """Raise ValueError if the share of the search value or the size of a batch is out of range."""
    if not 0 <= val_lambda <= 1:
        raise InvalidValueError(f"val_lambda must be between 0 and 1, not {val_lambda}")
    if batch < 1:
        raise InvalidValueError(f"batch must be positive, not {batch}")


def place_network(network: nn.Module | Path | str, device: str | torch.device | None) -> tuple[nn.Module, torch.device]:
    """A network, loaded if it is a file, on its device; arguments and errors as in `evaluate`."""
    if not isinstance(network, nn.Module):
        from fukayomi.learning.models import OnnxNetwork, load_model

        network = load_model(network)
        device = "cpu" if isinstance(network, OnnxNetwork) else device or "auto"
    if isinstance(network, SparseNetwork) and device == "auto":
        device = "cpu"
    if device is None:
        parameter = next(network.parameters(), None)
        device = torch.device("cpu") if parameter is None else parameter.device
    where = choose_device(device)
    if isinstance(network, SparseNetwork) and where.type != "cpu":
        raise DeviceError(f"a sparse network is computed on the CPU, not on {where}: use cpu or auto")
    return network.to(where), where


def refuse_numbers(network: Path | str) -> NoReturn:
    """Raise ModelFileError: a network gives numbers that are not finite."""
    from fukayomi.learning.models import ModelFileError

    raise ModelFileError(f"{network}: the network's policy or value is not finite for some of the positions")


LARGEST_BLOCK = 256
"""Positions of a block of resampling; a game has about a hundred."""
FEWEST_BLOCKS = 64
"""Blocks are shorter where there would be fewer of them."""


@dataclass(frozen=True)
class TestSet:
    """A test set, and what its intervals are computed from."""

    name: str
    """Name of the test set."""
    positions: int
    """Number of positions."""
    games: int
    """Games that are drawn whole."""
    blocks: int
    """Blocks of positions that are drawn whole, where the data does not tell games apart."""
    block: int
    """Positions of a block."""

    def resampled(self) -> str:
        """Data that the intervals are computed from, in words."""
        games = [counted(self.games, "game")] if self.games else []
        size = counted(self.block, "consecutive position")
        blocks = [f"{counted(self.blocks, 'block')} of {size}"] if self.blocks else []
        return " and ".join(games + blocks)


@dataclass(frozen=True)
class EvaluatedNetwork:
    """The metrics of a network on a test set, or their differences to those of the first network."""

    test: str
    """Name of the test set."""
    network: str
    """Name of the network."""
    minus: str | None
    """The network whose metrics are subtracted; None: the metrics themselves."""
    positions: int
    """Number of positions."""
    measures: Mapping[str, Estimate]
    """The metrics of `Metrics` by name, with their intervals."""

    def row(self) -> dict[str, Any]:
        """The metrics with the ends of their intervals, flat."""
        found: dict[str, Any] = {
            "test": self.test, "network": self.network, "minus": self.minus, "positions": self.positions,
        }  # fmt: skip
        for name, estimate in self.measures.items():
            value = None if isnan(estimate.value) else estimate.value  # the policy's, on a test set without moves
            found |= {name: value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        return found


class EvaluationTable(Tabular):
    """Networks on test sets: a row for each pair, the test sets in order."""

    def __init__(
        self,
        tests: Sequence[TestSet],
        results: Sequence[EvaluatedNetwork],
        differences: Sequence[EvaluatedNetwork],
        *,
        val_lambda: float,
        confidence: float,
        resamples: int,
    ) -> None:
        self.tests = tuple(tests)
        """The test sets."""
        self.results = tuple(results)
        """The metrics of each network on each test set."""
        self.differences = tuple(differences)
        """Those of each further network minus those of the first one, on the same positions."""
        self.val_lambda, self.confidence, self.resamples = val_lambda, confidence, resamples

    def rows(self) -> list[dict[str, Any]]:
        """Test set, network, positions, then each metric with the ends of its interval; rows of differences last.

        "minus" is the first network in rows of differences, else None.
        """
        return [each.row() for each in (*self.results, *self.differences)]

    def as_dict(self) -> dict[str, Any]:
        """The table with its test sets, for JSON."""
        return {
            "val_lambda": self.val_lambda,
            "confidence": self.confidence,
            "resamples": self.resamples,
            "tests": [vars(test) for test in self.tests],
            "results": [{k: v for k, v in each.row().items() if k != "minus"} for each in self.results],
            "differences": [each.row() for each in self.differences],
        }

    def csv(self) -> str:
        """The rows as CSV with a header."""
        text = io.StringIO()
        rows = self.rows()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()


def evaluate_networks(
    networks: Mapping[str, nn.Module | Path | str],
    tests: Mapping[str, Dataset],
    *,
    val_lambda: float = VAL_LAMBDA,
    batch: int = EVALUATION_BATCH,
    device: str | torch.device | None = None,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    listener: Listener = SILENT,
) -> EvaluationTable:
    """Compare networks on test sets, with bootstrap intervals.

    Each interval comes from samples of games (hcpe3), or of blocks of 256 consecutive positions (other formats, which
    do not tell games apart), drawn with replacement; blocks are shorter where there would be fewer than 64. All
    networks see the same samples, so the intervals of their differences are paired, and narrower than those of the
    metrics.

        >>> import tempfile
        >>> from fukayomi.data import write_data
        >>> from fukayomi.data.formats.psv import psv_record
        >>> from fukayomi.nn import NetworkConfig, PolicyValueNetwork
        >>> from fukayomi.shogi import Position
        >>> file = Path(tempfile.mkdtemp(), "test.psv")
        >>> moves = ("7g7f", "2g2f", "5g5f")
        >>> write_data(file, [psv_record(Position().sfen(), move, score_cp=60, ply=1, result=1) for move in moves])
        3
        >>> shapes = {name: NetworkConfig(blocks=blocks, channels=8) for name, blocks in (("small", 1), ("large", 2))}
        >>> networks = {name: PolicyValueNetwork(shape) for name, shape in shapes.items()}
        >>> table = evaluate_networks(networks, {"test": Dataset(file)})
        >>> [(row["network"], row["minus"], row["positions"]) for row in table.rows()]
        [('small', None, 3), ('large', None, 3), ('large', 'small', 3)]

    Args:
        networks: By name: networks in torch, or files as in `evaluate`.
        tests: Test sets by name.
        val_lambda: Share of the evaluation in the total loss, 0 to 1.
        batch: Positions per batch.
        device: As in `evaluate`.
        resamples: Number of samples; 0: no intervals.
        confidence: Level of the intervals, between 0 and 1.
        seed: Random seed of the samples.
        listener: Follows the evaluation.

    Raises:
        ValueError: There is no network or no test set, or a setting is out of range.
        CheckpointError, ParameterFileError, ModelFileError, DataFileError, DeviceError: As in `evaluate`.
        PackedError: A test set has a position that the rules do not allow.
    """
    if not networks or not tests:
        raise InvalidValueError("an evaluation needs a network and a test set")
    require_ranges(val_lambda, batch)
    if not 0 < confidence < 1:
        raise InvalidValueError(f"confidence must be between 0 and 1, not {confidence}")
    if resamples < 0:
        raise InvalidValueError(f"resamples must be 0 or more, not {resamples}")
    placed = {name: place_network(network, device) for name, network in networks.items()}
    found: list[EvaluatedNetwork] = []
    differences: list[EvaluatedNetwork] = []
    described: list[TestSet] = []
    for test, data in tests.items():
        block = max(1, min(LARGEST_BLOCK, len(data) // FEWEST_BLOCKS))
        starts = data.groups(block)
        described.append(TestSet(test, len(data), data.games, len(starts) - data.games, block))
        stage = "evaluating" if len(tests) == 1 else f"evaluating on {test}"
        sums, with_moves = _sums_of_groups(list(placed.values()), data, starts, val_lambda, batch, stage, listener)
        for name, network in networks.items():
            if not np.isfinite(sums[list(networks).index(name)]).all():
                refuse_numbers(network if isinstance(network, str | Path) else name)
        counts = np.diff(starts, append=len(data)).astype(np.float64)
        columns = np.concatenate(list(sums), axis=1)
        drawn = resamples if len(starts) > 1 else 0
        means = resample_means(columns, counts, resamples=drawn, seed=seed)
        means = of_positions_with_moves(means, with_moves, len(data))
        values = of_positions_with_moves(columns.sum(axis=0) / counts.sum(), with_moves, len(data))
        results, others = _estimates(list(networks), test, len(data), values, means, confidence)
        found += results
        differences += others
    return EvaluationTable(
        described, found, differences, val_lambda=val_lambda, confidence=confidence, resamples=resamples
    )


def _sums_of_groups(
    networks: Sequence[tuple[nn.Module, torch.device]],
    data: Dataset,
    starts: NDArray[np.int64],
    val_lambda: float,
    batch: int,
    stage: str,
    listener: Listener,
) -> tuple[Floats, int]:
    """The sums of the metrics over each group of positions, for each network, [K, G, 7], and how many have a move."""
    with_moves = 0
    sums = np.zeros((len(networks), len(starts), len(MEASURES)))
    chunks = (np.arange(first, min(first + batch, len(data))) for first in range(0, len(data), batch))
    done = 0
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        for network, _ in networks:
            stack.enter_context(evaluation_mode(network))
        for arrays in prefetch(map(data.arrays, chunks)):
            groups = np.searchsorted(starts, np.arange(done, done + len(arrays)), side="right") - 1
            for number, (network, where) in enumerate(networks):
                part = TensorBatch.of(arrays, where, network, over_moves=True)
                policy, value = part.outputs_of(network)
                metrics = position_metrics(policy, value, part.targets, val_lambda).double().cpu().numpy()
                np.add.at(sums[number], groups, metrics)
            done += len(arrays)
            with_moves += int((arrays.labels != NO_POLICY_LABEL).sum())
            listener.progress(stage, done, len(data))
    return sums, with_moves


def _estimates(
    names: Sequence[str], test: str, positions: int, values: Floats, means: Floats, confidence: float
) -> tuple[list[EvaluatedNetwork], list[EvaluatedNetwork]]:
    """The metrics of each network, and the differences of the further ones to the first."""
    size = len(MEASURES)
    results: list[EvaluatedNetwork] = []
    differences: list[EvaluatedNetwork] = []
    for number, name in enumerate(names):
        mine = slice(number * size, (number + 1) * size)
        found = percentile_estimates(values[mine], means[:, mine], confidence)
        results.append(EvaluatedNetwork(test, name, None, positions, dict(zip(MEASURES, found, strict=True))))
        if number:
            found = percentile_estimates(values[mine] - values[:size], means[:, mine] - means[:, :size], confidence)
            differences.append(
                EvaluatedNetwork(test, name, names[0], positions, dict(zip(MEASURES, found, strict=True)))
            )
    return results, differences
