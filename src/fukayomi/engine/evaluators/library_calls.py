"""Calls into the libraries that run networks, and the end of the program, which waits for them.

When the program ends, Python ends every other thread that comes back from native code. Libraries written with pybind11,
such as ONNX Runtime, do not survive that: "terminate called without an active exception" aborts the program, after
Ctrl-C above all. So the end waits for calls that have begun, and none begins after it. (Our own native core needs no
such care: native/bindings/unlocked.hpp.)
"""

import atexit
import sys
import threading
from contextlib import suppress
from importlib import import_module

LONGEST_S = 10.0
"""The end waits for the calls this long: a batch takes less, but a library may hang."""


class Calls:
    """A context for calls that must have returned when the program ends. Any thread may enter it, again if it likes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._is_over = False

    def __enter__(self) -> None:
        with self._changed:
            if threading.current_thread() is not threading.main_thread():
                self._changed.wait_for(lambda: not self._is_over)  # for ever: the program has ended
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._running -= 1
            if self._is_over:
                self._changed.notify_all()

    def end(self) -> None:
        """Let no other thread begin a call, and wait for those that have begun."""
        with self._changed:
            self._is_over = True
            self._changed.wait_for(lambda: self._running == 0, LONGEST_S)


LIBRARY_CALLS = Calls()
"""Every call into a library by a thread that the end of the program does not wait for."""
atexit.register(LIBRARY_CALLS.end)


def load_library(name: str) -> None:
    """Import a library where no signal arrives: in a thread. Its import statement, which follows, finds it loaded.

    Python raises Ctrl-C in the main thread between any two of its instructions, also while the C++ of onnx sets itself
    up, from which no exception may leave: it ends the program by an abort. An import that fails fails again in its
    statement, which says why.
    """
    if name in sys.modules:
        return

    def load() -> None:
        with LIBRARY_CALLS, suppress(ImportError, OSError):
            import_module(name)

    thread = threading.Thread(target=load, name="fukayomi-import", daemon=True)
    thread.start()
    thread.join()
