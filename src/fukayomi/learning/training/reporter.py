"""Reports of a run: curves, evaluations, and the result."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fukayomi.learning.data.batch import Batch
from fukayomi.learning.data.dataset import Dataset
from fukayomi.learning.evaluation import evaluate
from fukayomi.learning.listeners import RunStart, TrainingListener, TrainingStep
from fukayomi.learning.metrics import Metrics
from fukayomi.learning.settings import LOG_INTERVAL
from fukayomi.learning.training.trainer import Trainer
from fukayomi.tabular import Tabular


class Curve(Tabular):
    """Figures by step: one row for each step at which they were taken."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = tuple(rows)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One mapping for each step, with the key "step" first."""
        return self._rows


@dataclass(frozen=True)
class TrainingResult:
    """Result of a run."""

    step: int
    """Steps done."""
    steps: int
    """Steps of the whole run; fewer are done if the user stopped it."""
    checkpoint: Path
    """The last checkpoint."""
    metrics: Metrics | None
    """The last metrics on the test set, of the averaged weights if there are any; None if there was no evaluation."""
    history: Curve
    """Test metrics of each evaluation since this start or resumption."""
    losses: Curve
    """Training losses, learning rate and gradient norm every 50 steps since this start or resumption."""
    stopped_by: int | None = None
    """Number of the signal that stopped the run; None: none, or one to another process of the run."""

    @property
    def finished(self) -> bool:
        """True if all steps are done."""
        return self.step == self.steps


class Reporter:
    """Tells a listener what happens, and keeps it for the result.

    A listener that fails, such as one that writes to a full disk, and a damaged record do not end a run at once: the
    error is kept, so that the work can be saved before it is raised.

    Args:
        run: What the run does.
        listener: Who is told.
        test: Test positions; None: no evaluation.
        sample: Test positions of an evaluation before the last one, which has all.
        val_lambda: Share of the search value in the total loss of evaluations.
    """

    def __init__(
        self, run: RunStart, listener: TrainingListener, test: Dataset | None, sample: int, val_lambda: float
    ) -> None:
        self._run, self._listener = run, listener
        self._test, self._sample, self._val_lambda = test, sample, val_lambda
        self._metrics: Metrics | None = None
        self._history: list[dict[str, Any]] = []
        self._losses: list[dict[str, Any]] = []
        self._failure: BaseException | None = None

    @property
    def failed(self) -> bool:
        """True if there was an error, which `raise_failure` raises."""
        return self._failure is not None

    def raise_failure(self) -> None:
        """Raise the error that was kept, if there was one."""
        if self._failure is not None:
            raise self._failure

    def batches(self, batches: Iterable[Batch]) -> Generator[Batch]:
        """The batches up to a damaged record."""
        with self._keeping_errors():
            yield from batches

    @contextmanager
    def _keeping_errors(self) -> Generator[None]:
        try:
            yield
        except (Exception, SystemExit) as error:  # SystemExit: a closed standard output
            self._failure = self._failure or error

    def step(self, step: TrainingStep) -> None:
        """Take in a step."""
        if step.step % LOG_INTERVAL == 0 or step.step == self._run.steps:
            self._losses.append({"step": step.step, **step.as_dict()})
        with self._keeping_errors():
            self._listener.progress("training", step.step, self._run.steps)
            self._listener.step(step)

    def evaluate(self, trainer: Trainer, step: int) -> None:
        """Evaluate the network after a step, if there is a test set."""
        if self._test is None:
            return
        sample = None if step == self._run.steps else self._sample
        with self._keeping_errors():
            with trainer.autocast():
                self._metrics = evaluate(trainer.exported, self._test, val_lambda=self._val_lambda, sample=sample)
            self._history.append({"step": step, **self._metrics.as_dict()})
            self._listener.evaluated(step, self._metrics)

    def result(self, step: int, checkpoint: Path, stopped_by: int | None) -> TrainingResult:
        """Result of the run after a step."""
        history, losses = Curve(self._history), Curve(self._losses)
        return TrainingResult(step, self._run.steps, checkpoint, self._metrics, history, losses, stopped_by)
