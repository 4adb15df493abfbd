"""Positions with training targets as NumPy arrays, their order in batches, and a thread that prepares these ahead.

The order is a function of seed and epoch, and a batch a function of order and step: a resumed run sees the batches that
it would have seen without the interruption.
"""

import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi._native import FEATURES1, FEATURES2, NO_POLICY_LABEL, PACKED1_BYTES, PACKED2_BYTES, POLICY_LABELS
from fukayomi.interruption import join_threads, start_threads
from fukayomi.learning.settings import TrainingError
from fukayomi.nn.config import SHORT_TERM_PLIES
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.learning.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class HeadArrays:
    """Targets of N positions for the further heads of `fukayomi.nn.heads`, from the view of the side to move."""

    draws: NDArray[np.float32]
    """[N]: share of draws in the result: 1, 0, or in avg the mean."""
    replies: NDArray[np.int32]
    """[N]: label of the opponent's next move, with its square as the side to move sees it; -1 where there is none."""
    plies_left: NDArray[np.int32]
    """[N]: plies to the end of the game, 1 or more; 0 where the moves that follow are not known."""
    short_term: NDArray[np.float32]
    """[N, 2]: averages of the win probabilities of the next plies; NaN where they are not known."""

    @classmethod
    def unknown(cls, results: NDArray[np.float32]) -> "HeadArrays":
        """Rows of single games whose moves are not known, with these results."""
        rows = len(results)
        return cls(
            (results == 0.5).astype(np.float32),
            np.full(rows, -1, np.int32),
            np.zeros(rows, np.int32),
            np.full((rows, len(SHORT_TERM_PLIES)), np.nan, np.float32),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """N positions with targets, all from the view of the side to move; C policy entries in total.

    A packed position takes 636 bytes instead of 38 KB of floats, so batches stay packed until they are used.
    """

    planes1: NDArray[np.uint8]
    """[N, 628]: 62 planes of 81 squares, bit-packed; `features` unpacks them."""
    planes2: NDArray[np.uint8]
    """[N, 8]: 57 constant planes of one bit each, and as 58th whether White is to move."""
    labels: NDArray[np.uint16]
    """[N]: policy label of the move played; in hcpe3 and avg, of the move with the most visits. NO_POLICY_LABEL where a
    row of psv has no move: such a position has no policy entry."""
    results: NDArray[np.float32]
    """[N]: result of the game, 1 win, 0.5 draw, 0 loss; the mean in avg."""
    values: NDArray[np.float32]
    """[N]: win probability that the evaluation stands for."""
    places: NDArray[np.int32]
    """[C]: where the policy is not zero, as row * 2187 + label; rows ascend."""
    weights: NDArray[np.float32]
    """[C]: policy at these places; the weights of a row add up to 1, or to 0 without a move."""
    heads: HeadArrays | None = None
    """Targets of further heads, if they were asked for."""
    position_weights: NDArray[np.float32] | None = None
    """[N]: how much each position counts in the loss; None: all 1."""

    @classmethod
    def empty(cls, rows: int) -> "Batch":
        """Uninitialised rows without policy entries."""
        return cls(
            np.empty((rows, PACKED1_BYTES), np.uint8),
            np.empty((rows, PACKED2_BYTES), np.uint8),
            np.empty(rows, np.uint16),
            np.empty(rows, np.float32),
            np.empty(rows, np.float32),
            np.empty(0, np.int32),
            np.empty(0, np.float32),
        )

    def __repr__(self) -> str:
        return f"<Batch of {counted(len(self), 'position')}>"

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.labels)

    @property
    def is_one_hot(self) -> bool:
        """True if every position has one policy entry, so that `labels` is the whole policy."""
        return len(self.places) == len(self.labels) and not (self.labels == NO_POLICY_LABEL).any()

    def features(self, constants: int = FEATURES2) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Network inputs, zeros and ones: float32 [N, 62, 9, 9] and [N, constants, 9, 9], squares as [file, rank].

        Args:
            constants: Constant planes, 57, or 58 with the plane of the colour to move (`NetworkConfig.features2`).
        """
        features1 = np.empty((len(self), FEATURES1, 9, 9), np.float32)
        features2 = np.empty((len(self), constants, 9, 9), np.float32)
        _native.unpack_planes(self.planes1, self.planes2, features1, features2)
        return features1, features2

    def policy(self) -> NDArray[np.float32]:
        """The policy target as a dense array: float32 [N, 2187]; each row adds up to 1, or to 0 without a move."""
        policy = np.zeros((len(self), POLICY_LABELS), np.float32)
        policy.reshape(-1)[self.places] = self.weights
        return policy


PREFETCHED_BATCHES = 4
_TURNS = 1  # a third number keeps these seeds apart from those of epochs

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Part:
    """Positions of one file."""

    start: int
    """Number of the first one."""
    count: int
    """Number of positions."""
    weight: float = 1.0
    """Number of times that an epoch visits each."""
    chosen: NDArray[np.unsignedinteger[Any]] | None = None
    """Numbers of those that an epoch visits, counted from the first one of the part; None: all."""

    @property
    def size(self) -> int:
        """Positions that an epoch may visit."""
        return self.count if self.chosen is None else len(self.chosen)

    @property
    def visits(self) -> int:
        """Positions of this part in an epoch."""
        return round(self.size * self.weight)

    def numbers(self, dtype: type[np.unsignedinteger[Any]]) -> NDArray[np.unsignedinteger[Any]]:
        """The numbers of those positions in the dataset, ascending."""
        if self.chosen is None:
            return np.arange(self.start, self.start + self.count, dtype=dtype)
        return self.chosen.astype(dtype) + dtype(self.start)


def epoch_order(parts: Sequence[Part], seed: int, epoch: int) -> NDArray[np.unsignedinteger[Any]]:
    """The positions of an epoch in random order: 4 bytes for each, 8 from 4 billion positions on.

    A part with a broken weight, such as 0.3, is visited in turn: its positions have an order of their own, of which
    each epoch takes what follows on the epoch before.

    Args:
        parts: What the positions are taken from.
        seed: Random seed.
        epoch: Number of the epoch, from 0.
    """
    end = max((part.start + part.count for part in parts), default=0)
    dtype = np.uint32 if end < 1 << 32 else np.uint64
    pieces = [np.empty(0, dtype)]
    for number, part in enumerate(parts):
        copies, rest = divmod(part.visits, part.size) if part.size else (0, 0)
        numbers = part.numbers(dtype)
        pieces += [numbers] * copies
        if rest:
            turns = np.random.default_rng([seed, number, _TURNS]).permutation(part.size)
            pieces.append(numbers[turns.take(np.arange(epoch * rest, (epoch + 1) * rest), mode="wrap")])
    order = np.concatenate(pieces)
    np.random.default_rng([seed, epoch]).shuffle(order)  # the same permutation for both types
    return order


def training_batches(
    data: "Dataset", size: int, *, seed: int, start: int, stop: int, rows: slice = slice(None), heads: bool = False
) -> "Generator[Batch]":
    """The batches of steps start to stop - 1: shuffled anew in each epoch, whose last partial batch is left out.

    Args:
        data: Training positions.
        size: Positions per batch.
        seed: Random seed; the same seed gives the same batches.
        start: The first step, from 0.
        stop: The step after the last one.
        rows: Rows of each batch to decode; by default all.
        heads: Add the targets of further heads.

    Raises:
        TrainingError: There are fewer positions than one batch.
        DataFileError: A record is damaged.
    """
    per_epoch = data.epoch_size // size
    if per_epoch == 0:
        weightless = f" ({len(data)} with those of weight 0)" if data.weightless else ""
        raise TrainingError(
            f"{data.paths[0]}: {counted(data.epoch_size, 'position')}{weightless}, fewer than one batch of {size}"
        )

    def produce() -> "Iterator[Batch]":
        epoch, order = -1, epoch_order((), seed, 0)
        for step in range(start, stop):
            if step // per_epoch != epoch:
                epoch = step // per_epoch
                order = data.epoch_order(seed, epoch)
            first = step % per_epoch * size
            yield data.arrays(order[first : first + size][rows], heads=heads)

    return prefetch(produce())


def prefetch(items: Iterator[_Item], depth: int = PREFETCHED_BATCHES) -> Generator[_Item]:
    """Run an iterator in a thread, at most `depth` items ahead; its exceptions are raised here."""
    ready: queue.Queue[tuple[_Item | None, BaseException | None]] = queue.Queue(depth)
    closed = threading.Event()

    def put(item: _Item | None, error: BaseException | None = None) -> None:
        while not closed.is_set():
            try:
                return ready.put((item, error), timeout=0.2)
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(item)
                if closed.is_set():
                    return
            put(None)
        except Exception as error:  # raised again by the consumer
            put(None, error)

    thread = threading.Thread(target=work, name="batches", daemon=True)
    try:
        start_threads([thread])
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is None:
                return
            yield item
    finally:
        closed.set()
        join_threads([thread])
