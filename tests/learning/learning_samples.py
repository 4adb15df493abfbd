"""hcpe records of random games, batches as tensors, and a listener that presses Ctrl-C."""

import signal
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.learning import Dataset, Metrics, TrainingListener
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.metrics import MEASURES
from fukayomi.shogi import Position

RECORD = np.dtype([("hcp", "u1", 32), ("eval", "<i2"), ("move", "<u2"), ("result", "u1"), ("pad", "u1")])


def random_records(count: int, seed: int) -> NDArray[np.void]:
    """Records of positions from games of random moves, with random evaluations and results."""
    random = np.random.default_rng(seed)
    records = np.zeros(count, RECORD)
    position, ply = Position(), 0
    for record in records:
        moves = position.legal_moves
        if not moves or ply == 60:
            position, ply = Position(), 0
            moves = position.legal_moves
        move = moves[random.integers(len(moves))]
        record["hcp"] = np.frombuffer(_native.encode_hcp(position), np.uint8)
        record["eval"] = random.integers(-2000, 2001)
        record["move"] = move.raw
        record["result"] = random.integers(0, 3)
        position.push(move)
        ply += 1
    return records


def tensors(data: Dataset, indices: Sequence[int] | NDArray[np.int64]) -> TensorBatch:
    """Positions as tensors on the CPU."""
    return TensorBatch.of(data.arrays(indices), torch.device("cpu"))


def metrics_in(document: dict[str, Any]) -> dict[str, float]:
    """The metrics in what `fukayomi eval-model --json` printed of one network on one test set, without intervals."""
    (result,) = document["results"]
    return {name: result[name] for name in ("positions", *MEASURES)}


class Interrupter(TrainingListener):
    """Presses Ctrl-C at the first evaluation."""

    def evaluated(self, step: int, metrics: Metrics) -> None:
        signal.raise_signal(signal.SIGINT)
