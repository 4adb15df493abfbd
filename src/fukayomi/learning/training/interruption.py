"""Stopping a run between two steps."""

import signal
import threading
import time
from typing import Any

ONE_PRESS = 1.0
"""Seconds within which two signals are one Ctrl-C: torchrun sends the terminal's on to its processes."""


class StopRequest:
    """Turns Ctrl-C and SIGTERM into a request that is honoured between steps; a second Ctrl-C interrupts at once."""

    def __init__(self) -> None:
        self.requested = False
        self._since = 0.0
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: object) -> None:
        if not self.requested:
            self.requested, self._since = True, time.monotonic()
        elif number == signal.SIGINT and time.monotonic() > self._since + ONE_PRESS:
            raise KeyboardInterrupt
