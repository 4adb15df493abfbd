"""A client that drives a USI engine in a process of its own: asks, waits with a limit, notices when the engine dies.

One thread drains the engine's output and one its errors, so that no pipe fills up; times are taken when a line arrives.
"""

import contextlib
import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from types import TracebackType

from fukayomi.usi.options import Option
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


class EngineError(RuntimeError):
    """An engine that does not do what the protocol asks of it."""


class EngineTimeoutError(EngineError):
    """An engine that did not answer in time."""


class EngineDiedError(EngineError):
    """An engine whose process ended. The message has its exit code and its last words."""


class State(Enum):
    """Where the conversation stands."""

    STARTED = auto()  # nothing said yet
    KNOWN = auto()  # usiok received
    READY = auto()  # readyok received
    THINKING = auto()  # go sent, bestmove awaited
    CLOSED = auto()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the engine and when it came (`time.monotonic`)."""

    time_s: float
    text: str


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What an engine answered to ``go``."""

    bestmove: BestMove | None  # None for ``go mate``
    checkmate: Checkmate | None
    infos: tuple[Info, ...]
    seconds: float  # from sending ``go`` (or ``ponderhit``) to the answer's arrival

    @property
    def best_info(self) -> Info | None:
        """The last info line with a score that is about the first choice."""
        scored = [info for info in self.infos if info.score is not None and info.multipv in (None, 1)]
        return scored[-1] if scored else None


@dataclass
class UsiClient:
    """A USI engine as a child process. Use it as a context manager: it leaves no process behind.

    Attributes:
        command: the program and its arguments.
        timeout_s: how long to wait for usiok, and for a process to end.
        listener: called with "> line" and "< line" for all that passes, from several threads.
    """

    command: Sequence[str]
    cwd: Path | None = None
    env: dict[str, str] | None = None
    timeout_s: float = 10.0
    listener: Callable[[str], None] | None = None

    name: str = field(default="", init=False)
    author: str = field(default="", init=False)
    options: dict[str, Option] = field(default_factory=dict[str, Option], init=False)
    state: State = field(default=State.STARTED, init=False)

    def __post_init__(self) -> None:
        self._lines: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        self._last_words: deque[str] = deque(maxlen=20)
        self._asked_at = 0.0
        try:
            self._process = subprocess.Popen(
                list(self.command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self.cwd,
                env=self.env,
            )
        except OSError as error:
            raise EngineError(f"cannot start {self.command[0]}: {error}") from error
        self._threads = [threading.Thread(target=f, daemon=True) for f in (self._read_output, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> "UsiClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The number of the engine's process."""
        return self._process.pid

    # ------------------------------------------------------------------------------------------ conversation

    def handshake(self) -> None:
        """Send ``usi`` and collect name, author and options until ``usiok``."""
        self.send(SimpleCommand("usi").text())
        deadline = time.monotonic() + self.timeout_s
        while (line := self.read_line(deadline - time.monotonic(), "usiok").text) != "usiok":
            if line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
            elif line.startswith("id author "):
                self.author = line.removeprefix("id author ").strip()
            elif line.startswith("option "):
                option = Option.from_text(line)
                self.options[option.name] = option
        self.state = State.KNOWN

    def set_option(self, name: str, value: str | None = None) -> None:
        """Send ``setoption``; USI has no answer to it."""
        self.send(SetOption(name, value).text())

    def is_ready(self, timeout_s: float = 60.0) -> list[str]:
        """Send ``isready`` and wait for ``readyok``; return the lines in between."""
        self.send(SimpleCommand("isready").text())
        lines = self.read_until(lambda line: line == "readyok", timeout_s, "readyok")
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
        """Send ``go`` and return at once; `wait_answer` takes the answer."""
        if self.state is State.THINKING:
            raise EngineError(f"{self._label()} is still thinking")
        self.state = State.THINKING
        self._asked_at = time.monotonic()
        self.send(go.text())

    def ponderhit(self, go: Go | None = None) -> None:
        """Send ``ponderhit``; the time of the answer counts from here."""
        self._asked_at = time.monotonic()
        self.send(PonderHit(go or Go()).text())

    def stop(self) -> None:
        """Send ``stop``."""
        self.send(SimpleCommand("stop").text())

    def wait_answer(self, timeout_s: float) -> SearchAnswer:
        """Wait for ``bestmove`` or ``checkmate``."""
        infos: list[Info] = []
        deadline = time.monotonic() + timeout_s
        while True:
            line = self.read_line(deadline - time.monotonic(), "bestmove")
            try:
                answer = parse_answer(line.text)
            except UsiTextError as error:
                raise EngineError(f"{self._label()}: {error}") from error
            if isinstance(answer, Info):
                infos.append(answer)
            elif isinstance(answer, BestMove | Checkmate):
                self.state = State.READY
                best = answer if isinstance(answer, BestMove) else None
                mate = answer if isinstance(answer, Checkmate) else None
                return SearchAnswer(best, mate, tuple(infos), line.time_s - self._asked_at)

    def game_over(self, result: str) -> None:
        """Send ``gameover``; ``result`` is win, lose or draw."""
        self.send(GameOver(result).text())

    def close(self) -> int:
        """Send ``quit``, wait, kill if need be; return the exit code. Safe to call twice."""
        if self.state is not State.CLOSED:
            self.state = State.CLOSED
            with contextlib.suppress(OSError):  # it may be dead already, which is what was wanted
                self._write(SimpleCommand("quit").text())
            try:
                self._process.wait(self.timeout_s)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            for thread in self._threads:
                thread.join(self.timeout_s)
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):  # unsent bytes for a dead engine
                        pipe.close()
        return self._process.returncode

    # ------------------------------------------------------------------------------------------ lines

    def send(self, line: str) -> None:
        """Send a line as it is.

        Raises:
            EngineDiedError: nobody is there to read it.
        """
        try:
            self._write(line)
        except OSError as error:
            raise self._death() from error

    def read_line(self, timeout_s: float, awaited: str = "a line") -> Line:
        """Take the next line of the engine.

        Raises:
            EngineTimeoutError: none came in time.
            EngineDiedError: none will come.
        """
        try:
            line = self._lines.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            raise EngineTimeoutError(f"{self._label()} did not send {awaited} in time") from None
        if line is None:
            self._lines.put(None)  # whoever asks again learns it again
            raise self._death()
        return line

    def read_until(self, is_last: Callable[[str], bool], timeout_s: float, awaited: str = "a line") -> list[Line]:
        """Take lines up to and with the one that ``is_last`` accepts."""
        deadline = time.monotonic() + timeout_s
        lines: list[Line] = []
        while not lines or not is_last(lines[-1].text):
            lines.append(self.read_line(deadline - time.monotonic(), awaited))
        return lines

    def _write(self, line: str) -> None:
        if self.listener is not None:
            self.listener(f"> {line}")
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        for raw in self._process.stdout:
            line = Line(time.monotonic(), raw.decode("utf-8", "replace").rstrip("\r\n"))
            if self.listener is not None:
                self.listener(f"< {line.text}")
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for raw in self._process.stderr:
            self._last_words.append(raw.decode("utf-8", "replace").rstrip())

    def _label(self) -> str:
        return self.name or Path(self.command[0]).name

    def _death(self) -> EngineDiedError:
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return EngineDiedError(f"{self._label()} closed its output")
        self._threads[1].join(1.0)
        words = "\n".join(self._last_words)
        return EngineDiedError(f"{self._label()} ended with exit code {self._process.returncode}\n{words}".rstrip())
