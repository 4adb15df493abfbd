"""The tables of ``fukayomi data stats``."""

from collections import Counter

import numpy as np
from rich.console import Console
from rich.table import Table

from fukayomi._native import EVAL_SCALE, MATE_CP
from fukayomi.cli.common.progress import number_table
from fukayomi.cli.common.text import print_copies, print_problems
from fukayomi.data.formats.evaluations import Calibration, win_probabilities
from fukayomi.data.stats import Statistics

_EDGES = (-3000, -1000, -300, -100, 100, 300, 1000, 3000)  # bins of the table; --json has bins of 100
_WIDE_BIN = 40  # moves per row of the table
_BAR_WIDTH = 24


def print_statistics(statistics: Statistics) -> None:
    """Print the tables, and the records that were skipped."""
    console = Console()
    console.print(_counts(statistics))
    results = {"positions": statistics.results, "games": statistics.game_results}
    if any(results.values()):
        console.print(_results({name: counts for name, counts in results.items() if counts}))
    if statistics.game_ends:
        console.print(_bars("games ended by", dict(statistics.game_ends.most_common())))
    for title, counts, width in (
        ("games of moves", statistics.lengths, _WIDE_BIN),
        ("positions at move", statistics.plies, _WIDE_BIN),
        ("players rated", statistics.ratings, 100),
    ):
        if counts:
            console.print(_bars(title, _wide(counts, width)))
    if statistics.calibration is not None:
        console.print(_evaluations(statistics, statistics.calibration))
    print_problems(statistics.skipped.messages, statistics.skipped.count)
    print_copies(statistics.skipped.copies)


def _counts(statistics: Statistics) -> Table:
    table = number_table(statistics.kind, "")
    table.add_row("files", f"{statistics.files:,}")
    if statistics.games is not None:
        table.add_row("games", f"{statistics.games:,}")
        table.add_row("  with nothing to learn", f"{statistics.games_without_positions:,}")
        table.add_row("moves", f"{statistics.moves or 0:,}")
    table.add_row("positions", f"{statistics.positions:,}")
    if statistics.unique is not None:
        share = f" ({statistics.unique_share:.2%})" if statistics.unique_share is not None else ""
        table.add_row("different positions", f"{statistics.unique:,}{share}")
    return table


def _results(groups: dict[str, Counter[str]]) -> Table:
    table = number_table("result", *groups, *(f"share of {name}" for name in groups))
    labels = {"black": "Black won", "white": "White won", "draw": "drawn", "unknown": "unknown"}
    for name, label in labels.items():
        counts = [group[name] for group in groups.values()]
        if any(counts):
            shares = [count / max(1, group.total()) for count, group in zip(counts, groups.values(), strict=True)]
            table.add_row(label, *(f"{count:,}" for count in counts), *(f"{share:.2%}" for share in shares))
    return table


def _wide(counts: Counter[int], width: int) -> dict[str, int]:
    wide: Counter[int] = Counter()
    for low, count in counts.items():
        wide[low // width * width] += count
    return {f"{low} to {low + width - 1}": wide[low] for low in sorted(wide)}


def _bars(title: str, counts: dict[str, int]) -> Table:
    table = number_table(title, "", "share", "")
    table.columns[3].justify = "left"
    total, most = max(1, sum(counts.values())), max(1, *counts.values())
    for name, count in counts.items():
        table.add_row(
            name.replace("_", " "), f"{count:,}", f"{count / total:.2%}", "█" * round(_BAR_WIDTH * count / most)
        )
    return table


def _evaluations(statistics: Statistics, calibration: Calibration) -> Table:
    scale = statistics.scale
    fitted = f"a = {scale:.1f}" if scale else "no fit"
    table = number_table("evaluation", "positions", "share", "win rate", f"a = {EVAL_SCALE:.1f}", fitted)
    total = max(1, statistics.positions)
    bins = np.searchsorted(_EDGES, calibration.centers, side="right")
    bounds = [-MATE_CP, *_EDGES, MATE_CP]
    table.add_row("mated", f"{statistics.mated:,}", f"{statistics.mated / total:.2%}", "", "", "")
    for number in np.unique(bins).tolist():
        chosen = bins == number
        count = int(calibration.counts[chosen].sum())
        cells = [
            float(np.average(rates[chosen], weights=calibration.counts[chosen]))
            for rates in (
                calibration.win_rates,
                win_probabilities(calibration.mean_evals, EVAL_SCALE),
                *([win_probabilities(calibration.mean_evals, scale)] if scale else []),
            )
        ]
        # The centers of the small bins decide, so an edge is half a small bin further out.
        name = f"{bounds[number]} to {bounds[number + 1]}"
        table.add_row(name, f"{count:,}", f"{count / total:.2%}", *(f"{cell:.1%}" for cell in cells))
    table.add_row("mates", f"{statistics.mates:,}", f"{statistics.mates / total:.2%}", "", "", "")
    table.add_section()
    errors = [f"{calibration.error(a):.2%}" for a in (EVAL_SCALE, scale) if a]
    table.add_row("mean error", "", "", "", *errors)
    return table
