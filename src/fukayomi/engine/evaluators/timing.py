"""Running full batches for some time, as all measurements of networks do."""

import itertools
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fukayomi.engine.evaluators.calls import LIBRARY_CALLS
from fukayomi.shogi import Position

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.backend import Model
    from fukayomi.engine.evaluators.protocol import Evaluator, Slot


def filled_slot(model: "Model | Evaluator", batch: int, positions: Sequence[Position]) -> "Slot":
    """A slot with a batch of these positions and their legal moves, repeated as often as it takes."""
    slot = model.allocate(batch)
    for i, position in enumerate(itertools.islice(itertools.cycle(positions), batch)):
        slot.input.write(i, position, position.legal_moves)
    return slot


def run_batches(model: "Model | Evaluator", slots: "Sequence[Slot]", batch: int, seconds: float) -> int:
    """Run batches for some time, each slot at least once and in a thread of its own; returns their number.

    Raises:
        EvaluatorError: A run failed.
    """
    counts: list[int] = []
    errors: list[Exception] = []
    is_interrupted = threading.Event()
    end = time.perf_counter() + seconds

    def work(slot: "Slot") -> None:
        count = 0
        try:
            while not is_interrupted.is_set() and (count == 0 or time.perf_counter() < end):
                with LIBRARY_CALLS:
                    model.run(slot, batch)
                count += 1
        except Exception as error:  # of any library; raised again below
            errors.append(error)
        counts.append(count)

    threads = [threading.Thread(target=work, args=(slot,), daemon=True) for slot in slots]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:  # Ctrl-C: the model may be closed next
        is_interrupted.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        raise
    if errors:
        raise errors[0]
    return sum(counts)
