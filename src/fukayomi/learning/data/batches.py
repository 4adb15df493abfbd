"""The order of training batches, and a thread that prepares them ahead.

The order is a function of seed and epoch, and a batch a function of order and step: a resumed run sees the batches that
it would have seen without the interruption.
"""

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fukayomi.learning.settings import TrainingError
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.learning.data.batch import Batch
    from fukayomi.learning.data.dataset import Dataset

PREFETCHED_BATCHES = 4

_Item = TypeVar("_Item")


def epoch_order(count: int, seed: int, epoch: int) -> NDArray[np.unsignedinteger[Any]]:
    """A permutation of 0 to count - 1, [count]: 4 bytes per position, 8 from 4 billion positions on."""
    order = np.arange(count, dtype=np.uint32 if count < 1 << 32 else np.uint64)
    np.random.default_rng([seed, epoch]).shuffle(order)  # the same permutation for both types
    return order


def training_batches(data: "Dataset", size: int, *, seed: int, start: int, stop: int) -> "Generator[Batch]":
    """The batches of steps start to stop - 1: shuffled anew in each epoch, whose last partial batch is left out.

    Raises:
        TrainingError: There are fewer positions than one batch.
        DataFileError: A record is damaged.
    """
    per_epoch = len(data) // size
    if per_epoch == 0:
        raise TrainingError(f"{data.paths[0]}: {counted(len(data), 'position')}, fewer than one batch of {size}")

    def produce() -> "Iterator[Batch]":
        epoch, order = -1, epoch_order(0, seed, 0)
        for step in range(start, stop):
            if step // per_epoch != epoch:
                epoch = step // per_epoch
                order = epoch_order(len(data), seed, epoch)
            first = step % per_epoch * size
            yield data.arrays(order[first : first + size])

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
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is None:
                return
            yield item
    finally:
        closed.set()
        thread.join()
