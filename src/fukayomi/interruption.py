"""Stopping long work between two steps, and threads that a stop finds as they start."""

import signal
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Self

ONE_PRESS = 1.0
"""Seconds within which two signals are one Ctrl-C: torchrun sends the terminal's on to its processes."""


class _Handlers:
    """Handlers of signals while it is entered, in the main thread; the earlier ones come back afterwards.

    Args:
        also: Signals besides SIGTERM and SIGHUP. SIGHUP comes when the terminal is closed; where it is ignored, as
            under nohup, it stays so.
    """

    def __init__(self, *also: signal.Signals) -> None:
        self.signal: int | None = None
        """Number of the first signal; None: there was none."""
        self._also = also
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (*self._also, signal.SIGTERM, *hangup()):
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: object) -> None:
        raise NotImplementedError


class StopRequest(_Handlers):
    """Turns Ctrl-C, SIGTERM and SIGHUP into a request that is honoured between steps; a second Ctrl-C interrupts."""

    def __init__(self) -> None:
        super().__init__(signal.SIGINT)
        self._since = 0.0

    @property
    def requested(self) -> bool:
        """True if a stop was requested."""
        return self.signal is not None

    def _on_signal(self, number: int, frame: object) -> None:
        if self.signal is None:
            self.signal, self._since = number, time.monotonic()
        elif number == signal.SIGINT and time.monotonic() > self._since + ONE_PRESS:
            raise KeyboardInterrupt


class Presses(_Handlers):
    """Calls a function for Ctrl-C, SIGTERM and SIGHUP: for work in an event loop, which no exception may leave.

    Args:
        call: Called in the main thread with the number of presses so far; after the last one Ctrl-C interrupts.
        most: How many there are.
    """

    def __init__(self, call: Callable[[int], None], most: int) -> None:
        super().__init__(signal.SIGINT)
        self._call, self._most = call, most
        self._count, self._since = 0, -ONE_PRESS

    def _on_signal(self, number: int, frame: object) -> None:
        now = time.monotonic()
        if now <= self._since + ONE_PRESS:
            return
        if self._count >= self._most:
            raise KeyboardInterrupt
        self.signal, self._since, self._count = self.signal or number, now, self._count + 1
        self._call(self._count)


class Terminations(_Handlers):
    """Has SIGTERM and SIGHUP interrupt at once, as Ctrl-C does, where no `StopRequest` turns them into requests.

    Only the first interrupts, so that what it ends can end in an orderly way.
    """

    def _on_signal(self, number: int, frame: object) -> None:
        if self.signal is None:
            self.signal = number
            raise Stopped(number)


class Stopped(KeyboardInterrupt):
    """Work of several parts was stopped in one of them by a signal, in an orderly way."""

    def __init__(self, signal: int | None) -> None:
        super().__init__()
        self.signal = signal
        """Its number, if it is known."""


class HeldSignals(_Handlers):
    """Ctrl-C, SIGTERM and SIGHUP wait until it is left: for moments in which two things must happen, or neither."""

    def __init__(self) -> None:
        super().__init__(signal.SIGINT)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self.signal is not None:
            signal.raise_signal(self.signal)

    def _on_signal(self, number: int, frame: object) -> None:
        self.signal = self.signal or number


def start_threads(threads: Iterable[threading.Thread]) -> None:
    """Start threads one after another; Ctrl-C and the like arrive between two.

    Amid `threading.Thread.start` they leave a thread that runs and of which nobody knows. After an interruption
    `join_threads` waits for those that have started.
    """
    for thread in threads:
        with HeldSignals():
            thread.start()


def join_threads(threads: Iterable[threading.Thread]) -> None:
    """Wait for the end of threads, but for those that never started."""
    for thread in threads:
        if thread.ident is not None:
            thread.join()


def hangup() -> tuple[int, ...]:
    """SIGHUP, where there is one and it is not ignored."""
    number = getattr(signal, "SIGHUP", None)
    return () if number is None or signal.getsignal(number) is signal.SIG_IGN else (number,)
