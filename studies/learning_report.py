"""The figures of studies/learning_tables.py: means over seeds with intervals, curves, tables in Markdown and JSON."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MEASURES = ("policy_loss", "result_loss", "search_value_loss", "policy_accuracy", "value_accuracy")


@dataclass(frozen=True)
class Figure:
    """A mean over seeds with half its 95 % interval."""

    value: float
    margin: float | None
    """None with one seed."""

    @property
    def in_noise(self) -> bool:
        """Whether the interval contains 0, or is unknown."""
        return self.margin is None or abs(self.value) <= self.margin


def mean_of(values: Sequence[float], margins: Sequence[float] = ()) -> Figure:
    """The mean over seeds, with Student's t interval of them and the error that they share.

    Args:
        values: A value for each seed.
        margins: Half the interval of each that the test positions cause. All seeds have the same test positions, so
            their mean does not get better with more seeds. It is added in quadrature.
    """
    from scipy.special import stdtrit  # pyright: ignore[reportMissingTypeStubs]

    count, shared = len(values), statistics.mean(margins) if margins else 0.0
    if count < 2:
        return Figure(values[0], None)
    spread = float(stdtrit(count - 1, 0.975)) * statistics.stdev(values) / count**0.5
    return Figure(statistics.mean(values), math.hypot(spread, shared))


def fit_curve(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float, float]:
    """The a, b, c of a - b (size / largest)^-c with the least squares; c from a grid, a and b exactly."""
    scaled, found = np.asarray(sizes, float) / max(sizes), np.asarray(values, float)
    best: tuple[float, float, float, float] | None = None
    for c in np.geomspace(0.02, 3, 300).tolist():
        columns = np.stack([np.ones_like(scaled), -(scaled**-c)], axis=1)
        solution = np.linalg.lstsq(columns, found, rcond=None)[0]
        error = float(((columns @ solution - found) ** 2).sum())
        if best is None or error < best[0]:
            best = error, float(solution[0]), float(solution[1]), c
    assert best is not None
    return best[1:]


def shares(found: Mapping[str, float], top: int) -> float:
    """The share of the commonest ones together."""
    return sum(sorted(found.values(), reverse=True)[:top])


def row(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


Cell = Figure | str | int


@dataclass(frozen=True)
class Table:
    """A table for the page."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, dict[str, Cell], bool]] = field(default_factory=list[tuple[str, dict[str, Cell], bool]])
    """Name, figures by column, and whether they are differences."""
    notes: list[str] = field(default_factory=list[str])

    def markdown(self) -> str:
        """The table as docs/measurements has it."""
        lines = [f"**{self.title}**", "", row(["", *(name.replace("_", " ") for name in self.columns)])]
        lines.append(f"|{'---|' * (1 + len(self.columns))}")
        for name, cells, is_difference in self.rows:
            lines.append(row([name, *(text_of(cells.get(column, ""), is_difference) for column in self.columns)]))
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)])

    def as_dict(self) -> dict[str, Any]:
        """The table for JSON."""
        rows = [
            {"name": name, "difference": is_difference}
            | {
                column: {"value": cell.value, "margin": cell.margin} if isinstance(cell, Figure) else cell
                for column, cell in cells.items()
            }
            for name, cells, is_difference in self.rows
        ]
        return {"title": self.title, "rows": rows, "notes": self.notes}


def text_of(cell: Cell, is_difference: bool) -> str:
    """A cell as Markdown; differences have a sign, and "(noise)" if their interval contains 0."""
    if not isinstance(cell, Figure):
        return f"{cell:,}" if isinstance(cell, int) else cell
    digits = 4 if abs(cell.value) < 10 else 1 if abs(cell.value) < 1000 else 0
    sign, margin = "+" if is_difference else "", "?" if cell.margin is None else f"{cell.margin:.{digits}f}"
    return f"{cell.value:{sign}.{digits}f} ± {margin}{' (noise)' if is_difference and cell.in_noise else ''}"


def metrics_of(rows: Sequence[Sequence[dict[str, Any]]], network: str, minus: str | None, test: str) -> dict[str, Cell]:
    """The metrics of a network, or their differences, over the seeds."""
    found = [
        next(row for row in seed if (row["network"], row["minus"], row["test"]) == (network, minus, test))
        for seed in rows
    ]
    cells: dict[str, Cell] = {}
    for measure in MEASURES:
        margins = [
            (each[f"{measure}_high"] - each[f"{measure}_low"]) / 2
            for each in found
            if each[f"{measure}_low"] is not None
        ]
        cells[measure] = mean_of([each[measure] for each in found], margins)
    return cells
