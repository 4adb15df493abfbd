"""What the tests of the search share: a search with the arrays that it needs, driven to a number of nodes."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fukayomi._native import (
    Batch,
    CoreEvaluator,
    HashEvaluator,
    Move,
    PlaneInput,
    Position,
    Reviewer,
    Search,
    SearchParams,
)

MATSURI = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"


class Evaluator(Protocol):
    """What HashEvaluator and UniformEvaluator do."""

    def run(
        self, input: PlaneInput, n: int, logits: npt.NDArray[np.float32], values: npt.NDArray[np.float32], /
    ) -> None: ...


class Slot:
    """The memory of one batch."""

    def __init__(self, capacity: int) -> None:
        self.input = PlaneInput(
            np.zeros((capacity, 628), np.uint8),
            np.zeros((capacity, 8), np.uint8),
            np.zeros((capacity, 593), np.uint16),
            np.zeros(capacity, np.uint16),
        )
        self.logits = np.zeros((capacity, 593), np.float32)
        self.values = np.zeros(capacity, np.float32)

    def gather(self, search: Search, batch: Batch, limit: int, nodes: int | None = None) -> int:
        return search.gather(batch, self.input, 0, limit, nodes)

    def run(self, evaluator: Evaluator, n: int) -> None:
        evaluator.run(self.input, n, self.logits, self.values)

    def apply(self, search: Search, batch: Batch) -> None:
        search.apply(batch, self.logits, self.values)


def reviewer(evaluator: CoreEvaluator | None = None, rows: int = 8) -> Reviewer:
    """A second evaluator, by default one that says something else."""
    slot = Slot(rows)
    return Reviewer(evaluator or HashEvaluator(1), slot.input, slot.logits, slot.values)


class Runner:
    """One search, one batch, one evaluator."""

    def __init__(
        self,
        position: Position | None = None,
        *,
        params: SearchParams | None = None,
        memory_mb: int = 64,
        capacity: int = 16,
        evaluator: Evaluator | None = None,
        search_moves: Sequence[Move] = (),
    ) -> None:
        self.memory_mb = memory_mb
        self.search = Search(params or SearchParams(), memory_mb)
        self.batch = self.search.new_batch(capacity)
        self.slot = Slot(capacity)
        self.evaluator = evaluator or HashEvaluator()
        if position is not None:
            self.search.set_position(position, list(search_moves))

    def step(self, limit: int | None = None) -> int:
        """Gather, evaluate and apply one batch; the number of its leaves."""
        n = self.slot.gather(self.search, self.batch, self.batch.capacity if limit is None else limit)
        if n:
            self.slot.run(self.evaluator, n)
            self.slot.apply(self.search, self.batch)
        return n

    def run(self, nodes: int) -> None:
        """Search until this many leaves are evaluated, or nothing is left to do."""
        while (left := nodes - self.search.nodes) > 0 and self.step(min(left, self.batch.capacity)):
            pass

    def visits(self) -> dict[str, int]:
        """Those of the root's moves."""
        return {line.move.usi(): line.visits for line in self.search.lines(600)}

    def play(self, position: Position, moves: int, nodes: int) -> Iterator[None]:
        """A game with itself from the search's position; it stops after each search, whose tree is whole."""
        for _ in range(moves):
            self.run(nodes)
            self.search.check_invariants()
            yield
            position.push(self.search.lines(1)[0].move)
            self.search.set_position(position)
