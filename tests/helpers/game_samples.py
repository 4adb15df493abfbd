"""Games in hcpe3, made up at random."""

import random

import numpy as np

from fukayomi import _native
from fukayomi.data.formats.hcpe3 import Game, Games, join_games
from fukayomi.shogi import Move, Position

HANDICAP = "lnsgkgsn1/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


def random_game(rng: random.Random, most_moves: int = 30) -> Game:
    """A legal game whose moves have any evaluations and up to five candidates with any visits."""
    position = Position.from_sfen(HANDICAP) if rng.random() < 0.2 else Position()
    start = _native.encode_hcp(position)
    hcps, moves, evals, counts, candidates, visits = [], [], [], [], [], []
    for _ in range(rng.randrange(most_moves + 1)):
        legal = position.legal_moves
        if not legal:
            break
        hcps.append(_native.encode_hcp(position))
        chosen = rng.sample(legal, rng.randrange(min(5, len(legal)) + 1))
        candidates += [move.raw for move in chosen]
        visits += [rng.randrange(65_536) for _ in chosen]
        counts.append(len(chosen))
        evals.append(rng.randrange(-32_768, 32_768))
        move = rng.choice(legal)
        moves.append(move.raw)
        position.push(move)
    return Game(
        start,
        rng.choice([0, 1, 2]) | 4 * rng.randrange(8),
        rng.randrange(3),
        np.frombuffer(b"".join(hcps), np.uint8).reshape(-1, 32),
        np.array(moves, np.uint16),
        np.array(evals, np.int16),
        np.cumsum([0, *counts]).astype(np.uint64),
        np.array(candidates, np.uint16),
        np.array(visits, np.uint16),
    )


def random_games(count: int, seed: int = 1, most_moves: int = 30) -> Games:
    """So many games as columns."""
    rng = random.Random(seed)
    return join_games([random_game(rng, most_moves) for _ in range(count)])


def one_hot_game(usi: str, start: str | None = None) -> Game:
    """A game whose moves are their own only candidates."""
    position = Position.from_sfen(start) if start else Position()
    moves = np.array([Move.from_usi(move).raw for move in usi.split()], np.uint16)
    hcps = _native.encode_game_hcps(position, moves)
    each = np.arange(len(moves) + 1, dtype=np.uint64)
    return Game(
        hcps[0].tobytes(), 0, 0, hcps[:-1], moves, np.zeros(len(moves), np.int16), each, moves,
        np.ones(len(moves), np.uint16),
    )  # fmt: skip
