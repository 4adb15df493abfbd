"""Display of `fukayomi train` while it runs: a progress bar or lines, and a line for each evaluation."""

import time
from math import isnan
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fukayomi.learning.listeners import RunStart, TrainingListener, TrainingStep

if TYPE_CHECKING:
    from fukayomi.learning.metrics import Metrics


LINE_SECONDS = 30.0
"""Seconds between two lines where there is no terminal."""


class TrainingProgress(TrainingListener):
    """Shows a run on a console: a bar on a terminal, elsewhere a line now and then.

    Args:
        console: Where to print.
        line_seconds: Least time between two lines without a terminal.
    """

    def __init__(self, console: Console, line_seconds: float = LINE_SECONDS) -> None:
        self._console = console
        self._line_seconds = line_seconds
        status = TextColumn("{task.fields[status]}")
        columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), status)
        self._bar = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task("training", total=None, status="")
        self._first, self._steps, self._batch = 0, 0, 0
        self._started = self._printed = 0.0

    def note(self, text: str) -> None:
        """Print a line."""
        self._print(text)

    def started(self, run: RunStart) -> None:
        """Show the bar."""
        self._first, self._steps, self._batch = run.step, run.steps, run.batch
        self._started = self._printed = time.monotonic()
        self._bar.update(self._task, total=run.steps, completed=run.step)
        self._bar.start()

    def step(self, step: TrainingStep) -> None:
        """Move the bar every ten steps, or print a line: reading the loss waits for the device."""
        if not self._console.is_terminal:
            if time.monotonic() - self._printed >= self._line_seconds:
                self._print(f"{self._head(step.step)}  loss {step.losses.total.item():.4f}")
        elif step.step % 10 == 0 or step.step == self._steps:
            status = f"{self._rate(step.step):,.0f} positions/s  loss {step.losses.total.item():.3f}"
            self._bar.update(self._task, completed=step.step, status=status)

    def evaluated(self, step: int, metrics: "Metrics") -> None:
        """Print the metrics on one line."""
        has_moves = not isnan(metrics.policy_loss)
        policy_loss = f"policy loss {metrics.policy_loss:.4f}  " if has_moves else ""
        policy_accuracy = f"policy accuracy {metrics.policy_accuracy:.4f}  " if has_moves else ""
        self._print(
            f"{self._head(step)}  test: {policy_loss}result loss {metrics.result_loss:.4f}  "
            f"search value loss {metrics.search_value_loss:.4f}  sum {metrics.total_loss:.4f}  "
            f"{policy_accuracy}value accuracy {metrics.value_accuracy:.4f}  "
            f"policy entropy {metrics.policy_entropy:.3f}"
        )

    def ended(self) -> None:
        """Leave the bar as it is."""
        self._bar.stop()

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, soft_wrap=True)
        self._printed = time.monotonic()

    def _head(self, step: int) -> str:
        return f"step {step:,} of {self._steps:,}  {self._rate(step):,.0f} positions/s"

    def _rate(self, step: int) -> float:
        return (step - self._first) * self._batch / max(1e-9, time.monotonic() - self._started)
