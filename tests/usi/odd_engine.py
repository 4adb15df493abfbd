"""The engine with an evaluator that misbehaves: ``python odd_engine.py {slow SECONDS | failing BATCHES}``."""

import os
import sys
import time

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import Slot
from fukayomi.engine.evaluators.stubs import StubEvaluator, hash_evaluator
from fukayomi.engine.settings import Settings
from fukayomi.engine.usi_engine import UsiEngine


class Odd:
    """A hash evaluator that is slow or fails."""

    slots = 1
    identity = "odd"
    batch_sizes = (4,)

    def __init__(self, inner: StubEvaluator, seconds: float, good_batches: int) -> None:
        self._inner = inner
        self._seconds = seconds
        self._good_batches = good_batches

    def allocate(self, capacity: int) -> Slot:
        return self._inner.allocate(capacity)

    def run(self, slot: Slot, n: int) -> None:
        if self._good_batches == 0:
            raise EvaluatorError("the device caught fire")
        self._good_batches -= 1
        time.sleep(self._seconds)
        self._inner.run(slot, n)

    def close(self) -> None:
        pass


def load(settings: Settings) -> Odd:
    kind, number = sys.argv[1:]
    if kind == "slow":
        return Odd(hash_evaluator(4), float(number), -1)
    return Odd(hash_evaluator(4), 0.0, int(number))


if __name__ == "__main__":
    code = UsiEngine(sys.stdin.buffer, sys.stdout.buffer, load).run()
    os._exit(code)
