"""Games of the native pool, with many settings: ingest accepts them all, and derives the results that the pool gave."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selfplay_chunks import SETTINGS, deliver, new_store
from selfplay_runner import drive, search_params, selfplay_params

from fukayomi._native import DecodedGames, GameReason, RootRule, SelfplayPlayer, SelfplayPool, decode_hcpe3
from fukayomi.data.formats.hcpe3 import Game, Games, join_games
from fukayomi.loop.ingest import ingest
from fukayomi.selfplay.chunk import ResultCounts
from fukayomi.shogi import Position

PLAYED: dict[str, dict[str, Any]] = {
    "dlshogi's": {},
    "reuse": {"reuse": True, "random2": 1.5},
    "mates": {"mate_depth": 5, "mate_nodes": 500, "max_move": 120},
    "early": {"threshold": 0.05, "play_out": 0.5, "min_move": 0},
    "taught": {"train_random": True, "random": 12, "extension": 3.0},
    "leaves": {"leaves": 4, "playouts": 20},
    "odd": {"playouts": 5, "extension": 100.0},
    "gumbel": {"root_rule": "gumbel"},
    "noise": {"root_visit_noise": 0.1, "forced_playouts": 2.0},
}
OF_SEARCH = ("root_visit_noise", "forced_playouts")


def play(count: int, values: dict[str, Any], *, opponent: bool = False) -> tuple[Games, ResultCounts, dict[str, Any]]:
    """Games of the pool, what it says of them, and their settings."""
    settings = SETTINGS | {"playouts": 12, "max_move": 200} | values
    names = ("playouts", "extension", "random", "threshold", "max_move", *values)
    of_games = {name: settings[name] for name in names if name not in ("min_move", "root_rule", *OF_SEARCH)}
    of_search = {name: settings[name] for name in OF_SEARCH if name in settings}
    rule = RootRule[settings.get("root_rule", "puct").upper()]
    search = search_params(root_noise_epsilon=0.25, root_rule=rule, **of_search)
    pool = SelfplayPool(selfplay_params(**of_games), search, 16)
    for index in range(count):
        black, white = SelfplayPlayer(), SelfplayPlayer(teaches=not opponent)
        pool.add(index, Position(), *((black, white) if index % 2 else (white, black)))
    finished = sorted(drive(pool, 8), key=lambda game: game.index)
    reasons = Counter(game.reason for game in finished)
    winners = Counter(game.winner for game in finished)
    said = ResultCounts(
        black_wins=winners[0], white_wins=winners[1], draws=winners[None], mates=reasons[GameReason.MATE],
        resignations=reasons[GameReason.RESIGNATION], repetitions=reasons[GameReason.REPETITION],
        declarations=reasons[GameReason.DECLARATION], max_plies=reasons[GameReason.MAX_PLIES],
    )  # fmt: skip
    data = b"".join(game.data for game in finished)
    return games_of(decode_hcpe3(np.frombuffer(data, np.uint8), True)), said, settings


def games_of(found: DecodedGames) -> Games:
    assert found.damages == []
    columns = Games(
        Path("pool"), 0, found.offsets, found.starts, found.results, found.opponents, found.plies, found.hcps,
        found.moves, found.evals, found.candidates, found.candidate_moves, found.candidate_visits,
    )  # fmt: skip
    games: list[Game] = list(columns)
    return join_games(games)


@pytest.mark.parametrize("opponent", [False, True])
@pytest.mark.parametrize("name", PLAYED)
def test_games_of_the_pool_are_accepted(tmp_path: Path, name: str, opponent: bool) -> None:
    games, said, settings = play(6, PLAYED[name], opponent=opponent)
    new_store(tmp_path, settings)
    deliver(tmp_path, games, settings=settings, results=said)
    result = ingest(tmp_path)
    assert [str(entry.reason) for entry in result.quarantined] == []
    assert result.accepted[0].results == said
