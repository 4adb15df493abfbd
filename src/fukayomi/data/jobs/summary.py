"""Summary of a job."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fukayomi.data.records.skipped import Skipped
from fukayomi.tabular import Tabular


@dataclass(frozen=True, slots=True, repr=False)
class Summary(Tabular):
    """Summary of a job. As a table it has a row for each output."""

    job: str
    """Name of the job, such as "split"."""
    read: int
    """Items read: rows, positions, games or records."""
    written: dict[str, int]
    """Items of each output, by path."""
    skipped: Skipped
    """Records that cannot be read and were skipped."""
    found: dict[str, Any]
    """Further results of the job, by name."""
    resumed: bool
    """True if an earlier run had begun the job."""
    seconds: float
    """Duration of this run."""

    @property
    def kept(self) -> int:
        """Items of all outputs."""
        return sum(self.written.values())

    def rows(self) -> Sequence[dict[str, Any]]:
        """The outputs, with their items and their share of what was read."""
        return [
            {"output": path, "written": count, "read": self.read, "share": count / self.read if self.read else None}
            for path, count in self.written.items()
        ]
