"""Events of a USI session: commands of the GUI, and reports of its own threads.

Reports are handled at once, commands in their order. Most commands end a search that is running, as GUIs rely on. But
input that comes all at once, from a file or another program, must not cut short what it has just asked: there a command
waits for the search before it. docs/usi-options.md has the rules, in "How the engine answers".
"""

import math
import queue
import time
from collections import deque
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from fukayomi.engine.usi.job import Job, MateJob
from fukayomi.engine.usi_input import Line

TOGETHER_S = 0.5
"""Input within this time after a ``go`` or ``isready`` came together with it: no GUI ends a search so soon."""
PATIENCE_S = 1.0
"""Time that a ``quit`` that came later waits for what is still running; GUIs wait longer for the end of an engine."""
ENDS_SEARCH = frozenset({"go", "isready", "usinewgame", "gameover", "quit"})
"""The commands that end a search, besides ``stop``, which always does so at once."""


@dataclass(frozen=True, slots=True)
class EndOfInput:
    """The GUI has closed the input."""

    time_s: float = field(default_factory=time.monotonic)
    """Time of the event (`time.monotonic`)."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The loading thread has ended."""

    descriptions: tuple[str, ...] = ()
    """Descriptions of the networks, if others were loaded."""
    error: Exception | None = None
    time_s: float = field(default_factory=time.monotonic)
    """Time of the event (`time.monotonic`)."""


@dataclass(frozen=True, slots=True)
class Searched:
    """The thread of a search has ended."""

    job: Job


@dataclass(frozen=True, slots=True)
class Solved:
    """The thread of a mate search has ended."""

    job: MateJob


class Busy(Enum):
    """Work that commands may have to wait for."""

    LOADING = auto()
    """The network is loading."""
    LIMITED = auto()
    """A search that its limits end."""
    UNLIMITED = auto()
    """A mate search without limits, which may or may not end."""


Report = Loaded | Searched | Solved
Command = Line | EndOfInput
Event = Command | Report


class Events:
    """The events of a session, in the order in which it handles them."""

    def __init__(self) -> None:
        self._arrived: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._waiting: deque[Command] = deque()
        self._heard_s = -math.inf  # when the last line arrived
        self._quit: Line | None = None
        self._busy: Busy | None = None
        self._asked_s = self._began_s = 0.0  # when what the session is busy with was asked for, and when it began
        self._freed_s = -math.inf  # when it was last no longer busy
        self.has_ended = False
        """True if the input has ended: nobody sends `stop` any more."""

    def put(self, event: Event) -> None:
        """Add an event. Any thread may call this."""
        self._arrived.put(event)

    def put_back(self, line: Line) -> None:
        """Handle a line again, before all others."""
        self._waiting.appendleft(line)

    def begin(self, busy: Busy, asked_s: float) -> None:
        """Note what the session is busy with from now on, and when it was asked for (`time.monotonic`)."""
        self._busy, self._asked_s, self._began_s = busy, asked_s, time.monotonic()

    def end(self) -> None:
        """Note that the session is no longer busy."""
        self._busy, self._freed_s = None, time.monotonic()

    def next(self, timeout_s: float = math.inf) -> Event | None:
        """Wait for the next event that can be handled; None: there was none so long, or the input has just ended."""
        end_s = time.monotonic() + timeout_s
        while True:
            due_s, now_s = self._due_s(), time.monotonic()
            if due_s <= now_s:
                return self._take()
            if end_s <= now_s:
                return None
            try:
                first_s = min(due_s, end_s)
                event = self._arrived.get(timeout=None if first_s == math.inf else first_s - now_s)
            except queue.Empty:
                continue
            if not isinstance(event, Line | EndOfInput):
                return event
            self._waiting.append(event)
            if isinstance(event, EndOfInput):
                self.has_ended = True
                if self._busy is not Busy.LOADING:
                    end_s = event.time_s  # the caller may know that nobody waits for answers
            else:
                self._note(event)

    def _note(self, line: Line) -> None:
        self._heard_s = line.time_s
        if line.name() == "quit" and self._quit is None:
            self._quit = line

    def _take(self) -> Command:
        """The first command that waits; a quit that has waited long enough overtakes all others."""
        if self._busy is Busy.LOADING and self._quit is not None:
            self._waiting.clear()
            return self._quit
        command = self._waiting.popleft()
        if isinstance(command, Line) and command.time_s < self._freed_s and command.time_s - self._asked_s < TOGETHER_S:
            # It waited for what came together with it: its clock begins now.
            return replace(command, time_s=self._freed_s)
        return command

    def _due_s(self) -> float:
        """Time at which the first command must be handled, whatever the session is busy with (`time.monotonic`)."""
        if not self._waiting:
            return math.inf
        together = self._heard_s - self._asked_s < TOGETHER_S
        if self._busy is Busy.LOADING:
            return math.inf if self._quit is None or together else self._quit.time_s + PATIENCE_S
        first = self._waiting[0]
        is_end = isinstance(first, EndOfInput)
        is_last = is_end or first.name() == "quit"
        if self._busy is None or not (is_end or first.name() in ENDS_SEARCH):
            return -math.inf
        if self._busy is Busy.LIMITED and (together or is_end):
            return math.inf
        return max(first.time_s, self._began_s) + PATIENCE_S if is_last or together else -math.inf
