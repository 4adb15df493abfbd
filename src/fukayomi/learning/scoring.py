"""The metrics of networks in NumPy, without torch: of ONNX files, and of any `Network` as it plays."""

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import MAX_MOVES, POLICY_LABELS, PlaneInput, sparse_planes_batch
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.evaluators.backends.onnx_model import OnnxModel
from fukayomi.engine.network import Network
from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import problem_of
from fukayomi.learning.data.batch import Batch
from fukayomi.learning.metrics import Floats
from fukayomi.learning.settings import ModelFileError

EVALUATION_BATCH = 1024
LEAST_VALUE = 1e-7
"""Win probabilities count as at least this, and at most 1 less this: the losses of values stay finite."""


class Scorer(Protocol):
    """A network that is compared with the targets of positions."""

    def scores(self, batch: Batch) -> Floats:
        """The metrics of each position, float64 [N, 7], in the order of `MEASURES`."""
        ...


class OnnxScorer:
    """A network in an ONNX file, computed on the CPU by ONNX Runtime.

    Args:
        path: The file.
        val_lambda: Share of the search value in the total loss, 0 to 1.

    Raises:
        ModelFileError: The file is missing, or no network for shogi.
    """

    def __init__(self, path: Path, val_lambda: float) -> None:
        if (problem := problem_of(path)) is not None:
            raise ModelFileError(f"{path}: {problem}")
        try:
            self._model = OnnxModel(path)
        except EvaluatorError as error:
            raise ModelFileError(str(error)) from error
        self._val_lambda = val_lambda

    def scores(self, batch: Batch) -> Floats:
        """As `fukayomi.learning.metrics.position_metrics` over the moves of each position.

        Raises:
            ModelFileError: The network failed, or its outputs are no logits and probabilities.
            PackedError: The batch has a position that the rules do not allow.
        """
        try:
            policy, values = self._model.evaluate(*batch.features(self._model.shapes["input2"][0]))
            self._model.check_numbers(policy, values)
        except EvaluatorError as error:
            raise ModelFileError(str(error)) from error
        moves = _Moves.of(batch)
        return moves.metrics(policy.ravel()[moves.places], values, batch, self._val_lambda)


class NetworkScorer:
    """A network as it plays, with its backend and precision.

    Args:
        network: The network.
        val_lambda: Share of the search value in the total loss, 0 to 1.

    Raises:
        ModelFileError: It reads no planes: a sparse network is evaluated by its file.
    """

    def __init__(self, network: Network, val_lambda: float) -> None:
        self._evaluator = network.evaluator
        self._slot = self._evaluator.allocate(self._evaluator.batch_size)
        if not isinstance(self._slot.input, PlaneInput):
            raise ModelFileError(f"{network.name}: it reads no planes; give its file")
        self._input, self._val_lambda = self._slot.input, val_lambda

    def scores(self, batch: Batch) -> Floats:
        """As `OnnxScorer.scores`.

        Raises:
            EvaluatorError: The network failed.
            PackedError: The batch has a position that the rules do not allow.
        """
        moves, slot, size = _Moves.of(batch), self._slot, self._slot.capacity
        logits = np.zeros(len(moves.places), np.float32)
        values = np.zeros(len(batch), np.float32)
        for first in range(0, len(batch), size):
            last = min(first + size, len(batch))
            rows, mine = last - first, slice(moves.offsets[first], moves.offsets[last])
            counts = moves.lengths[first:last]
            is_move = np.arange(MAX_MOVES) < counts[:, np.newaxis]
            self._input.planes1[:rows], self._input.planes2[:rows] = (
                batch.planes1[first:last],
                batch.planes2[first:last],
            )
            self._input.counts[:rows] = counts
            self._input.labels[:rows][is_move] = moves.places[mine] % POLICY_LABELS
            self._evaluator.run(slot, rows)
            logits[mine] = slot.logits[:rows][is_move]
            values[first:last] = slot.values[:rows]
        return moves.metrics(logits, values, batch, self._val_lambda)


@dataclass(frozen=True)
class _Moves:
    """The moves of N positions, M in all, and the policy target over them (`fukayomi.learning.loss.MoveLists`)."""

    offsets: NDArray[np.int64]
    """[N + 1]: position n has the moves from offsets[n] to offsets[n + 1]."""
    weights: NDArray[np.float32]
    """[M]: they add up to 1 for each position, or to 0."""
    places: NDArray[np.int32]
    """[M]: n * 2187 + label."""
    played: NDArray[np.int64]
    """[N]: the move played; -1: none."""

    @classmethod
    def of(cls, batch: Batch) -> "_Moves":
        _, _, _, _, offsets, weights, places, played = sparse_planes_batch(
            batch.planes1, batch.planes2, batch.labels, batch.places, batch.weights, usable_cpus()
        )
        return cls(offsets, weights, places, played)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """[N]: number of moves."""
        return np.diff(self.offsets)

    def metrics(
        self, policy: NDArray[np.float32], probabilities: NDArray[np.float32], batch: Batch, val_lambda: float
    ) -> Floats:
        """The metrics of each position, float64 [N, 7], of logits [M] and win probabilities [N]."""
        count, lengths = len(batch), self.lengths
        rows = np.repeat(np.arange(count), lengths)
        logits = policy.astype(np.float64)
        largest = np.zeros(count)
        largest[lengths > 0] = np.maximum.reduceat(logits, self.offsets[:-1][lengths > 0]) if len(logits) else 0.0
        shifted = logits - largest[rows]
        sums = np.bincount(rows, np.exp(shifted), count)
        logs = shifted - np.log(np.where(sums > 0, sums, 1.0))[rows]
        first = np.full(count, len(logits))
        maxima = np.flatnonzero(logits >= largest[rows])
        np.minimum.at(first, rows[maxima], maxima)
        values = np.clip(probabilities.astype(np.float64), LEAST_VALUE, 1 - LEAST_VALUE)
        policy_loss = -np.bincount(rows, self.weights * logs, count)
        result_loss, value_loss = (_cross_entropy(values, target) for target in (batch.results, batch.values))
        columns = (
            policy_loss,
            result_loss,
            value_loss,
            policy_loss + (1 - val_lambda) * result_loss + val_lambda * value_loss,
            first == self.played,
            (values >= 0.5) == (batch.results >= 0.5),
            -np.bincount(rows, np.exp(logs) * logs, count),
        )
        return np.stack(columns, axis=1).astype(np.float64)


def _cross_entropy(values: Floats, targets: NDArray[np.float32]) -> Floats:
    shares = targets.astype(np.float64)
    return -(shares * np.log(values) + (1 - shares) * np.log1p(-values))


def require_ranges(val_lambda: float, batch: int) -> None:
    """Raise ValueError if the share of the search value or the size of a batch is out of range."""
    if not 0 <= val_lambda <= 1:
        raise InvalidValueError(f"val_lambda must be between 0 and 1, not {val_lambda}")
    if batch < 1:
        raise InvalidValueError(f"batch must be positive, not {batch}")


def refuse_numbers(network: Path | str) -> NoReturn:
    """Raise ModelFileError: a network gives numbers that are not finite."""
    raise ModelFileError(f"{network}: the network's policy or value is not finite for some of the positions")
