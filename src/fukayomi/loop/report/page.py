"""The page of a learning run: curves, generations, ratings and settings in one file."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

import base64
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from fukayomi.engine.report.rendering import render
from fukayomi.files.atomic import replace_file
from fukayomi.learning.curves.pictures import PANEL_SIZE, PANELS, THEMES, Colors, Theme, picture, styled
from fukayomi.learning.curves.readers import Curve, CurveError, Key, read_run
from fukayomi.loop.journal import Journal
from fukayomi.loop.report.status import RunStatus, read_series, read_status
from fukayomi.loop.run import RunFolder
from fukayomi.pictures import Language, default_language

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_NAME = "report.html"
FOLDER = Path(__file__).parent / "web"
COLUMNS = 3
MOST_OPPONENTS = 10
"""Opponents of the league in the picture."""
LOSSES = ("policy_loss", "result_loss", "search_value_loss")
ENDINGS: Final[dict[str, dict[Language, str]]] = {
    "mates": {"ja": "詰み", "en": "mate"},
    "resignations": {"ja": "投了", "en": "resignation"},
    "repetitions": {"ja": "千日手", "en": "repetition"},
    "declarations": {"ja": "入玉宣言", "en": "declaration"},
    "max_plies": {"ja": "手数制限", "en": "maximum plies"},
    "draws": {"ja": "引分", "en": "draw"},
}
_WORDS: Final[dict[str, dict[Language, str]]] = {
    "ratings": {"ja": "レーティング(Elo、95 %区間)", "en": "rating (Elo, 95 % interval)"},
    "losses": {"ja": "学習データの損失", "en": "training losses"},
    "fresh": {"ja": "正解率(新しい対局、学習前)", "en": "accuracy on new games, before training"},
    "test": {"ja": "正解率(テストデータ)", "en": "accuracy on the test files"},
    "plies": {"ja": "1局の手数", "en": "plies a game"},
    "endings": {"ja": "終局の理由と引分の割合", "en": "endings and draws, share of games"},
    "reanalysis": {"ja": "再探索で最善手が変わった割合", "en": "searched again: share with another best move"},
    "positions": {"ja": "局面数", "en": "positions"},
    "all": {"ja": "全体", "en": "all"},
    "window": {"ja": "窓", "en": "window"},
    "wrong": {"ja": "誤った投了の割合", "en": "wrong resignations, share of those checked"},
    "league": {"ja": "リーグの勝率(引分を除く、95 %区間)", "en": "win rate in the league (no draws, 95 % interval)"},
    "generation": {"ja": "世代", "en": "generation"},
    "step": {"ja": "ステップ", "en": "step"},
}

Panel = tuple[str, str, Callable[["Axes"], object]]
"""Title, label of the horizontal axis, and what draws it."""


def write_report(path: Path | str, out: Path | None = None) -> Path:
    """Write the page of a run, which may be under way.

    Args:
        path: Folder of the run.
        out: File to write; None: `report.html` in the folder.

    Returns:
        The file.

    Raises:
        LoopError: The folder is not of a learning run, or its journal is damaged.
        OSError: The file cannot be written.
    """
    folder = RunFolder(path)
    status = read_status(folder.path)
    language = default_language()
    pictures: dict[Theme, str] = {}
    for theme in THEMES if len(status.history) > 1 else ():
        figure = _draw(folder, status, theme, language)
        pictures[theme] = base64.b64encode(picture(figure, "svg", theme, language)).decode()
    page = render(
        "loop",
        folder=FOLDER,
        images="data:",
        status=status,
        reanalyzes=any(row.reanalyzed is not None for row in status.history),
        pictures=pictures,
        settings=folder.saved_settings().text(),
    )
    target = out or folder.path / PAGE_NAME
    replace_file(target, page.encode())
    return target


def _draw(folder: RunFolder, status: RunStatus, theme: Theme, language: Language) -> "Figure":
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, MaxNLocator

    colors = THEMES[theme]
    panels = _panels(folder, status, colors, language)
    lines = -(-len(panels) // COLUMNS)
    with styled(theme, language):
        size = (1.3 * PANEL_SIZE[0] * COLUMNS, 1.1 * PANEL_SIZE[1] * lines)
        figure = Figure(figsize=size, facecolor=colors.card, layout="constrained")
        grid = figure.subplots(lines, COLUMNS, squeeze=False).flatten().tolist()
        for axes, (title, label, draw) in zip(grid, panels, strict=False):
            draw(axes)
            axes.set_title(title, loc="left", fontsize=9.5)
            axes.set_xlabel(label)
            axes.grid(color=colors.line, linewidth=0.6)
            axes.set_axisbelow(True)
            axes.tick_params(length=0)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
            if axes.get_legend_handles_labels()[0]:
                axes.legend(frameon=False, fontsize=7.5)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
    return figure


def _panels(folder: RunFolder, status: RunStatus, colors: Colors, language: Language) -> list[Panel]:
    """The panels that there is something to draw in."""
    journal = Journal(folder.path)
    series = read_series(journal)
    try:
        curves = read_run(folder.learner).curves()
    except CurveError:
        curves = dict[Key, Curve]()

    def word(name: str) -> str:
        return _WORDS[name][language]

    def lines(named: Mapping[str, Sequence[tuple[float, float]]]) -> Callable[["Axes"], object]:
        def draw(axes: "Axes") -> None:
            for number, (name, points) in enumerate(named.items()):
                axes.plot(
                    *zip(*points, strict=True), color=colors.runs[number], marker="o", markersize=3, linewidth=1.2,
                    label=name if len(named) > 1 else "",
                )  # fmt: skip

        return draw

    generation = word("generation")
    panels: list[Panel] = []
    if status.ratings:
        panels.append((word("ratings"), generation, lambda axes: _draw_ratings(axes, status, journal, colors)))
    if losses := {name: curves["train", name] for name in LOSSES if ("train", name) in curves}:
        panels.append((word("losses"), word("step"), lambda axes: _draw_losses(axes, losses, colors, language)))
    for name, metrics in (("fresh", series.fresh), ("test", series.test)):
        if metrics:
            named = {PANELS[key][language]: line for key, line in metrics.items()}
            panels.append((word(name), generation, lines(named)))
    if series.plies:
        panels.append((word("plies"), generation, lines({"": series.plies})))
        named = {ENDINGS[key][language]: line for key, line in series.endings.items()}
        panels.append((word("endings"), generation, lines(named)))
    if status.league:
        panels.append((word("league"), generation, lambda axes: _draw_league(axes, status, colors)))
    if moved := [(row.generation, row.moved) for row in status.history if row.moved is not None]:
        panels.append((word("reanalysis"), generation, lines({"": moved})))
    if series.window:
        panels.append((word("positions"), generation, lines({word(key): line for key, line in series.window.items()})))
    if series.wrong:
        panels.append((word("wrong"), generation, lines({"": series.wrong})))
    return panels


def _draw_ratings(axes: "Axes", status: RunStatus, journal: Journal, colors: Colors) -> None:
    """The networks with their intervals; anchors as lines."""
    kept = {network.generation for network in journal.networks}
    rows = [row for row in status.history if row.rating is not None]
    for row in rows:
        color = colors.runs[0] if row.generation in kept else colors.muted
        axes.errorbar(
            row.generation, row.rating or 0.0, yerr=row.error or 0.0, color=color, marker="o" if row.error else "^",
            markersize=4, linewidth=1,
        )  # fmt: skip
    line = [(row.generation, row.rating or 0.0) for row in rows if row.generation in kept]
    if line:
        axes.plot(*zip(*line, strict=True), color=colors.runs[0], linewidth=1.2)
    for number, player in enumerate(status.anchors):
        axes.axhline(player.rating, color=colors.runs[1 + number % 9], linewidth=0.9, linestyle="--", label=player.name)


def _draw_league(axes: "Axes", status: RunStatus, colors: Colors) -> None:
    """A curve with intervals for each opponent; of many, those that played last."""
    newest = {row.opponent: row.generation for row in status.league}
    shown = sorted(newest, key=lambda name: newest[name], reverse=True)[:MOST_OPPONENTS]
    for number, name in enumerate(sorted(shown)):
        rows = [row for row in status.league if row.opponent == name]
        points = [(row.generation, row.win_rate, row.low, row.high) for row in rows if row.win_rate is not None]
        if points:
            generations, rates, lows, highs = (np.array(column, float) for column in zip(*points, strict=True))
            axes.errorbar(
                generations, rates, yerr=[rates - lows, highs - rates], color=colors.runs[number], marker="o",
                markersize=3, linewidth=1, elinewidth=0.7, label=name,
            )  # fmt: skip
    axes.set_ylim(-0.03, 1.03)


def _draw_losses(axes: "Axes", losses: Mapping[str, Curve], colors: Colors, language: Language) -> None:
    for number, (name, curve) in enumerate(losses.items()):
        smooth = curve.smoothed(max(curve.steps) / 50).thinned(400)
        axes.plot(smooth.steps, smooth.values, color=colors.runs[number], linewidth=1.2, label=PANELS[name][language])
