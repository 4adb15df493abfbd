"""Findings of a check of training data, and their places."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from fukayomi.tabular import Tabular, counted

MOST_FINDINGS = 10_000
"""Findings kept of each level; the others are only counted."""


class Level(StrEnum):
    """Severity of a finding."""

    ERROR = "error"
    """The data is wrong."""
    REMARK = "remark"
    """The data is possible but unusual."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a game or a row."""

    level: Level
    path: Path
    index: int
    """Number of the game, row or position in its file, from 0."""
    ply: int | None
    """Move of the game, from 0; None if it is not about a move."""
    offset: int | None
    """Start of the game, row or position in the file, in bytes; None for game records, which are text."""
    reason: str
    line: int | None = None
    """Line of a game record, from 1; None if it is not known."""

    def __str__(self) -> str:
        place = f"{self.path}, record {self.index}"
        place += "" if self.ply is None else f", move {self.ply}"
        place += "" if self.line is None else f", line {self.line}"
        place += "" if self.offset is None else f" (offset {self.offset})"
        return f"{place}: {self.reason}"

    def as_json(self) -> dict[str, Any]:
        """The finding as a dictionary for JSON."""
        return {
            "level": str(self.level), "file": str(self.path), "record": self.index, "ply": self.ply,
            "line": self.line, "offset": self.offset, "reason": self.reason,
        }  # fmt: skip


@dataclass(slots=True, repr=False)
class Report(Tabular):
    """Result of a check; as a table, its findings."""

    files: dict[str, str] = field(default_factory=dict[str, str])
    """Format of each file."""
    records: int = 0
    """Games of hcpe3 and records, rows and positions of other files; damaged ones included."""
    moves: int = 0
    """Moves of the games."""
    good: int = 0
    """Records without an error; of game records, only those that give training data."""
    duplicates: int = 0
    """Records equal to an earlier one."""
    not_compared: int = 0
    """Records that were not compared with others, because enough were remembered."""
    errors: int = 0
    remarks: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])
    """The first 10 000 findings of each level, in the order of the files."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per finding: level, file, record, ply, line, offset and reason."""
        return [finding.as_json() for finding in self.findings]

    def __repr__(self) -> str:
        return f"<Report: {self._counts()}>"

    def __str__(self) -> str:
        """The counts, and the findings if there are any."""
        return f"{self._counts()}\n\n{Tabular.__str__(self)}" if self.findings else self._counts()

    def _counts(self) -> str:
        numbers = (self.records, "record"), (self.errors, "error"), (self.remarks, "remark")
        return ", ".join(counted(number, noun) for number, noun in numbers)

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it unless there are too many."""
        if finding.level is Level.ERROR:
            self.errors += 1
            number = self.errors
        else:
            self.remarks += 1
            number = self.remarks
        if number <= MOST_FINDINGS:
            self.findings.append(finding)

    def as_json(self) -> dict[str, Any]:
        """The report as a dictionary for JSON."""
        return {
            "files": self.files, "records": self.records, "moves": self.moves, "good": self.good,
            "duplicates": self.duplicates, "not_compared": self.not_compared, "errors": self.errors,
            "remarks": self.remarks, "not_listed": self.errors + self.remarks - len(self.findings),
            "findings": [finding.as_json() for finding in self.findings],
        }  # fmt: skip
