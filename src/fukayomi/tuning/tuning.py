"""A tuning run: rounds of games, each from the values that the games before it have led to.

A run is a folder: an ordinary match for each round (`rounds/00001`), the settings, and what follows from them: the
page, the options that were found, and a match to confirm them. Nothing else is stored: the values follow from settings
and games, so a run that was cut off goes on to the same end, and a kill costs the games in progress.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import floor
from pathlib import Path
from typing import Any

from fukayomi.arena.game.player import Failure
from fukayomi.arena.match.match import NOTES, StartWorkers, run_match
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.match.state import MatchListener, MatchState, read_state
from fukayomi.arena.match.store import FREE_SETTINGS as FREE_MATCH_SETTINGS
from fukayomi.arena.match.store import read_settings
from fukayomi.arena.match.workers import LocalWorkers
from fukayomi.arena.results.game import Game
from fukayomi.files.atomic import replace_file
from fukayomi.listener import SILENT, Forwarder, Listener, of_kind
from fukayomi.settings import plain, toml_text
from fukayomi.tabular import Tabular, counted
from fukayomi.tuning.parameters import Estimate, Tuner
from fukayomi.tuning.rounds import ask_engine, check_played, match_settings, results, round_folder
from fukayomi.tuning.settings import TUNE_FILE, TuneError, TuneSettings

OPTIONS_NAME = "tuned.ini"
"""The options that were found, a line NAME=VALUE each, as in a file beside a network."""
MATCH_NAME = "confirm.toml"
"""A match of the engine with these options against itself at the start."""
MOST_FAILED = 20
"""Proposals in a row that may say nothing because the engine fails."""
PAGE_SECONDS = 60.0
"""Seconds between two pages while games are played."""


class TuneListener(Listener):
    """Follows a tuning run. Every method does nothing: override those you need."""

    def game_ended(self, tuning: "Tuning", number: int, game: Game, failure: Failure | None) -> None:
        """Called after every game, when it is safe on disk.

        Args:
            tuning: The rounds so far.
            number: The round that is being played.
            game: The game.
            failure: What an engine did wrong; None: nothing.
        """

    def round_ended(self, tuning: "Tuning") -> None:
        """Called after every round, when the values have moved."""


@dataclass(eq=False, repr=False)
class Tuning(Tabular):
    """A tuning run as far as it has come. As a table it has a row for each parameter."""

    settings: TuneSettings
    folder: Path
    course: list[list[Estimate]] = field(default_factory=list[list[Estimate]])
    """The parameters before the first round, and after each one."""
    played: int = 0
    """Games of the rounds that are done."""
    left_out: int = 0
    """Games of them that do not count, because an engine failed in them or in the other game of the pair."""
    new_games: int = 0
    """Games played in this run."""
    began_s: float = field(default_factory=time.monotonic)

    @property
    def rounds(self) -> int:
        """Rounds that are done."""
        return max(0, len(self.course) - 1)

    @property
    def is_complete(self) -> bool:
        """True if no round is left to play."""
        return self.rounds >= self.settings.rounds

    def games_an_hour(self) -> float | None:
        """Games per hour in this run; None before its first game."""
        return self.new_games / (time.monotonic() - self.began_s) * 3600 if self.new_games else None

    @property
    def estimates(self) -> list[Estimate]:
        """The parameters as far as they are known, in the order of the settings."""
        return self.course[-1]

    def options(self) -> dict[str, str]:
        """The options that were found, by name: the nearest whole numbers, and choices."""
        return {
            name: parameter.text(floor(estimate.value + 0.5))
            for (name, parameter), estimate in zip(self.settings.parameters.items(), self.estimates, strict=True)
        }

    def rows(self) -> Sequence[dict[str, Any]]:
        """One row for each parameter: where it was and is, and the interval. `moved`: its start lies outside."""
        found: list[dict[str, Any]] = []
        tuned = self.options()
        for (name, parameter), dimension, estimate in zip(
            self.settings.parameters.items(), self.settings.dimensions(), self.estimates, strict=True
        ):
            found.append(
                {
                    "option": name,
                    "start": str(parameter.start),
                    "tuned": tuned[name],
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "moved": not estimate.low <= dimension.start <= estimate.high,
                }
            )
        return found

    def shown(self) -> Sequence[dict[str, Any]]:
        """As `rows`, with the interval in one column."""
        return [
            {name: row[name] for name in ("option", "start", "tuned")}
            | {"interval": " to ".join(ends), "moved": "yes" if row["moved"] else "no"}
            for row, ends in zip(self.rows(), self.intervals(), strict=True)
        ]

    def intervals(self) -> list[tuple[str, str]]:
        """The ends of the intervals, for reading."""
        return [
            (parameter.text(floor(each.low + 0.5)), parameter.text(floor(each.high + 0.5)))
            if parameter.choices
            else (f"{each.low:.1f}", f"{each.high:.1f}")
            for parameter, each in zip(self.settings.parameters.values(), self.estimates, strict=True)
        ]

    def confirming(self) -> MatchSettings:
        """The match that confirms or rejects what was found, from openings that come after those of the run."""
        settings = self.settings
        starts = tuple(round(each.start) for each in settings.dimensions())
        return MatchSettings(
            engines=(
                settings.engine.changed(name="tuned", options=settings.options(starts) | self.options()),
                settings.engine.changed(name="start", options=settings.options(starts)),
            ),
            games=settings.games,
            clock=settings.clock,
            openings=settings.openings,
            opening_start=settings.games // 2,
            opening_plies=settings.opening_plies,
            opening_order=settings.opening_order,
            seed=settings.seed,
            rules=settings.rules,
            concurrency=settings.concurrency,
            restart=settings.restart,
        )

    def __repr__(self) -> str:
        return f"<Tuning of {counted(len(self.settings.parameters), 'parameter')}: {counted(self.played, 'game')}>"


def tune(
    settings: TuneSettings,
    folder: Path | str,
    *,
    listener: Listener = SILENT,
    start_workers: StartWorkers = LocalWorkers,
) -> Tuning:
    """Tune parameters: play the rounds that are missing.

    A run may end at any time and in any way; the next one with the same settings goes on. KeyboardInterrupt drops the
    games in progress and is raised again. Nothing is written before the engine has started and takes all values.

    Args:
        settings: As in earlier runs in this folder, except for `TUNE_FILE.free`.
        folder: Folder of the run; created if necessary.
        listener: Follows the work; a `TuneListener` hears of every game and round.
        start_workers: Creates the workers that play; by default threads of this process.

    Raises:
        ValueError: The settings do not fit this machine, the folder or the engine (TuneError, StoreError).
        OSError: A file cannot be written (DiskError: the disk is full), or another process tunes here.
    """
    folder = Path(folder)
    to = of_kind(listener, TuneListener)
    settings, warnings = ask_engine(settings)
    with TUNE_FILE.lock(folder):
        TUNE_FILE.check(folder, settings, has_begun=read_settings(round_folder(folder, 1)) is not None)
        run = _Run(settings, folder, to, start_workers)
        for warning in warnings:
            run.note(f"warning: {warning}")
        run.read()
        TUNE_FILE.write(folder, settings.text())
        run.go_on()
        return run.tuning


def read_tuning(folder: Path | str, listener: Listener = SILENT) -> Tuning:
    """A tuning run as it is on the disk; another process may be playing it.

    Raises:
        TuneError: The folder has none, or its files are damaged.
    """
    folder = Path(folder)
    run = _Run(TUNE_FILE.read(folder), folder, of_kind(listener, TuneListener), LocalWorkers)
    run.read()
    return run.tuning


class _Run:
    """One run."""

    def __init__(
        self, settings: TuneSettings, folder: Path, listener: TuneListener, start_workers: StartWorkers
    ) -> None:
        self.tuning = Tuning(settings, folder)
        self._settings, self._folder, self._listener = settings, folder, listener
        self._start_workers, self._noted = start_workers, set[str]()
        self._tuner: Tuner = settings.tuner()
        self._waiting: MatchSettings | None = None
        self.tuning.course.append(self._tuner.estimates())
        self._page_s = 0.0
        self._failed = 0
        """Proposals of the last rounds in which nothing counted."""
        self._failure = ""
        """The last failure of the engine."""

    def note(self, text: str) -> None:
        """Pass a note on once."""
        if text not in self._noted and len(self._noted) < NOTES:
            self._noted.add(text)
            self._listener.note(text)

    def _next(self) -> MatchSettings:
        """The match of the next round."""
        if self._waiting is None:
            number = self.tuning.rounds + 1
            proposals = self._tuner.propose(self._settings.in_round(number))
            self._waiting = match_settings(self._settings, number, proposals, self._tuner.SIDES)
        return self._waiting

    def read(self) -> None:
        """Take the rounds that are done.

        Raises:
            TuneError: A round was played with other values than those that follow from the games before it.
        """
        while not self.tuning.is_complete:
            folder = round_folder(self._folder, self.tuning.rounds + 1)
            if read_settings(folder) is None:
                return
            check_played(folder, self._next())
            state = read_state(folder)
            if state.missing:
                return
            self._take(state)
            self._listener.progress("reading rounds", self.tuning.rounds, self._settings.rounds)

    def go_on(self) -> None:
        """Play until the last round."""
        tuning = self.tuning
        write_results(tuning)
        while not tuning.is_complete:
            number, match = tuning.rounds + 1, self._next()
            folder = round_folder(self._folder, number)
            listener = _Games(self._listener, tuning, number, self.note)
            played = run_match(match, folder, listener=listener, start_workers=self._start_workers)
            if played.is_interrupted:
                write_results(tuning)
                raise KeyboardInterrupt
            if played.unplayed:
                self._refuse(played.state)
            self._take(played.state)
            if self._failed >= MOST_FAILED:
                raise TuneError(
                    f"the engine failed in the last {counted(self._failed, 'proposal')}: {self._failure}. "
                    "See to the engine or the ranges, and run the same command again"
                )
            if tuning.is_complete or time.monotonic() - self._page_s > PAGE_SECONDS:
                write_results(tuning)
                self._page_s = time.monotonic()
            self._listener.round_ended(tuning)
        if tuning.left_out == tuning.played:
            raise TuneError(
                f"no game counts, since the engine failed in all pairs: {self._failure}. See to the engine, and begin "
                "another folder"
            )

    def _take(self, state: MatchState) -> None:
        """Learn from a round."""
        found = results(state, len(state.settings.engines) // 2)
        self._failed = self._failed + len(found) if all(each is None for each in found) else 0
        self._failure = _last_failure(state) or self._failure
        self._tuner.tell(found)
        self._waiting = None
        tuning = self.tuning
        tuning.played += state.played
        counting = sum(sum(meeting.counts.pairs) for meeting in state.standings.meetings())
        tuning.left_out += state.played - 2 * counting
        tuning.course.append(self._tuner.estimates())

    def _refuse(self, state: MatchState) -> None:
        """Refuse a round that was not played to its end."""
        raise TuneError(
            f"{counted(state.missing, 'game')} of round {self.tuning.rounds + 1} left out: {_last_failure(state)}. Run "
            "the same command again to play them; --restart restarts engines that fail"
        )


def _last_failure(state: MatchState) -> str:
    return "; ".join(failure_text(failure) for _, failure in state.failures[-1:])


def failure_text(failure: Failure) -> str:
    """A line such as ``17+ failed (crash: engine ended with exit code 1 / no model)``."""
    lines = failure.detail.splitlines() or [""]
    detail = " / ".join(dict.fromkeys([lines[0], lines[-1].strip()]))
    return f"{failure.engine} failed ({failure.kind}: {detail})"


class _Games(Forwarder, MatchListener):
    """Counts the games of the run, and passes each note on once, whatever the name of the side."""

    def __init__(self, listener: TuneListener, tuning: Tuning, number: int, note_once: Callable[[str], None]) -> None:
        super().__init__(listener)
        self._to, self._tuning, self._number, self._note_once = listener, tuning, number, note_once
        self._names: list[str] = []

    def started(self, state: MatchState) -> None:
        self._names = [each.name for each in state.settings.engines]

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self._to.progress("games", self._tuning.played + done, self._tuning.settings.games)

    def note(self, text: str) -> None:
        for name in self._names:
            text = text.replace(f"warning: {name}: ", f"warning: {self._tuning.settings.engine.name}: ", 1)
        self._note_once(text)

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        self._tuning.new_games += 1
        self._to.game_ended(self._tuning, self._number, game, failure)


def write_results(tuning: Tuning) -> None:
    """Write the options that were found, the match that confirms them, and the page.

    Raises:
        OSError: A file cannot be written.
    """
    from fukayomi.tuning.page import write_page

    games = f"{tuning.played:,} of {counted(tuning.settings.games, 'game')}"
    lines = [f"{name}={value}\n" for name, value in tuning.options().items()]
    replace_file(tuning.folder / OPTIONS_NAME, "".join(lines).encode())
    match = plain(tuning.confirming(), changes_only=True, without=set(FREE_MATCH_SETTINGS - {"games"}))
    comments = [f"The options found in {games}, against the start.", "", confirming_command(tuning)]
    replace_file(tuning.folder / MATCH_NAME, toml_text(match, comments).encode())
    write_page(tuning)


def confirming_command(tuning: Tuning) -> str:
    """The command that confirms or rejects what was found."""
    from shlex import quote

    folder = tuning.folder
    words = [str(folder / MATCH_NAME), "--sprt", "elo0=0,elo1=5", "--out", str(folder / "confirm")]
    return " ".join(["fukayomi match --config", *map(quote, words)])
