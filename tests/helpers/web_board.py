"""The board of the web page: where its squares are, and what a browser remembers of it."""

import json
from typing import Any

from playwright.sync_api import FloatRect, Locator, Page, expect

PHONE = {"viewport": {"width": 390, "height": 664}, "has_touch": True, "is_mobile": True}
WIDTH, CELL_W, CELL_H, LEFT, TOP = 335, 35, 37, 2, 18
"""Sizes of the drawing, see board/drawing.js."""


def remembering(origin: str, **settings: Any) -> dict[str, Any]:
    """A `storage_state` of a browser in which the reader chose something: ``limit=200`` nodes."""
    stored = [{"name": f"fukayomi.{name}", "value": json.dumps(value)} for name, value in settings.items()]
    return {"cookies": [], "origins": [{"origin": origin, "localStorage": stored}]}


def board(page: Page) -> Locator:
    """The main board."""
    return page.locator(".main-board svg.board")


def place(page: Page, square: str, *, flip: bool = False) -> dict[str, float]:
    """The middle of a square, from the corner of the board."""
    box = board(page).bounding_box()
    assert box is not None
    column, row = 9 - int(square[0]), "abcdefghi".index(square[1])
    if flip:
        column, row = 8 - column, 8 - row
    scale = box["width"] / WIDTH
    return {"x": (LEFT + (column + 0.5) * CELL_W) * scale, "y": (TOP + (row + 0.5) * CELL_H) * scale}


def click(page: Page, *squares: str, flip: bool = False) -> None:
    """Click squares, one after the other."""
    for square in squares:
        board(page).click(position=place(page, square, flip=flip))  # type: ignore[arg-type]


def tap(page: Page, *squares: str) -> None:
    """Tap squares with a finger."""
    for square in squares:
        board(page).tap(position=place(page, square))  # type: ignore[arg-type]


def drag(page: Page, begin: str, end: str) -> None:
    """Drag a piece with the mouse."""
    board(page).scroll_into_view_if_needed()
    box: FloatRect | None = board(page).bounding_box()
    assert box is not None
    start, goal = place(page, begin), place(page, end)
    page.mouse.move(box["x"] + start["x"], box["y"] + start["y"])
    page.mouse.down()
    page.mouse.move(box["x"] + goal["x"], box["y"] + goal["y"], steps=3)
    page.mouse.up()


def move(page: Page, begin: str, end: str, *, flip: bool = False) -> None:
    """Move a piece by clicks, when the page knows the legal moves."""
    click(page, begin, flip=flip)
    page.locator(".board .target").first.wait_for()
    click(page, end, flip=flip)


def choose_language(page: Page, language: str) -> None:
    """Choose "ja" or "en" in the settings."""
    page.locator(".settings > summary").click()
    page.locator("#language").select_option(language)
    page.locator(".settings > summary").click()
    expect(page.locator("html")).to_have_attribute("lang", language)
