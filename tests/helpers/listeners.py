"""Listeners for tests."""

from collections.abc import Callable

from fukayomi.listener import Listener


class Calling(Listener):
    """Calls a function at each step of the progress."""

    def __init__(self, function: Callable[[str, int, int | None], object]) -> None:
        self.function = function

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self.function(stage, done, total)
