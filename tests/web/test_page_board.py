"""The board of the page in a real browser: moves by mouse, finger and keyboard, on wide and narrow screens."""

import re
from collections.abc import Callable

from patience import PATIENCE_S
from playwright.sync_api import Page, expect
from web_board import PHONE, board, click, drag, move, remembering, tap

from fukayomi.web import WebServer

expect.set_options(timeout=1000 * PATIENCE_S)
OpenPage = Callable[..., Page]


def quiet(server: WebServer, **settings: object) -> dict[str, object]:
    """Options of a page whose engine is off."""
    return {"storage_state": remembering(server.origin, **({"engine": False} | settings))}


def names(page: Page) -> list[str]:
    """The moves in the record."""
    return page.locator(".moves .name").all_inner_texts()[1:]


def test_moves_by_clicks_and_drags_with_a_choice_of_promotion(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server))
    move(page, "7g", "7f")
    expect(page.locator(".moves .current .name")).to_have_text("P-7f")
    expect(page.locator(".board .last")).to_have_count(2)
    drag(page, "3c", "3d")
    expect(page.locator(".moves .current .name")).to_have_text("P-3d")
    drag(page, "8h", "5e")  # a bishop may go there, but not over its own piece
    expect(page.locator(".moves .current .name")).to_have_text("B-5e")
    page.keyboard.press("ArrowLeft")
    move(page, "8h", "2b")
    page.get_by_role("button", name="Promote", exact=True).click()
    expect(page.locator(".moves .current .name")).to_have_text("Bx2b+")
    expect(page.locator('[data-side="b"] [data-place="b:B"]')).to_be_visible()
    click(page, "5e", "5f")  # nothing of White's goes there
    assert names(page) == ["P-7f", "P-3d", "B-5e", "Bx2b+"]
    drag(page, "3a", "2b")
    expect(page.locator(".moves .current .name")).to_have_text("Sx2b")
    page.locator('[data-place="b:B"]').click()
    expect(page.locator('[data-place="b:B"]')).to_have_attribute("aria-pressed", "true")
    click(page, "5e")
    expect(page.locator(".moves .current .name")).to_have_text("B*5e")
    expect(page.locator('[data-side="b"] .held')).to_have_count(0)


def test_moves_by_keyboard_and_typed(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server), locale="ja-JP")
    squares = page.get_by_role("application")
    squares.focus()
    for key in ["ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowDown", "ArrowDown"]:
        page.keyboard.press(key)
    expect(page.locator("#spoken")).to_have_text("７七 先手 歩")
    page.keyboard.press("Enter")
    expect(page.locator(".board .target")).to_have_count(1)
    page.keyboard.press("ArrowUp")
    page.keyboard.press(" ")
    expect(page.locator(".moves .current .name")).to_have_text("☗７六歩")
    expect(page.locator("#spoken")).to_have_text("☗７六歩")
    typed = page.get_by_label("指し手を入力")
    for text, name in [("３四歩", "☖３四歩"), ("8h2b+", "☗２二角成"), ("同銀", "☖同銀"), ("５五角", "☗５五角")]:
        typed.fill(text)
        typed.press("Enter")
        expect(page.locator(".moves .current .name")).to_contain_text(name)
    typed.fill("５五角")
    typed.press("Enter")
    expect(page.locator(".banner")).to_contain_text("「５五角」は指せない手です")
    expect(page.locator("#position-text")).to_contain_text("後手の手番。先手：５九玉")


def test_taps_on_a_narrow_screen(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server), **PHONE)
    expect(board(page)).to_be_visible()
    tap(page, "7g")
    page.locator(".board .target").wait_for()
    tap(page, "7f")
    expect(page.locator(".moves .current .name")).to_have_text("P-7f")
    for action in ["back", "forward", "flip"]:
        button = page.locator(f'.bar [data-action="{action}"]')
        box = button.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44
        assert box["y"] + box["height"] <= 664  # board, hands and buttons fit the screen
        button.tap()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator(".board .file").first).to_have_attribute("data-number", "1")
    tap(page, "7g")  # turned round it is 3c, White's
    expect(page.locator(".board .target")).to_have_count(1)
    page.locator("#tab-game").tap()
    expect(page.get_by_role("button", name="Analyse the game")).to_be_visible()


def test_pieces_need_no_font_and_the_board_is_turned_round(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server))
    expect(page.locator(".board .pieces use")).to_have_count(40)
    assert page.locator(".board .pieces text, .symbols text").count() == 0
    shown = page.locator(".board .pieces use").first.bounding_box()
    assert shown is not None
    assert shown["height"] > 20
    page.keyboard.press("f")
    expect(page.locator(".plate").first).to_have_attribute("data-side", "b")
    click(page, "7g", flip=True)
    page.locator(".board .target").wait_for()
    click(page, "7f", flip=True)
    expect(page.locator(".moves .current .name")).to_have_text("P-7f")


def test_keys_of_the_list_work_and_leave_fields_alone(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server))
    move(page, "7g", "7f")
    current = page.locator(".moves .current .name")
    expect(current).to_have_text("P-7f")
    for key, name in [
        ("k", "Start"),
        ("j", "P-7f"),
        ("Home", "Start"),
        ("End", "P-7f"),
        ("ArrowUp", "Start"),
        ("ArrowDown", "P-7f"),
    ]:
        page.keyboard.press(key)
        expect(current).to_have_text(name)
    page.keyboard.press("Control+ArrowLeft")
    page.locator("#typed-move").press("k")
    expect(page.locator("#typed-move")).to_have_value("k")
    expect(current).to_have_text("P-7f")
    page.locator("body").click(position={"x": 700, "y": 700})
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.get_by_label("Up and down step one move").check()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("ArrowUp")
    expect(current).to_have_text("Start")
    assert page.evaluate("localStorage.getItem('fukayomi.arrows-up-down')") == "true"


def test_position_is_set_up_by_hand_and_refused_when_it_cannot_be_played(
    open_page: OpenPage, server: WebServer, problems: list[str]
) -> None:
    page = open_page(**quiet(server))
    page.get_by_role("button", name="Set up").click()
    page.get_by_label("SFEN", exact=True).fill("nonsense")
    page.get_by_label("SFEN", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Not an SFEN")
    page.get_by_label("SFEN", exact=True).fill("ppppppppp/pp7/9/9/9/9/9/9/4K4 b - 1")
    page.get_by_label("SFEN", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Use this position").click()
    expect(page.get_by_role("alert")).to_be_visible()
    problems[:] = [problem for problem in problems if "400" not in problem]  # the browser notes the refusal
    page.get_by_label("Handicap").select_option(label="2 pieces")
    expect(page.get_by_label("SFEN", exact=True)).to_have_value(re.compile("^lnsgkgsnl/9/ppppppppp/"))
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("button", name="Black king").click()
    click(page, "5i")
    page.get_by_role("button", name="White king").click()
    click(page, "5a")
    page.get_by_role("button", name="Black rook").click()
    click(page, "2h", "2h")
    page.get_by_role("button", name="Black rook").click()
    click(page, "2h")  # taken up
    click(page, "2h")  # and put down the other way up
    page.get_by_role("button", name="White pawn").click()
    page.get_by_label("Black: pieces in hand").click()
    expect(page.get_by_label("SFEN", exact=True)).to_have_value("4k4/9/9/9/9/9/9/7+R1/4K4 b P 1")
    page.get_by_label("To move").select_option("w")
    page.get_by_role("button", name="Use this position").click()
    expect(page.locator(".to-move")).to_have_attribute("data-side", "w")
    expect(page.locator(".moves .name")).to_have_count(1)
