"""The threads that play the games of a pool: each slot of each device has one, with a share of the games.

A thread gathers a batch of leaves, has it evaluated, and applies it. Python sees batches and games, never a playout; of
a network that the core runs by itself it sees stretches of batches.
"""

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress

from fukayomi._native import FinishedGame, SelfplayPool, WaitingGame
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.library_calls import LIBRARY_CALLS
from fukayomi.engine.evaluators.protocol import Evaluator, Slot
from fukayomi.engine.network import Network
from fukayomi.interruption import join_threads, start_threads

GAMES_A_DEVICE = 64
"""Games at once for each device, at least."""
BATCHES_A_SLOT = 2
"""Games at once fill so many batches of each slot, at least, so that one is full while games begin and end."""
IDLE_S = 0.02
"""Pause of a thread whose games all wait for something else."""
STRETCH_S = 0.01
"""The core plays for about so long before it reports."""

Report = list[FinishedGame] | list[WaitingGame]


def slots_of(network: Network) -> int:
    """Number of threads that a network keeps busy: the shares that a pool needs."""
    return sum(evaluator.slots for evaluator in network.evaluators)


def games_at_once(network: Network) -> int:
    """Number of games that keep its batches full."""
    rows = sum(evaluator.slots * evaluator.batch_size for evaluator in network.evaluators)
    return max(GAMES_A_DEVICE * len(network.evaluators), BATCHES_A_SLOT * rows)


class PoolThreads:
    """Plays the games that are added to a pool, until it is closed.

    Args:
        pool: It has as many shares as the first network has slots.
        networks: Those of the numbers 0, 1, ... in the pool; each runs on as many devices as the first.
        reproducible: Run full batches, whatever is in them. For networks whose answers depend on the size of a batch.
    """

    def __init__(self, pool: SelfplayPool, networks: Sequence[Network], *, reproducible: bool = False) -> None:
        self._pool, self._networks, self._reproducible = pool, networks, reproducible
        self._reports: queue.SimpleQueue[Report | Exception] = queue.SimpleQueue()
        self._stopped = threading.Event()
        devices = [device for device, each in enumerate(networks[0].evaluators) for _ in range(each.slots)]
        self._threads = [
            threading.Thread(target=self._work, args=(share, device), name="fukayomi-selfplay", daemon=True)
            for share, device in enumerate(devices)
        ]

    def start(self) -> None:
        """Begin."""
        start_threads(self._threads)

    def reports(self, timeout_s: float) -> Iterator[Report]:
        """Games that are over, and games that wait for another program: all that there are, after the first has come.

        Args:
            timeout_s: How long to wait for one; 0: not at all.

        Raises:
            Exception: What a network raised.
        """
        with suppress(queue.Empty):
            report = self._reports.get(timeout=timeout_s) if timeout_s else self._reports.get_nowait()
            while True:
                if isinstance(report, Exception):
                    raise report
                yield report
                report = self._reports.get_nowait()

    def close(self) -> None:
        """End the threads; games in play are lost."""
        self._stopped.set()
        join_threads(self._threads)

    def _work(self, share: int, device: int) -> None:
        """Gather, evaluate and apply batches of a share of the games."""
        try:
            evaluators = [network.evaluators[device % len(network.evaluators)] for network in self._networks]
            slots = [evaluator.allocate(evaluator.batch_size) for evaluator in evaluators]
            while not self._stopped.is_set():
                rows = sum(
                    self._step(share, number, evaluator, slot)
                    for number, (evaluator, slot) in enumerate(zip(evaluators, slots, strict=True))
                )
                for take in (self._pool.take_finished, self._pool.take_waiting):
                    if taken := take():
                        self._reports.put(taken)
                if rows == 0:
                    self._stopped.wait(IDLE_S)
        except Exception as error:  # `reports` raises it
            self._reports.put(error)

    def _step(self, share: int, number: int, evaluator: Evaluator, slot: Slot) -> int:
        """One batch of a network, or a stretch of them if the core runs it alone; the number of rows."""
        pool, capacity = self._pool, slot.capacity
        core = getattr(evaluator, "core", None)
        runner = None if core is None else core(slot)
        if runner is not None:
            memory = slot.input, slot.logits, slot.values
            seconds = STRETCH_S if len(self._networks) == 1 else 0.0
            rows, is_finite = pool.run(share, runner, *memory, capacity, number, seconds)
            if not is_finite:
                raise EvaluatorError(f"{evaluator.identity}: the policy or the value has a number that is not finite")
            return rows
        rows = pool.gather(share, slot.input, capacity, number)
        if rows > 0:
            try:
                with LIBRARY_CALLS:
                    evaluator.run(slot, capacity if self._reproducible else rows)
            except Exception:
                pool.cancel(share, number)
                raise
            pool.apply(share, slot.logits, slot.values, number)
        return rows
