"""The metrics of networks in ONNX files, in NumPy: an evaluation of these files needs no torch."""

from pathlib import Path
from typing import NoReturn, Protocol

import numpy as np

from fukayomi._native import sparse_planes_batch
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.evaluators.backends.onnx_model import OnnxModel
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
            policy, probabilities = self._model.evaluate(*batch.features(self._model.shapes["input2"][0]))
            self._model.check_numbers(policy, probabilities)
        except EvaluatorError as error:
            raise ModelFileError(str(error)) from error
        _, _, _, _, offsets, weights, places, played = sparse_planes_batch(
            batch.planes1, batch.planes2, batch.labels, batch.places, batch.weights, usable_cpus()
        )
        count = len(batch)
        lengths = np.diff(offsets)
        rows = np.repeat(np.arange(count), lengths)
        logits = policy.ravel()[places].astype(np.float64)
        largest = np.zeros(count)
        largest[lengths > 0] = np.maximum.reduceat(logits, offsets[:-1][lengths > 0]) if len(logits) else 0.0
        shifted = logits - largest[rows]
        sums = np.bincount(rows, np.exp(shifted), count)
        logs = shifted - np.log(np.where(sums > 0, sums, 1.0))[rows]
        first = np.full(count, len(logits))
        maxima = np.flatnonzero(logits >= largest[rows])
        np.minimum.at(first, rows[maxima], maxima)
        values = np.clip(probabilities.astype(np.float64), LEAST_VALUE, 1 - LEAST_VALUE)
        policy_loss = -np.bincount(rows, weights * logs, count)
        result_loss, value_loss = (_cross_entropy(values, target) for target in (batch.results, batch.values))
        columns = (
            policy_loss,
            result_loss,
            value_loss,
            policy_loss + (1 - self._val_lambda) * result_loss + self._val_lambda * value_loss,
            first == played,
            (values >= 0.5) == (batch.results >= 0.5),
            -np.bincount(rows, np.exp(logs) * logs, count),
        )
        return np.stack(columns, axis=1).astype(np.float64)


def _cross_entropy(values: Floats, targets: np.ndarray) -> Floats:
    return -(targets * np.log(values) + (1 - targets) * np.log1p(-values))


def require_ranges(val_lambda: float, batch: int) -> None:
    """Raise ValueError if the share of the search value or the size of a batch is out of range."""
    if not 0 <= val_lambda <= 1:
        raise InvalidValueError(f"val_lambda must be between 0 and 1, not {val_lambda}")
    if batch < 1:
        raise InvalidValueError(f"batch must be positive, not {batch}")


def refuse_numbers(network: Path | str) -> NoReturn:
    """Raise ModelFileError: a network gives numbers that are not finite."""
    raise ModelFileError(f"{network}: the network's policy or value is not finite for some of the positions")
