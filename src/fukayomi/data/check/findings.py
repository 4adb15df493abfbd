"""What a check of training data finds, and where."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

MOST_FINDINGS = 10_000  # kept of each level; the rest is counted


class Level(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """It cannot be."""
    REMARK = "remark"
    """It can be, but deserves a look."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a game or a row."""

    level: Level
    path: Path
    index: int
    """Of the game, row or position in its file, from 0."""
    ply: int | None
    """The move of the game, from 0; None where it is not about one."""
    offset: int | None
    """Where the game, row or position begins in the file; None in game records, which are text."""
    reason: str
    line: int | None = None
    """Of a game record, from 1; None where it is not known."""

    def __str__(self) -> str:
        place = f"{self.path}, record {self.index}"
        place += "" if self.ply is None else f", move {self.ply}"
        place += "" if self.line is None else f", line {self.line}"
        place += "" if self.offset is None else f" (offset {self.offset})"
        return f"{place}: {self.reason}"

    def as_json(self) -> dict[str, Any]:
        """The same as a plain dictionary."""
        return {
            "level": str(self.level), "file": str(self.path), "record": self.index, "ply": self.ply,
            "line": self.line, "offset": self.offset, "reason": self.reason,
        }  # fmt: skip


@dataclass(slots=True)
class Report:
    """What a check found."""

    files: dict[str, str] = field(default_factory=dict[str, str])
    """The format of each file."""
    records: int = 0
    """Games of hcpe3 and of records, rows and positions of other files; damaged ones included."""
    moves: int = 0
    """Moves of the games."""
    good: int = 0
    """Records without an error; of game records, only those from which training data can be made."""
    duplicates: int = 0
    """Records that are equal to an earlier one."""
    not_compared: int = 0
    """Records that came when no more could be remembered, so that duplicates among them are not counted."""
    errors: int = 0
    remarks: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])
    """The first ones, in the order of the files."""

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it if there are not too many."""
        if finding.level is Level.ERROR:
            self.errors += 1
            number = self.errors
        else:
            self.remarks += 1
            number = self.remarks
        if number <= MOST_FINDINGS:
            self.findings.append(finding)

    def as_json(self) -> dict[str, Any]:
        """The same as plain dictionaries."""
        return {
            "files": self.files, "records": self.records, "moves": self.moves, "good": self.good,
            "duplicates": self.duplicates, "not_compared": self.not_compared, "errors": self.errors,
            "remarks": self.remarks, "findings": [finding.as_json() for finding in self.findings],
        }  # fmt: skip
