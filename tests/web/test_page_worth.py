"""What each piece is worth, in the page: the tinted board, the three views, combinations, two positions, languages."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect
from web_board import PHONE, remembering

from fukayomi import Network, Position
from fukayomi.engine.worth.worth import piece_worth
from fukayomi.web import WebServer

OpenPage = Callable[..., Page]
LINE = "startpos moves 7g7f 3c3d 8h2b+"


def paste(page: Page, text: str) -> None:
    """Paste a record."""
    page.evaluate(
        """text => {
          const data = new DataTransfer();
          data.setData("text/plain", text);
          document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
        }""",
        text,
    )


def row(page: Page, place: str) -> list[str]:
    """The cells of a piece."""
    return page.locator(f'.worth-table tr[data-place="{place}"] td').all_inner_texts()


def signed(value: float | None) -> str:
    return "–" if value is None else f"{round(value):+d}".replace("-", "−").replace("+0", "0")


def test_values_of_the_position_on_the_board_and_of_the_next_side_by_side(open_page: OpenPage) -> None:
    page = open_page(at="#worth", viewport={"width": 1280, "height": 900})
    paste(page, LINE)
    expect(page.locator(".record [data-node]")).to_have_count(4)
    page.keyboard.press("End")
    expect(page.locator('.worth-table tr[data-place="B*"]')).to_be_visible()
    with Network("<hash>") as network:
        worth = piece_worth(Position.from_usi(LINE), network)
    for each in worth.pieces:
        if each.piece.place in ("2b", "B*", "5g"):
            cells = row(page, each.piece.place)
            assert cells[1] == signed(each.worth_cp)
            assert cells[4] == signed(each.change_cp)
    page.keyboard.press("Home")
    expect(page.locator('.worth-table tr[data-place="B*"]')).to_have_count(0)
    expect(page.locator(".worth-table tbody tr")).to_have_count(38)
    expect(page.locator(".worth-table tbody tr td:nth-child(6)").first).not_to_be_empty()
    assert page.locator(".worth-table").evaluate(  # it lies beside the moves
        "table => table.getBoundingClientRect().right <= table.parentElement.getBoundingClientRect().right"
    )
    page.locator('[data-action="beside"]').click()
    page.keyboard.press("End")
    expect(page.locator(".worth-differences tbody tr")).to_have_count(10)
    expect(page.locator(".worth-picture")).to_have_attribute("alt", re.compile("ply 0, 3"))
    page.locator('[data-action="beside"]').click()
    expect(page.locator(".worth-differences")).to_have_count(0)


def test_three_views_sort_the_table_and_draw_the_board(open_page: OpenPage) -> None:
    page = open_page(at="#worth", locale="ja-JP")
    picture = page.locator(".worth-picture")
    expect(picture).to_have_attribute("src", re.compile("^data:image/svg"))
    sources = [picture.get_attribute("src")]
    for view, name in (("relative", "働き"), ("change", "変化")):
        button = page.locator(f'[data-view="{view}"]')
        expect(button).to_have_text(name)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(picture).not_to_have_attribute("src", sources[-1] or "")
        sources.append(picture.get_attribute("src"))
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 400


def test_combinations_of_chosen_pieces_by_taps(open_page: OpenPage) -> None:
    page = open_page(at="#worth", **PHONE)
    for place in ("8h", "2h", "5i"):
        box = page.locator(f'.worth-table tr[data-place="{place}"] input')
        if place == "5i":
            expect(box).to_have_count(0)  # the king
        else:
            box.tap()
    expect(page.locator('.worth-together tr[data-places="8h 2h"]')).to_be_visible()
    page.locator('.worth-table tr[data-place="7g"] input').tap()
    expect(page.locator(".worth-together tbody tr")).to_have_count(4)


def test_question_that_is_refused_is_asked_once(open_page: OpenPage, server: WebServer, problems: list[str]) -> None:
    page = open_page(at="#worth", storage_state=remembering(server.origin, engine=False))
    expect(page.locator(".worth-table")).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/api/worth") else None)
    page.route("**/api/worth", lambda route: route.fulfill(status=503, json={"error": "the network failed"}))
    page.keyboard.press("f")
    expect(page.locator(".error")).to_have_text("the network failed")
    page.keyboard.press("?")  # the page is drawn again
    page.keyboard.press("Escape")
    page.locator(".settings > summary").click()
    page.locator("#language").select_option("ja")
    expect(page.get_by_role("tab", name="駒の価値")).to_be_visible()
    assert len(asked) == 1
    page.unroute("**/api/worth")
    page.locator("#tab-analyse").click()
    page.locator("#tab-worth").click()  # then it is tried again
    expect(page.locator(".worth-table")).to_be_visible()
    problems[:] = [problem for problem in problems if "503" not in problem]
