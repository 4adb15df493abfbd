"""The document of a match or of several together: league table, cross table, test, ratings, strategies, games."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.match.state import MatchState, is_playing, read_state
from fukayomi.arena.match.summary import summarize_state
from fukayomi.arena.ratings.options import ELO_SCALE
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.head_to_head import Standings
from fukayomi.arena.results.match_db import (
    DATABASE,
    StoreError,
    list_games,
    open_match,
    select_games,
    select_records,
    select_results,
)
from fukayomi.arena.results.player_ratings import rate
from fukayomi.arena.results.sequential_test import evaluate_sprt
from fukayomi.arena.statistics.move_times import MoveTimes
from fukayomi.arena.strategy.counts import count_strategies
from fukayomi.listener import SILENT
from fukayomi.shogi.record import Record
from fukayomi.web.runs.keeping import Stamp, stamp_of

MOST_MATCHES = 200
"""Matches of a league that count."""
MOST_GAMES = 20_000
"""Games whose strategies are counted: the first of each match."""
MOST_STRATEGIES = 40
MOST_FAILURES = 100
GAMES_A_PAGE = 100
PAIR_STEP = 1 << 32
"""Pairs of different matches get different numbers by this."""


def match_stamp(folder: Path) -> Stamp:
    """Changes with every game: SQLite writes it into the log beside the database first."""
    return stamp_of([folder / DATABASE, folder / f"{DATABASE}-wal"])


def match_document(folder: Path) -> Any:
    """A match as it is now.

    Raises:
        StoreError: The match is damaged, or of another version.
    """
    state = read_state(folder)
    return {
        "playing": is_playing(folder),
        "games": state.played,
        "scheduled": state.played + state.missing,
        **_standings(state),
        "sprt": _sprt(state),
        **_of_games([folder]),
        "settings": _settings(state.settings),
    }


def league_document(folders: Sequence[Path]) -> Any:
    """Several matches as one: who has the same name in two matches is the same player.

    A match that cannot be read is left out; `damaged` counts those.
    """
    states: list[MatchState] = []
    damaged = 0
    for folder in folders[:MOST_MATCHES]:
        try:
            states.append(read_state(folder))
        except (StoreError, OSError):
            damaged += 1
    used = [state.folder for state in states]
    engines = {engine.name: engine for state in states for engine in state.settings.engines}
    if not engines:
        return {"playing": False, "games": 0, "scheduled": 0, "damaged": damaged, "players": [], "pairs": []}
    settings = states[0].settings.model_copy(update={"engines": tuple(engines.values()), "sprt": None})
    merged = MatchState(
        settings, folders[0].parent, Standings(list(engines), _numbered(used)),
        sum(state.missing for state in states), [failure for state in states for failure in state.failures],
        list(dict.fromkeys(warning for state in states for warning in state.warnings)),
        times=_merged_times(states),
    )  # fmt: skip
    return {
        "playing": any(is_playing(folder) for folder in used),
        "games": merged.played,
        "scheduled": merged.played + merged.missing,
        "damaged": damaged,
        "matches": len(used),
        **_standings(merged),
        "sprt": None,
        **_of_games(used),
        "settings": {},
    }


def _merged_times(states: Sequence[MatchState]) -> dict[str, MoveTimes]:
    found: dict[str, MoveTimes] = {}
    for state in states:
        for name, times in state.times.items():
            merged = found.setdefault(name, MoveTimes())
            merged.used_ms.extend(times.used_ms)
            merged.overhead_ms.extend(times.overhead_ms)
    return found


def games_page(folder: Path, before: int | None = None) -> Any:
    """Games of a match, the last numbers first, at most `GAMES_A_PAGE`.

    Args:
        folder: Folder of the match.
        before: Only games with smaller numbers.

    Raises:
        StoreError: The match is damaged.
    """
    with open_match(folder) as (database, path):
        found = [
            {
                "number": int(game.name), "black": game.black, "white": game.white, "result": int(game.result),
                "termination": str(game.termination), "date": game.date, "plies": plies,
            }
            for game, plies in list_games(database, path, GAMES_A_PAGE + 1, before)
        ]  # fmt: skip
    return {"games": found[:GAMES_A_PAGE], "more": len(found) > GAMES_A_PAGE}


def read_game(folder: Path, number: int) -> Record | None:
    """The record of a game; None if there is no such game.

    Raises:
        StoreError: The match is damaged.
    """
    with open_match(folder) as (database, path):
        return next(select_records(database, path, number), None)


def _standings(state: MatchState) -> dict[str, Any]:
    """The summary of ``fukayomi match --json``; of failures what an engine said is left out, which may name paths."""
    found = summarize_state(state)
    failures = [
        {"game": each["game"], "engine": each["engine"], "kind": str(each["kind"])} for each in found["failures"]
    ]
    return {
        "players": found["players"],
        "pairs": found["pairs"],
        "first_mover": found["first_mover"],
        "terminations": found["terminations"],
        "failures": failures[-MOST_FAILURES:],
        "warnings": found["warnings"],
    }


def _sprt(state: MatchState) -> dict[str, Any] | None:
    """The test between its bounds, with the Elo corrected for a match that the test itself stops."""
    settings = state.settings.sprt
    if settings is None:
        return None
    first, second = (engine.name for engine in state.settings.engines)
    counts = state.standings.players[first].counts.pairs
    result = evaluate_sprt(counts, settings)
    sequential = result.sequential_elo
    return {
        "first": first,
        "second": second,
        "pairs": counts,
        **dict(settings),
        "model": str(settings.model),
        **asdict(result.status),
        "decision": str(result.decision),
        "elo": None if sequential is None else asdict(sequential),
    }


def _of_games(folders: Sequence[Path]) -> dict[str, Any]:
    """Ratings from all games, and strategies from the first ones."""
    try:
        found = rate(list(_numbered(folders)), scale=ELO_SCALE)
    except ValueError:  # no game yet
        return {"ratings": None, "strategies": None}
    ratings = {
        "players": [asdict(player) for player in found.players],
        "first_mover_advantage": found.first_mover_advantage,
        "draw_rate": found.draw_rate,
        "notes": list(found.notes),
    }
    return {"ratings": ratings, "strategies": _strategies(folders)}


def _strategies(folders: Sequence[Path]) -> dict[str, Any] | None:
    share = max(1, MOST_GAMES // len(folders))
    (table,) = count_strategies(_with_moves(folders, share), listener=SILENT).tables() or (None,)
    if table is None:
        return None
    rows: list[dict[str, Any]] = []
    for row in table.combinations[:MOST_STRATEGIES]:
        low, high = row.black_interval
        rows.append(
            {
                "name": row.name, "english": row.english, "games": row.games, "share": row.share,
                "black_rate": row.black_rate, "black_low": low, "black_high": high, "white_rate": row.white_rate,
                "draw_rate": row.draw_rate,
            }
        )  # fmt: skip
    return {"games": table.games, "combinations": len(table.combinations), "rows": rows}


def _with_moves(folders: Sequence[Path], most: int) -> Iterator[Game]:
    for folder in folders:
        with open_match(folder) as (database, path):
            yield from islice(select_games(database, path), most)


def _numbered(folders: Sequence[Path]) -> Iterator[Game]:
    """The results of all matches; pairs of different matches have different numbers."""
    for number, folder in enumerate(folders):
        with open_match(folder) as (database, path):
            for game in select_results(database, path):
                yield game if game.pair is None else replace(game, pair=game.pair + number * PAIR_STEP)


def _settings(settings: MatchSettings) -> dict[str, str]:
    """Conditions that a reader wants to know; no commands, which may name paths."""
    found = {
        "clock": settings.clock.text(),
        "tournament": settings.tournament.value,
        "openings": settings.openings.name if settings.openings else "",
        "max_plies": str(settings.rules.max_plies),
        "event": settings.event,
    }
    for engine in settings.engines:
        if engine.clock is not None and engine.clock != settings.clock:
            found[f"{engine.name} clock"] = engine.clock.text()
    return {name: value for name, value in found.items() if value}
