"""Chunks of self-play: games of random moves that keep their settings, and games made move by move."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from canary_games import random_game, relabelled

from fukayomi import _native
from fukayomi.data.formats.hcpe3 import Game, Games, join_games
from fukayomi.loop.ingest.manifest import Manifest
from fukayomi.selfplay.chunk import ChunkDetails, ChunkInfo, write_chunk
from fukayomi.shogi import Position

SETTINGS: dict[str, Any] = {
    "playouts": 100, "extension": 1.2, "random": 4, "threshold": 0.99, "min_move": 0, "max_move": 60,
}  # fmt: skip
NETWORK = "ab" * 32


def details(**changes: Any) -> ChunkDetails:
    """What a worker says; the numbers of the games are those of no games."""
    fields: dict[str, Any] = {
        "games": 0, "positions": 0, "plies": 0, "worker": "w1", "sequence": 1, "first_game": 0, "seed": 1,
        "network": NETWORK, "build": "0.1", "settings": SETTINGS,
    }  # fmt: skip
    return ChunkDetails(**fields | changes)


def random_games(count: int, seed: int = 1, settings: dict[str, Any] = SETTINGS) -> Games:
    """Games of random moves that keep the settings."""
    rng = np.random.default_rng(seed)
    return join_games([random_game(settings, rng) for _ in range(count)])


def game(
    moves: str,
    result: int,
    start: str | None = None,
    *,
    evals: dict[int, int] | None = None,
    targets: dict[int, Sequence[tuple[str, int]]] | None = None,
    opponent: int = 0,
) -> Game:
    """A game of USI moves: result with flags; evaluations (else 0) and candidates (else none) by ply."""
    position = Position() if start is None else Position.from_sfen(start)
    first = _native.encode_hcp(position)
    hcps, raws = [], []
    for move in moves.split():
        hcps.append(_native.encode_hcp(position))
        raws.append(position.push_usi(move).raw)
    candidates = [list((targets or {}).get(ply, [])) for ply in range(len(raws))]
    flat = [(_native.Move.from_usi(move).raw, visits) for row in candidates for move, visits in row]
    return Game(
        first, result, opponent, np.frombuffer(b"".join(hcps), np.uint8).reshape(-1, 32), np.array(raws, np.uint16),
        np.array([(evals or {}).get(ply, 0) for ply in range(len(raws))], np.int16),
        np.cumsum([0, *(len(row) for row in candidates)]).astype(np.uint64),
        np.array([move for move, _ in flat], np.uint16), np.array([visits for _, visits in flat], np.uint16),
    )  # fmt: skip


def new_store(folder: Path, settings: dict[str, Any] = SETTINGS) -> Manifest:
    """A store whose run has one network and one set of settings."""
    (folder / "games").mkdir(parents=True)
    manifest = Manifest(folder)
    manifest.add_network(NETWORK, 1)
    manifest.add_settings(settings)
    return manifest


def deliver(store: Path, games: Games, /, *, name: str | None = None, **changes: Any) -> ChunkInfo:
    """Write a chunk into a store, with a sidecar that fits the games unless changes say otherwise."""
    of_games = {key: changes.pop(key) for key in ("games", "plies", "positions", "results") if key in changes}
    said = relabelled(games, details(**changes)).model_copy(update=of_games)
    path = store / "games" / f"{name or f'{said.worker}-{said.sequence:06}'}.hcpe3"
    return write_chunk(path, games.write(), said)
