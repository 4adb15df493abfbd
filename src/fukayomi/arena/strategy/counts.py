"""How often each combination of strategies was played, and who won: the tables."""

import csv
import io
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from fukayomi.arena.results.game import Game
from fukayomi.arena.strategy.kinds import NAMED_KINDS, SplitBy, StrategyKind
from fukayomi.arena.strategy.matcher import SIDE_NAMES, Classification, Tag
from fukayomi.shogi import Color
from fukayomi.shogi.record import Result

NO_STRATEGY, NO_STRATEGY_ENGLISH = "分類なし", "none"
DRAWS_RULE = (
    "Rates are of the games whose result is known; a draw is no win for either side, so the three add up to 100 %."
)


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """A combination of strategies and how its games went. Rates are shares of the games whose result is known."""

    tags: tuple[Tag, ...]
    games: int
    share: float
    """Of the table's games."""
    results: dict[Result, int]

    @property
    def name(self) -> str:
        """As 角換わり,後手早繰り銀."""
        return ",".join(tag.label for tag in self.tags) or NO_STRATEGY

    @property
    def english(self) -> str:
        """The same in English."""
        return ", ".join(tag.english for tag in self.tags) or NO_STRATEGY_ENGLISH

    @property
    def black_rate(self) -> float | None:
        """How many games Black won; None if no result is known."""
        return self._rate(Result.BLACK_WIN)

    @property
    def white_rate(self) -> float | None:
        """How many games White won."""
        return self._rate(Result.WHITE_WIN)

    @property
    def draw_rate(self) -> float | None:
        """How many games were drawn."""
        return self._rate(Result.DRAW)

    def _rate(self, result: Result) -> float | None:
        known = self.games - self.results.get(Result.UNKNOWN, 0)
        return self.results.get(result, 0) / known if known else None


@dataclass(frozen=True, slots=True)
class StrategyTable:
    """Combinations of strategies, the most frequent first."""

    group: str
    """The year, or the player with its colour; empty for all games."""
    english: str
    games: int
    """All games of the group, also those whose rows were left out."""
    rows: tuple[StrategyRow, ...]

    def row(self, name: str) -> StrategyRow | None:
        """The row of this name, if there is one."""
        return next((row for row in self.rows if row.name == name), None)


@dataclass(slots=True)
class StrategyCounts:
    """Counts games and makes tables of them.

    Attributes:
        kinds: Which tags make a row's name.
        by: What the games are split by; None: one table of all.
        min_rating: Both players are rated at least so; None: unrated games count as well.
        games: How many were counted.
        below_rating: How many were left out by `min_rating`.
        undated: How many were left out for want of a year.
    """

    kinds: Collection[StrategyKind] = NAMED_KINDS
    by: SplitBy | None = None
    min_rating: float | None = None
    games: int = 0
    below_rating: int = 0
    undated: int = 0
    _groups: dict[tuple[str, str], Counter[tuple[tuple[Tag, ...], Result]]] = field(
        default_factory=dict[tuple[str, str], Counter[tuple[tuple[Tag, ...], Result]]]
    )

    def add(self, game: Game, found: Classification) -> bool:
        """Count a game.

        Returns:
            Whether it passed the filters.
        """
        if self.min_rating is not None:
            ratings = (game.black_rating, game.white_rating)
            if not all(rating is not None and rating >= self.min_rating for rating in ratings):
                self.below_rating += 1
                return False
        if self.by is SplitBy.YEAR and game.year is None:
            self.undated += 1
            return False
        self.games += 1
        tags = tuple(tag for tag in found.tags if tag.definition.kind in self.kinds)
        for group in self._groups_of(game):
            self._groups.setdefault(group, Counter())[tags, game.result] += 1
        return True

    def tables(self, top: int | None = None, min_count: int = 1) -> list[StrategyTable]:
        """The tables: by year in order, by engine the one with the most games first.

        Args:
            top: At most so many rows each; None: all.
            min_count: Only rows of at least so many games.
        """
        groups = sorted(self._groups.items())
        if self.by is SplitBy.ENGINE:
            groups.sort(key=lambda item: -item[1].total())
        return [_table(group, english, counts, top, min_count) for (group, english), counts in groups]

    def _groups_of(self, game: Game) -> list[tuple[str, str]]:
        if self.by is SplitBy.YEAR:
            return [(str(game.year), str(game.year))]
        if self.by is SplitBy.ENGINE:
            players = ((game.black, Color.BLACK), (game.white, Color.WHITE))
            return [(f"{name} ({SIDE_NAMES[color]})", f"{name} ({color.name.title()})") for name, color in players]
        return [("", "")]


def _table(
    group: str, english: str, counts: Counter[tuple[tuple[Tag, ...], Result]], top: int | None, min_count: int
) -> StrategyTable:
    total = counts.total()
    results: dict[tuple[Tag, ...], dict[Result, int]] = {}
    for (tags, result), count in counts.items():
        results.setdefault(tags, {})[result] = count
    rows = [StrategyRow(tags, games := sum(found.values()), games / total, found) for tags, found in results.items()]
    rows = sorted((row for row in rows if row.games >= min_count), key=lambda row: (-row.games, row.name))
    return StrategyTable(group, english, total, tuple(rows[:top]))


def tables_csv(tables: Sequence[StrategyTable], by: SplitBy | None) -> bytes:
    """Tables as CSV for spreadsheets: rates from 0 to 1, UTF-8 with the mark that Excel needs to see it is that."""
    text = io.StringIO()
    writer = csv.writer(text)
    group_title = {None: [], SplitBy.YEAR: ["年"], SplitBy.ENGINE: ["対局者"]}[by]
    writer.writerow([*group_title, "戦型", "回数", "出現率", "先手勝率", "後手勝率", "引分率", "strategy"])
    for table in tables:
        for row in table.rows:
            rates = (row.share, row.black_rate, row.white_rate, row.draw_rate)
            written = ["" if rate is None else f"{rate:.4f}" for rate in rates]
            writer.writerow([*([_cell(table.group)] if by else []), row.name, row.games, *written, row.english])
    return text.getvalue().encode("utf-8-sig")


def _cell(name: str) -> str:
    """A name out of a file, so that no spreadsheet takes it for a formula and no terminal for a command."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown
