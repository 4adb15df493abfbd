"""Training data for the programs here: games of random moves, with as many candidates as a search of 800 visits has."""

import random
from pathlib import Path

import numpy as np

from fukayomi import _native
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.hcpe3 import Game, join_games
from fukayomi.shogi import Position

GAMES = 1_500
PLIES = 100


def random_game(rng: random.Random) -> Game:
    """A game of random moves whose candidates share 800 visits, most of them with a few."""
    position = Position()
    hcps: list[bytes] = []
    moves: list[int] = []
    evals: list[int] = []
    counts, candidates, visits = [0], list[int](), list[int]()
    for _ in range(PLIES):
        legal = position.legal_moves
        if not legal:
            break
        hcps.append(_native.encode_hcp(position))
        chosen = rng.sample(legal, min(len(legal), 2 + int(rng.expovariate(1 / 12))))
        shares = sorted((rng.random() ** 6 for _ in chosen), reverse=True)
        candidates += [move.raw for move in chosen]
        visits += [1 + round(800 * share / sum(shares)) for share in shares]
        counts.append(len(candidates))
        moves.append(chosen[0].raw)
        evals.append(rng.randrange(-2000, 2001))
        position.push(chosen[0])
    return Game(
        hcps[0], rng.choice([1, 2]), 0, np.frombuffer(b"".join(hcps), np.uint8).reshape(-1, 32),
        np.array(moves, np.uint16), np.array(evals, np.int16), np.array(counts, np.uint64),
        np.array(candidates, np.uint16), np.array(visits, np.uint16),
    )  # fmt: skip


def write_random_games(path: Path, games: int = GAMES) -> None:
    """Write games as hcpe3."""
    rng = random.Random(1)
    with DataWriter(path) as writer:
        writer.append(join_games([random_game(rng) for _ in range(games)]))
