"""Training runs with their curves: a table, a picture, a page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fukayomi.learning.curves.readers import CurveError, read_run
from fukayomi.learning.curves.series import HEAD_MEASURES, KINDS, MEASURES, Curve, Key
from fukayomi.tabular import Tabular, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fukayomi.learning.curves.pictures import Theme
    from fukayomi.pictures import Language


@dataclass(frozen=True, eq=False)
class Run:
    """A training run as far as it has come."""

    name: str
    """Name in tables and pictures."""
    path: Path
    """Its folder or file."""
    curves: Mapping[Key, Curve]
    """The curves by kind, "train" or "test", and measure."""

    @property
    def last_step(self) -> int:
        """The last step that has a point."""
        return max(int(curve.steps[-1]) for curve in self.curves.values())

    def last_test(self) -> dict[str, float]:
        """The last metrics on the test set; empty without any."""
        return {
            measure: float(self.curves["test", measure].values[-1])
            for measure in MEASURES
            if ("test", measure) in self.curves
        }


class Runs(Tabular):
    """Several runs, whose curves are drawn in one picture."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = tuple(runs)
        """The runs, in the order given."""

    def rows(self) -> list[dict[str, Any]]:
        """One row for each step of a run's training and test curves; None where a curve has no point.

        Losses of further heads are there if a run has them.
        """
        there = {key[1] for run in self.runs for key in run.curves}
        measures = [name for name in MEASURES if name not in HEAD_MEASURES or name in there]
        found: list[dict[str, Any]] = []
        for run in self.runs:
            for kind in KINDS:
                curves = {measure: run.curves.get((kind, measure), Curve(())) for measure in measures}
                points = {measure: curve.points() for measure, curve in curves.items()}
                for step in sorted({step for each in points.values() for step in each}):
                    values = {measure: each.get(step) for measure, each in points.items()}
                    found.append({"run": run.name, "kind": kind, "step": step, **values})
        return found

    def plot(
        self,
        path: Path | str | None = None,
        *,
        smooth: float | None = None,
        log_x: bool = False,
        theme: "Theme" = "light",
        language: "Language | None" = None,
    ) -> "Figure":
        """Draw a panel for each measure: training smoothed, as lines, and the test set as points.

            runs = fukayomi.learning.runs(["runs/a", "runs/b"])
            runs.plot("curves.svg", smooth=500)

        Args:
            path: Also write it to this file: .svg, .png, or .html for a page in light and dark with
                the last metrics as a table.
            smooth: Width of the running mean in steps, over which a point's weight falls to 1/e; 0: no smoothing. None:
                one in fifty of the longest run's steps.
            log_x: Draw steps on a logarithmic axis.
            theme: "light" or "dark".
            language: Of the labels, "ja" or "en". None: Japanese where the locale is Japanese and a Japanese font is
                installed, otherwise English.

        Raises:
            ValueError: The path has another suffix, or Japanese labels of a .png have no font.
            OSError: The file cannot be written.
        """
        from fukayomi.learning.curves.pictures import draw, write

        figure = draw(self, smooth=smooth, log_x=log_x, theme=theme, language=language)
        if path is not None:
            write(self, figure, Path(path), smooth=smooth, log_x=log_x, theme=theme, language=language)
        return figure


def runs(paths: Mapping[str, str | PathLike[str]] | Sequence[str | PathLike[str]] | str | PathLike[str]) -> Runs:
    """Read the curves of training runs, finished or not.

        runs(["runs/a", "runs/b"]).plot("curves.html")
        runs({"with averages": "runs/a", "without": "runs/b"}).to_pandas()

    Where a run was stopped and resumed, the later start counts from the step on from which it went on.

    Args:
        paths: Folders of runs with `log.jsonl` or files of TensorBoard, which may be another program's, or such files;
            by name, or named by their folders.

    Raises:
        CurveError: A path has no curves, a file is damaged, or no path is given.
    """
    if isinstance(paths, str | PathLike):
        paths = [paths]
    named = {name: Path(path) for name, path in paths.items()} if isinstance(paths, Mapping) else _named(paths)
    if not named:
        raise CurveError("there are no runs to read")
    return Runs([Run(printable(name), path, read_run(path).curves()) for name, path in named.items()])


def _named(paths: Sequence[str | PathLike[str]]) -> dict[str, Path]:
    """Paths by the name of their folder, or by the whole path where several have the same name."""
    given = list(dict.fromkeys(map(Path, paths)))
    names = [(path.absolute().parent if path.is_file() else path.absolute()).name for path in given]
    counts = Counter(names)
    return {name if counts[name] == 1 else str(path): path for name, path in zip(names, given, strict=True)}
