"""Pictures of shapes as PNG: matplotlib draws the SVG that `fukayomi.shogi.svg` makes, which needs neither fonts nor a
browser.

Only what these pictures have is understood: rectangles, circles and paths, `use` of symbols, `translate`, `rotate` and
`scale`, and an `<svg>` inside another.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from fukayomi.errors import InvalidValueError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Matrix = NDArray[np.float64]
_NAMESPACE = "{http://www.w3.org/2000/svg}"
_NUMBER = re.compile(r"[-+]?(?:\d*\.\d+|\d+\.?)(?:e[-+]?\d+)?")
_COMMANDS: Final = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Z": 0}
"""Numbers that each command takes."""


def svg_png(picture: str, pixels_per_unit: float = 2) -> bytes:
    """Draw a picture made by `board_svg` or `worth_svg` as PNG.

    Args:
        picture: The `<svg>` element.
        pixels_per_unit: Pixels per unit of its `viewBox`.

    Raises:
        ValueError: It has something else than the shapes of our own pictures.
    """
    from matplotlib.figure import Figure

    root = ET.fromstring(picture)
    left, top, width, height = _numbers(root.get("viewBox", ""))
    dpi = 100
    figure = Figure(figsize=(width * pixels_per_unit / dpi, height * pixels_per_unit / dpi), dpi=dpi, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(left, left + width)
    axes.set_ylim(top + height, top)
    symbols = {f"#{symbol.get('id')}": symbol for symbol in root.iter(f"{_NAMESPACE}symbol")}
    _Painter(axes, symbols, 72 * pixels_per_unit / dpi).children(root, np.eye(3))
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    return buffer.getvalue()


class _Painter:
    """Draws elements on axes whose units are those of the picture."""

    def __init__(self, axes: "Axes", symbols: dict[str, ET.Element], points: float) -> None:
        self._axes = axes
        self._symbols = symbols
        self._points = points  # of a unit, for the width of lines

    def children(self, element: ET.Element, matrix: Matrix) -> None:
        for child in element:
            self._element(child, matrix @ _transform(child.get("transform", "")))

    def _element(self, element: ET.Element, matrix: Matrix) -> None:
        tag = element.tag.removeprefix(_NAMESPACE)
        if tag == "symbol":
            return
        if tag in ("svg", "use"):
            shapes = element if tag == "svg" else self._symbols[element.get("href", "")]
            self.children(shapes, matrix @ _viewport(element, shapes))
        elif tag == "rect":
            x, y, width, height = (_number(element, name) for name in ("x", "y", "width", "height"))
            self._path(element, matrix, f"M{x},{y}h{width}v{height}h{-width}z")
        elif tag == "circle":
            x, y, r = (_number(element, name) for name in ("cx", "cy", "r"))
            self._path(element, matrix, _circle(x, y, r))
        elif tag == "path":
            self._path(element, matrix, element.get("d", ""))
        else:
            raise InvalidValueError(f"cannot draw <{tag}>")

    def _path(self, element: ET.Element, matrix: Matrix, data: str) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        points, codes = _parsed(data)
        placed = (matrix @ np.c_[points, np.ones(len(points))].T)[:2].T
        unit = float(abs(np.linalg.det(matrix[:2, :2])) ** 0.5)
        stroke = element.get("stroke", "none")
        is_round = element.get("stroke-linecap") == "round"
        self._axes.add_patch(
            PathPatch(
                Path(placed, codes),
                facecolor=element.get("fill", "black"),
                edgecolor=stroke,
                linewidth=0 if stroke == "none" else float(element.get("stroke-width", 1)) * unit * self._points,
                capstyle="round" if is_round else "butt",
                joinstyle="miter",
                alpha=float(element.get("opacity", 1)),
            )
        )


def _number(element: ET.Element, name: str) -> float:
    return float(element.get(name, 0))


def _numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


def _viewport(element: ET.Element, shapes: ET.Element) -> Matrix:
    """The matrix that puts the `viewBox` of shapes where an element wants it."""
    left, top, width, height = _numbers(shapes.get("viewBox", ""))
    across, down = _number(element, "width") / width, _number(element, "height") / height
    return np.array(
        [
            [across, 0, _number(element, "x") - left * across],
            [0, down, _number(element, "y") - top * down],
            [0, 0, 1],
        ]
    )


def _transform(text: str) -> Matrix:
    """The matrix of an attribute `transform`."""
    matrix = np.eye(3)
    for name, arguments in re.findall(r"([a-zA-Z]+)\(([^)]*)\)", text):
        values = _numbers(arguments)
        step = np.eye(3)
        if name == "translate":
            step[:2, 2] = values
        elif name == "scale":
            step[0, 0] = step[1, 1] = values[0]
        elif name == "rotate":
            angle = np.deg2rad(values[0])
            step[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        else:
            raise InvalidValueError(f"cannot draw a {name}")
        matrix = matrix @ step
    return matrix


def _circle(x: float, y: float, r: float) -> str:
    """A circle as four curves."""
    k = 0.5523 * r
    return (
        f"M{x + r},{y}C{x + r},{y + k} {x + k},{y + r} {x},{y + r}C{x - k},{y + r} {x - r},{y + k} {x - r},{y}"
        f"C{x - r},{y - k} {x - k},{y - r} {x},{y - r}C{x + k},{y - r} {x + r},{y - k} {x + r},{y}Z"
    )


@lru_cache(maxsize=256)
def _parsed(data: str) -> tuple[NDArray[np.float64], list[Any]]:
    """Points and matplotlib's codes of a path."""
    from matplotlib.path import Path

    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    x = y = first_x = first_y = 0.0
    control = (0.0, 0.0)  # the second control point of the last curve
    for letter, values in _commands(data):
        command, is_relative = letter.upper(), letter.islower()
        if command == "Z":
            points.append((first_x, first_y))
            codes.append(Path.CLOSEPOLY)
            x, y = first_x, first_y
            continue
        if command in "HV":
            old = x if command == "H" else y
            new = values[0] + (old if is_relative else 0)
            x, y = (new, y) if command == "H" else (x, new)
            points.append((x, y))
            codes.append(Path.LINETO)
            control = x, y
            continue
        base = (x, y) if is_relative else (0.0, 0.0)
        here = [(base[0] + values[i], base[1] + values[i + 1]) for i in range(0, len(values), 2)]
        if command == "S":
            here.insert(0, (2 * x - control[0], 2 * y - control[1]))
        points += here
        codes += [Path.MOVETO if command == "M" else Path.LINETO] if len(here) == 1 else [Path.CURVE4] * 3
        x, y = here[-1]
        control = here[-2] if len(here) == 3 else (x, y)
        if command == "M":
            first_x, first_y = x, y
    return np.array(points), codes


def _commands(data: str) -> Iterator[tuple[str, list[float]]]:
    """The commands of a path with their numbers; a command may stand for several."""
    for letter, arguments in re.findall(r"([a-df-zA-DF-Z])([^a-df-zA-DF-Z]*)", data):
        count = _COMMANDS.get(letter.upper())
        if count is None:
            raise InvalidValueError(f"cannot draw the command {letter} of a path")
        values = _numbers(arguments)
        if not count:
            yield letter, []
        for start in range(0, len(values), count or 1):
            follows = "l" if letter == "m" else "L" if letter == "M" else letter
            yield letter if start == 0 else follows, values[start : start + count]
