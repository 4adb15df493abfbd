"""Growing a book: rounds of games with the books so far, and books of the games so far.

A growth is a folder: an ordinary match for each side in each round (`rounds/0001-black`), a book for each side, the
journal of the rounds, the settings. Books and journal follow from the games; a kill costs the games in progress, and
what was not written is made again by the next run.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fukayomi.arena.game.player import Failure
from fukayomi.arena.match.match import NOTES, StartWorkers
from fukayomi.arena.match.state import MatchListener, MatchState, read_state
from fukayomi.arena.match.store import read_settings
from fukayomi.arena.match.workers import LocalWorkers
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_db import read_games
from fukayomi.book.book import Book
from fukayomi.book.minmax.frontier import frontier
from fukayomi.book.minmax.games import SAY_NOTHING, GameColumns
from fukayomi.book.minmax.minmax import Solved, book_of, reached
from fukayomi.book.minmax.reach import Judge
from fukayomi.book.moves import BookError
from fukayomi.book.stored import write_book
from fukayomi.book_growth.journal import JOURNAL_NAME, BookState, Round, read_journal, write_journal
from fukayomi.book_growth.page import write_page
from fukayomi.book_growth.playing import PlannedMatch, play_matches
from fukayomi.book_growth.rounds import ask_engines, match_settings, openings, round_folder
from fukayomi.book_growth.settings import (
    GROW_FILE,
    GamesFrom,
    GrowSettings,
    GrowthError,
    book_path,
    position_of,
)
from fukayomi.files.inputs import file_sha256
from fukayomi.listener import SILENT, Forwarder, Listener, of_kind
from fukayomi.shogi import BLACK, WHITE, Color, Position
from fukayomi.tabular import Tabular, counted


class GrowthListener(Listener):
    """Follows a book that grows. Every method does nothing: override those you need."""

    def game_ended(self, growth: "Growth", number: int, game: Game, failure: Failure | None) -> None:
        """Called after every game, when it is safe on disk.

        Args:
            growth: The rounds so far.
            number: The round that is being played.
            game: The game.
            failure: What an engine did wrong; None: nothing.
        """

    def round_ended(self, growth: "Growth") -> None:
        """Called after every round, when the books are in place."""


@dataclass(eq=False, repr=False)
class Growth(Tabular):
    """A book that grows, as far as it has come. As a table it has a row for each round."""

    settings: GrowSettings
    folder: Path
    rounds: list[Round] = field(default_factory=list[Round])
    """The rounds that are done."""
    new_games: int = 0
    """Games played in this run."""
    began_s: float = field(default_factory=time.monotonic)

    def games_an_hour(self) -> float | None:
        """Games per hour in this run; None before its first game."""
        return self.new_games / (time.monotonic() - self.began_s) * 3600 if self.new_games else None

    @property
    def is_complete(self) -> bool:
        """True if no round is left to play."""
        return self.settings.rounds is not None and len(self.rounds) >= self.settings.rounds

    def book(self, side: Color) -> Path:
        """The book of a side."""
        return book_path(self.folder, side)

    def rows(self) -> Sequence[dict[str, Any]]:
        """One row for each round: games that count so far, and for each side the value of the start, the plies of the
        trunk and the positions of the book."""
        found: list[dict[str, Any]] = []
        for each in self.rounds:
            row: dict[str, Any] = {"round": each.round, "games": each.games}
            for book in each.books:
                row |= {
                    f"{book.side}_win_rate": book.win_rate,
                    f"{book.side}_cp": book.score_cp,
                    f"{book.side}_plies": len(book.line),
                    f"{book.side}_positions": book.entries,
                }
            found.append(row)
        return found

    def __repr__(self) -> str:
        games = self.rounds[-1].games if self.rounds else 0
        return f"<Growth of {counted(len(self.rounds), 'round')}: {counted(games, 'game')}>"


def grow_book(
    settings: GrowSettings,
    folder: Path | str,
    *,
    judge: Judge | None = None,
    listener: Listener = SILENT,
    start_workers: StartWorkers = LocalWorkers,
    concurrency: int | None = None,
) -> Growth:
    """Grow books: play rounds, and make the books again after each.

    A run may end at any time and in any way; the next one with the same settings goes on. KeyboardInterrupt drops the
    games in progress and is raised again. Nothing is written before the engines have started.

    Args:
        settings: As in earlier runs in this folder, except for `GROW_FILE.free`.
        folder: Folder of the growth; created if necessary.
        judge: A network, where the settings need one; see `fukayomi.book.minmax_book`.
        listener: Follows the work; a `GrowthListener` hears of every game and round.
        start_workers: Creates the workers that play; by default threads of this process.
        concurrency: Games at once if the settings do not say; None: one on each processor core.

    Raises:
        ValueError: The settings do not fit this machine, the folder or the engines (GrowthError, StoreError); or games
            do not count.
        OSError: A file cannot be written (DiskError: the disk is full), or another process grows this book.
    """
    folder = Path(folder)
    if any(settings.of(side).prior_games for side in settings.colors) and judge is None:
        raise GrowthError("prior_games mixes the values of a network in, and no judge is given")
    with GROW_FILE.lock(folder):
        GROW_FILE.check(folder, settings, has_begun=_has_games(folder))
        growth = Growth(settings, folder, read_journal(folder))
        at_once = settings.concurrency or concurrency or _cores()
        _Run(growth, judge, of_kind(listener, GrowthListener), start_workers, at_once).go_on()
    return growth


def read_growth(folder: Path | str) -> Growth:
    """A book that grows, as it is on the disk; another process may be growing it.

    Raises:
        GrowthError: The folder has none, or its files are damaged.
    """
    folder = Path(folder)
    return Growth(GROW_FILE.read(folder), folder, read_journal(folder))


def is_growing(folder: Path) -> bool:
    """True if a process grows the book in a folder."""
    return GROW_FILE.is_locked(folder)


def solve(
    columns: GameColumns, settings: GrowSettings, side: Color, judge: Judge | None, listener: Listener = SILENT
) -> Solved | None:
    """What the games say for a side; None if too few pass through the start."""
    how = settings.of(side)
    try:
        nodes = reached(columns, position_of(settings.start_sfen), how, judge, listener)
    except BookError:
        return None
    return Solved(nodes, side, how)


class PlayedGames:
    """The games of the rounds."""

    def __init__(self, settings: GrowSettings) -> None:
        self._settings = settings
        self._columns = {uniq: GameColumns(uniq=uniq) for uniq in {settings.of(side).uniq for side in settings.colors}}

    def of(self, side: Color) -> GameColumns:
        """The games, as the book of a side counts them."""
        return self._columns[self._settings.of(side).uniq]

    def add_round(self, folder: Path, number: int) -> None:
        """Add the games of a round.

        Raises:
            GrowthError: Games are missing.
            StoreError: A match is damaged.
        """
        for side in self._settings.colors:
            path = round_folder(folder, number, side)
            games = _games_in(path)
            if len(games) != self._settings.games:
                raise GrowthError(
                    f"{path}: {counted(len(games), 'game')} instead of {self._settings.games}. Put the folder back; or "
                    f"remove it and {folder / JOURNAL_NAME}, and its games are played again"
                )
            for game in games:
                for columns in self._columns.values():
                    columns.add(game)


def _has_games(folder: Path) -> bool:
    """True if a game was played: until then nothing depends on the settings."""
    first = (round_folder(folder, 1, side) for side in (BLACK, WHITE))
    return any(map(_games_in, first))


def _games_in(folder: Path) -> list[Game]:
    """The games of a match; none, if it was cut off before it began."""
    return [] if read_settings(folder) is None else list(read_games(folder))


class _Run:
    """One run."""

    def __init__(
        self, growth: Growth, judge: Judge | None, listener: GrowthListener, start_workers: StartWorkers, at_once: int
    ) -> None:
        self._growth, self._settings, self._folder = growth, growth.settings, growth.folder
        self._judge, self._listener, self._start_workers, self._at_once = judge, listener, start_workers, at_once
        self._noted: set[str] = set()
        self._games = PlayedGames(growth.settings)
        self._solved: dict[Color, Solved | None] = {}

    def go_on(self) -> None:
        """Play until the last round."""
        growth = self._growth
        for number in range(1, len(growth.rounds) + 1):
            self._games.add_round(self._folder, number)
            self._listener.progress("reading rounds", number, len(growth.rounds))
        options = {} if growth.is_complete else ask_engines(self._settings)
        GROW_FILE.write(self._folder, self._settings.text())
        self._make_books()  # a kill may have left those of a round that is not in the journal
        write_page(growth, self._solved)
        while not growth.is_complete:
            number = len(growth.rounds) + 1
            self._play(number, options)
            self._games.add_round(self._folder, number)
            growth.rounds.append(self._round(number))
            write_journal(self._folder, growth.rounds)
            write_page(growth, self._solved)
            self._listener.round_ended(growth)

    def _play(self, number: int, options: dict[str, dict[str, str]]) -> None:
        settings, sides = self._settings, self._settings.colors
        shares = [max(1, (self._at_once + place) // len(sides)) for place in range(len(sides))]
        matches = [
            PlannedMatch(
                match_settings(settings, self._folder, number, side, share, options if self._has_book(side) else {}),
                round_folder(self._folder, number, side),
                openings(settings, self._lines(side)),
            )
            for side, share in zip(sides, shares, strict=True)
        ]
        waiting = [match for match in matches if not _is_played(match)]
        played = settings.games * (len(matches) - len(waiting))
        listener = _Games(self._listener, self._growth, number, settings.games * len(sides), played, self._noted)
        play_matches(waiting, listener, self._start_workers, at_once=sum(shares) <= self._at_once)
        for match in matches:
            self._check(read_state(match.folder), number)

    def _has_book(self, side: Color) -> bool:
        return book_path(self._folder, side).is_file()

    def _check(self, state: MatchState, number: int) -> None:
        """Refuse a round that cannot go on, or says nothing."""
        why = "; ".join(failure_text(failure) for _, failure in state.failures[-1:])
        if state.missing:
            raise GrowthError(
                f"{counted(state.missing, 'game')} of round {number} left out: {why}. Run the same command again to "
                "play them; --restart restarts engines that fail"
            )
        if sum(state.standings.terminations[ending] for ending in SAY_NOTHING) == state.played:
            raise GrowthError(
                f"all games of round {number} in {state.folder} ended by forfeits{why and f': {why}'}. See to the "
                "engines, remove this folder, and run the same command again"
            )

    def _lines(self, side: Color) -> list[Position]:
        """Where games of the next round may begin besides the start."""
        solved = self._solved.get(side)
        if self._settings.games_from is GamesFrom.TRUNK or solved is None:
            return []
        return [Position.from_usi(line.line) for line in frontier(solved, self._settings.games // 4)]

    def _round(self, number: int) -> Round:
        """Make the books again."""
        states = self._make_books()
        columns = self._games.of(self._settings.colors[0])
        return Round(
            round=number, games=len(columns), left_out=columns.left_out, repeated=columns.repeated, books=tuple(states)
        )

    def _make_books(self) -> list[BookState]:
        states: list[BookState] = []
        for side in self._settings.colors:
            path = book_path(self._folder, side)
            path.parent.mkdir(exist_ok=True)
            solved = self._solved[side] = solve(self._games.of(side), self._settings, side, self._judge)
            book = Book() if solved is None else book_of(solved.entries())
            if book:
                write_book(book, path)
            else:
                path.unlink(missing_ok=True)
            value = None if solved is None else solved.value()
            states.append(
                BookState(
                    side=side.name.lower(),
                    win_rate=None if value is None else value.win_rate,
                    score_cp=None if value is None else value.score_cp,
                    line=() if value is None else tuple(move.usi() for move in value.line),
                    entries=len(book),
                    moves=book.move_count,
                    positions=0 if solved is None else len(solved.nodes),
                    leaves=0 if solved is None else sum(not node.edges for node in solved.nodes),
                    sha256=file_sha256(path) if book else None,
                )
            )
        return states


def failure_text(failure: Failure) -> str:
    """A line such as ``own failed (crash: engine ended with exit code 1 / no model)``."""
    lines = failure.detail.splitlines() or [""]
    detail = " / ".join(dict.fromkeys([lines[0], lines[-1].strip()]))
    return f"{failure.engine} failed ({failure.kind}: {detail})"


def _is_played(match: PlannedMatch) -> bool:
    """True if all games of a match are stored: then it does not matter where its folder was when they were played."""
    return read_settings(match.folder) is not None and read_state(match.folder).missing == 0


class _Games(Forwarder, MatchListener):
    """Counts the games of a round, and passes each note on once."""

    def __init__(
        self, listener: GrowthListener, growth: Growth, number: int, total: int, played: int, noted: set[str]
    ) -> None:
        super().__init__(listener)
        self._to, self._growth, self._number, self._total, self._noted = listener, growth, number, total, noted
        self._played, self._by_match = played, dict[Path, int]()

    def note(self, text: str) -> None:
        if text not in self._noted and len(self._noted) < NOTES:
            self._noted.add(text)
            super().note(text)

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        self._growth.new_games += 1
        self._by_match[state.folder] = state.played
        self._to.progress(f"round {self._number}", self._played + sum(self._by_match.values()), self._total)
        self._to.game_ended(self._growth, self._number, game, failure)


def _cores() -> int:
    from fukayomi.engine.evaluators.backends.machine import usable_cpus

    return usable_cpus()
