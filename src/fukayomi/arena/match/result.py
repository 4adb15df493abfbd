"""The result of a match: a table with one row per engine, and all games."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fukayomi.arena.match.state import MatchState
from fukayomi.arena.results.diversity import Diversity
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_db import read_games, read_records
from fukayomi.arena.results.standings import Standings
from fukayomi.arena.statistics.sprt import SprtStatus
from fukayomi.shogi import BLACK, WHITE
from fukayomi.shogi.record import Record
from fukayomi.tabular import Tabular, counted


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
