"""Evaluators that are slow or fail."""

import time

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import Slot, StubEvaluator, hash_evaluator


class Slow(StubEvaluator):
    """A hash evaluator that takes some seconds for each batch."""

    def __init__(self, seconds: float, batch_size: int = 8) -> None:
        vars(self).update(vars(hash_evaluator(batch_size)))
        self.seconds = seconds

    def run(self, slot: Slot, n: int) -> None:
        time.sleep(self.seconds)
        super().run(slot, n)


class Failing(Slow):
    """A hash evaluator that fails after some good batches."""

    def __init__(self, good_batches: int = 0, batch_size: int = 8) -> None:
        super().__init__(0.0, batch_size)
        self.good_batches = good_batches

    def run(self, slot: Slot, n: int) -> None:
        if self.good_batches == 0:
            raise EvaluatorError("the device caught fire")
        self.good_batches -= 1
        super().run(slot, n)
