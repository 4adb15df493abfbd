"""Calibration: matches at different clocks, to find the clock at which an engine scores 50 %.

A calibration is a folder of ordinary matches, DIR/001, DIR/002, ...: each plays a batch of opening pairs at one clock
of the varied engine. Nothing else is stored. The next clock depends on the results so far alone, so a run that was cut
off can be resumed with the same outcome; and the range, the number of games and the precision may change.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from fukayomi.arena.calibration.settings import CalibrationError, CalibrationSettings, ClockRange
from fukayomi.arena.game.player import Failure
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.match.match import StartWorkers, run_match
from fukayomi.arena.match.state import MatchListener, MatchResult, MatchState
from fukayomi.arena.match.store import FREE_SETTINGS, read_settings
from fukayomi.arena.match.workers import LocalWorkers
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_db import DATABASE, StoreError
from fukayomi.arena.statistics.odds import Level, Odds, estimate_odds, next_amount
from fukayomi.files.atomic import replace_file
from fukayomi.listener import SILENT, Forwarder, Listener
from fukayomi.settings import plain, toml_text
from fukayomi.tabular import Tabular, counted

FIRST_PAIRS = 4
"""Pairs of games in the first batches."""
GROWTH = 3
"""A batch has at least 1/GROWTH of the pairs played before it."""
DIGITS = 3
"""Significant digits of the clocks."""


class Verdict(StrEnum):
    """Position of the clock at which the score is 50 %, relative to the range."""

    FOUND = "found"
    """In the range; how surely, its interval says."""
    BELOW = "below"
    """Below the range; so is its whole interval."""
    ABOVE = "above"
    """Above the range; so is its whole interval."""
    UNKNOWN = "unknown"
    """There are no games that count, or they do not say whether it is in the range."""


class Batch(NamedTuple):
    """One match of a calibration."""

    number: int
    clock: TimeControl
    games: int


@dataclass
class Calibration(Tabular):
    """The state of a calibration. Prints as a table with one row per batch."""

    settings: CalibrationSettings
    folder: Path
    levels: list[Level] = field(default_factory=list[Level])
    """The results of each batch, from the point of view of the varied engine."""
    played: int = 0
    """Games in all batches, failed ones included."""
    failed: int = 0
    """Games that do not count because an engine failed."""
    repeated: int = 0
    """Games that repeat another game of their batch move by move."""
    left_out: dict[str, Failure] = field(default_factory=dict[str, Failure])
    """Engines that failed in this run and play no more, and why."""
    new: int = 0
    """Games played in this run."""
    is_interrupted: bool = False
    is_cut_off: bool = False
    """True if this run was stopped early, by the user or because an engine failed."""

    def rows(self) -> Sequence[dict[str, Any]]:
        """One row per batch; `expected` is its score by the estimate from all games."""
        odds, clocks = self.odds(), self.settings.clocks
        return [
            {
                "clock": clocks.clock(level.amount).text(),
                "games": level.games,
                "score": level.points / level.games if level.games else None,
                "expected": odds.score(level.amount),
            }
            for level in self.levels
        ]

    def odds(self) -> Odds:
        """The estimate from all games."""
        clocks = self.settings.clocks
        return estimate_odds(self.levels, clocks.least, clocks.most)

    def verdict(self, odds: Odds) -> Verdict:
        """Position of the estimate relative to the range."""
        clocks = self.settings.clocks
        if odds.high is not None and odds.high < clocks.least:
            return Verdict.BELOW
        if odds.low is not None and odds.low > clocks.most:
            return Verdict.ABOVE
        if odds.estimate is None:
            return Verdict.UNKNOWN
        amount = clocks.amount(clock_at(clocks, odds.estimate))
        assert amount is not None
        return Verdict.FOUND if clocks.least <= amount <= clocks.most else Verdict.UNKNOWN

    def odds_to_other(self, odds: Odds) -> tuple[float | None, float | None, float | None]:
        """Estimate, low and high as multiples of the other engine's clock; None if its clock is of another kind."""
        settings = self.settings
        other = settings.clocks.amount(settings.against.clock or settings.match.clock)
        ends = (odds.estimate, odds.low, odds.high)
        estimate, low, high = (None if other is None or end is None else end / other for end in ends)
        return estimate, low, high

    @property
    def left(self) -> int:
        """Games left to play, at most: the precision may be reached before."""
        return 0 if self.is_complete else max(0, self.settings.match.games - self.played)

    @property
    def is_complete(self) -> bool:
        """True if nothing is left to play."""
        return not self.is_cut_off and self.next_batch(self.odds()) is None

    def next_batch(self, odds: Odds) -> Batch | None:
        """The next batch; None if the precision is reached or all games are played."""
        settings, number = self.settings, len(self.levels)
        left = (settings.match.games - self.played) // 2
        if left <= 0 or odds.is_outside:
            return None
        if settings.precision is not None and odds.width is not None and odds.width <= settings.precision:
            return None
        pairs = max(FIRST_PAIRS, (settings.match.concurrency + 1) // 2, self.played // 2 // GROWTH)
        if 2 * left < 3 * pairs:
            pairs = left
        clocks = settings.clocks
        amount = float(f"{next_amount(odds, clocks.least, clocks.most, number):.{DIGITS}g}")
        return Batch(number + 1, clocks.clock(min(max(amount, clocks.least), clocks.most)), 2 * pairs)

    def add(self, batch: Batch, result: MatchResult) -> None:
        """Add the games of a batch."""
        (player,) = (player for name, player in result.state.standings.players.items() if name == self.settings.vary)
        amount = self.settings.clocks.amount(batch.clock)
        assert amount is not None
        none, half, one, more, two = player.counts.pairs
        self.levels.append(Level(amount, (none, half, one, more, two)))
        self.played += result.state.played
        self.new += result.state.new
        self.failed += result.state.played - sum(player.counts.games)
        self.repeated += result.diversity.total.games - result.diversity.total.distinct_games
        self.left_out |= {failure.engine: failure for failure in result.state.reasons}
        self.is_interrupted = result.is_interrupted
        self.is_cut_off = result.is_interrupted or result.unplayed > 0 or bool(result.state.left_out)


def calibrate(
    settings: CalibrationSettings,
    folder: Path,
    *,
    listener: Listener = SILENT,
    start_workers: StartWorkers = LocalWorkers,
) -> Calibration:
    """Play the missing games of a calibration.

    KeyboardInterrupt ends the batch in progress like a match, and the calibration with it.

    Args:
        settings: As in earlier runs in this folder, except for the range, the precision, and the settings that may
            change between two runs of a match.
        folder: Folder of the matches; created if necessary.
        listener: Gets a note about every batch; a `MatchListener` hears of every game.
        start_workers: Creates the workers that play.

    Raises:
        ValueError: The settings do not fit this machine, the openings or the folder (StoreError, OpeningError,
            CalibrationError).
        OSError: A file cannot be read or written, or another process plays here.
    """
    if (folder / DATABASE).exists():
        raise CalibrationError(f"{folder} holds a match; a calibration needs a folder of its own")
    calibration = Calibration(settings, folder)
    openings_used, began_s = settings.match.opening_start, time.monotonic()
    while not calibration.is_cut_off:
        number, odds = len(calibration.levels) + 1, calibration.odds()
        batch = _stored_batch(settings, folder, number) or calibration.next_batch(odds)
        if batch is None:
            break
        match = settings.at(batch.clock, games=batch.games, opening_start=openings_used)
        openings_used += batch.games // 2
        batch_listener = _BatchListener(listener, calibration, batch, _announcement(calibration, batch, odds), began_s)
        result = run_match(match, batch_folder(folder, number), listener=batch_listener, start_workers=start_workers)
        calibration.add(batch, result)
    return calibration


def batch_folder(folder: Path, number: int) -> Path:
    """The folder of a batch, by its number from 1."""
    return folder / f"{number:03}"


def _stored_batch(settings: CalibrationSettings, folder: Path, number: int) -> Batch | None:
    """A batch that was begun; it is finished whatever has changed since."""
    path = batch_folder(folder, number)
    stored = read_settings(path)
    if stored is None:
        return None
    clock = next((engine.clock for engine in stored.engines if engine.name == settings.vary), None)
    if clock is None or settings.clocks.amount(clock) is None:
        raise StoreError(
            f"{path} belongs to a calibration in which {settings.vary} has another kind of clock than "
            f"{settings.clocks.low.text()}: give the settings it began with to resume it, or choose another folder"
        )
    return Batch(number, clock, stored.games)


def _announcement(calibration: Calibration, batch: Batch, odds: Odds) -> str:
    settings = calibration.settings
    words = f"batch {batch.number}: {counted(batch.games, 'game')} with {settings.vary} at {batch.clock.text()}"
    if calibration.levels:
        games = f"{calibration.played:,} of {counted(settings.match.games, 'game')}"
        words += f"; 50 % {interval_text(settings.clocks, odds)} after {games}"
    return words


def interval_text(clocks: ClockRange, odds: Odds) -> str:
    """The interval, such as ``between nodes=900 and nodes=4100``; one end may be unknown."""
    low, high = (None if end is None else clock_at(clocks, end).text() for end in (odds.low, odds.high))
    if low is None and high is None:
        return "anywhere"
    if low is None or high is None:
        return f"below {high}" if low is None else f"above {low}"
    return f"between {low} and {high}"


def clock_at(clocks: ClockRange, amount: float) -> TimeControl:
    """The clock of an estimated amount, rounded to the significant digits."""
    return clocks.clock(max(1.0, float(f"{amount:.{DIGITS}g}")))


class _BatchListener(Forwarder, MatchListener):
    """Passes on the events of a batch, and announces it unless it was complete."""

    def __init__(
        self, listener: Listener, calibration: Calibration, batch: Batch, announcement: str, began_s: float
    ) -> None:
        super().__init__(listener)
        self._announcement = announcement
        self._played, self._new, self._began_s = calibration.played, calibration.new, began_s
        self._total = calibration.settings.match.games
        self._later = max(0, self._total - calibration.played - batch.games)

    def progress(self, stage: str, done: int, total: int | None) -> None:
        super().progress(stage, self._played + done, self._total)

    def started(self, state: MatchState) -> None:
        state.earlier, state.later = self._played, self._later
        if self._new:  # the pace is that of all batches of this run
            state.new_earlier, state.began_s = self._new, self._began_s
        if state.missing:
            self._listener.note(self._announcement)
            if isinstance(self._listener, MatchListener):
                self._listener.started(state)

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        if isinstance(self._listener, MatchListener):
            self._listener.game_ended(state, game, failure)


MATCH_FILE = "calibrated.toml"
"""Settings of a match in which the engine has the clock that was found."""


def write_match_file(found: Calibration, odds: Odds) -> Path:
    """Write the settings of a match at the clock that was found, for ``fukayomi match --config``.

    Raises:
        OSError: The file cannot be written.
    """
    settings = found.settings
    assert odds.estimate is not None
    clock = clock_at(settings.clocks, odds.estimate)
    match = plain(settings.at(clock), changes_only=True, without={*FREE_SETTINGS, "opening_start"})
    score = odds.score(settings.clocks.amount(clock) or 1) or 0.0
    comments = [
        f"{settings.vary} scores 50 % against {settings.against.name} at {clock.text()}, "
        f"in {counted(found.played, 'game')}.",
        f"95 %: {interval_text(settings.clocks, odds)}.",
        f"A doubling is worth {odds.elo:.0f} Elo ({odds.elo_low:.0f} to {odds.elo_high:.0f}).",
        f"Expected score of {settings.vary} at this clock: {100 * score:.1f} %.",
        "",
        "fukayomi match --config calibrated.toml --games N --out DIR",
    ]
    path = found.folder / MATCH_FILE
    replace_file(path, toml_text(match, comments).encode())
    return path
