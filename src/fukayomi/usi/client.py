"""A client that drives a USI engine in a process of its own, as a state machine.

It waits with limits and notices when the engine dies. A command that the protocol does not allow in the current state
raises; options set during a search are sent after its answer.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from fukayomi.tabular import printable
from fukayomi.usi.options import Option, OptionError, fitting, unchecked
from fukayomi.usi.process import (
    EngineDiedError,
    EngineError,
    EngineFloodError,
    EngineInterruptedError,
    EngineLine,
    EngineProcess,
    EngineTimeoutError,
)
from fukayomi.usi.text import (
    BestMove,
    Checkmate,
    GameOver,
    Go,
    Info,
    PonderHit,
    SetOption,
    SetPosition,
    SimpleCommand,
    UsiTextError,
    parse_answer,
    shorten,
)

__all__ = [
    "BadAnswerError",
    "EngineDiedError",
    "EngineError",
    "EngineFloodError",
    "EngineInterruptedError",
    "EngineLine",
    "EngineStateError",
    "EngineTimeoutError",
    "SearchAnswer",
    "State",
    "UsiClient",
]

PROBLEMS_QUOTED = 3
UNDECLARED = (
    " (options that an engine does not declare are sent with --undeclared-options, in Python undeclared_options=True)"
)
"""Remedy at the end of errors of options."""
INFOS_KEPT = 1000
"""Number of info lines kept for an answer, the last ones."""


class BadAnswerError(EngineError):
    """An answer to ``go`` that names no move."""

    answer: str
    """The text in place of the move."""
    seconds: float
    """Time from sending ``go`` to its arrival."""

    def __init__(self, message: str, answer: str, seconds: float) -> None:
        super().__init__(message)
        self.answer = answer
        self.seconds = seconds


class EngineStateError(EngineError):
    """A command that the protocol does not allow now. It was not sent."""


class State(Enum):
    """The state of the conversation.

    `UsiClient.handshake` leads from STARTED to IDENTIFIED, `wait_ready` to READY, `start_go` to THINKING or PONDERING,
    `ponderhit` from PONDERING to THINKING, the answer to READY, `close` to CLOSED.
    """

    STARTED = auto()
    """Nothing has been sent."""
    IDENTIFIED = auto()
    """``usiok`` received."""
    READY = auto()
    """``readyok`` or the answer to ``go`` received."""
    THINKING = auto()
    """``go`` sent; ``bestmove`` or ``checkmate`` is expected."""
    PONDERING = auto()
    """``go ponder`` sent; ``ponderhit`` or ``stop`` is to follow."""
    CLOSED = auto()
    """``quit`` sent, or the process killed."""


IDLE = (State.IDENTIFIED, State.READY)
SEARCHING = (State.THINKING, State.PONDERING)


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The answer to ``go``."""

    bestmove: BestMove | None
    """None for ``go mate``."""
    checkmate: Checkmate | None = None
    """The answer to ``go mate``."""
    infos: tuple[Info, ...] = ()
    """The info lines, at most the last INFOS_KEPT."""
    seconds: float = 0.0
    """Time from sending ``go`` or ``ponderhit`` to the arrival of the answer."""

    @property
    def best_info(self) -> Info | None:
        """The final info line of the first choice; None if the engine sent no score."""
        return self.final_infos().get(1)

    def final_infos(self, *, needs_pv: bool = False) -> dict[int, Info]:
        """The last info line with a score for each MultiPV number; an exact score is preferred to a bound.

        Args:
            needs_pv: Leave out info lines without a PV.
        """
        final: dict[int, Info] = {}
        for info in self.infos:
            if info.score is None or (needs_pv and not info.pv):
                continue
            number = info.multipv or 1
            known = final[number].score if number in final else None
            if known is None or known.bound or not info.score.bound:
                final[number] = info
        return final


@dataclass
class UsiClient:
    """A USI engine as a child process. Use it as a context manager: it leaves no process behind.

        with UsiClient(["fukayomi", "usi"]) as engine:
            engine.handshake()
            engine.set_option("USI_Hash", "256")
            engine.wait_ready()
            engine.position(moves=["7g7f"])
            answer = engine.go(Go(nodes=1000), timeout_s=60)

    Every method that talks to the engine raises EngineStateError if the protocol does not allow it now, EngineDiedError
    if the engine has ended, and EngineTimeoutError if it does not read or answer in time.
    """

    command: Sequence[str]
    """The program and its arguments."""
    cwd: Path | None = None
    """Working directory; None: the current one."""
    env: dict[str, str] | None = None
    """Environment; None: this process's."""
    timeout_s: float = 10.0
    """Seconds to wait for ``usiok``, and for the process to end."""
    listener: Callable[[str], None] | None = None
    """Called with "> line" and "< line" for all that is sent and received, from several threads."""
    interrupt: threading.Event | None = None
    """Event that, once set, makes waiting for the engine raise EngineInterruptedError."""
    max_lines: int = 100_000
    """Maximum number of lines that the engine may write for each question (usi, isready, go)."""
    max_bytes: int = 10_000_000
    """Maximum number of bytes for each question."""

    name: str = field(default="", init=False)
    """The engine's name, from ``id name``."""
    author: str = field(default="", init=False)
    """The engine's authors, from ``id author``."""
    options: dict[str, Option] = field(default_factory=dict[str, Option], init=False)
    """The options that it declares, by name."""
    state: State = field(default=State.STARTED, init=False)
    """The state of the conversation."""
    asked_at: float = field(default=0.0, init=False)
    """Time at which the last ``go`` or ``ponderhit`` was sent (`time.monotonic`)."""
    unexpected_answers: list[str] = field(default_factory=list[str], init=False)
    """Answers to no question: a second ``bestmove``, or a late one. They are never taken for the answer to another."""

    def __post_init__(self) -> None:
        self._queued: dict[str, str | None] = {}  # options set during the search
        self._infos: deque[str] = deque(maxlen=INFOS_KEPT)
        self._exit_code = 0
        self._process = EngineProcess(self.command, self.cwd, self.env, self._hear, self.max_lines, self.max_bytes)

    def __enter__(self) -> "UsiClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Process ID of the engine."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """True if the engine can still answer."""
        return self._process.is_open()

    def exit_error(self) -> EngineError:
        """Error that says why the engine is no longer alive, with its last words."""
        return self._process.exit_error()

    # ------------------------------------------------------------------------------------------ conversation

    def handshake(self) -> None:
        """Send ``usi`` and collect name, author and options until ``usiok``."""
        self._require((State.STARTED,), "usi")
        self._process.allow_more()
        self.send(SimpleCommand("usi").text())
        deadline_s = time.monotonic() + self.timeout_s
        while (line := self._process.read(deadline_s, "usiok", self.interrupt).text.rstrip()) != "usiok":
            if line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
                self._process.label = shorten(printable(self.name)) or self._process.label
            elif line.startswith("id author "):
                self.author = line.removeprefix("id author ").strip()
            else:
                self._note_declaration(line)
        self.state = State.IDENTIFIED

    def _note_declaration(self, line: str) -> None:
        if line.startswith("option "):
            with contextlib.suppress(UsiTextError):  # an unreadable option counts as missing
                option = Option.from_text(line)
                self.options[option.name] = option

    def set_options(
        self, options: Mapping[str, str], *, undeclared: bool = False, ready_timeout_s: float = 60.0
    ) -> list[str]:
        """Set options before the engine is used, with its own spelling of names and values.

        What does not fit is tried again after ``isready`` if other options were set: some engines declare options, or
        values, only then.

        Args:
            options: Values by name, in order; any for a button.
            undeclared: Whether to send options and values all the same that the engine does not declare.
            ready_timeout_s: Seconds to wait for ``readyok`` if that is needed.

        Returns:
            What was sent although the engine does not declare it, as sentences.

        Raises:
            OptionError: The engine does not declare an option, or a value of it. Others may have been set.
        """
        problems = self._set_fitting(options, undeclared=undeclared)
        if problems and not undeclared and len(problems) < len(options):
            try:
                self.wait_ready(ready_timeout_s)
            except EngineInterruptedError:
                raise
            except EngineError as error:  # perhaps because of what is missing
                raise _refusal(problems) from error
            problems = self._set_fitting({name: options[name] for name in problems}, undeclared=False)
        if problems and not undeclared:
            raise _refusal(problems)
        return [f"{problem}; it was sent all the same" for problem in problems.values()]

    def _set_fitting(self, options: Mapping[str, str], *, undeclared: bool) -> dict[str, str]:
        """Set what fits, or everything; returns what does not fit, and why."""
        problems: dict[str, str] = {}
        for name, text in options.items():
            try:
                command = fitting(self.options, name, text)
            except OptionError as error:
                problems[name] = str(error)
                if not undeclared:
                    continue
                command = unchecked(self.options, name, text)
            self.set_option(command.name, command.value)
        return problems

    def set_option(self, name: str, value: str | None = None) -> None:
        """Send ``setoption``; during a search, after its answer: USI allows no options while the engine thinks.

        Args:
            name: The option.
            value: Its value; None for a button.
        """
        self._require((*IDLE, *SEARCHING), "setoption")
        if self.state in SEARCHING:
            self._queued.pop(name, None)  # the order is that of the last calls
            self._queued[name] = value
        else:
            self.send(SetOption(name, value).text())

    def wait_ready(self, timeout_s: float = 60.0) -> list[str]:
        """Send ``isready`` and wait for ``readyok``; return the lines in between."""
        self._require(IDLE, "isready")
        self._process.allow_more()
        self.send(SimpleCommand("isready").text())
        lines = self.read_until(lambda line: line.rstrip() == "readyok", timeout_s, "readyok")
        for line in lines:
            self._note_declaration(line.text)
        self.unexpected_answers += [line.text for line in lines if _is_answer(line.text)]
        self.state = State.READY
        return [line.text for line in lines[:-1]]

    def new_game(self) -> None:
        """Send ``usinewgame``."""
        self._require(IDLE, "usinewgame")
        self.send(SimpleCommand("usinewgame").text())

    def position(self, sfen: str | None = None, moves: Sequence[str] = ()) -> None:
        """Send ``position``; ``sfen`` is None for the start position."""
        self._require(IDLE, "position")
        self.send(SetPosition(sfen, tuple(moves)).text())

    def go(self, go: Go, timeout_s: float) -> SearchAnswer:
        """Send ``go`` and wait for the answer."""
        self.start_go(go)
        return self.wait_answer(timeout_s)

    def start_go(self, go: Go) -> None:
        """Send ``go`` and return at once; `wait_answer` takes the answer.

        Answers that came before go to `unexpected_answers`.
        """
        self._require(IDLE, "go")
        self.unexpected_answers += [line.text for line in self._process.drain() if _is_answer(line.text)]
        self._process.allow_more()
        self._infos.clear()
        self.state = State.PONDERING if go.ponder else State.THINKING
        self._ask(go.text())

    def ponderhit(self, go: Go | None = None) -> None:
        """Send ``ponderhit``; the time of the answer counts from here."""
        self._require((State.PONDERING,), "ponderhit")
        self._process.allow_more()
        self.state = State.THINKING
        self._ask(PonderHit(go or Go()).text())

    def stop(self) -> None:
        """Send ``stop``; the engine still answers."""
        self._require(SEARCHING, "stop")
        self.send(SimpleCommand("stop").text())

    def wait_answer(self, timeout_s: float) -> SearchAnswer:
        """Wait for ``bestmove`` or ``checkmate``. After an EngineTimeoutError it can be called again.

        Raises:
            BadAnswerError: The answer names no move.
        """
        return self.wait_answer_until(time.monotonic() + timeout_s)

    def wait_answer_until(self, deadline_s: float) -> SearchAnswer:
        """As `wait_answer`, with a deadline (`time.monotonic`): an answer that arrived before it is taken."""
        self._require(SEARCHING, "an answer")
        while True:
            line = self._process.read(deadline_s, "bestmove", self.interrupt)
            if line.text.lstrip().startswith("info"):
                self._infos.append(line.text)  # parsed after the answer, so that many lines cost no time
                continue
            seconds = max(0.0, line.time_s - self.asked_at)  # an answer may come before ``ponderhit``
            try:
                answer = parse_answer(line.text)
            except UsiTextError as error:
                self._end_search()
                text = line.text.strip().partition(" ")[2].strip()
                raise BadAnswerError(f"{self._process.label}: {error}", text, seconds) from error
            if isinstance(answer, BestMove | Checkmate):
                self._end_search()
                best = answer if isinstance(answer, BestMove) else None
                mate = answer if isinstance(answer, Checkmate) else None
                infos = tuple(info for text in self._infos if isinstance(info := parse_answer(text), Info))
                return SearchAnswer(best, mate, infos, seconds)

    def game_over(self, result: str) -> None:
        """Send ``gameover``; ``result`` is win, lose or draw."""
        self._require(IDLE, "gameover")
        self.send(GameOver(result).text())

    def close(self, timeout_s: float | None = None) -> int:
        """Send ``quit``, wait, kill the process if necessary; return its exit code. It can be called twice.

        Args:
            timeout_s: Seconds to wait; None: `self.timeout_s`; 0: kill it at once.
        """
        if self.state is State.CLOSED:
            return self._exit_code
        self.state = State.CLOSED
        if timeout_s != 0:
            with contextlib.suppress(EngineError):  # it may have ended already
                self.send(SimpleCommand("quit").text())
        self._exit_code = self._process.close(self.timeout_s if timeout_s is None else timeout_s)
        return self._exit_code

    def _require(self, states: Sequence[State], what: str) -> None:
        """Check that a command is allowed now.

        Raises:
            EngineStateError: It is not.
            EngineDiedError: It is not, and the engine has ended.
        """
        if self.state not in states:
            if self.state is not State.CLOSED and not self.is_alive:
                raise self.exit_error()
            raise EngineStateError(f"{self._process.label}: no {what} {_WORDS[self.state]}")

    def _end_search(self) -> None:
        """Note that the search has been answered, and send the options that were set in the meantime."""
        self.state = State.READY
        queued, self._queued = self._queued, {}
        with contextlib.suppress(EngineError):  # the next command will raise it; the answer must not be lost
            for name, value in queued.items():
                self.send(SetOption(name, value).text())

    # ------------------------------------------------------------------------------------------ lines

    def send(self, line: str) -> None:
        """Send a line as it is, in any state.

        Raises:
            EngineDiedError: The engine has ended.
            EngineTimeoutError: The engine does not read.
        """
        self._tell(line)
        self.send_bytes(_encoded(line))

    def _ask(self, line: str) -> None:
        """Send a line from which the answer is timed; the listener's time is not the engine's."""
        self._tell(line)
        self.asked_at = time.monotonic()
        self.send_bytes(_encoded(line))

    def _tell(self, line: str) -> None:
        if self.listener is not None:
            self.listener(f"> {line}")

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are, in any state."""
        self._process.write(data)

    def read_until(self, is_last: Callable[[str], bool], timeout_s: float, awaited: str = "a line") -> list[EngineLine]:
        """Take lines up to and including the one that ``is_last`` accepts."""
        deadline_s = time.monotonic() + timeout_s
        lines: list[EngineLine] = []
        while not lines or not is_last(lines[-1].text):
            lines.append(self._read(deadline_s, awaited))
        return lines

    def _read(self, deadline_s: float, awaited: str) -> EngineLine:
        """Take a line outside `wait_answer`; an answer to the search ends it."""
        line = self._process.read(deadline_s, awaited, self.interrupt)
        if self.state in SEARCHING and _is_answer(line.text):
            self._end_search()
        return line

    def _hear(self, line: str) -> None:
        if self.listener is not None:
            self.listener(f"< {line}")


_WORDS = {
    State.STARTED: "before the handshake",
    State.IDENTIFIED: "while no search is running",
    State.READY: "while no search is running",
    State.THINKING: "while the engine is thinking",
    State.PONDERING: "while the engine is pondering",
    State.CLOSED: "after the engine was closed",
}


def _refusal(problems: Mapping[str, str]) -> OptionError:
    return OptionError("; ".join([*problems.values()][:PROBLEMS_QUOTED]) + UNDECLARED)


def _encoded(line: str) -> bytes:
    return line.encode("utf-8", "replace") + b"\n"


def _is_answer(line: str) -> bool:
    return line.split(maxsplit=1)[:1] in (["bestmove"], ["checkmate"])
