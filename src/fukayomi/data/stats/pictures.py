"""Statistics as pictures, one PNG file each."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fukayomi._native import EVAL_SCALE
from fukayomi.data.formats.evaluations import BIN_CP, Calibration, win_probabilities
from fukayomi.data.stats.statistics import PLY_BIN, RATING_BIN, Statistics
from fukayomi.files.atomic import replace_file
from fukayomi.pictures import picture_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR, _CURVE, _OTHER, _MUTED, _LINE = "#3d6fa8", "#e07b1a", "#727a86", "#727a86", "#dfe1e0"
_WIDEST_EVAL = 3000  # centipawns; evaluations beyond are only in the table
_DPI = 110


def write_pictures(statistics: Statistics, folder: Path | str) -> list[Path]:
    """Write a picture of each histogram and of the calibration; returns the files.

    Raises:
        OSError: The folder or a file cannot be written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Figure] = {}
    if statistics.results:
        figures["results"] = _results(statistics)
    for name, counts, width, labels in (
        ("lengths", statistics.lengths, PLY_BIN, ("Lengths of games", "moves", "games")),
        ("plies", statistics.plies, PLY_BIN, ("Positions by move number", "move", "positions")),
        ("ratings", statistics.ratings, RATING_BIN, ("Ratings of the players", "rating", "players")),
    ):
        if counts:
            figures[name] = _histogram(counts, width, labels)
    if statistics.calibration is not None:
        figures["evaluations"] = _evaluations(statistics.calibration)
        figures["calibration"] = _calibration(statistics.calibration, statistics.scale)
    return [_save(figure, folder / f"{name}.png") for name, figure in figures.items()]


def _save(figure: "Figure", path: Path) -> Path:
    replace_file(path, picture_bytes(figure, "png", _DPI))
    return path


def _axes(title: str, x: str, y: str) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure  # not pyplot, which keeps figures until they are closed

    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(axis="y", color=_LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    return figure, axes


def _histogram(counts: Counter[int], width: int, labels: tuple[str, str, str]) -> "Figure":
    figure, axes = _axes(*labels)
    lows = np.array(sorted(counts))
    axes.bar(lows + width / 2, [counts[low] for low in lows.tolist()], width=width * 0.9, color=_BAR)
    return figure


def _results(statistics: Statistics) -> "Figure":
    figure, axes = _axes("Results", "", "share")
    groups = [("positions", statistics.results)]
    groups += [("games", statistics.game_results)] if statistics.game_results else []
    names = [name for name in ("black", "draw", "white", "unknown") if any(counts[name] for _, counts in groups)]
    for number, (group, counts) in enumerate(groups):
        total = max(1, counts.total())
        shares = [counts[name] / total for name in names]
        at = np.arange(len(names)) + (number - (len(groups) - 1) / 2) * 0.4
        bars = axes.bar(at, shares, width=0.36, color=(_BAR, _CURVE)[number], label=f"{group}: {total:,}")
        axes.bar_label(bars, labels=[f"{share:.1%}" for share in shares], padding=2)
    labels = {"black": "Black won", "white": "White won", "draw": "drawn", "unknown": "unknown"}
    axes.set_xticks(range(len(names)), [labels[name] for name in names])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.margins(y=0.12)
    axes.legend(frameon=False)
    return figure


def _evaluations(table: Calibration) -> "Figure":
    figure, axes = _axes("Evaluations, without mates", "centipawns, side to move", "positions")
    inside = np.abs(table.centers) <= _WIDEST_EVAL
    axes.bar(table.centers[inside], table.counts[inside], width=BIN_CP * 0.9, color=_BAR)
    outside = int(table.counts[~inside].sum())
    if outside:
        axes.text(1, 0.97, f"{outside:,} beyond", transform=axes.transAxes, ha="right", va="top", color=_MUTED)
    return figure


def _calibration(table: Calibration, scale: float | None) -> "Figure":
    figure, axes = _axes("Win rate by evaluation", "centipawns, side to move", "win rate, a draw is half")
    inside = np.abs(table.centers) <= _WIDEST_EVAL
    counts, rates = table.counts[inside], table.win_rates[inside]
    evals = np.linspace(-_WIDEST_EVAL, _WIDEST_EVAL, 241)
    label = f"scale {EVAL_SCALE:.1f} (dlshogi), mean error {table.error(EVAL_SCALE):.2%}"
    axes.plot(evals, win_probabilities(evals, EVAL_SCALE), color=_OTHER, linestyle="--", label=label)
    if scale is not None:
        label = f"scale {scale:.1f} (fitted), mean error {table.error(scale):.2%}"
        axes.plot(evals, win_probabilities(evals, scale), color=_CURVE, label=label)
    # Too small, as the positions of a game are not independent.
    deviations = np.sqrt(np.clip(rates * (1 - rates), 0.0, None) / counts)
    axes.errorbar(
        table.mean_evals[inside], rates, yerr=2 * deviations, fmt="o", markersize=3, color=_BAR, elinewidth=0.8,
        label="counted",
    )  # fmt: skip
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.legend(frameon=False, loc="upper left")
    return figure
