"""Labelling with the engine of `multipv_engine`, and what its labels should be."""

import itertools
import math
import sys
from pathlib import Path

import multipv_engine
import numpy as np
from multipv_engine import MATE, scored_lines

from fukayomi import _native
from fukayomi.data import Games, read_data
from fukayomi.data.formats.hcpe3 import join_games
from fukayomi.learning.labelling.settings import TEMPERATURE
from fukayomi.shogi import Move, Position
from fukayomi.usi import UsiEngine

ENGINE = (sys.executable, multipv_engine.__file__)


def engine(*words: object, undeclared_options: bool = False, **options: str) -> UsiEngine:
    return UsiEngine([*ENGINE, *map(str, words)], options=options, undeclared_options=undeclared_options)


def read(path: Path) -> Games:
    """All games of a file."""
    return join_games([game for part in read_data(path) for game in part])


def candidates(games: Games) -> list[dict[str, int]]:
    """For each move the candidates with their visits, in the order of the file."""
    starts = games.candidates.tolist()
    moves = [Move.from_raw(raw).usi() for raw in games.candidate_moves.tolist()]
    pairs = list(zip(moves, games.candidate_visits.tolist(), strict=True))
    return [dict(pairs[begin:end]) for begin, end in itertools.pairwise(starts)]


def expected(
    hcp: np.ndarray, multipv: int, temperature: float = TEMPERATURE, scale: float = 756.0864962951762
) -> dict[str, int]:
    """The candidates of a position, by the formula of the documentation."""
    lines = scored_lines(position_of(hcp), multipv)
    weights = [math.exp(1 / (1 + math.exp(-cp / scale)) / temperature) for _, cp in lines]
    return {move: round(65535 * w / sum(weights)) or 1 for (move, _), w in zip(lines, weights, strict=True)}


def best_score(hcp: np.ndarray) -> int:
    score = scored_lines(position_of(hcp), 1)[0][1]
    assert score != MATE
    return score


def position_of(hcp: np.ndarray) -> Position:
    return _native.position_from_hcp(hcp.tobytes())
