"""What `fukayomi train` shows while it runs: a progress bar, and a line for each evaluation."""

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from fukayomi.learning.listener import RunStart, TrainingListener, TrainingStep

if TYPE_CHECKING:
    from fukayomi.learning.metrics import Metrics


class TrainingProgress(TrainingListener):
    """Shows a run on a console; the bar appears on terminals only."""

    def __init__(self, console: Console) -> None:
        self._console = console
        status = TextColumn("{task.fields[status]}")
        columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), status)
        self._bar = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task("training", total=None, status="")
        self._first, self._steps, self._batch = 0, 0, 0
        self._started = 0.0

    def note(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, highlight=False)

    def started(self, run: RunStart) -> None:
        """Show the bar."""
        self._first, self._steps, self._batch = run.step, run.steps, run.batch
        self._started = time.monotonic()
        self._bar.update(self._task, total=run.steps, completed=run.step)
        self._bar.start()

    def step(self, step: TrainingStep) -> None:
        """Move the bar every ten steps, as reading the loss waits for the device."""
        if step.step % 10 == 0 or step.step == self._steps:
            status = f"{self._rate(step.step):,.0f} positions/s  loss {step.losses.total.item():.3f}"
            self._bar.update(self._task, completed=step.step, status=status)

    def evaluated(self, step: int, metrics: "Metrics") -> None:
        """Print the metrics on one line."""
        self._console.print(
            f"step {step:,} of {self._steps:,}  {self._rate(step):,.0f} positions/s  test: "
            f"policy loss {metrics.policy_loss:.4f}  result loss {metrics.result_loss:.4f}  "
            f"search value loss {metrics.search_value_loss:.4f}  sum {metrics.total_loss:.4f}  "
            f"policy accuracy {metrics.policy_accuracy:.4f}  value accuracy {metrics.value_accuracy:.4f}  "
            f"policy entropy {metrics.policy_entropy:.3f}",
            highlight=False,
            soft_wrap=True,
        )

    def ended(self) -> None:
        """Leave the bar as it is."""
        self._bar.stop()

    def _rate(self, step: int) -> float:
        return (step - self._first) * self._batch / max(1e-9, time.monotonic() - self._started)
