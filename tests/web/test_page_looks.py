"""The looks of the page in a real browser: the board stays in sight, nothing moves it, what stands beside it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S
from playwright.sync_api import FloatRect, Page, expect
from web_board import board, choose_language, click, move, remembering, tap

from fukayomi import analyse
from fukayomi.web import WebServer

expect.set_options(timeout=1000 * PATIENCE_S)
OpenPage = Callable[..., Page]
Serve = Callable[..., WebServer]
WINDOWS: dict[str, dict[str, Any]] = {
    "phone": {"viewport": {"width": 390, "height": 664}, "has_touch": True, "is_mobile": True},
    "across": {"viewport": {"width": 844, "height": 390}, "has_touch": True, "is_mobile": True},
    "tablet": {"viewport": {"width": 820, "height": 1180}},
    "window": {"viewport": {"width": 820, "height": 700}},
    "laptop": {"viewport": {"width": 1280, "height": 800}},
    "desk": {"viewport": {"width": 1920, "height": 1080}},
}
TOUCHED, CLICKED = ("phone", "across"), ("tablet", "window", "laptop", "desk")
"""Windows whose page takes fingers, and others: a page shows those of one kind, one after the other."""
LEAST_WIDTH = {"phone": 355, "across": 300, "tablet": 520, "window": 400, "laptop": 540, "desk": 780}
"""Pixels of the board; the rest of the window is taken by the hands, the buttons and what stands beside."""
SCORED = "\n".join(
    ["V2.2", "PI", "+", "+7776FU", "'** 40 -3334FU", "-3334FU", "'** 30", "+2726FU", "'** -500", "-8384FU", "'** -600"]
)


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory, short_game: Path) -> Path:
    """The document of the beginning of the example game."""
    folder = tmp_path_factory.mktemp("looks")
    analyse(short_game, nodes=40, network="<hash>").save(folder)
    return folder / "analysis.json"


@pytest.fixture
def open_report(open_page: OpenPage, server: WebServer, analysis: Path) -> OpenPage:
    """Opens the page with that document."""

    def open_report(document: Path = analysis, *, settings: dict[str, Any] | None = None, **options: Any) -> Page:
        remembered = remembering(server.origin, engine=False, **(settings or {}))
        page = open_page(at="#game", storage_state=remembered, **options)
        page.locator("#open-document").set_input_files(document)
        expect(page.locator(".position-card")).to_be_visible()
        return page

    return open_report


def mistakes_of(analysis: Path) -> list[dict[str, Any]]:
    """The mistakes of a document, in the order of the game."""
    moves = json.loads(analysis.read_text(encoding="utf-8"))["moves"]
    return sorted((each for each in moves if each["mistake"]), key=lambda each: each["ply"])


def place_of(page: Page) -> FloatRect:
    """Where the main board is in the window."""
    box = board(page).bounding_box()
    assert box is not None
    return box


def resize(page: Page, window: str) -> None:
    """Give the page the size of another window; it is scrolled to the top."""
    page.set_viewport_size(WINDOWS[window]["viewport"])
    page.evaluate("scrollTo(0, 0)")
    expect(page.locator("html")).not_to_have_class(re.compile("small-board"))


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


# ------------------------------------------------------------------------------------------ the board in the window


@pytest.mark.parametrize("windows", [TOUCHED, CLICKED])
def test_board_is_large_and_stays_in_sight(open_report: OpenPage, analysis: Path, windows: tuple[str, ...]) -> None:
    page = open_report(**WINDOWS[windows[0]])
    for language in ("ja", "en"):
        choose_language(page, language)
        for window in windows:
            resize(page, window)
            page.keyboard.press("Home")
            expect_board_in_sight(page, analysis, window)


def expect_board_in_sight(page: Page, analysis: Path, window: str) -> None:
    size = page.viewport_size
    assert size is not None
    whole = place_of(page)
    assert whole["width"] >= LEAST_WIDTH[window]
    assert whole["y"] + whole["height"] <= size["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    last = page.locator(".mistakes li").last
    last.scroll_into_view_if_needed()
    last.locator(".link").first.click()
    expect(page.locator(".moves .current .ply")).to_have_text(str(mistakes_of(analysis)[-1]["ply"] - 1))
    expect(last).to_have_attribute("aria-current", "step")
    expect(last).to_be_in_viewport(ratio=0.5)
    box = place_of(page)
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= size["height"]
    assert box["width"] >= 0.5 * min(size["width"], size["height"])
    expect(page.locator(".board .arrow.played")).to_have_count(1)
    page.evaluate("scrollTo(0, 0)")
    expect(page.locator("html")).not_to_have_class(re.compile("small-board"))
    assert place_of(page) == whole


def test_small_board_of_a_phone_takes_taps(open_report: OpenPage) -> None:
    page = open_report(**WINDOWS["phone"])
    page.locator(".mistakes li").last.scroll_into_view_if_needed()
    expect(page.locator("html")).to_have_class(re.compile("small-board"))
    tap(page, "7g")
    page.locator(".board .target").wait_for()
    tap(page, "7f")
    expect(page.locator(".moves .current .name")).to_have_text("P-7f")


@pytest.mark.parametrize("window", ["phone", "laptop"])
def test_nothing_that_comes_and_goes_moves_the_board(
    open_page: OpenPage, server: WebServer, problems: list[str], window: str
) -> None:
    page = open_page(storage_state=remembering(server.origin, engine=False), **WINDOWS[window])
    before = place_of(page)

    def stays() -> None:
        page.evaluate("scrollTo(0, 0)")
        expect(page.locator("html")).not_to_have_class(re.compile("small-board"))
        assert place_of(page) == before

    click(page, "7g")
    page.locator(".board .target").wait_for()
    click(page, "7e")  # what is wrong with it stands below the board
    expect(page.locator(".situation")).to_have_text("The pawn cannot reach 7e")
    stays()
    paste(page, "no record at all")  # a message lies over the page
    expect(page.locator(".banner")).to_be_visible()
    stays()
    paste(page, "startpos moves 7g7f 3c3d 8h2b+ 3a2b B*4e 2b3a 4e3d 3a2b")
    expect(page.locator(".moves .move")).to_have_count(9)
    page.keyboard.press("End")  # pieces in hand
    stays()
    move(page, "3d", "4c")  # a promotion to choose
    expect(page.locator(".choice")).to_be_visible()
    stays()
    page.keyboard.press("Escape")
    page.locator('[data-action="setup"]').click()
    expect(page.locator(".setup")).to_be_visible()
    stays()
    page.locator('[data-action="cancel"]').click()
    page.locator('[data-action="delete"]').click()  # a step that can be undone
    expect(page.locator('[data-banner="undo"]')).to_be_visible()
    stays()
    for menu in page.locator("header details.menu").all():
        menu.locator("summary").click()
        expect(menu).to_have_attribute("open", "")
        stays()
        page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    stays()
    page.keyboard.press("Escape")
    problems[:] = [problem for problem in problems if "400" not in problem]  # the browser notes the refusal


@pytest.mark.parametrize("windows", [TOUCHED, CLICKED])
def test_messages_leave_the_buttons_of_the_record_free(
    open_page: OpenPage, server: WebServer, problems: list[str], windows: tuple[str, ...]
) -> None:
    page = open_page(storage_state=remembering(server.origin, engine=False), **WINDOWS[windows[0]])
    for window in windows:
        resize(page, window)
        move(page, "7g", "7f")
        expect(page.locator(".moves .move")).to_have_count(2)
        paste(page, "no record at all")
        expect(page.locator(".banner")).to_be_visible()
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        page.locator('[data-action="delete"]').click()
        expect(page.locator(".moves .move")).to_have_count(1)
        page.locator('[data-banner="undo"] .icon').click()
        expect(page.locator(".banner")).to_have_count(1)
        page.locator(".banner .icon").click()
        expect(page.locator(".banner")).to_have_count(0)
    problems[:] = [problem for problem in problems if "400" not in problem]  # the browser notes the refusal


@pytest.mark.parametrize("windows", [("phone",), ("tablet", "laptop", "desk")])
def test_new_open_paste_and_save_are_one_row(open_page: OpenPage, server: WebServer, windows: tuple[str, ...]) -> None:
    page = open_page(storage_state=remembering(server.origin, engine=False), **WINDOWS[windows[0]])
    for language in ("ja", "en"):
        choose_language(page, language)
        for window in windows:
            resize(page, window)
            expect_one_row(page, window, language)


def expect_one_row(page: Page, window: str, language: str) -> None:
    names = ["新規", "開く", "貼り付け", "保存"] if language == "ja" else ["New", "Open", "Paste", "Save"]
    parts = page.locator(".files > *")
    boxes: list[FloatRect] = []
    for name in names:
        part = parts.filter(has_text=re.compile(f"^\\s*{name}")).first
        expect(part).to_be_visible()
        box = part.bounding_box()
        assert box is not None
        boxes.append(box)
    assert len({round(box["y"] + box["height"] / 2) for box in boxes}) == 1
    assert [box["x"] for box in boxes] == sorted(box["x"] for box in boxes)
    if window == "phone":
        assert boxes[0]["y"] < 10
    move(page, "7g", "7f")
    expect(page.locator(".moves .move")).to_have_count(2)
    page.locator('[data-action="new"]').click()
    expect(page.locator(".moves .move")).to_have_count(1)


# ------------------------------------------------------------------------------------------ what is said of a position


@pytest.mark.parametrize("locale", ["ja-JP", "en-US"])
def test_card_shows_the_position_before_the_next_mistake(open_report: OpenPage, analysis: Path, locale: str) -> None:
    page = open_report(locale=locale)
    first, second = [each for each in mistakes_of(analysis) if each["ply"] > 1][:2]
    card = page.locator(".position-card")
    page.locator('.position-card [data-action="nextMistake"]').click()
    expect(page.locator(".moves .current .ply")).to_have_text(str(first["ply"] - 1))
    words = card.locator(".next-mistake")
    expect(words).to_contain_text(f"{100 * first['loss']:.1f} %")
    expect(words).to_contain_text("最善は" if locale == "ja-JP" else "Best:")
    expect(words).to_contain_text(re.compile(r"\d+ → \d+ %"))
    expect(page.locator(f'.board .arrow.played[data-usi="{first["move"]}"]')).to_have_count(1)
    expect(page.locator(f'.board .arrow.best[data-usi="{first["best"]}"]')).to_have_count(1)
    page.keyboard.press("n")
    expect(page.locator(".moves .current .ply")).to_have_text(str(second["ply"] - 1))
    page.keyboard.press("Shift+n")
    words.locator("button").first.click()  # the mistake itself
    expect(page.locator(".moves .current .ply")).to_have_text(str(first["ply"]))
    expect(card.locator(".headline").first).to_contain_text(f"−{100 * first['loss']:.1f} %")
    card.locator(".better button").first.click()
    expect(page.locator(".moves .current .ply")).to_have_text(str(first["ply"] - 1))
    if locale == "ja-JP":
        assert not re.search("[a-z]{4,}", card.inner_text())


def test_candidates_are_played_through_on_the_board(open_report: OpenPage, analysis: Path) -> None:
    page = open_report()
    page.keyboard.press("n")
    first = page.locator(".candidates-card li").first
    first.locator(".name").click()
    expect(page.locator(".position-card")).to_contain_text("Line 1/")
    expect(page.locator(".board .last.to")).to_have_count(1)
    nodes = page.locator(".moves .move").count()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".position-card")).to_contain_text("Line 2/")
    click(page, "7g")  # nothing is moved in it
    expect(page.locator(".board .selected")).to_have_count(0)
    page.locator('.bar [data-action="back"]').click()
    expect(page.locator(".position-card")).to_contain_text("Line 1/")
    page.keyboard.press("Escape")
    expect(page.locator(".position-card")).not_to_contain_text("Line")
    assert page.locator(".moves .move").count() == nodes
    first.locator("[data-step]").first.click()
    page.locator('[data-action="adopt"]').click()
    expect(page.locator(".moves .move")).to_have_count(nodes + 2)


def test_bar_beside_the_board_has_the_win_rate(open_report: OpenPage, analysis: Path) -> None:
    page = open_report()
    found = json.loads(analysis.read_text(encoding="utf-8"))["positions"]
    bar = page.locator(".evaluation")
    page.keyboard.press("ArrowRight")
    expect(bar).to_have_attribute("data-rate", f"{found[1]['win_rate']:.3f}")
    box, own = place_of(page), bar.bounding_box()
    assert own is not None
    assert own["x"] + own["width"] <= box["x"]
    assert abs(own["height"] - box["height"]) < 12
    black = bar.locator(".black").bounding_box()
    assert black is not None
    assert black["height"] == pytest.approx(own["height"] * found[1]["win_rate"], abs=2)
    assert black["y"] + black["height"] == pytest.approx(own["y"] + own["height"], abs=2)
    page.keyboard.press("f")
    expect(bar.locator(".black")).to_have_attribute("y", "0")
    page.get_by_label("Think first").check()
    expect(bar).to_have_attribute("data-rate", "")


def test_graph_stands_beside_the_board_also_of_a_records_own_scores(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(storage_state=remembering(server.origin, engine=False), **WINDOWS["laptop"])
    expect(page.locator(".graph")).to_have_count(0)
    paste(page, SCORED)
    expect(page.locator(".moves .move")).to_have_count(5)
    expect(page.locator(".graph .curve")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator(".graph path.cursor")).to_have_attribute("data-ply", "4")
    expect(page.locator(".evaluation")).to_have_attribute("data-rate", re.compile(r"^0\.3"))
    graph = page.locator(".graph").bounding_box()
    assert graph is not None
    assert graph["x"] > place_of(page)["x"] + place_of(page)["width"]
    page.locator("#tab-game").click()
    expect(page.locator("#tab-game")).to_have_attribute("aria-selected", "true")


def test_lines_break_between_moves(open_report: OpenPage) -> None:
    page = open_report(**WINDOWS["phone"], locale="ja-JP")
    moves = page.locator(".mistakes .pv .nowrap, .candidates-card .line span")
    for window in ("phone", "laptop"):
        resize(page, window)
        assert moves.count() > 10
        assert moves.evaluate_all("all => Math.max(...all.map(each => each.getClientRects().length))") == 1


@pytest.mark.parametrize("window", ["phone", "laptop"])
def test_lines_of_the_engine_break_between_moves(open_page: OpenPage, server: WebServer, window: str) -> None:
    page = open_page(storage_state=remembering(server.origin, limit=2000), **WINDOWS[window])
    expect(page.locator('.live-state[data-state="limit"]')).to_be_visible()
    moves = page.locator(".candidates .step")
    for language in ("ja", "en"):
        choose_language(page, language)
        assert moves.count() > 5
        assert moves.evaluate_all("all => Math.max(...all.map(each => each.getClientRects().length))") == 1
        assert moves.evaluate_all("all => Math.max(...all.map(each => each.getBoundingClientRect().height))") < 36


# ------------------------------------------------------------------------------------------ arrows and tints


def test_arrows_lie_under_the_pieces_and_a_mate_is_named(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(storage_state=remembering(server.origin, limit=200))
    expect(page.locator(".board .arrow").first).to_be_attached()
    order = page.locator(".main-board svg.board > g").evaluate_all("all => all.map(each => each.getAttribute('class'))")
    assert order.index("arrows") < order.index("pieces") < order.index("labels")
    overlaps = page.evaluate("""() => {
      const all = name => [...document.querySelectorAll(`.main-board ${name}`)];
      const boxes = name => all(name).map(each => each.getBoundingClientRect());
      return boxes(".badge").filter(badge =>
        boxes(".pieces use").some(({left, right, top, bottom}) => {
          const [x, y] = [(left + right) / 2, (top + bottom) / 2];
          return x > badge.left && x < badge.right && y > badge.top && y < badge.bottom;
        })).length;
    }""")
    assert overlaps == 0
    page.locator('[data-action="setup"]').click()
    page.locator("#sfen").fill("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    page.locator("#sfen").press("Enter")
    page.locator('[data-action="use"]').click()
    expect(page.locator('.board .arrow-label.best[data-usi="G*5b"] .badge-mate')).to_have_count(1)


def test_worth_is_on_the_main_board(open_page: OpenPage) -> None:
    page = open_page(at="#worth", color_scheme="light")
    expect(page.locator(".main-board .tint")).to_have_count(38)  # all but the kings
    expect(page.locator(".worth-picture")).to_be_hidden()
    expect(page.locator(".main-board .tint.black").first).to_have_css("fill", "rgb(200, 32, 28)")
    page.emulate_media(color_scheme="dark")
    expect(page.locator("body")).to_have_css("background-color", "rgb(21, 24, 28)")
    expect(page.locator(".main-board .tint.black").first).to_have_css("fill", "rgb(200, 32, 28)")
    worth = page.locator('.worth-table tr[data-place="2h"] td').nth(1).inner_text()
    text = page.locator('.main-board .tint[data-square="2h"] ~ text').first
    expect(text).to_have_text(worth.removeprefix("+"))
    page.locator('[data-view="change"]').click()
    expect(page.locator(".main-board .tint")).to_have_count(0)  # nothing has changed before the first move
    page.locator('[data-action="beside"]').click()
    expect(page.locator(".worth-picture")).to_be_visible()
    page.locator("#tab-analyse").click()
    expect(page.locator(".main-board .tint")).to_have_count(0)
