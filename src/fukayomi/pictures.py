"""Files, fonts and languages of pictures that Matplotlib draws."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

import contextlib
import io
import locale
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from fukayomi.errors import InvalidValueError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Language = Literal["ja", "en"]
JAPANESE_FONTS: Final = (
    "Hiragino Sans", "Yu Gothic", "Meiryo", "Noto Sans CJK JP", "Noto Sans JP", "Source Han Sans JP",
    "Source Han Sans", "IPAexGothic", "IPAPGothic", "IPAGothic", "Hiragino Kaku Gothic ProN",
    "Hiragino Maru Gothic Pro", "BIZ UDPGothic", "BIZ UDGothic", "MS Gothic", "TakaoPGothic", "TakaoGothic",
    "VL Gothic", "M PLUS 1p", "WenQuanYi Zen Hei", "Droid Sans Fallback",
)  # fmt: skip
"""Fonts for Japanese labels, the preferred ones first."""


NOTEBOOK_DPI: Final = 80
"""Dots per inch of a picture in a notebook: its inches fill a page."""


def spoken_language() -> Language:
    """The language of the locale; English unless it is Japanese."""
    spoken = (locale.getlocale()[0] or "").lower()  # ja_JP, on Windows Japanese_Japan
    return "ja" if spoken.startswith(("ja_", "japanese")) else "en"


def default_language() -> Language:
    """Japanese where the locale is Japanese and a Japanese font is installed, otherwise English."""
    return "ja" if spoken_language() == "ja" and japanese_font() else "en"


def japanese_font(candidates: Sequence[str] = JAPANESE_FONTS) -> str | None:
    """The first installed font of the candidates, also one installed since Matplotlib last looked."""
    return _first_installed(candidates) or (_first_installed(candidates) if _add_new_fonts(candidates) else None)


def kind_of(path: Path, *kinds: str) -> str:
    """The suffix of a picture's file without the dot, one of `kinds`.

    Raises:
        ValueError: It is none of them.
    """
    kind = path.suffix.lower()[1:]
    if kind not in kinds:
        *others, last = (f".{each}" for each in kinds)
        raise InvalidValueError(f"{path}: expected a file name that ends in {', '.join(others)} or {last}")
    return kind


def new_figure(**options: Any) -> "Figure":
    """An empty picture, with the options of Matplotlib's `Figure`; a notebook shows it by itself, pyplot or not."""
    return _picture_class()(**options)


@cache
def _picture_class() -> "type[Figure]":
    from matplotlib.figure import Figure  # not pyplot, which keeps figures until they are closed

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            return picture_bytes(self, "png", NOTEBOOK_DPI)

    return Picture


def picture_bytes(figure: "Figure", kind: str, dpi: int) -> bytes:
    """A picture as a file; the same picture gives the same bytes if ``svg.hashsalt`` is set.

    Args:
        figure: The picture.
        kind: "svg" or "png".
        dpi: Dots per inch of a png.
    """
    buffer = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=dpi, metadata=metadata)
    return buffer.getvalue()


def _first_installed(candidates: Sequence[str]) -> str | None:
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return next((name for name in candidates if name in installed), None)


def _add_new_fonts(candidates: Sequence[str]) -> bool:
    """Add fonts installed since Matplotlib last looked; True if there are any."""
    from matplotlib import font_manager

    known = {font.fname for font in font_manager.fontManager.ttflist}
    new = [path for path in font_manager.findSystemFonts() if path not in known] if candidates else []
    for path in new:
        with contextlib.suppress(OSError, RuntimeError):  # not a font
            font_manager.fontManager.addfont(path)
    return bool(new)
