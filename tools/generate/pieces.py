"""Makes the piece pictures of the package from their source.

The source is docs/hitomoji/piece.svg of https://github.com/sunfish-shogi/shogi-images (CC0 1.0), an Inkscape sheet
with the pieces of both sides. Black's faces are kept, each as one path around the centre of its cell, rounded to
hundredths, without filters. White's are the same, turned.

    python tools/generate/pieces.py piece.svg > src/fukayomi/shogi/pieces.svg
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import NamedTuple

CELL = (35.0, 37.0)  # size of a cell of the sheet
# face: ids of its outline and its ink in the sheet, column and row of the ink
FACES = {
    "pawn": ("path6263-9-9-5-8-3-6", "path4", (7, 0)),
    "lance": ("path6263-9-9-5-8", "path18", (6, 0)),
    "knight": ("path6263-9-9-5-8", "g3599", (5, 0)),
    "silver": ("path6263-9-9", "g3563", (4, 0)),
    "bishop": ("path7343-5", "path70", (2, 0)),
    "rook": ("path7343-5", "g3464", (1, 0)),
    "gold": ("path6263-9-9", "g3527", (3, 0)),
    "king": ("path7343", "path120", (0, 0)),
    "king-dotted": ("path7343", "g323", (0, 1)),
    "pro-pawn": ("path6263-9-9-5-8-3-6", "path10", (7, 1)),
    "pro-lance": ("path6263-9-9-5-8", "path16", (6, 1)),
    "pro-knight": ("path6263-9-9-5-8", "g3916", (5, 1)),
    "pro-silver": ("path6263-9-9", "g3720", (4, 1)),
    "horse": ("path7343-5", "g37465", (2, 1)),
    "dragon": ("path7343-5", "g23152", (1, 1)),
}
# column and row of each outline
OUTLINE_CELLS = {
    "path6263-9-9-5-8-3-6": (7, 0), "path6263-9-9-5-8": (5, 0), "path6263-9-9": (3, 0), "path7343-5": (1, 0),
    "path7343": (0, 0),
}  # fmt: skip
_TOKEN = re.compile(r"[a-zA-Z]|[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")


class Affine(NamedTuple):
    """x' = a x + c y + e, y' = b x + d y + f, as SVG's matrix(a, b, c, d, e, f)."""

    a: float = 1
    b: float = 0
    c: float = 0
    d: float = 1
    e: float = 0
    f: float = 0

    def apply(self, x: float, y: float) -> tuple[float, float]:
        return self.a * x + self.c * y + self.e, self.b * x + self.d * y + self.f

    def moved(self, dx: float, dy: float) -> "Affine":
        return self._replace(e=self.e + dx, f=self.f + dy)


def rounded_path(path: str, affine: Affine) -> str:
    """The path transformed and in hundredths; each point is rounded, so that errors do not add up."""
    tokens = _TOKEN.findall(path)
    out: list[str] = []
    at = start = (0.0, 0.0)  # the pen before rounding
    drawn = drawn_start = (0, 0)  # and after, in hundredths
    command, index = "", 0
    while index < len(tokens):
        if tokens[index].isalpha():
            command, index = tokens[index], index + 1
        if command in "zZ":
            out.append("z")
            at, drawn = start, drawn_start
            continue
        if command not in "mlc":
            raise ValueError(f"cannot read path command {command!r}")
        count = 3 if command == "c" else 1
        numbers = [float(token) for token in tokens[index : index + 2 * count]]
        index += 2 * count
        points = [(at[0] + x, at[1] + y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        hundredths = [tuple(round(100 * value) for value in affine.apply(*point)) for point in points]
        letter = command if out else "M"  # the first point of a path is absolute
        out.append(letter + " ".join(f"{number(x - drawn[0])},{number(y - drawn[1])}" for x, y in hundredths))
        at, drawn = points[-1], hundredths[-1]
        if command == "m":
            start, drawn_start, command = at, drawn, "l"
    return "".join(out)


def number(hundredths: int) -> str:
    text = f"{hundredths / 100:.2f}".rstrip("0").rstrip(".")
    return text.replace("0.", ".", 1) if abs(hundredths) < 100 else text


def transform_of(group: ElementTree.Element) -> Affine:
    text = group.get("transform", "")
    numbers = [float(part) for part in re.findall(r"[-+.\de]+", text.partition("(")[2])]
    if text.startswith("matrix"):
        return Affine(*numbers)
    return Affine(e=numbers[0], f=numbers[1]) if text.startswith("translate") else Affine()


def main() -> None:
    tree = ElementTree.parse(Path(sys.argv[1]))
    by_id = {element.get("id"): element for element in tree.iter()}
    layer = transform_of(by_id["layer1"])

    def path_of(name: str, cell: tuple[int, int]) -> str:
        element = by_id[name]
        paths = [element] if element.tag.endswith("path") else list(element)
        dx, dy = (layer[4 + axis] - (cell[axis] + 0.5) * CELL[axis] for axis in (0, 1))
        affine = transform_of(element).moved(dx, dy)
        return "".join(rounded_path(path.get("d", ""), affine) for path in paths)

    print('<svg xmlns="http://www.w3.org/2000/svg">')
    print("<!-- Pieces of https://github.com/sunfish-shogi/shogi-images (docs/hitomoji/piece.svg), public domain:")
    print("     CC0 1.0, https://creativecommons.org/publicdomain/zero/1.0/. Made by tools/generate/pieces.py. -->")
    for name, (outline, ink, cell) in FACES.items():
        css, color = ("koma-red", "#b3261e") if cell[1] == 1 and ink != "g323" else ("koma-ink", "#1f1a10")
        print(f'<symbol id="koma-{name}" viewBox="-17.5 -18.5 35 37">', end="")
        edge = 'fill="#f9e9bd" stroke="#b08d4f" stroke-width=".7"'
        print(f'<path class="koma" d="{path_of(outline, OUTLINE_CELLS[outline])}" {edge}/>', end="")
        print(f'<path class="{css}" d="{path_of(ink, cell)}" fill="{color}"/></symbol>')
    print("</svg>")


if __name__ == "__main__":
    main()
