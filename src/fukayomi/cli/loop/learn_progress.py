"""Display of `fukayomi learn`: a bar for what is under way, and a line for each step."""

from typing import Any

import typer
from pydantic import BaseModel

from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import printable
from fukayomi.loop.journal import Gated, Ingested, Measured, Played, Reanalyzed, Started, Trained
from fukayomi.loop.listener import LoopListener
from fukayomi.tabular import counted


class LearnProgress(StageBars, LoopListener):
    """Shows a run: a bar on a terminal, and a line for each step that is done. Use it as a context manager.

    Args:
        to_stderr: Print the lines on stderr.
    """

    def __init__(self, *, to_stderr: bool) -> None:
        super().__init__()
        self._to_stderr = to_stderr

    def step_ended(self, entry: BaseModel, seconds: float) -> None:
        """Print a line."""
        values: Any = entry
        line = f"generation {values.generation}  {values.step:<10}  {describe(entry)}  ({seconds:,.1f} s)"
        typer.echo(printable(line), err=self._to_stderr)


def describe(entry: BaseModel) -> str:
    """Result of a step in a few words."""
    match entry:
        case Started():
            return f"first network {entry.network.sha256[:12]}{', with its int8 file' if entry.network.int8 else ''}"
        case Played():
            draws = entry.results.get("draws", 0) / max(1, entry.games)
            return (
                f"{counted(entry.games, 'game')}, {counted(entry.positions, 'position')}, "
                f"{entry.plies / max(1, entry.games):.1f} plies a game, {draws:.1%} draws"
            )
        case Ingested():
            quarantined = f", {counted(entry.quarantined, 'chunk')} in quarantine" if entry.quarantined else ""
            flags = "".join(f"; {flag}" for flag in entry.flags)
            return f"{counted(entry.positions, 'position')} in {counted(entry.chunks, 'chunk')}{quarantined}{flags}"
        case Reanalyzed():
            if not entry.chunks:
                return "no targets of an earlier network"
            return (
                f"{entry.changed:,} of {counted(entry.positions, 'position')} searched again, "
                f"{entry.moved / max(1, entry.changed):.1%} with another best move"
            )
        case Trained():
            return _trained(entry)
        case Gated():
            if entry.passed is None:
                return "no match"
            verdict = "passed" if entry.passed else "failed"
            return (
                f"{verdict}: {entry.score or 0:.1%} in {counted(entry.games, 'game')}, LLR {entry.llr or 0:.2f} "
                f"({entry.decision}){'; the learner goes back' if entry.rolled_back else ''}"
            )
        case Measured():
            return f"{counted(entry.games, 'game')} against {', '.join(entry.opponents)}" if entry.games else "no match"
        case _:
            return ""


def _trained(entry: Trained) -> str:
    if entry.network is None:
        return "too few positions for a step"
    figures = [f"step {entry.steps:,}, {counted(entry.window, 'position')} in the window"]
    if entry.losses:
        figures.append(f"loss {entry.losses.get('total_loss', float('nan')):.3f}")
    if entry.fresh:
        accuracies = f"policy {entry.fresh['policy_accuracy']:.3f}, value {entry.fresh['value_accuracy']:.3f}"
        figures.append(f"accuracy on new games before it: {accuracies}")
    if entry.test and "policy_accuracy" in entry.test:
        figures.append(f"on the test files: policy {entry.test['policy_accuracy']:.3f}")
    return ", ".join(figures)
