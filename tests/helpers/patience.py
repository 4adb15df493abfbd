"""Waiting for what other threads and processes do, and measuring how long something takes, on a busy machine."""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 60.0
"""The longest that anything may take that takes a moment on an idle machine."""

T = TypeVar("T")


def until(condition: Callable[[], object], seconds: float = PATIENCE_S, pause_s: float = 0.005) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never was"
        time.sleep(pause_s)


def one_of_several(attempt: Callable[[], T], is_good: Callable[[T], bool], attempts: int = 10) -> T:
    """The first result that is good, or the last of several.

    For what depends on the speed of the machine: other programs can delay one attempt, a fault of ours delays all.
    """
    for _ in range(attempts - 1):
        result = attempt()
        if is_good(result):
            return result
    return attempt()


def seconds_of(function: Callable[[], object]) -> float:
    """How long a call takes."""
    begin = time.monotonic()
    function()
    return time.monotonic() - begin
