"""Positions from games that a network plays against itself: real enough to calibrate and compare networks on."""

from typing import TYPE_CHECKING

from fukayomi.engine.evaluation import evaluate
from fukayomi.shogi import Move, Position, Repetition

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.protocol import Evaluator

SPACING = 4
"""Plies between two positions of a game: neighbours hardly differ."""
GAME_POSITIONS = 32
"""Positions of a game, and so 128 plies; a game that ends earlier is followed by another one."""


def sample_positions(evaluator: "Evaluator", count: int, seed: int = 0) -> list[Position]:
    """Positions of games from the start position, in which each move is drawn from the network's policy.

    It evaluates about four positions for each that it returns.

        >>> from fukayomi import Network
        >>> from fukayomi.engine.sampling import sample_positions
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
