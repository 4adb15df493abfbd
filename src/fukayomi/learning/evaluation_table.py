"""Any number of networks on any number of test sets: the metrics with bootstrap intervals, and paired differences."""

# pyright: reportUnknownMemberType=false

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import NO_POLICY_LABEL
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.network import find_network
from fukayomi.engine.settings import is_network_name
from fukayomi.errors import InvalidValueError
from fukayomi.learning.data.batch import prefetch
from fukayomi.learning.data.dataset import Dataset, DatasetLike, as_dataset
from fukayomi.learning.metrics import (
    MEASURES,
    Estimate,
    Floats,
    of_positions_with_moves,
    percentile_estimates,
    resample_means,
)
from fukayomi.learning.scoring import EVALUATION_BATCH, OnnxScorer, Scorer, refuse_numbers, require_ranges
from fukayomi.learning.settings import CONFIDENCE, RESAMPLES, VAL_LAMBDA, ModelFileError
from fukayomi.listener import SILENT, Listener
from fukayomi.tabular import Tabular, counted

if TYPE_CHECKING:
    import torch
    from torch import nn

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

    def shown(self, *, has_differences: bool) -> dict[str, Any]:
        """The metrics with half the widths of their intervals, for reading."""
        found: dict[str, Any] = {"test": self.test, "network": self.network}
        if has_differences:
            found["minus"] = self.minus
        for name, estimate in self.measures.items():
            margin = "" if estimate.margin is None else f" ±{estimate.margin:.4f}"
            value = f"{estimate.value:.4f}" if self.minus is None else f"{estimate.value:+.4f}"
            found[name.removesuffix("_loss")] = "" if isnan(estimate.value) else value + margin
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

    def shown(self) -> list[dict[str, Any]]:
        """As `rows`, with half of each interval beside its metric; "minus" only if there are differences."""
        return [each.shown(has_differences=bool(self.differences)) for each in (*self.results, *self.differences)]

    def __repr__(self) -> str:
        networks = counted(len({each.network for each in self.results}), "network")
        return f"<EvaluationTable of {networks} on {counted(len(self.tests), 'test set')}>"

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
    networks: "Mapping[str, nn.Module | Path | str] | Sequence[Path | str] | Path | str",
    tests: Mapping[str, DatasetLike] | DatasetLike,
    *,
    val_lambda: float = VAL_LAMBDA,
    batch: int = EVALUATION_BATCH,
    device: "str | torch.device | None" = None,
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
        networks: By name: networks in torch, or files as in `evaluate`. A file, or several, go by their own names.
        tests: Test sets by name: datasets, or files. Without names they are one test set.
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
    networks, tests = _networks_by_name(networks), _tests_by_name(tests)
    if not networks or not tests:
        raise InvalidValueError("an evaluation needs a network and a test set")
    require_ranges(val_lambda, batch)
    if not 0 < confidence < 1:
        raise InvalidValueError(f"confidence must be between 0 and 1, not {confidence}")
    if resamples < 0:
        raise InvalidValueError(f"resamples must be 0 or more, not {resamples}")
    scorers = [_scorer(network, device, val_lambda) for network in networks.values()]
    found: list[EvaluatedNetwork] = []
    differences: list[EvaluatedNetwork] = []
    described: list[TestSet] = []
    for test, data in tests.items():
        block = max(1, min(LARGEST_BLOCK, len(data) // FEWEST_BLOCKS))
        starts = data.groups(block)
        described.append(TestSet(test, len(data), data.games, len(starts) - data.games, block))
        stage = "evaluating" if len(tests) == 1 else f"evaluating on {test}"
        sums, with_moves = _sums_of_groups(scorers, data, starts, batch, stage, listener)
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


def _networks_by_name(
    networks: "Mapping[str, nn.Module | Path | str] | Sequence[Path | str] | Path | str",
) -> "Mapping[str, nn.Module | Path | str]":
    if isinstance(networks, Mapping):
        return networks
    paths = [networks] if isinstance(networks, Path | str) else networks
    named = {Path(path).name: path for path in paths}
    return named if len(named) == len(paths) else {str(path): path for path in paths}


def _tests_by_name(tests: Mapping[str, DatasetLike] | DatasetLike) -> Mapping[str, Dataset]:
    if not isinstance(tests, Mapping):
        data = as_dataset(tests)
        tests = {" + ".join(path.name for path in data.paths): data}
    return {name: as_dataset(data) for name, data in tests.items()}


def _scorer(network: "nn.Module | Path | str", device: "str | torch.device | None", val_lambda: float) -> Scorer:
    """How a network is computed: an ONNX file by ONNX Runtime, without torch."""
    if isinstance(network, str | Path):
        try:
            path = find_network(str(network)) if is_network_name(str(network)) else Path(network)
        except EvaluatorError as error:
            raise ModelFileError(str(error)) from error
        if path.suffix.lower() == ".onnx":
            return OnnxScorer(path, val_lambda)
    from fukayomi.learning.evaluation import TorchScorer

    return TorchScorer(network, device, val_lambda)


def _sums_of_groups(
    scorers: Sequence[Scorer],
    data: Dataset,
    starts: NDArray[np.int64],
    batch: int,
    stage: str,
    listener: Listener,
) -> tuple[Floats, int]:
    """The sums of the metrics over each group of positions, for each network, [K, G, 7], and how many have a move."""
    with_moves = 0
    sums = np.zeros((len(scorers), len(starts), len(MEASURES)))
    chunks = (np.arange(first, min(first + batch, len(data))) for first in range(0, len(data), batch))
    done = 0
    for arrays in prefetch(map(data.arrays, chunks)):
        groups = np.searchsorted(starts, np.arange(done, done + len(arrays)), side="right") - 1
        for number, scorer in enumerate(scorers):
            np.add.at(sums[number], groups, scorer.scores(arrays))
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
