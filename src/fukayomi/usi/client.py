"""A client that drives a USI engine in a process of its own: asks, waits with a limit, notices when the engine dies."""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from fukayomi.usi.options import Option
from fukayomi.usi.process import (
    EngineDiedError,
    EngineError,
    EngineFloodError,
    EngineInterruptedError,
    EngineProcess,
    EngineTimeoutError,
    Line,
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
)

__all__ = [
    "BadAnswerError",
    "EngineDiedError",
    "EngineError",
    "EngineFloodError",
    "EngineInterruptedError",
    "EngineTimeoutError",
    "Line",
    "SearchAnswer",
    "State",
    "UsiClient",
]

INFOS_KEPT = 1000


class BadAnswerError(EngineError):
    """An answer to ``go`` that names no move.

    Attributes:
        answer: What stood in the move's place.
        seconds: From sending ``go`` to its arrival.
    """

    def __init__(self, message: str, answer: str, seconds: float) -> None:
        super().__init__(message)
        self.answer = answer
        self.seconds = seconds


class State(Enum):
    """Where the conversation stands."""

    STARTED = auto()  # nothing said yet
    KNOWN = auto()  # usiok received
    READY = auto()  # readyok received
    THINKING = auto()  # go sent, bestmove awaited
    CLOSED = auto()


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What an engine answered to ``go``."""

    bestmove: BestMove | None
    """None for ``go mate``."""
    checkmate: Checkmate | None = None
    infos: tuple[Info, ...] = ()
    """The last INFOS_KEPT."""
    seconds: float = 0.0
    """From sending ``go`` (or ``ponderhit``) to the arrival of the answer."""

    @property
    def best_info(self) -> Info | None:
        """The last info line with a score that is about the first choice; an exact score goes before a bound."""
        scored = [info for info in self.infos if info.score is not None and info.multipv in (None, 1)]
        exact = [info for info in scored if info.score is not None and not info.score.bound]
        return (exact or scored or [None])[-1]


@dataclass
class UsiClient:
    """A USI engine as a child process. Use it as a context manager: it leaves no process behind.

    Attributes:
        command: the program and its arguments.
        timeout_s: how long to wait for usiok, and for a process to end.
        listener: called with "> line" and "< line" for all that passes, from several threads.
        interrupt: when set, whoever waits for the engine gets an EngineInterruptedError.
        max_lines: how many lines it may write for each question (usi, isready, go).
        max_bytes: how many bytes.
    """

    command: Sequence[str]
    cwd: Path | None = None
    env: dict[str, str] | None = None
    timeout_s: float = 10.0
    listener: Callable[[str], None] | None = None
    interrupt: threading.Event | None = None
    max_lines: int = 100_000
    max_bytes: int = 10_000_000

    name: str = field(default="", init=False)
    author: str = field(default="", init=False)
    options: dict[str, Option] = field(default_factory=dict[str, Option], init=False)
    state: State = field(default=State.STARTED, init=False)
    asked_at: float = field(default=0.0, init=False)
    """When the last ``go`` or ``ponderhit`` was sent (`time.monotonic`)."""
    unasked: list[str] = field(default_factory=list[str], init=False)
    """Answers to no question: a second ``bestmove``, or one that came too late. None of them is taken for another's."""

    def __post_init__(self) -> None:
        self._infos: deque[str] = deque(maxlen=INFOS_KEPT)
        self._exit_code = 0
        self._process = EngineProcess(self.command, self.cwd, self.env, self._hear, self.max_lines, self.max_bytes)

    def __enter__(self) -> "UsiClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The number of the engine's process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether more may come from the engine."""
        return self._process.is_open()

    def death(self) -> EngineError:
        """What there is to say about an engine that is not alive."""
        return self._process.death()

    # ------------------------------------------------------------------------------------------ conversation

    def handshake(self) -> None:
        """Send ``usi`` and collect name, author and options until ``usiok``."""
        self._process.allow_more()
        self.send(SimpleCommand("usi").text())
        deadline_s = time.monotonic() + self.timeout_s
        while (line := self._process.read(deadline_s, "usiok", self.interrupt).text.rstrip()) != "usiok":
            if line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
                self._process.label = self.name or self._process.label
            elif line.startswith("id author "):
                self.author = line.removeprefix("id author ").strip()
            elif line.startswith("option "):
                with contextlib.suppress(UsiTextError):  # an option that cannot be read is one that is not there
                    option = Option.from_text(line)
                    self.options[option.name] = option
        self.state = State.KNOWN

    def set_option(self, name: str, value: str | None = None) -> None:
        """Send ``setoption``; USI has no answer to it."""
        self.send(SetOption(name, value).text())

    def is_ready(self, timeout_s: float = 60.0) -> list[str]:
        """Send ``isready`` and wait for ``readyok``; return the lines in between."""
        self._process.allow_more()
        self.send(SimpleCommand("isready").text())
        lines = self.read_until(lambda line: line.rstrip() == "readyok", timeout_s, "readyok")
        self.unasked += [line.text for line in lines if _is_answer(line.text)]
        self.state = State.READY
        return [line.text for line in lines[:-1]]

    def new_game(self) -> None:
        """Send ``usinewgame``."""
        self.send(SimpleCommand("usinewgame").text())

    def position(self, sfen: str | None = None, moves: Sequence[str] = ()) -> None:
        """Send ``position``; ``sfen`` is None for the start position."""
        self.send(SetPosition(sfen, tuple(moves)).text())

    def go(self, go: Go, timeout_s: float) -> SearchAnswer:
        """Send ``go`` and wait for the answer."""
        self.start_go(go)
        return self.wait_answer(timeout_s)

    def start_go(self, go: Go) -> None:
        """Send ``go`` and return at once; `wait_answer` takes the answer. What came before is none."""
        if self.state is State.THINKING:
            raise EngineError(f"{self._process.label} is still thinking")
        self.unasked += [line.text for line in self._process.drain() if _is_answer(line.text)]
        self._process.allow_more()
        self._infos.clear()
        self.state = State.THINKING
        self._ask(go.text())

    def ponderhit(self, go: Go | None = None) -> None:
        """Send ``ponderhit``; the time of the answer counts from here."""
        self._ask(PonderHit(go or Go()).text())

    def stop(self) -> None:
        """Send ``stop``."""
        self.send(SimpleCommand("stop").text())

    def wait_answer(self, timeout_s: float) -> SearchAnswer:
        """Wait for ``bestmove`` or ``checkmate``. After an EngineTimeoutError one may wait again.

        Raises:
            BadAnswerError: the answer names no move.
        """
        return self.wait_answer_until(time.monotonic() + timeout_s)

    def wait_answer_until(self, deadline_s: float) -> SearchAnswer:
        """As `wait_answer`, up to a moment of `time.monotonic`: an answer that arrived before it is taken."""
        while True:
            line = self._process.read(deadline_s, "bestmove", self.interrupt)
            if line.text.lstrip().startswith("info"):
                self._infos.append(line.text)  # read when the answer is there: an engine that chatters costs no time
                continue
            seconds = line.time_s - self.asked_at
            try:
                answer = parse_answer(line.text)
            except UsiTextError as error:
                self.state = State.READY
                text = line.text.strip().partition(" ")[2].strip()
                raise BadAnswerError(f"{self._process.label}: {error}", text, seconds) from error
            if isinstance(answer, BestMove | Checkmate):
                self.state = State.READY
                best = answer if isinstance(answer, BestMove) else None
                mate = answer if isinstance(answer, Checkmate) else None
                infos = tuple(info for text in self._infos if isinstance(info := parse_answer(text), Info))
                return SearchAnswer(best, mate, infos, seconds)

    def game_over(self, result: str) -> None:
        """Send ``gameover``; ``result`` is win, lose or draw."""
        self.send(GameOver(result).text())

    def close(self, timeout_s: float | None = None) -> int:
        """Send ``quit``, wait, kill if need be; return the exit code. Safe to call twice.

        Args:
            timeout_s: how long to wait; None: `self.timeout_s`; 0: kill it at once.
        """
        if self.state is State.CLOSED:
            return self._exit_code
        self.state = State.CLOSED
        if timeout_s != 0:
            with contextlib.suppress(EngineError):  # it may be dead already, which is what was wanted
                self.send(SimpleCommand("quit").text())
        self._exit_code = self._process.close(self.timeout_s if timeout_s is None else timeout_s)
        return self._exit_code

    # ------------------------------------------------------------------------------------------ lines

    def send(self, line: str) -> None:
        """Send a line as it is.

        Raises:
            EngineDiedError: nobody is there to read it.
            EngineTimeoutError: the engine does not read.
        """
        self._tell(line)
        self.send_bytes(_encoded(line))

    def _ask(self, line: str) -> None:
        """Send a line that the time of an answer counts from; the listener's time is not the engine's."""
        self._tell(line)
        self.asked_at = time.monotonic()
        self.send_bytes(_encoded(line))

    def _tell(self, line: str) -> None:
        if self.listener is not None:
            self.listener(f"> {line}")

    def send_bytes(self, data: bytes) -> None:
        """Send anything, as `send` does."""
        self._process.write(data)

    def read_line(self, timeout_s: float, awaited: str = "a line") -> Line:
        """Take the next line of the engine.

        Raises:
            EngineTimeoutError: none came in time.
            EngineDiedError: none will come.
        """
        return self._process.read(time.monotonic() + timeout_s, awaited, self.interrupt)

    def read_until(self, is_last: Callable[[str], bool], timeout_s: float, awaited: str = "a line") -> list[Line]:
        """Take lines up to and with the one that ``is_last`` accepts."""
        deadline_s = time.monotonic() + timeout_s
        lines: list[Line] = []
        while not lines or not is_last(lines[-1].text):
            lines.append(self._process.read(deadline_s, awaited, self.interrupt))
        return lines

    def _hear(self, line: str) -> None:
        if self.listener is not None:
            self.listener(f"< {line}")


def _encoded(line: str) -> bytes:
    return line.encode("utf-8", "replace") + b"\n"


def _is_answer(line: str) -> bool:
    return line.split(maxsplit=1)[:1] in (["bestmove"], ["checkmate"])
