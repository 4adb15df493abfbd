"""Games to reanalyse, and what is in their layers."""

from pathlib import Path

import numpy as np
from verb_runs import make_games

from fukayomi.data import Games, read_data
from fukayomi.data.formats.hcpe3 import join_games
from fukayomi.engine import Network
from fukayomi.engine.evaluators.protocol import hash_evaluator


def exact_network(seed: int = 0) -> Network:
    """A network whose searches, one after the other, always find the same."""
    return Network(hash_evaluator(8, seed), cache_mb=0)


def write_games(path: Path, count: int = 8, seed: int = 3, most_moves: int = 12) -> Path:
    path.write_bytes(make_games(count, seed, most_moves).write())
    return path


def read(path: Path) -> Games:
    """All games of a file."""
    return join_games([game for part in read_data(path) for game in part])


def targets(games: Games) -> list[tuple[int, dict[int, int]]]:
    """Evaluation and candidates of each move, in order."""
    starts = games.candidates.tolist()
    moves, visits = games.candidate_moves.tolist(), games.candidate_visits.tolist()
    return [
        (evaluation, dict(zip(moves[begin:end], visits[begin:end], strict=True)))
        for evaluation, begin, end in zip(games.evals.tolist(), starts, starts[1:], strict=False)
    ]


def searched(games: Games) -> np.ndarray:
    """The numbers of the moves with candidates."""
    return np.flatnonzero(games.candidate_counts())


def check_same_games(layer: Games, original: Games) -> None:
    """Everything but evaluations and candidates is the same, to the byte."""
    for name in ("starts", "results", "opponents", "plies", "hcps", "moves"):
        assert getattr(layer, name).tobytes() == getattr(original, name).tobytes(), name
    assert (searched(layer) == searched(original)).all()
