"""The book on the page: its moves beside the engine's lines, a move of the record added and taken back; languages."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from test_page_worth import OpenPage, paste
from web_board import PHONE, move, remembering

from fukayomi.book import read_book
from fukayomi.shogi import START_SFEN
from fukayomi.web import WebServer

Serve = Callable[..., WebServer]
KEY = START_SFEN.rsplit(" ", 1)[0]
TEXT = f"""#YANEURAOU-DB2016 1.00
sfen {KEY} 1
7g7f 3c3d 50 30 12
2g2f none 60 20 8
"""


def moves_of(page: Page) -> list[str]:
    return page.locator("[data-book-move]").evaluate_all("rows => rows.map(row => row.dataset.bookMove)")


def test_moves_of_the_book_stand_beside_the_lines(open_page: OpenPage, serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text(TEXT)
    server = serve(book=path)
    page = open_page(server, storage_state=remembering(server.origin, limit=100))
    first = page.locator('[data-book-move="7g7f"]')
    expect(first.locator("td")).to_have_text(["+50", "30", "12", "P-3d"])
    assert moves_of(page) == ["7g7f", "2g2f"]
    expect(page.locator(".candidates[class~='candidates']").first).to_be_visible()
    first.get_by_role("button").click()
    expect(page.locator("[data-book-empty]")).to_have_text("The book does not have this position")
    expect(page.locator(".record [data-node]")).to_have_count(2)
    page.keyboard.press("Home")
    expect(page.locator("[data-book-move]")).to_have_count(2)
    page.keyboard.press("z")  # think for oneself
    expect(page.locator("[data-book-move]")).to_have_count(0)


def test_a_move_of_the_record_is_added_and_taken_back(open_page: OpenPage, serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text(TEXT)
    server = serve(book=path)
    page = open_page(server, storage_state=remembering(server.origin, engine=False))
    expect(page.locator("[data-book-move]")).to_have_count(2)
    expect(page.locator('[data-action="add-to-book"]')).to_have_count(0)  # no move led to the start
    paste(page, "startpos moves 7g7f 8c8d 2g2f")
    expect(page.locator(".record [data-node]")).to_have_count(4)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.locator('[data-action="add-to-book"]', has_text="Add P-7f to the book").click()
    banner = page.locator('[data-banner="undo"]')
    expect(banner).to_contain_text("P-7f was in the book: its count is 13 now")
    page.keyboard.press("ArrowRight")
    page.locator('[data-action="add-to-book"]', has_text="P-8d").click()
    expect(banner).to_contain_text("P-8d is in the book now")
    book = read_book(path)
    assert [each.count for each in book[KEY]] == [13, 8]
    assert len(book) == 2
    page.keyboard.press("ArrowLeft")
    expect(page.locator('[data-book-move="8c8d"]')).to_be_visible()
    page.locator('[data-action="undo-banner"]').click()
    expect(page.locator('[data-book-move="8c8d"]')).to_have_count(0)
    assert len(read_book(path)) == 1
    expect(page.locator(".record [data-node]")).to_have_count(4)  # the record stays


def test_in_japanese_on_a_phone_a_new_book(open_page: OpenPage, serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    server = serve(book=path)
    page = open_page(server, storage_state=remembering(server.origin, limit=100), locale="ja-JP", **PHONE)
    expect(page.locator("[data-book-empty]")).to_have_text("この局面は定跡にありません")
    expect(page.locator(".book h3")).to_have_text("定跡 new.db")
    move(page, "7g", "7f")
    page.locator('[data-action="add-to-book"]').tap()
    expect(page.locator('[data-banner="undo"]')).to_contain_text("☗７六歩を定跡に加えました")
    assert read_book(path).move_count == 1
    width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert width <= 0


def test_a_book_that_cannot_be_changed_says_so(
    open_page: OpenPage, serve: Serve, tmp_path: Path, problems: list[str]
) -> None:
    path = tmp_path / "book.db"
    path.write_text(TEXT + "zzzz none 0 0 1\n")
    server = serve(book=path)
    page = open_page(server, storage_state=remembering(server.origin, engine=False), locale="ja-JP")
    move(page, "7g", "7f")
    page.locator('[data-action="add-to-book"]').click()
    expect(page.get_by_text("定跡に読めない部分があり、変更しませんでした")).to_be_visible()
    assert path.read_text() == TEXT + "zzzz none 0 0 1\n"
    assert all("409" in problem for problem in problems)
    problems.clear()


def test_without_a_book_nothing_is_shown(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(storage_state=remembering(server.origin, limit=100))
    expect(page.locator(".live-controls")).to_be_visible()
    expect(page.locator(".book")).to_have_count(0)


def test_the_book_fits(open_page: OpenPage, serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    path.write_text(TEXT)
    server = serve(book=path)
    page = open_page(server, storage_state=remembering(server.origin, limit=100), locale="ja-JP")
    expect(page.locator("[data-book-move]")).to_have_count(2)
    for width in (390, 820, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        table, panel = page.locator(".book-moves").bounding_box(), page.locator(".book").bounding_box()
        assert table is not None
        assert panel is not None
        assert table["x"] + table["width"] <= panel["x"] + panel["width"] + 1
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
