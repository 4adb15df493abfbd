"""The picture of a tuning run, and its page: the course of each parameter with its interval."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fukayomi.engine.report.rendering import render
from fukayomi.files.atomic import replace_file
from fukayomi.learning.curves.pictures import COLUMNS, PANEL_SIZE, THEMES, Theme, picture, styled
from fukayomi.pictures import Language, default_language, kind_of, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fukayomi.tuning.tuning import Tuning

PAGE_NAME = "report.html"
FOLDER = Path(__file__).parent / "web"
DRAWN_ROUNDS = 400
"""Rounds that are drawn of a longer course."""
MARGIN = 0.08
"""Share of the drawn range that stays free above and below."""


def plot_tuning(
    tuning: "Tuning", path: Path | str | None = None, *, theme: Theme = "light", language: Language | None = None
) -> "Figure":
    """Draw the course of each parameter, with its interval and its start.

    Args:
        tuning: The run.
        path: A file to write, in .svg or .png; None: none.
        theme: Colours.
        language: Of the labels; None: that of the locale.

    Raises:
        ValueError: The name of the file ends in something else.
        OSError: The file cannot be written.
    """
    language = language or default_language()
    figure = _draw(tuning, theme, language)
    if path is not None:
        path = Path(path)
        replace_file(path, picture(figure, kind_of(path, "svg", "png"), theme, language))
    return figure


def write_page(tuning: "Tuning") -> Path:
    """Write the page into the folder of the run. It has no times: the same games give the same page.

    Raises:
        OSError: The file cannot be written.
    """
    from fukayomi.tuning.tuning import confirming_command

    pictures = {each: picture(_draw(tuning, each, "en"), "svg", each, "en") for each in THEMES}
    page = render(
        "tuning",
        folder=FOLDER,
        images="data:",
        tuning=tuning,
        rows=tuning.rows(),
        command=confirming_command(tuning),
        settings=tuning.settings.text(),
        pictures={theme: base64.b64encode(data).decode() for theme, data in pictures.items()},
    )
    target = tuning.folder / PAGE_NAME
    replace_file(target, page.encode(errors="replace"))
    return target


def _draw(tuning: "Tuning", theme: Theme, language: Language) -> "Figure":
    colors = THEMES[theme]
    count = len(tuning.settings.parameters)
    columns = min(COLUMNS, count)
    lines = -(-count // columns)
    with styled(theme, language):
        size = (PANEL_SIZE[0] * columns, PANEL_SIZE[1] * lines + 0.4)
        figure = new_figure(figsize=size, facecolor=colors.card, layout="constrained")
        grid = figure.subplots(lines, columns, squeeze=False).flatten().tolist()
        for place, axes in enumerate(grid):
            if place < count:
                _draw_parameter(axes, tuning, place, theme)
            else:
                axes.set_axis_off()
        texts = {
            "en": "x: games; line: value; band: interval; dashes: start",
            "ja": "横軸: 対局数。線: 値。帯: 区間。破線: 開始時の値。",
        }
        figure.supxlabel(texts[language], x=0.004, ha="left", color=colors.muted, fontsize=8.5)
    return figure


def _draw_parameter(axes: "Axes", tuning: "Tuning", place: int, theme: Theme) -> None:
    colors = THEMES[theme]
    settings = tuning.settings
    name, parameter = list(settings.parameters.items())[place]
    start = settings.dimensions()[place].start
    step = max(1, len(tuning.course) // DRAWN_ROUNDS)
    rounds = [*range(0, tuning.rounds, step), tuning.rounds]
    games = [2 * settings.pairs_each * min(settings.proposals, each * settings.batch) for each in rounds]
    course = [tuning.course[each][place] for each in rounds]
    color = colors.runs[0]
    axes.fill_between(games, [each.low for each in course], [each.high for each in course], color=color, alpha=0.18)
    axes.plot(games, [each.value for each in course], color=color, linewidth=1.3)
    axes.axhline(start, color=colors.muted, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.grid(color=colors.line, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.set_xlim(0, settings.games)
    low, high = min(start, *(each.low for each in course)), max(start, *(each.high for each in course))
    if low < high:
        axes.set_ylim(low - MARGIN * (high - low), high + MARGIN * (high - low))
    if parameter.choices:
        ticks: Any = range(len(parameter.choices))
        axes.set_yticks(ticks, labels=parameter.choices)
    axes.set_title(name, loc="left", fontsize=9.5)
