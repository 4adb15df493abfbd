"""What a command shows on stderr while it works: a bar with the remaining time, which goes when the work is done.

Where stderr is no terminal, nothing is shown.
"""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID


class Bar:
    """A bar that is shown."""

    def __init__(self, progress: "Progress", task: "TaskID") -> None:
        self._progress, self._task = progress, task
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has been shown; never 0."""
        return max(0.001, time.monotonic() - self._start)

    def advance(self, count: float = 1) -> None:
        """So much more is done."""
        self._progress.advance(self._task, count)

    def show(self, **fields: Any) -> None:
        """Show other values in the columns, or another ``completed``."""
        self._progress.update(self._task, **fields)


@contextmanager
def progress_bar(total: float | None, *columns: "str | ProgressColumn", **fields: Any) -> Generator[Bar]:
    """Show a bar, or only that something goes on.

    Args:
        total: When the work is done; None: nobody knows.
        columns: What else to show: columns of rich, or texts that may have ``{task.fields[NAME]}``.
        fields: The first values of these fields.
    """
    from rich.progress import BarColumn, SpinnerColumn, TimeElapsedColumn, TimeRemainingColumn

    if total is None:
        around = _progress(SpinnerColumn(), *columns, TimeElapsedColumn())
    else:
        around = _progress("{task.percentage:>3.0f}%", BarColumn(), *columns, "remaining", TimeRemainingColumn())
    with around as progress:
        yield Bar(progress, progress.add_task("", total=None if total is None else max(1, total), **fields))


@contextmanager
def stage_bar() -> Generator[Callable[[str, int, int], None]]:
    """Show a bar for each stage, one after the other; gives what listens to stage, done, total."""
    from rich.progress import BarColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(), TimeElapsedColumn(), "remaining", TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with _progress("{task.description} {task.percentage:>3.0f}%", *columns) as progress:

        def listen(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                for task in tasks.values():
                    progress.update(task, visible=False)
                tasks[stage] = progress.add_task(stage, total=max(1, total))
            progress.update(tasks[stage], completed=done)

        yield listen


def _progress(*columns: "str | ProgressColumn") -> "Progress":
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True)
