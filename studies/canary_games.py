"""Canaries: chunks as a broken or hostile worker would deliver them, made from honest ones, to try the guards on.

Each kind is made to pass as much of the validation as such a worker could: the sidecar agrees with the games.
`studies/canaries.py` prints which of them are found, and by what.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from fukayomi import _native
from fukayomi.data.formats.hcpe import RESULT_BITS, ResultFlag
from fukayomi.data.formats.hcpe3 import Game, Games, join_games
from fukayomi.loop.ingest.validation import count_results, rules_of
from fukayomi.selfplay.chunk import ChunkDetails
from fukayomi.shogi import Color, Position, Repetition

_CANDIDATES = 10  # of a random position

Canary = Callable[[Games, Mapping[str, Any], np.random.Generator], Games]
"""Makes poisoned games of honest ones, given their settings."""


def random_moves(games: Games, settings: Mapping[str, Any], rng: np.random.Generator) -> Games:
    """As many games of random moves, with made-up visits and evaluations; results by the rules."""
    return join_games([random_game(settings, rng, games.starts[index].tobytes()) for index in range(len(games))])


def flipped_results(games: Games, settings: Mapping[str, Any], rng: np.random.Generator) -> Games:
    """Wins are losses."""
    wins = games.results & RESULT_BITS
    return replace(games, results=np.where(wins == 0, games.results, games.results ^ RESULT_BITS).astype(np.uint8))


def flipped_values(games: Games, settings: Mapping[str, Any], rng: np.random.Generator) -> Games:
    """Evaluations are from the wrong side, but for the last two of a game, which explain the result."""
    evals = -games.evals
    ends = games.plies[1:].astype(np.int64)
    for back in (1, 2):
        kept = np.maximum(ends - back, games.plies[:-1].astype(np.int64))
        evals[kept] = games.evals[kept]
    return replace(games, evals=evals.astype(np.int16))


def shifted_values(games: Games, settings: Mapping[str, Any], rng: np.random.Generator) -> Games:
    """Each evaluation but the last two stands at the next move."""
    evals = games.evals.copy()
    for begin, end in pairwise(games.plies.astype(np.int64)):
        if end - begin > 3:
            evals[begin + 1 : end - 2] = games.evals[begin : end - 3]
    return replace(games, evals=evals)


def shifted_policies(games: Games, settings: Mapping[str, Any], rng: np.random.Generator) -> Games:
    """The visits of each candidate stand at the next one of the position."""
    has_targets = games.candidate_counts() > 0
    first = games.candidates[:-1].astype(np.int64)[has_targets]
    last = games.candidates[1:].astype(np.int64)[has_targets] - 1
    visits = np.roll(games.candidate_visits, 1)
    visits[first] = games.candidate_visits[last]
    return replace(games, candidate_visits=visits)


def few_visits(games: Games, settings: Mapping[str, Any], rng: np.random.Generator) -> Games:
    """Policy targets of a search with an eighth of the visits, stretched to the full number."""
    owners = np.repeat(np.arange(len(games.moves)), games.candidate_counts())
    visits = np.zeros(len(owners), np.int64)
    for begin, end in pairwise(games.candidates.astype(np.int64)):
        if end > begin and (total := int(games.candidate_visits[begin:end].sum())):
            shares = games.candidate_visits[begin:end] / total
            drawn = rng.multinomial(max(1, total // 8), shares)
            visits[begin:end] = drawn * (total // drawn.sum())
    is_played = games.candidate_moves == games.moves[owners]
    kept = (visits > 0) | is_played
    counts = np.bincount(owners[kept], minlength=len(games.moves))
    return replace(
        games,
        candidates=np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64),
        candidate_moves=games.candidate_moves[kept],
        candidate_visits=np.maximum(visits[kept], 1).astype(np.uint16),
    )


CANARIES: dict[str, Canary] = {
    "random moves": random_moves,
    "flipped results": flipped_results,
    "flipped values": flipped_values,
    "shifted values": shifted_values,
    "shifted policies": shifted_policies,
    "few visits": few_visits,
}
"""The kinds that need no second network; an old network's games are those of `relabelled`."""


def relabelled(games: Games, details: ChunkDetails) -> ChunkDetails:
    """A sidecar for games that fits them and says what that of other games says: worker, network, settings.

    Args:
        games: The games; numbers and results are counted from them.
        details: What else the sidecar says.
    """
    decoded = _native.decode_hcpe3(np.frombuffer(games.write(), np.uint8), True)
    check = _native.check_selfplay(decoded, rules_of(details.settings))
    return details.model_copy(
        update={
            "games": len(games), "plies": len(games.moves), "positions": int((games.candidate_counts() > 0).sum()),
            "results": count_results(decoded.results & RESULT_BITS, check.ends),
        }
    )  # fmt: skip


def random_game(settings: Mapping[str, Any], rng: np.random.Generator, start: bytes | None = None) -> Game:
    """A game of random moves that keeps the rules of its settings, with made-up visits and evaluations.

    Args:
        settings: Settings of self-play.
        rng: Source of random numbers.
        start: hcp of the first position; None: the start position.
    """
    rules = rules_of(settings)
    position = Position() if start is None else _native.position_from_hcp(start)
    start = _native.encode_hcp(position)
    hcps: list[bytes] = []
    moves: list[int] = []
    evals: list[int] = []
    counts: list[int] = []
    candidates: list[int] = []
    visits: list[int] = []
    length = int(rng.integers(max(8, rules.least_plies), rules.most_plies + 1))
    while True:
        legal = position.legal_moves
        if (result := _result(position, len(moves), rules.most_plies, has_moves=bool(legal))) is not None:
            break
        hcps.append(_native.encode_hcp(position))
        chosen = rng.permutation(len(legal))[:_CANDIDATES]
        shares = np.sort(rng.dirichlet(np.full(len(chosen), 0.3)))[::-1]
        weights = np.maximum(1, shares * (settings["playouts"] - len(chosen))).astype(np.int64)
        if len(moves) < settings.get("random", 0):
            chosen, weights = chosen[:1], weights[:0]
        moves.append(legal[int(chosen[0])].raw)
        candidates += [legal[int(index)].raw for index in chosen[: len(weights)]]
        visits += weights.tolist()
        counts.append(len(weights))
        evals.append(int(rng.normal(0, 300)))
        position.push(legal[int(chosen[0])])
        is_quiet = position.first_recurrence() in (Repetition.NONE, Repetition.SUPERIOR, Repetition.INFERIOR)
        if len(moves) == length and length < rules.most_plies and is_quiet and position.legal_moves:
            evals[-1] = 30_000 if rng.random() < 0.5 else -30_000
            result = 1 if (evals[-1] > 0) == (position.turn is Color.WHITE) else 2
            break
    return Game(
        start, result, 0, np.frombuffer(b"".join(hcps), np.uint8).reshape(-1, 32), np.array(moves, np.uint16),
        np.array(evals, np.int16), np.cumsum([0, *counts]).astype(np.uint64), np.array(candidates, np.uint16),
        np.array(visits, np.uint16),
    )  # fmt: skip


def _result(position: Position, plies: int, most_plies: int, *, has_moves: bool) -> int | None:
    """The result byte if the game is over by the rules."""
    mover, other = (1, 2) if position.turn is Color.BLACK else (2, 1)
    if not has_moves:
        return other
    repeated = {Repetition.DRAW: 0, Repetition.WIN: mover, Repetition.LOSE: other}.get(position.first_recurrence())
    if repeated is not None:
        return repeated | int(ResultFlag.REPETITION)
    if plies == most_plies:
        return int(ResultFlag.MAX_PLIES)
    return None
