"""Progress bars on stderr, with the remaining time, and tables of numbers.

Bars vanish when the work is done. No bar is shown if stderr is not a terminal.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from fukayomi.listener import Listener

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID
    from rich.table import Table


class Bar:
    """A visible progress bar."""

    def __init__(self, progress: "Progress", task: "TaskID") -> None:
        self._progress, self._task = progress, task
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the bar appeared; never 0."""
        return max(0.001, time.monotonic() - self._start)

    def advance(self, count: float = 1) -> None:
        """Move the bar by `count` units."""
        self._progress.advance(self._task, count)

    def show(self, **fields: Any) -> None:
        """Change what the columns show, or ``completed``."""
        self._progress.update(self._task, **fields)


@contextmanager
def progress_bar(total: float | None, *columns: "str | ProgressColumn", **fields: Any) -> Generator[Bar]:
    """Show one bar, or a spinner if the total is not known.

    Args:
        total: Units of the whole work; None if it is not known.
        columns: Further columns of rich, or texts that may contain ``{task.fields[NAME]}``.
        fields: Initial values of these fields.
    """
    from rich.progress import BarColumn, SpinnerColumn, TimeElapsedColumn, TimeRemainingColumn

    if total is None:
        progress = _progress(SpinnerColumn(), *columns, TimeElapsedColumn())
    else:
        progress = _progress("{task.percentage:>3.0f}%", BarColumn(), *columns, "remaining", TimeRemainingColumn())
    task = progress.add_task("", total=None if total is None else max(1, total), **fields)
    _start(progress)
    try:
        yield Bar(progress, task)
    finally:
        _stop(progress)


class StageBars(Listener):
    """Shows what a listener hears: a bar for the current stage, and notes above it. Use it as a context manager.

        with StageBars() as listener:
            shuffle(paths, out, listener=listener)

    Listeners of work with more to report inherit from this class too, and `show` their figures in further columns.
    """

    def __init__(self, *columns: "str | ProgressColumn", **fields: Any) -> None:
        """Prepare the bars.

        Args:
            columns: Further columns of rich, or texts that may contain ``{task.fields[NAME]}``.
            fields: Initial values of these fields.
        """
        from rich.progress import BarColumn, TaskProgressColumn, TimeElapsedColumn, TimeRemainingColumn

        self._progress = _progress(
            "{task.description}", TaskProgressColumn(), BarColumn(), *columns, TimeElapsedColumn(), "remaining",
            TimeRemainingColumn(),
        )  # fmt: skip
        self._fields = fields
        self._stage: str | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        _start(self._progress)
        return self

    def __exit__(self, *_: object) -> None:
        _stop(self._progress)

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Move the bar of a stage; a new stage replaces the bar of the last one."""
        total = None if total is None else max(1, total)
        if self._task is None or stage != self._stage:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._stage, self._task = stage, self._progress.add_task(stage, total=total, **self._fields)
        self._progress.update(self._task, completed=done, total=total)

    def note(self, text: str) -> None:
        """Print a line on stderr, above the bar."""
        from rich.text import Text

        from fukayomi.cli.common.text import printable

        self._progress.console.print(Text(printable(text)), soft_wrap=True)

    def show(self, **fields: Any) -> None:
        """Change what the further columns show."""
        self._fields |= fields
        if self._task is not None:
            self._progress.update(self._task, **fields)


def rate_column(unit: str) -> "ProgressColumn":
    """A column for `StageBars`: how many units a second the stage does now."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        """The speed of a task."""

        def render(self, task: Task) -> Text:
            """One decimal place below 100."""
            speed = task.speed or 0.0
            return Text("" if not speed else f"{speed:,.1f} {unit}/s" if speed < 100 else f"{speed:,.0f} {unit}/s")

    return Rate()


def _progress(*columns: "str | ProgressColumn") -> "Progress":
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True)


def _start(progress: "Progress") -> None:
    if progress.console.is_terminal:
        progress.start()


def _stop(progress: "Progress") -> None:
    if progress.console.is_terminal:  # elsewhere rich would print an empty line
        progress.stop()


def number_table(*titles: str, title: str | None = None) -> "Table":
    """An empty table: names in the first column, which are wrapped if they are long, and numbers in the others."""
    from rich.table import Table

    table = Table(*titles, title=title, title_justify="left")
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.justify = "right"
    return table
