"""Calibrating: matches at one clock after another, until it is known at which clock an engine scores 50 %.

A calibration is a folder of ordinary matches, DIR/001, DIR/002, ...: each plays a batch of opening pairs at one clock
of the engine that is varied. Nothing else is kept. The next clock is a function of the results so far, so that a run
that was cut off goes on as if nothing had been; and the range, the number of games and the precision may change.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from fukayomi.arena.calibration.clock_range import ClockRange
from fukayomi.arena.game.player import Failure
from fukayomi.arena.game.rules import EngineSettings
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.match.match import Listener, MatchOutcome, MatchState, StartWorkers, run_match
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.match.store import read_settings
from fukayomi.arena.match.workers import LocalWorkers
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_db import DATABASE, StoreError
from fukayomi.arena.statistics.odds import Level, Odds, estimate_odds, next_amount

FIRST_PAIRS = 4
"""Of the first batches."""
GROWTH = 3
"""A batch has at least a third of the pairs that were played before it."""
DIGITS = 3
"""Clocks are played at amounts of so many digits that count."""
LARGEST_PRECISION = 100.0


class CalibrationError(ValueError):
    """Settings that describe no calibration, or a folder that holds none."""


@dataclass(frozen=True)
class CalibrationSettings:
    """A calibration.

    Attributes:
        match: Of all matches; `games` are those of the calibration, an even number.
        vary: The engine whose clock varies.
        clocks: Between which it varies.
        precision: Enough is known once the interval is within this factor of its middle; None: all games are played.

    Raises:
        CalibrationError: There is no such calibration.
    """

    match: MatchSettings
    vary: str
    clocks: ClockRange
    precision: float | None = None

    def __post_init__(self) -> None:
        names = [engine.name for engine in self.match.engines]
        if len(names) != 2:
            raise CalibrationError(f"a calibration is of two engines, not of {', '.join(names)}")
        if self.vary not in names:
            raise CalibrationError(f"the engine to vary is {self.vary!r}; there are {', '.join(names)}")
        if self.match.games % 2:
            raise CalibrationError(f"games must be even, as each opening is played twice; not {self.match.games}")
        if self.match.sprt is not None:
            raise CalibrationError("a calibration has no sequential test (sprt)")
        if self.precision is not None and not 1 < self.precision <= LARGEST_PRECISION:
            raise CalibrationError(f"precision is a factor above 1, as 1.2, not {self.precision:g}")

    @property
    def against(self) -> EngineSettings:
        """The other engine."""
        return next(engine for engine in self.match.engines if engine.name != self.vary)

    def at(self, clock: TimeControl, **changes: object) -> MatchSettings:
        """The match in which the engine that varies has this clock."""
        engines = tuple(
            engine.model_copy(update={"clock": clock}) if engine.name == self.vary else engine
            for engine in self.match.engines
        )
        return self.match.model_copy(update={"engines": engines, **changes})


class Verdict(StrEnum):
    """Where the clock is at which the score is 50 %."""

    FOUND = "found"
    """In the range; how surely, its interval says."""
    BELOW = "below"
    """Below the range."""
    ABOVE = "above"
    """Above the range."""
    UNKNOWN = "unknown"
    """There are no games that count, or they do not bound it."""


class Batch(NamedTuple):
    """A match that belongs to a calibration."""

    number: int
    clock: TimeControl
    games: int


@dataclass
class Calibration:
    """Where a calibration stands.

    Attributes:
        levels: The results of each batch, from the view of the engine that varies.
        played: Games in all batches, also those that failed.
        failed: Games that do not count, as an engine failed.
        repeated: Games that repeat another one of their batch move by move.
        left_out: Engines that failed in this run and play no more.
    """

    settings: CalibrationSettings
    folder: Path
    levels: list[Level] = field(default_factory=list[Level])
    played: int = 0
    failed: int = 0
    repeated: int = 0
    left_out: set[str] = field(default_factory=set[str])
    is_interrupted: bool = False
    is_cut_off: bool = False
    """This run ended before its time, as somebody stopped it or an engine failed."""

    def odds(self) -> Odds:
        """What all games say."""
        clocks = self.settings.clocks
        return estimate_odds(self.levels, clocks.least, clocks.most)

    def verdict(self, odds: Odds) -> Verdict:
        """What the odds mean for the range."""
        clocks = self.settings.clocks
        if odds.estimate is None:
            if not odds.is_outside:
                return Verdict.UNKNOWN
            return Verdict.BELOW if odds.low is None else Verdict.ABOVE
        amount = clocks.amount(clock_at(clocks, odds.estimate))
        assert amount is not None
        if clocks.least <= amount <= clocks.most:
            return Verdict.FOUND
        return Verdict.BELOW if amount < clocks.least else Verdict.ABOVE

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing more to play."""
        return not self.is_cut_off and self.next_batch(self.odds()) is None

    def next_batch(self, odds: Odds) -> Batch | None:
        """What to play next, in a batch that does not exist yet; None if enough is known or was played."""
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

    def take_in(self, batch: Batch, outcome: MatchOutcome) -> None:
        """Count the games of a batch."""
        (player,) = (player for name, player in outcome.state.standings.players.items() if name == self.settings.vary)
        amount = self.settings.clocks.amount(batch.clock)
        assert amount is not None
        none, half, one, more, two = player.counts.pairs
        self.levels.append(Level(amount, (none, half, one, more, two)))
        self.played += outcome.state.played
        self.failed += outcome.state.played - sum(player.counts.games)
        self.repeated += outcome.diversity.total.games - outcome.diversity.total.distinct_games
        self.left_out |= outcome.state.left_out
        self.is_interrupted = outcome.is_interrupted
        self.is_cut_off = outcome.is_interrupted or outcome.unplayed > 0 or bool(outcome.state.left_out)


def calibrate(
    settings: CalibrationSettings, folder: Path, listener: Listener, start_workers: StartWorkers = LocalWorkers
) -> Calibration:
    """Play what is missing of a calibration.

    KeyboardInterrupt ends the batch in play in order, as it does a match, and the calibration with it.

    Args:
        settings: The same as in earlier runs in this folder, but for the range, the precision, and what may change
            between two runs of a match.
        folder: Holds the matches; made if need be.
        listener: Is told of every game, and by a note of every batch.
        start_workers: Who plays.

    Raises:
        ValueError: The settings do not fit this machine, the openings or the folder (StoreError, OpeningError,
            CalibrationError).
        OSError: Something cannot be read or written.
    """
    if (folder / DATABASE).exists():
        raise CalibrationError(f"{folder} holds a match; a calibration needs a folder of its own (--out)")
    found = Calibration(settings, folder)
    openings_used = settings.match.opening_start
    while not found.is_cut_off:
        number, odds = len(found.levels) + 1, found.odds()
        batch = _stored_batch(settings, folder, number) or found.next_batch(odds)
        if batch is None:
            break
        match = settings.at(batch.clock, games=batch.games, opening_start=openings_used)
        openings_used += batch.games // 2
        announced = _Announced(listener, _announcement(found, batch, odds))
        found.take_in(batch, run_match(match, batch_folder(folder, number), announced, start_workers))
    return found


def batch_folder(folder: Path, number: int) -> Path:
    """Where a batch lies, by its number from 1."""
    return folder / f"{number:03}"


def _stored_batch(settings: CalibrationSettings, folder: Path, number: int) -> Batch | None:
    """A batch that was begun; it is played to its end whatever has changed since."""
    path = batch_folder(folder, number)
    stored = read_settings(path)
    if stored is None:
        return None
    clock = next((engine.clock for engine in stored.engines if engine.name == settings.vary), None)
    if clock is None or settings.clocks.amount(clock) is None:
        raise StoreError(
            f"{path} is of a calibration in which {settings.vary} has no clock like {settings.clocks.low.text()}: give "
            "the settings it began with to go on, or another folder (--out) to begin anew"
        )
    return Batch(number, clock, stored.games)


def _announcement(found: Calibration, batch: Batch, odds: Odds) -> str:
    settings = found.settings
    words = f"batch {batch.number}: {batch.games} games with {settings.vary} at {batch.clock.text()}"
    if found.levels:
        words += f"; 50 % {interval_text(settings.clocks, odds)} by {found.played} of {settings.match.games} games"
    return words


def interval_text(clocks: ClockRange, odds: Odds) -> str:
    """As ``between nodes=900 and nodes=4100``, or what is known of it."""
    low, high = (None if end is None else clock_at(clocks, end).text() for end in (odds.low, odds.high))
    if low is None and high is None:
        return "anywhere"
    if low is None or high is None:
        return f"below {high}" if low is None else f"above {low}"
    return f"between {low} and {high}"


def clock_at(clocks: ClockRange, amount: float) -> TimeControl:
    """The clock of an amount that is known by estimation, without digits that mean nothing."""
    return clocks.clock(max(1.0, float(f"{amount:.{DIGITS}g}")))


class _Announced:
    """Passes on what happens in a batch, with an announcement at its beginning; nothing of one that was complete."""

    def __init__(self, listener: Listener, announcement: str) -> None:
        self._listener = listener
        self._announcement = announcement

    def started(self, state: MatchState) -> None:
        """See `Listener`."""
        if state.missing:
            self._listener.note(self._announcement)
            self._listener.started(state)

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        """See `Listener`."""
        self._listener.game_ended(state, game, failure)

    def note(self, text: str) -> None:
        """See `Listener`."""
        self._listener.note(text)
