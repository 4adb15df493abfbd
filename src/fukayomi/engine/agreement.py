"""Agreement of two evaluators: the check of every backend and precision against float32."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fukayomi.engine.evaluation import Evaluation, evaluate
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import Position
from fukayomi.tabular import Tabular

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.protocol import Evaluator


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
        >>> from fukayomi.engine.agreement import compare
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
