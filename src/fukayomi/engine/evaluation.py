"""Evaluations of many positions by a network as arrays, and the agreement of two evaluators.

Every backend and precision is compared with float32, on positions from games that the network plays against itself.
"""

import queue
from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fukayomi._native import centipawns
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import Move, Position, Repetition
from fukayomi.tabular import Tabular, counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fukayomi.engine.evaluators.protocol import Evaluator, Slot


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Tabular):
    """Win rates and move probabilities of N positions, from a network alone; `Network.evaluate` returns it.

        >>> from fukayomi import Network, Position
        >>> with Network() as network:
        ...     evaluation = network.evaluate([Position(), Position.from_usi("startpos moves 7g7f")])
        >>> evaluation.winrates.shape, evaluation.probabilities.shape
        ((2,), (2, 30))
        >>> evaluation.policies[0][Position().legal_moves[0]] == float(evaluation.probabilities[0, 0])
        True

    `winrates` is float32 [N], for the side to move. Row n of `probabilities` (float32 [N, M]), `moves` and `labels`
    (uint16 [N, M]) has the legal moves of position n in the order of `Position.legal_moves`; columns from `counts[n]`
    on are 0. M is the largest number of legal moves among the positions. `policies` has the same as dictionaries. As a
    table it has one row per position, with the most probable move.
    """

    winrates: "NDArray[np.float32]"
    """float32 [N]: win probability of the side to move, 0 to 1."""
    counts: "NDArray[np.uint16]"
    """uint16 [N]: number of legal moves; 0 where the side to move is mated."""
    moves: "NDArray[np.uint16]"
    """uint16 [N, M]: the legal moves as `Move.raw`."""
    labels: "NDArray[np.uint16]"
    """uint16 [N, M]: their policy labels, 0 to 2186 (dlshogi's: direction * 81 + destination, seen by the mover)."""
    probabilities: "NDArray[np.float32]"
    """float32 [N, M]: their probabilities; each row adds up to 1."""

    def __repr__(self) -> str:
        return f"<Evaluation of {counted(len(self), 'position')}>"

    def __len__(self) -> int:
        return len(self.winrates)

    @cached_property
    def policies(self) -> list[dict[Move, float]]:
        """The moves of each position with their probabilities, the most probable first."""
        return [self._policy(n) for n in range(len(self))]

    def _policy(self, n: int) -> dict[Move, float]:
        count = int(self.counts[n])
        order = (-self.probabilities[n, :count]).argsort(kind="stable")
        return {Move.from_raw(int(self.moves[n, i])): float(self.probabilities[n, i]) for i in order}

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per position: its number, win rate and centipawns of the side to move, the most probable move."""
        return [self._row(n) for n in range(len(self))]

    def _row(self, n: int) -> dict[str, Any]:
        winrate = float(self.winrates[n])
        best = int(self.probabilities[n].argmax()) if self.counts[n] else None
        return {
            "position": n,
            "winrate": winrate,
            "cp": centipawns(winrate),
            "move": None if best is None else Move.from_raw(int(self.moves[n, best])).usi(),
            "probability": None if best is None else float(self.probabilities[n, best]),
        }


def evaluate(evaluator: "Evaluator", positions: Sequence[Position]) -> Evaluation:
    """Evaluate positions in batches of the evaluator's size, as many at once as it takes.

    Raises:
        EvaluatorError: The evaluator failed.
    """
    import numpy as np

    total = len(positions)
    counts = np.array([position.legal_move_count for position in positions], np.uint16)
    width = int(counts.max(initial=0))
    result = Evaluation(
        winrates=np.zeros(total, np.float32),
        counts=counts,
        moves=np.zeros((total, width), np.uint16),
        labels=np.zeros((total, width), np.uint16),
        probabilities=np.zeros((total, width), np.float32),
    )
    size = evaluator.batch_size
    starts = range(0, total, size)
    slots = [evaluator.allocate(size) for _ in starts[: evaluator.slots]]
    remaining = iter(starts)

    def evaluate_batches(slot: "Slot") -> None:
        for start in remaining:  # which the threads share
            _evaluate_batch(evaluator, slot, positions[start : start + size], start, result)

    with ThreadPoolExecutor(evaluator.slots, "fukayomi-evaluation") as threads:
        try:
            futures = [threads.submit(evaluate_batches, slot) for slot in slots]
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            deque(remaining, maxlen=0)  # after an error or Ctrl-C no other batch begins
    for future in futures:
        future.result()
    return result


def _evaluate_batch(
    evaluator: "Evaluator", slot: "Slot", positions: Sequence[Position], start: int, result: Evaluation
) -> None:
    """Evaluate positions of one batch and write their rows of the result, from row `start` on."""
    for i, position in enumerate(positions):
        moves = position.legal_moves
        slot.input.write(i, position, moves)
        result.moves[start + i, : len(moves)] = [move.raw for move in moves]
        result.labels[start + i, : len(moves)] = position.legal_labels()
    evaluator.run(slot, len(positions))
    rows = slice(start, start + len(positions))
    logits = slot.logits[: len(positions), : result.probabilities.shape[1]]
    result.probabilities[rows] = _probabilities(logits, result.counts[rows])
    result.winrates[rows] = slot.values[: len(positions)]


_LEAST_ROWS = 256


def rows_at_once(evaluator: "Evaluator") -> int:
    """A good number of positions in a part for `evaluate_packed`: some whole batches.

    A batch may be as small as four positions, for which Python takes longer than a network.
    """
    return -(-_LEAST_ROWS // evaluator.batch_size) * evaluator.batch_size


def evaluate_packed(evaluator: "Evaluator", parts: "Iterable[NDArray[np.uint8]]") -> Generator[Evaluation]:
    """Evaluate packed positions at the evaluator's own rate: it goes on while the caller uses what it got.

    Args:
        evaluator: It runs as many batches at once as it has slots.
        parts: The positions as hcp, uint8 [N, 32]; each part is one slot's, which takes batch after batch of it.

    Yields:
        The evaluation of each part, in order.

    Raises:
        EvaluatorError: The evaluator failed.
        InvalidPackedError: Bytes are not a position.
    """
    slots: queue.SimpleQueue[Slot] = queue.SimpleQueue()
    for _ in range(evaluator.slots):
        slots.put(evaluator.allocate(evaluator.batch_size))

    def evaluate_part(hcps: "NDArray[np.uint8]") -> Evaluation:
        slot = slots.get()
        try:
            return _evaluate_hcps(evaluator, slot, hcps)
        finally:
            slots.put(slot)

    pending: deque[Future[Evaluation]] = deque()
    with ThreadPoolExecutor(evaluator.slots, "fukayomi-evaluation") as threads:
        try:
            for hcps in parts:
                pending.append(threads.submit(evaluate_part, hcps))
                if len(pending) > evaluator.slots:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _evaluate_hcps(evaluator: "Evaluator", slot: "Slot", hcps: "NDArray[np.uint8]") -> Evaluation:
    import numpy as np

    from fukayomi._native import MAX_MOVES

    total = len(hcps)
    moves, labels = np.zeros((total, MAX_MOVES), np.uint16), np.zeros((total, MAX_MOVES), np.uint16)
    logits, values = np.zeros((total, MAX_MOVES), np.float32), np.zeros(total, np.float32)
    counts = np.zeros(total, np.uint16)
    for begin in range(0, total, slot.capacity):
        rows = slice(begin, min(begin + slot.capacity, total))
        count = rows.stop - begin
        slot.input.write_hcps(hcps[rows], moves[rows], labels[rows])
        evaluator.run(slot, count)
        counts[rows], values[rows] = slot.input.counts[:count], slot.values[:count]
        logits[rows] = slot.logits[:count]
    width = int(counts.max(initial=0))
    return Evaluation(
        winrates=values,
        counts=counts,
        moves=moves[:, :width],
        labels=labels[:, :width],
        probabilities=_probabilities(logits[:, :width], counts),
    )


def _probabilities(logits: "NDArray[np.float32]", counts: "NDArray[np.uint16]") -> "NDArray[np.float32]":
    """The softmax of the first `counts` logits of each row, with 0 behind them: float32 [N, M]."""
    import numpy as np

    width = int(logits.shape[1])
    logits = np.where(np.arange(width) < counts[:, None], logits, -np.inf)
    highest = logits.max(axis=1, keepdims=True, initial=-np.inf)
    odds = np.exp(logits - np.where(np.isfinite(highest), highest, 0))
    # From left to right, so that the zeros behind the moves, whose number depends on the other rows, change no bit.
    totals = odds.cumsum(axis=1, dtype=np.float64)[:, -1:] if width else odds
    return (odds / np.where(totals > 0, totals, 1)).astype(np.float32)


@dataclass(frozen=True)
class Agreement(Tabular):
    """Agreement of an evaluator with a reference on positions; `compare` returns it. As a table it has one row.

    Policies are those of the legal moves. Positions without a legal move count for the value only.
    """

    positions: int
    """Positions compared."""
    top1: float
    """Share of the positions in which both have the same most probable move."""
    kl: float
    """Mean Kullback-Leibler divergence of the evaluator's policy from the reference's, in nats."""
    value_error: float
    """Mean difference of the win probabilities."""
    max_value_error: float
    """Largest difference of the win probabilities."""

    def rows(self) -> list[dict[str, Any]]:
        """One row."""
        return [self.as_dict()]

    def as_dict(self) -> dict[str, float]:
        """The fields by name, for JSON."""
        return asdict(self)


def compare(evaluator: "Evaluator", reference: "Evaluator | Evaluation", positions: Sequence[Position]) -> Agreement:
    """Compare an evaluator with a reference, such as the same network in float32.

        >>> from fukayomi import Network, Position
        >>> from fukayomi.engine.evaluation import compare
        >>> with Network("<5x64>") as network, Network("<uniform>") as other:
        ...     agreement = compare(other.evaluator, network.evaluator, [Position()])
        >>> agreement.kl > 1
        True

    Args:
        evaluator: What is compared.
        reference: What it should agree with; or what that said of these positions, if several are compared with it.
        positions: The positions; at least one with a legal move.

    Raises:
        ValueError: No position has a legal move, or the reference has other positions.
        EvaluatorError: An evaluator failed.
    """
    import numpy as np

    expected = reference if isinstance(reference, Evaluation) else evaluate(reference, positions)
    given = evaluate(evaluator, positions)
    if len(expected) != len(given) or not np.array_equal(expected.moves, given.moves):
        raise InvalidValueError("the reference has evaluated other positions")
    open_positions = given.counts > 0
    if not open_positions.any():
        raise InvalidValueError("there is no position with a legal move to compare the policies on")
    p = expected.probabilities[open_positions].astype(np.float64)
    q = given.probabilities[open_positions].astype(np.float64)
    tiny = np.finfo(np.float32).tiny  # a probability may have become 0 in float32
    kl = (p * np.log(np.maximum(p, tiny) / np.maximum(q, tiny))).sum(axis=1)
    differences = np.abs(given.winrates - expected.winrates)
    return Agreement(
        positions=len(given),
        top1=float((p.argmax(axis=1) == q.argmax(axis=1)).mean()),
        kl=float(kl.mean()),
        value_error=float(differences.mean()),
        max_value_error=float(differences.max()),
    )


SPACING = 4
"""Plies between two positions of a game: neighbours hardly differ."""
GAME_POSITIONS = 32
"""Positions of a game, and so 128 plies; a game that ends earlier is followed by another one."""


def sample_positions(evaluator: "Evaluator", count: int, seed: int = 0) -> list[Position]:
    """Positions of games from the start position, in which each move is drawn from the network's policy.

    It evaluates about four positions for each that it returns.

        >>> from fukayomi import Network
        >>> from fukayomi.engine.evaluation import sample_positions
        >>> with Network("<hash>") as network:
        ...     len(sample_positions(network.evaluator, 100))
        100

    Args:
        evaluator: The network.
        count: Number of positions.
        seed: Random seed; with the same network on the same computer it gives the same positions.

    Raises:
        EvaluatorError: The network failed.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    games = [Position() for _ in range(-(-count // GAME_POSITIONS))]
    found: list[Position] = []
    ply = 0
    while len(found) < count:
        evaluation = evaluate(evaluator, games)
        for n, position in enumerate(games):
            if (ply + n) % SPACING == 0:  # not in all games at the same plies
                found.append(position.copy())
            legal = int(evaluation.counts[n])
            if legal:
                odds = evaluation.probabilities[n, :legal].astype(np.float64)
                position.push(Move.from_raw(int(evaluation.moves[n, random.choice(legal, p=odds / odds.sum())])))
            if not legal or position.repetition() != Repetition.NONE:
                games[n] = Position()
        ply += 1
    return found[:count]
