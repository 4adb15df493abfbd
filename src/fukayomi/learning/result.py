"""What a training run returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fukayomi.tabular import Tabular

if TYPE_CHECKING:
    from fukayomi.learning.metrics import Metrics


class Curve(Tabular):
    """Figures by step: one row for each step at which they were taken."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = tuple(rows)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One mapping for each step, with the key "step" first."""
        return self._rows


@dataclass(frozen=True)
class TrainingResult:
    """How a run ended."""

    step: int
    """Steps done."""
    steps: int
    """Steps of the whole run; fewer are done if the user stopped it."""
    checkpoint: Path
    """The last checkpoint."""
    metrics: "Metrics | None"
    """The last metrics on the test set; None if there was no evaluation."""
    history: Curve
    """Test metrics of each evaluation since this start or resumption."""
    losses: Curve
    """Training losses, learning rate and gradient norm every 50 steps since this start or resumption."""

    @property
    def finished(self) -> bool:
        """Whether all steps are done."""
        return self.step == self.steps
