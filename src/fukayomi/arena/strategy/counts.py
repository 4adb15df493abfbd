"""The strategies (戦型) of games, and counts of games and wins for each combination of them."""

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fukayomi.arena.results.game import Game
from fukayomi.arena.results.sources import Games, iterate_games
from fukayomi.arena.statistics.intervals import wilson
from fukayomi.arena.strategy.kinds import NAMED_KINDS, SplitBy, StrategyKind
from fukayomi.arena.strategy.matcher import SIDE_NAMES, Classification, Matcher, Tag
from fukayomi.arena.strategy.reading import load_definitions
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import START_SFEN, Color, Move, Position
from fukayomi.shogi.formats import is_usi_position, read_record
from fukayomi.shogi.record import Record, Result
from fukayomi.tabular import Tabular, printable

NO_STRATEGY, NO_STRATEGY_ENGLISH = "分類なし", "none"
DRAWS_RULE = (
    "Rates are shares of the games with a known result. A draw is not a win for either side, so the three rates add up "
    "to 100 %."
)


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """A combination of strategies and the results of its games. Rates are shares of games with a known result."""

    tags: tuple[Tag, ...]
    games: int
    share: float
    """Share of the table's games, 0..1."""
    results: dict[Result, int]
    """Games by result."""

    @property
    def name(self) -> str:
        """For example 角換わり,後手早繰り銀."""
        return ",".join(tag.label for tag in self.tags) or NO_STRATEGY

    @property
    def english(self) -> str:
        """The name in English."""
        return ", ".join(tag.english for tag in self.tags) or NO_STRATEGY_ENGLISH

    @property
    def black_rate(self) -> float | None:
        """Share of games won by Black, 0..1; None if no result is known."""
        return self._rate(Result.BLACK_WIN)

    @property
    def black_interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of `black_rate`; (0, 1) if no result is known."""
        won = self.results.get(Result.BLACK_WIN, 0)
        return wilson(won, self._known - won)

    @property
    def white_rate(self) -> float | None:
        """Share of games won by White."""
        return self._rate(Result.WHITE_WIN)

    @property
    def draw_rate(self) -> float | None:
        """Share of drawn games."""
        return self._rate(Result.DRAW)

    def _rate(self, result: Result) -> float | None:
        return self.results.get(result, 0) / self._known if self._known else None

    @property
    def _known(self) -> int:
        """Games with a known result."""
        return self.games - self.results.get(Result.UNKNOWN, 0)


@dataclass(frozen=True, slots=True)
class StrategyTable(Tabular):
    """Combinations of strategies of a group of games, most frequent first."""

    group: str
    """The year, or the player with its colour; empty for all games."""
    english: str
    """The group in English."""
    games: int
    """All games of the group, including those of omitted rows."""
    combinations: tuple[StrategyRow, ...]
    omitted: int = 0
    """Rarer combinations that have no row."""

    def find(self, name: str) -> StrategyRow | None:
        """The row with this Japanese name, if there is one."""
        return next((row for row in self.combinations if row.name == name), None)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per combination."""
        return [
            {
                "strategy": row.name,
                "english": row.english,
                "games": row.games,
                "share": row.share,
                "black_rate": row.black_rate,
                "white_rate": row.white_rate,
                "draw_rate": row.draw_rate,
            }
            for row in self.combinations
        ]


@dataclass(slots=True, repr=False)
class StrategyCounts(Tabular):
    """Counts the strategies of games; `tables` has the result."""

    kinds: Collection[StrategyKind] = NAMED_KINDS
    """Kinds of tags that name a row."""
    by: SplitBy | None = None
    """Grouping of the games; None for one table of all games."""
    min_rating: float | None = None
    """Rating that both players need; None counts unrated games too."""
    games: int = 0
    """Games counted."""
    below_rating: int = 0
    """Games left out by `min_rating`."""
    undated: int = 0
    """Games left out because they have no year."""
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
        """One table per group: years in order; players by number of games.

        Args:
            top: Most frequent rows to keep per table; None keeps all.
            min_count: Games that a row needs.
        """
        groups = sorted(self._groups.items())
        if self.by is SplitBy.ENGINE:
            groups.sort(key=lambda item: -item[1].total())
        return [_table(group, english, counts, top, min_count) for (group, english), counts in groups]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of all tables; with the group, if games are grouped."""
        return [
            ({"group": table.group} if self.by else {}) | dict(row) for table in self.tables() for row in table.rows()
        ]

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
    frequent = sorted((row for row in rows if row.games >= min_count), key=lambda row: (-row.games, row.name))[:top]
    return StrategyTable(group, english, total, tuple(frequent), len(rows) - len(frequent))


def tables_csv(tables: Sequence[StrategyTable], by: SplitBy | None) -> bytes:
    """Tables as CSV for spreadsheets: rates 0..1, UTF-8 with the byte order mark that Excel needs."""
    text = io.StringIO()
    writer = csv.writer(text)
    group_title = {None: [], SplitBy.YEAR: ["年"], SplitBy.ENGINE: ["対局者"]}[by]
    writer.writerow([*group_title, "戦型", "回数", "出現率", "先手勝率", "後手勝率", "引分率", "strategy"])
    for table in tables:
        for row in table.combinations:
            rates = (row.share, row.black_rate, row.white_rate, row.draw_rate)
            written = ["" if rate is None else f"{rate:.4f}" for rate in rates]
            writer.writerow([*([_cell(table.group)] if by else []), row.name, row.games, *written, row.english])
    return text.getvalue().encode("utf-8-sig")


def _cell(name: str) -> str:
    """A player's name, made safe: a spreadsheet must not read it as a formula, nor a terminal as a command."""
    shown = printable(name)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown


PROGRESS_EVERY = 64
"""Games between two reports of progress."""


def classify_strategies(
    game: Record | Game | Position | Path | str | Iterable[Move | str], *, matcher: Matcher | None = None
) -> Classification:
    """Find the strategies of one game.

    >>> from fukayomi.arena import classify_strategies
    >>> print(classify_strategies("startpos moves 7g7f 3c3d 6g6f 8c8d 2h6h"))
    strategy      english                      kind     ply
    対抗形        Static against Ranging Rook  style      5
    先手四間飛車  Black Fourth-File Rook       opening    5

    Args:
        game: A record or its file, a position with its moves, a USI position, or moves from the start position.
        matcher: Matcher with other definitions than the package's own.

    Raises:
        ValueError: A text is not a USI position or move, or a file not a record.
        OSError: The file cannot be read.
    """
    matcher = matcher or default_matcher()
    if isinstance(game, str) and is_usi_position(game):
        game = Position(game)
    if isinstance(game, str | Path):
        game = read_record(game)
    if isinstance(game, Position):
        return matcher.classify(game.start_sfen(), game.moves)
    if isinstance(game, Record):
        game = Game.from_record(game)
    if isinstance(game, Game):
        return matcher.classify(game.initial_sfen, game.moves or ())
    return matcher.classify(START_SFEN, [move if isinstance(move, Move) else Move.from_usi(move) for move in game])


def count_strategies(
    games: Games,
    *,
    by: SplitBy | str | None = None,
    kinds: Collection[StrategyKind] = NAMED_KINDS,
    min_rating: float | None = None,
    matcher: Matcher | None = None,
    listener: Listener = SILENT,
) -> StrategyCounts:
    """Count how often each combination of strategies was played, and who won.

    >>> from fukayomi import Record, Result
    >>> from fukayomi.arena import count_strategies
    >>> counts = count_strategies([Record(result=Result.DRAW)])
    >>> print(counts)
    strategy  english  games  share  black_rate  white_rate  draw_rate
    分類なし  none         1      1           0           0          1

    Args:
        games: Games with moves; see `fukayomi.arena.results.sources.Games`.
        by: Group games by "year", or by "engine" and colour.
        kinds: Kinds of tags that name a row.
        min_rating: Rating that both players need.
        matcher: Matcher with other definitions than the package's own.
        listener: Gets the number of classified games, and a note for each file or game that cannot be used.

    Raises:
        ValueError: No game could be read.
    """
    counts = StrategyCounts(kinds, None if by is None else SplitBy(by), min_rating)
    for game, found in classify_games(games, matcher=matcher, listener=listener):
        counts.add(game, found)
    return counts


def classify_games(
    games: Games, *, matcher: Matcher | None = None, listener: Listener = SILENT
) -> Iterator[tuple[Game, Classification]]:
    """Games with their strategies, one at a time; games without moves are skipped with a note.

    Args:
        games: Games with moves; see `fukayomi.arena.results.sources.Games`.
        matcher: Matcher with other definitions than the package's own.
        listener: Gets the number of classified games, and a note for each file or game that cannot be used.

    Raises:
        ValueError: No game could be read.
    """
    matcher = matcher or default_matcher()
    for number, game in enumerate(iterate_games(games, listener=listener), 1):
        if number % PROGRESS_EVERY == 0:
            listener.progress("classifying", number, None)
        if game.moves is None:
            listener.note(f"{game.name}: no moves")
            continue
        yield game, matcher.classify(game.initial_sfen, game.moves)


@cache
def default_matcher() -> Matcher:
    """The matcher of the package's own definitions."""
    return Matcher(load_definitions())
