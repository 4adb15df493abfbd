"""Training runs with their curves: a table, a picture, a page."""

# pyright: reportUnknownMemberType=false

import base64
import logging
import warnings
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import zip_longest
from math import isnan
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.learning.curves.readers import HEAD_MEASURES, KINDS, MEASURES, SECONDS, Curve, CurveError, Key, read_run
from fukayomi.learning.listeners import TIMES_NAME
from fukayomi.pictures import Language, default_language, japanese_font, kind_of, new_figure, picture_bytes
from fukayomi.tabular import Tabular, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Theme = Literal["light", "dark"]
Axis = Literal["steps", "time"]
"""What the horizontal axis counts."""
TIME_UNITS: Final[dict[int, dict[Language, str]]] = {
    3600: {"ja": "時間", "en": "hours"},
    60: {"ja": "分", "en": "minutes"},
    1: {"ja": "秒", "en": "seconds"},
}
"""Units of a time axis by their seconds. It has the largest of which the longest run has at least two."""

PANELS: Final[dict[str, dict[Language, str]]] = {
    "policy_loss": {"ja": "方策の損失", "en": "policy loss"},
    "result_loss": {"ja": "価値の損失(勝敗)", "en": "value loss (result)"},
    "search_value_loss": {"ja": "価値の損失(評価値)", "en": "value loss (search value)"},
    "total_loss": {"ja": "損失の合計", "en": "sum of the losses"},
    "policy_accuracy": {"ja": "方策の正解率", "en": "policy accuracy"},
    "value_accuracy": {"ja": "価値の正解率", "en": "value accuracy"},
    "policy_entropy": {"ja": "方策のエントロピー", "en": "policy entropy"},
    "learning_rate": {"ja": "学習率", "en": "learning rate"},
    "soft_policy_loss": {"ja": "温度を上げた方策の損失", "en": "soft policy loss"},
    "short_term_value_loss": {"ja": "短期の価値の損失", "en": "short-term value loss"},
    "wdl_loss": {"ja": "勝ち・引き分け・負けの損失", "en": "win, draw, loss: loss"},
    "plies_left_loss": {"ja": "残り手数の損失", "en": "plies left loss"},
    "reply_loss": {"ja": "応手の損失", "en": "reply loss"},
}
"""Measures in the order of their panels, with their names."""
COLUMNS = 4
PANEL_SIZE = (3.6, 2.7)
"""Width and height in inches."""
SMOOTHED_SHARE = 1 / 50
"""Width of the running mean as a share of the longest run, unless it is given."""
BEGINNING = 0.05
"""Share of a run whose high losses do not stretch the axis."""
DRAWN_BINS = 400
"""A longer curve is drawn by the extremes of so many bins."""
MARKERS = "osD^vPX*"
FOLDER = Path(__file__).parent / "web"


@dataclass(frozen=True, slots=True)
class Colors:
    """The colours of a theme."""

    card: str
    ink: str
    muted: str
    line: str
    runs: tuple[str, ...]
    """One for each run, from the first on again after the last."""


THEMES: Final[dict[Theme, Colors]] = {
    "light": Colors(
        "#fffefb", "#22262d", "#666e7a", "#dfe1e0",
        ("#3d6fa8", "#c8650a", "#2f8658", "#b0377a", "#7b52b9", "#8a6a35", "#1c8b9c", "#d23c2e", "#6a7a17", "#5b6270"),
    ),
    "dark": Colors(
        "#1e2228", "#e6e8eb", "#a2abb6", "#333941",
        ("#8fb4e3", "#f2a04e", "#7fcf9f", "#ee8ac0", "#c3a4f2", "#d5b57c", "#6fd0de", "#ff7666", "#c3c55a", "#b4bac4"),
    ),
}  # fmt: skip


def draw(
    runs: "Runs", *, smooth: float | None, x: Axis, log_x: bool, theme: Theme, language: Language | None
) -> "Figure":
    """The picture; arguments as in `Runs.plot`."""
    if x == "time":
        for run in runs.runs:
            run.require_times()
    unit = _time_unit(runs) if x == "time" else None
    language = language or default_language()
    colors = THEMES[theme]
    if smooth is None:
        smooth = SMOOTHED_SHARE * max(run.last_step for run in runs.runs)
    shown = [name for name in PANELS if any(key[1] == name for run in runs.runs for key in run.curves)]
    columns = min(COLUMNS, len(shown))
    lines = -(-len(shown) // columns)
    with styled(theme, language):
        size = (PANEL_SIZE[0] * columns, PANEL_SIZE[1] * lines + 0.25 * (2 + len(runs.runs) // COLUMNS))
        figure = new_figure(figsize=size, facecolor=colors.card, layout="constrained")
        grid = figure.subplots(lines, columns, squeeze=False).flatten().tolist()
        for axes, measure in zip(grid, shown, strict=False):
            for number, run in enumerate(runs.runs):
                _draw_run(axes, run, number, measure, smooth, unit, colors)
            _finish_panel(axes, runs, measure, smooth, unit, log_x=log_x, colors=colors)
            axes.set_title(PANELS[measure][language], loc="left", fontsize=9.5)
        for axes in grid[len(shown) :]:
            axes.set_axis_off()
        _draw_legend(figure, runs, smooth, unit, colors, language)
    return figure


def write(
    runs: "Runs", figure: "Figure", path: Path, *, smooth: float | None, x: Axis, log_x: bool, theme: Theme,
    language: Language | None,
) -> None:  # fmt: skip
    """Write the picture, or a page with it in both themes; arguments as in `Runs.plot`."""
    kind = kind_of(path, "svg", "png", "html")
    language = language or default_language()
    if kind != "html":
        replace_file(path, picture(figure, kind, theme, language))
        return
    pictures: dict[Theme, bytes] = {
        each: picture(draw(runs, smooth=smooth, x=x, log_x=log_x, theme=each, language=language), "svg", each, language)
        for each in THEMES
    }
    replace_file(path, _page(runs, pictures).encode(errors="replace"))


def picture(figure: "Figure", kind: str, theme: Theme, language: Language) -> bytes:
    """The picture as "svg" or "png"; the same curves give the same bytes."""
    if kind == "png" and language == "ja" and japanese_font() is None:
        raise InvalidValueError(
            "Japanese labels in .png need a Japanese font; install one, for example Noto Sans CJK JP, write .svg or "
            ".html, or use English"
        )
    with styled(theme, language):
        return picture_bytes(figure, kind, 150)


@contextmanager
def styled(theme: Theme, language: Language) -> Generator[None]:
    """Matplotlib's settings. Text stays text in SVG, so that names in any script are readable without a font here."""
    import matplotlib as mpl

    colors = THEMES[theme]
    font = japanese_font()
    style: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "fukayomi",
        "font.family": [*([font] if font and language == "ja" else []), "sans-serif"],
        "font.size": 8.5,
        "axes.edgecolor": colors.line,
        "axes.labelcolor": colors.muted,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.color": colors.ink,
        "text.parse_math": False,
        "xtick.color": colors.muted,
        "ytick.color": colors.muted,
    }
    logger = logging.getLogger("matplotlib.font_manager")
    level = logger.level
    with mpl.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)


def _time_unit(runs: "Runs") -> int:
    """Seconds of the unit of a time axis."""
    longest = max(run.seconds or 0.0 for run in runs.runs)
    return next((unit for unit in TIME_UNITS if longest >= 2 * unit), 1)


def _places(run: "Run", curve: Curve, unit: int | None) -> NDArray[np.float64]:
    """Where the points of a curve are on the horizontal axis: [N]."""
    return curve.steps.astype(np.float64) if unit is None else run.seconds_at(curve.steps) / unit


def _draw_run(
    axes: "Axes", run: "Run", number: int, measure: str, smooth: float, unit: int | None, colors: Colors
) -> None:
    color = colors.runs[number % len(colors.runs)]
    train, test = run.curves.get(("train", measure)), run.curves.get(("test", measure))
    if train is not None:
        is_noisy = measure != "learning_rate" and smooth > 0
        if is_noisy:
            raw = train.thinned(DRAWN_BINS)
            axes.plot(_places(run, raw, unit), raw.values, color=color, linewidth=0.6, alpha=0.22)
        line = train.smoothed(smooth if is_noisy else 0).thinned(DRAWN_BINS)
        alone = "." if len(line) == 1 else None  # a line of one point would not be seen
        axes.plot(_places(run, line, unit), line.values, color=color, linewidth=1.3, alpha=0.95, marker=alone)
    if test is not None:
        marker = MARKERS[number % len(MARKERS)]
        shown = test.thinned(DRAWN_BINS)
        axes.plot(
            _places(run, shown, unit), shown.values, color=color, linewidth=0.7, linestyle=(0, (2, 2)), marker=marker,
            markersize=4.5 if len(shown) < 60 else 2.5, markeredgecolor=colors.card, markeredgewidth=0.5, zorder=3,
        )  # fmt: skip


def _finish_panel(
    axes: "Axes", runs: "Runs", measure: str, smooth: float, unit: int | None, *, log_x: bool, colors: Colors
) -> None:
    from matplotlib.ticker import EngFormatter

    axes.grid(color=colors.line, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    if log_x:
        axes.set_xscale("log")
    if unit is None:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    limits = _limits(runs, measure, smooth)
    if limits is not None:
        axes.set_ylim(*limits)


def _limits(runs: "Runs", measure: str, smooth: float) -> tuple[float, float] | None:
    """The range of an axis: everything but the beginning of the runs; None if matplotlib should choose."""
    if measure == "learning_rate":
        return None
    found: list[float] = []
    for run in runs.runs:
        start = BEGINNING * run.last_step
        for kind in ("train", "test"):
            curve = run.curves.get((kind, measure), Curve(()))
            curve = curve.smoothed(smooth) if kind == "train" else curve
            found += curve.values[(curve.steps >= start) & np.isfinite(curve.values)].tolist()
    if not found or min(found) == max(found):
        return None
    margin = 0.06 * (max(found) - min(found))
    return min(found) - margin, max(found) + margin


def _draw_legend(
    figure: "Figure", runs: "Runs", smooth: float, unit: int | None, colors: Colors, language: Language
) -> None:
    """A sample of each run above the panels, and what lines and points are below them."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colors.runs[n % len(colors.runs)], marker=MARKERS[n % len(MARKERS)], markersize=4.5)
        for n in range(len(runs.runs))
    ]
    names = [run.name if len(run.name) <= 60 else f"…{run.name[-59:]}" for run in runs.runs]
    figure.legend(handles, names, loc="outside upper left", ncols=min(COLUMNS, len(names)), frameon=False, borderpad=0)
    width = f"{smooth:,.0f}" if smooth >= 1 else f"{smooth:g}"
    mean = {"ja": f"({width} ステップで平滑化)", "en": f", running mean over {width} steps"}[language]
    axis = {"ja": "ステップ", "en": "steps"}
    if unit is not None:
        name = TIME_UNITS[unit]
        axis = {"ja": f"学習時間({name['ja']})", "en": f"{name['en']} of training"}
    texts = {
        "ja": f"横軸: {axis['ja']}。実線: 学習データ{mean if smooth else ''}。点: テストデータ。",
        "en": f"x: {axis['en']}; lines: training{mean if smooth else ''}; points: test set",
    }
    figure.supxlabel(texts[language], x=0.004, ha="left", color=colors.muted, fontsize=8.5)


def _page(runs: "Runs", pictures: dict[Theme, bytes]) -> str:
    """One HTML document without external files."""
    from fukayomi.engine.report.rendering import render

    measures = [name for name in PANELS if any(name in run.last_test() for run in runs.runs)]
    return render(
        "curves",
        folder=FOLDER,
        images="data:",
        runs=runs.runs,
        measures=measures,
        names=PANELS,
        has_times=any(run.seconds is not None for run in runs.runs),
        pictures={theme: base64.b64encode(data).decode() for theme, data in pictures.items()},
    )


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

    @cached_property
    def _times(self) -> Curve:
        """The time of training by step, ascending; none where the files do not say it."""
        curve = self.curves.get(SECONDS, Curve(()))
        finite = np.isfinite(curve.values)
        values = np.maximum.accumulate(curve.values[finite])
        return Curve(zip(curve.steps[finite].tolist(), values.tolist(), strict=True))

    def require_times(self) -> None:
        """Raise CurveError if it is not known how long the run trained up to its first points."""
        if not len(self._times):
            raise CurveError(
                f"{self.path}: there are no times of training, so there is no time axis (log.jsonl has them in "
                f"{TIMES_NAME} beside it, which a JsonLinesListener writes); draw by steps"
            )
        begin = min(int(curve.steps[0]) for key, curve in self.curves.items() if key != SECONDS)
        if begin < (first := int(self._times.steps[0])):
            raise CurveError(
                f"{self.path}: the times of training begin at step {first:,}, and the curves at step {begin:,}, so "
                "there is no time axis; draw by steps"
            )

    @property
    def seconds(self) -> float | None:
        """Time of training up to the last step, without pauses; None if it is not known."""
        try:
            self.require_times()
        except CurveError:
            return None
        return float(self._times.values[-1])

    @property
    def duration(self) -> str:
        """The same as text, such as ``2:18:05``; empty if it is not known."""
        return "" if self.seconds is None else str(timedelta(seconds=round(self.seconds)))

    def seconds_at(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Time of training up to steps, between known times in proportion: [N]; NaN outside of them."""
        times = self._times
        if not len(times):
            return np.full(len(steps), np.nan)
        return np.interp(steps, times.steps, times.values, left=np.nan, right=np.nan)

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

        "seconds" is the time of training up to the step, without pauses; None if it is not known. Losses of further
        heads are there if a run has them.
        """
        there = {key[1] for run in self.runs for key in run.curves}
        measures = [name for name in MEASURES if name not in HEAD_MEASURES or name in there]
        found: list[dict[str, Any]] = []
        for run in self.runs:
            for kind in KINDS:
                curves = {measure: run.curves.get((kind, measure), Curve(())) for measure in measures}
                points = {measure: curve.points() for measure, curve in curves.items()}
                steps = sorted({step for each in points.values() for step in each})
                seconds = run.seconds_at(np.array(steps, np.int64)).tolist() if run.seconds is not None else ()
                for step, time in zip_longest(steps, seconds):
                    values = {measure: each.get(step) for measure, each in points.items()}
                    known = None if time is None or isnan(time) else time
                    found.append({"run": run.name, "kind": kind, "step": step, "seconds": known, **values})
        return found

    def plot(
        self,
        path: Path | str | None = None,
        *,
        smooth: float | None = None,
        x: "Axis" = "steps",
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
            x: What the horizontal axis counts: "steps", or "time", the time of training without pauses.
            log_x: Make that axis logarithmic.
            theme: "light" or "dark".
            language: Of the labels, "ja" or "en". None: Japanese where the locale is Japanese and a Japanese font is
                installed, otherwise English.

        Raises:
            ValueError: The path has another suffix, or Japanese labels of a .png have no font.
            CurveError: There is to be a time axis, and a run has no times of training, or not from its first point on.
            OSError: The file cannot be written.
        """
        figure = draw(self, smooth=smooth, x=x, log_x=log_x, theme=theme, language=language)
        if path is not None:
            write(self, figure, Path(path), smooth=smooth, x=x, log_x=log_x, theme=theme, language=language)
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
