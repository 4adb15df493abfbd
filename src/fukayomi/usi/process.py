"""The process of an engine: its pipes, read by threads within limits, and its end, with that of all its children.

One thread reads the engine's output and one its errors, so that no pipe fills up; a line gets its time when it arrives.
Every wait has a limit, whatever the process does: it may flood, not read, or leave children behind. A guard ends
it with this process, should that be killed.
"""

import contextlib
import os
import queue
import selectors
import shutil
import signal
import subprocess
import sysconfig
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fukayomi.errors import FukayomiError
from fukayomi.tabular import printable
from fukayomi.usi.guard import ProcessGuard
from fukayomi.usi.text import shorten

OWN_PROGRAMS = ("fukayomi", "fukayomi-usi")
CHUNK = 1 << 16
ERRORS_KEPT = 1 << 14
"""Bytes of the error output to keep, the last ones."""
LAST_WORDS = 20
"""Lines of it to quote in messages, at most LINE_QUOTED characters of each."""
LINE_QUOTED = 200
DEAF_AFTER_S = 10.0
"""Seconds that a pipe may stay full before the engine counts as not reading."""
INTERRUPT_POLL_S = 0.1
REMARK = "info string "

_HAS_SESSIONS = hasattr(os, "setsid") and hasattr(os, "killpg")


class EngineError(FukayomiError, RuntimeError):
    """An engine that does not follow the protocol, or cannot be started."""

    __module__ = "fukayomi.usi"


class EngineTimeoutError(EngineError):
    """An engine that did not answer in time."""

    __module__ = "fukayomi.usi"


class EngineDiedError(EngineError):
    """An engine whose process has ended. The message has its exit code and its last words."""

    __module__ = "fukayomi.usi"


class EngineFloodError(EngineError):
    """An engine that writes more lines or bytes than allowed."""


class EngineInterruptedError(EngineError):
    """The wait for the engine was interrupted. Nothing is wrong with the engine."""


@dataclass(frozen=True, slots=True)
class EngineLine:
    """A line from the engine."""

    time_s: float
    """Time of its arrival (`time.monotonic`)."""
    text: str
    """The line, without its end."""


class EngineProcess:
    """A child process that reads and writes lines. It leads a process group of its own, where the system has those."""

    label: str
    """Its name in messages."""

    def __init__(
        self,
        command: Sequence[str],
        cwd: Path | None,
        env: dict[str, str] | None,
        on_line: Callable[[str], None],
        max_lines: int,
        max_bytes: int,
    ) -> None:
        """Start the process.

        Args:
            command: The program and its arguments.
            cwd: Working directory; None: the current one.
            env: Environment; None: this process's.
            on_line: Called with each line of the process, from a thread.
            max_lines: Maximum number of lines that it may write until `allow_more` is called.
            max_bytes: Maximum number of bytes likewise.

        Raises:
            EngineError: It cannot be started.
        """
        self.label = Path(command[0]).name
        self._lines: queue.SimpleQueue[EngineLine | None] = queue.SimpleQueue()
        self._early: EngineLine | None = None  # read too early: it came after the deadline
        self._on_line = on_line
        self._fault: Exception | None = None
        self._limits = (max_lines, max_bytes)
        self._written = (0, 0)  # lines and bytes; the output's thread counts up
        self._allowed = self._limits
        self._is_flood = False
        self._errors = b""
        self._remarks: deque[str] = deque(maxlen=LAST_WORDS)
        program, *arguments = command
        try:
            self._process = subprocess.Popen(
                [find_program(program) or program, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,  # a buffered pipe cannot be closed while a thread reads it
                cwd=cwd,
                env=env,
                start_new_session=_HAS_SESSIONS,
            )
        except (OSError, ValueError) as error:
            raise EngineError(f"cannot start {command[0]}: {error}") from error
        assert self._process.stdin is not None
        self._guard = ProcessGuard(self._process.pid)
        if os.name == "posix":
            os.set_blocking(self._process.stdin.fileno(), False)
        self._threads = [threading.Thread(target=f, daemon=True) for f in (self._read_output, self._read_errors)]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """Process ID, which is also the ID of its group."""
        return self._process.pid

    def is_open(self) -> bool:
        """True if more lines may come: from the process, or from one that a script has started in its place."""
        return self._threads[0].is_alive()

    # ------------------------------------------------------------------------------------------ lines

    def write(self, data: bytes) -> None:
        """Send all bytes.

        Raises:
            EngineDiedError: The process has ended.
            EngineTimeoutError: The pipe is full and stays full.
        """
        assert self._process.stdin is not None
        left = memoryview(data)
        deadline_s = time.monotonic() + DEAF_AFTER_S
        try:
            number = self._process.stdin.fileno()
            while left:
                try:
                    left = left[os.write(number, left) :]
                except BlockingIOError:
                    self._wait_until_writable(number, deadline_s)
        except (OSError, ValueError) as error:  # ValueError: the pipe was closed here
            raise self.exit_error() from error

    def _wait_until_writable(self, number: int, deadline_s: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(number, selectors.EVENT_WRITE)
            if not selector.select(max(0.0, deadline_s - time.monotonic())):
                raise EngineTimeoutError(f"{self.label} does not read what it is sent")

    def read(self, deadline_s: float, awaited: str, interrupt: threading.Event | None = None) -> EngineLine:
        """Take the next line, if it came before the deadline (`time.monotonic`). A later one stays for the next call.

        Raises:
            EngineTimeoutError: None came in time.
            EngineDiedError: None will come.
            EngineFloodError: Too many came.
            EngineInterruptedError: The event was set.
        """
        line, self._early = self._early, None
        while line is None:
            if self._fault is not None:
                raise self._fault
            if self._is_flood:
                raise self.exit_error()
            if interrupt is not None and interrupt.is_set():
                raise EngineInterruptedError(f"stopped waiting for {self.label}")
            left_s = max(0.0, deadline_s - time.monotonic())
            try:
                item = self._lines.get(timeout=left_s if interrupt is None else min(left_s, INTERRUPT_POLL_S))
            except queue.Empty:
                if left_s == 0.0:
                    raise EngineTimeoutError(f"{self.label} did not send {awaited} in time") from None
                continue
            if item is None:
                self._lines.put(None)  # for the next call
                raise self.exit_error()
            line = item
        if line.time_s > deadline_s:
            self._early = line
            raise EngineTimeoutError(f"{self.label} did not send {awaited} in time")
        return line

    def drain(self) -> list[EngineLine]:
        """Take all lines that have arrived."""
        lines = [] if self._early is None else [self._early]
        self._early = None
        while not self._lines.empty():
            item = self._lines.get()
            if item is None:
                self._lines.put(None)
                break
            lines.append(item)
        return lines

    def allow_more(self) -> None:
        """Count lines and bytes from 0 again, for the next question."""
        (lines, size), (max_lines, max_bytes) = self._written, self._limits
        self._allowed = (lines + max_lines, size + max_bytes)

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        rest = b""
        while chunk := _read_chunk(self._process.stdout):
            now_s = time.monotonic()
            count = chunk.count(b"\n")
            self._written = (self._written[0] + count, self._written[1] + len(chunk))
            if self._written[0] > self._allowed[0] or self._written[1] > self._allowed[1]:
                self._is_flood = True  # the process blocks on its pipe until it is killed
                break
            if count:
                *lines, rest = (rest + chunk).split(b"\n")
                for raw in lines:
                    self._pass_on(now_s, raw)
            else:
                rest += chunk
        if rest and not self._is_flood:
            self._pass_on(time.monotonic(), rest)
        self._lines.put(None)

    def _pass_on(self, now_s: float, raw: bytes) -> None:
        line = EngineLine(now_s, raw.decode("utf-8", "replace").rstrip("\r"))
        if line.text.startswith(REMARK):
            self._remarks.append(line.text.removeprefix(REMARK))
        if self._fault is None:
            try:
                self._on_line(line.text)
            except Exception as error:  # not the engine's fault: `read` raises it
                self._fault = error
        self._lines.put(line)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while chunk := _read_chunk(self._process.stderr):
            self._errors = (self._errors + chunk)[-ERRORS_KEPT:]

    # ------------------------------------------------------------------------------------------ its end

    def exit_error(self) -> EngineError:
        """Error that says why no more lines will come."""
        if self._is_flood:
            lines, size = self._limits
            return EngineFloodError(f"{self.label} wrote more than {lines} lines or {size} bytes")
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return EngineDiedError(f"{self.label} closed its output")
        self._threads[1].join(1.0)
        return EngineDiedError("\n".join([f"{self.label} ended with {_exit_text(code)}", *self._last_words()]))

    def _last_words(self) -> list[str]:
        """The last lines of the error output; of an engine that wrote none, its last remarks (``info string``)."""
        lines = self._errors.decode("utf-8", "replace").splitlines() or self._remarks
        return [shorten(printable(line.rstrip()), LINE_QUOTED) for line in lines if line.strip()][-LAST_WORDS:]

    def close(self, timeout_s: float) -> int:
        """Wait for its end, then kill what is left of it and of its children; return the exit code."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        if _HAS_SESSIONS:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing is left, or (macOS) only zombies
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._guard.end()
        self._process.wait()
        for thread in self._threads:
            thread.join(1.0)  # longer only if a child in another session holds the pipe
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        return self._process.returncode


def find_program(name: str) -> str | None:
    """Find a program: by its path, or by its name in PATH; None if there is none.

    `fukayomi` and `fukayomi-usi` are those that were installed with the running Python, whatever PATH has.
    """
    own = shutil.which(name, path=sysconfig.get_path("scripts")) if name in OWN_PROGRAMS else None
    return own or shutil.which(name)


def _read_chunk(pipe: IO[bytes]) -> bytes:
    """The bytes that have come; none at the end, or if the pipe was closed here."""
    try:
        return pipe.read(CHUNK)
    except (OSError, ValueError):
        return b""


def _exit_text(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"
