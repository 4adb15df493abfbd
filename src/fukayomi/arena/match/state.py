"""The state of a match while it is played, the listener that follows it, and the result."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.game.player import Failure
from fukayomi.arena.match.settings import MatchSettings, ScheduledGame, schedule
from fukayomi.arena.match.store import LOCK, MatchStore, read_settings, select_failures, select_warnings
from fukayomi.arena.results.diversity import Diversity
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.head_to_head import Standings
from fukayomi.arena.results.match_db import (
    StoreError,
    open_match,
    read_games,
    read_records,
    select_results,
    select_times,
)
from fukayomi.arena.statistics.move_times import MoveTimes, collect_times
from fukayomi.arena.statistics.sprt import SprtDecision, SprtStatus
from fukayomi.files.lock import is_locked
from fukayomi.listener import Listener
from fukayomi.shogi import BLACK, WHITE
from fukayomi.shogi.record import Record
from fukayomi.tabular import Tabular, counted


@dataclass
class MatchState:
    """The state of a match; it changes with every game."""

    settings: MatchSettings
    folder: Path
    standings: Standings = field(default_factory=lambda: Standings([]))
    """All games in the database."""
    missing: int = 0
    """Scheduled games that are not in the database."""
    failures: list[tuple[int, Failure]] = field(default_factory=list[tuple[int, Failure]])
    """Failures of all runs, with the numbers of their games."""
    warnings: list[str] = field(default_factory=list[str])
    """Conditions that the match depends on and its engines were not told."""
    times: dict[str, MoveTimes] = field(default_factory=dict[str, MoveTimes])
    """Move times of the engines, by name."""
    new: int = 0
    """Games played in this run."""
    left_out: set[str] = field(default_factory=set[str])
    """Engines that failed in this run and play no more."""
    began_s: float = field(default_factory=time.monotonic)
    earlier: int = 0
    """Games of earlier batches, if the match is a batch of a calibration."""
    later: int = 0
    """Games of later batches, at most."""
    new_earlier: int = 0
    """Games of earlier batches that were played since `began_s`."""

    @property
    def left(self) -> int:
        """Games to play, with those of later batches."""
        return self.missing + self.later

    @property
    def reasons(self) -> list[Failure]:
        """Reasons why engines were left out of this run: the last failure of each."""
        last = {failure.engine: failure for _, failure in self.failures}
        return [last[name] for name in sorted(self.left_out & last.keys())]

    @property
    def played(self) -> int:
        """Games in the database."""
        return self.standings.games

    def sprt(self) -> SprtStatus | None:
        """The state of the sequential test, which counts complete pairs of games; None without a test."""
        if self.settings.sprt is None:
            return None
        first = self.standings.players[self.settings.engines[0].name]
        return self.settings.sprt.evaluate(first.counts.pairs)

    @property
    def is_decided(self) -> bool:
        """True if the sequential test has ended the match."""
        result = self.sprt()
        return result is not None and result.decision is not SprtDecision.CONTINUE

    def read(self, store: MatchStore, openings: list[Opening]) -> list[ScheduledGame]:
        """Read everything from the database, and return the games that are missing there.

        Raises:
            StoreError: The games are not those of this match.
        """
        missing = store.check_schedule(schedule(self.settings, openings))
        self.standings = Standings([engine.name for engine in self.settings.engines], store.results())
        self.failures = store.failures()
        self.warnings = store.warnings()
        self.times = collect_times(store.times())
        self.missing = len(missing)
        return missing

    def games_an_hour(self) -> float | None:
        """Games per hour in this run; None before its first game."""
        new = self.new_earlier + self.new
        return new / (time.monotonic() - self.began_s) * 3600 if new else None

    def seconds_left(self) -> float | None:
        """Remaining time at the pace of this run; None before its first game."""
        pace = self.games_an_hour()
        return self.left / pace * 3600 if pace else None


def read_state(folder: Path) -> MatchState:
    """The state of a match on the disk, which another process may be playing.

    `missing` is of a schedule that nobody changed; engines that are left out are not known.

    Raises:
        StoreError: There is no match, its database is damaged, or it is of another version.
    """
    settings = read_settings(folder)
    if settings is None:
        raise StoreError(f"there is no match at {folder}")
    with open_match(folder) as (database, path):
        try:
            standings = Standings([engine.name for engine in settings.engines], select_results(database, path))
        except KeyError as error:
            raise StoreError(f"{path} is damaged: a game of {error.args[0]!r}, who is not in the match") from error
        failures, warnings = select_failures(database, path), select_warnings(database, path)
        times = collect_times(select_times(database, path))
    missing = max(0, settings.games - standings.games)
    return MatchState(settings, folder, standings, missing, failures, warnings, times)


def is_playing(folder: Path) -> bool:
    """True if a process plays the match in a folder."""
    return is_locked(folder, LOCK)


class MatchListener(Listener):
    """Follows a match. Every method does nothing: override those you need. They are called from the thread that runs
    the match."""

    def started(self, state: MatchState) -> None:
        """Called once, before the first game."""

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        """Called after every game, when it is safe on disk."""


@dataclass(eq=False, repr=False)
class MatchResult(Tabular):
    """Result of a match, the games of earlier runs included. Prints as a table with one row per engine."""

    state: MatchState
    """Standings, failures and settings."""
    unplayed: int
    """Scheduled games that are not in the database."""
    diversity: Diversity
    """Diversity of the games: how much they repeat each other."""
    is_interrupted: bool
    """True if Ctrl-C ended the run."""

    @property
    def standings(self) -> Standings:
        """Wins, losses and draws by engine, colour and pair of engines."""
        return self.state.standings

    @property
    def sprt(self) -> SprtStatus | None:
        """The state of the sequential test; None without a test."""
        return self.state.sprt()

    @property
    def folder(self) -> Path:
        """The folder of the match."""
        return self.state.folder

    @property
    def is_complete(self) -> bool:
        """True if all games that the match needs were played."""
        return self.unplayed == 0 or self.state.is_decided

    @cached_property
    def games(self) -> list[Game]:
        """All games in the order of their numbers, with their moves. Read from the folder on first use."""
        return list(read_games(self.folder))

    def records(self) -> Iterator[Record]:
        """The complete records in the order of their numbers: moves, times, scores and lines."""
        return read_records(self.folder)

    def rows(self) -> Sequence[dict[str, Any]]:
        """One row per engine. `elo` is the difference to its opponents, `elo_low` to `elo_high` its 95 % interval; of
        an engine that won or lost everything only one end is known."""
        found: list[dict[str, Any]] = []
        for player in self.standings.players.values():
            total, strength = player.total, player.counts.strength()
            found.append(
                {
                    "engine": player.name,
                    "games": total.games,
                    "wins": total.wins,
                    "losses": total.losses,
                    "draws": total.draws,
                    "score": total.rate,
                    "elo": strength.elo,
                    "elo_error": strength.elo_error,
                    "elo_low": strength.elo_low,
                    "elo_high": strength.elo_high,
                    "black_score": player.by_color[BLACK].rate,
                    "white_score": player.by_color[WHITE].rate,
                    "forfeits": player.forfeits.total(),
                    "elo_without_forfeits": player.clean_counts.strength().elo,
                    "failures": sum(failure.engine == player.name for _, failure in self.state.failures),
                }
            )
        return found

    def shown(self) -> Sequence[dict[str, Any]]:
        """As `rows`, with the interval beside Elo, and forfeits and failures only if there are any."""
        left_out = ["elo_error", "elo_low", "elo_high", "elo_without_forfeits"]
        rows = self.rows()
        left_out += [name for name in ("forfeits", "failures") if not any(row[name] for row in rows)]
        strengths = [str(player.counts.strength()) for player in self.standings.players.values()]
        return [
            {name: value for name, value in row.items() if name not in left_out}
            | {"elo": strength.removesuffix(" Elo")}
            for row, strength in zip(rows, strengths, strict=True)
        ]

    def __repr__(self) -> str:
        names = ", ".join(self.standings.players)
        return f"<MatchResult: {counted(self.state.played, 'game')} of {names}>"
