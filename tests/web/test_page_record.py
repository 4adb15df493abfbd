"""Records on the page in a real browser: opened, dropped, pasted, branched, commented, saved; names of strangers."""

import re
from collections.abc import Callable
from pathlib import Path

from patience import PATIENCE_S
from places import ROOT
from playwright.sync_api import Locator, Page, expect
from web_board import click, move, remembering

from fukayomi import read_record
from fukayomi.web import WebServer

expect.set_options(timeout=1000 * PATIENCE_S)
OpenPage = Callable[..., Page]

KIF = """手合割：平手
先手：<b>先手</b>\u202e
後手：<script>alert(1)</script>
手数----指手---------消費時間--
*はじめに<img src=x onerror=alert(1)>
   1 ７六歩(77)   ( 0:05/00:00:05)
*よい手
   2 ３四歩(33)   ( 1:01/00:01:01)
   3 ２六歩(27)   ( 0:00/00:00:05)
   4 投了
変化：3手
   3 ６六歩(67)   ( 0:02/00:00:07)
   4 ８四歩(83)   ( 0:03/00:01:04)
"""


def opened(open_page: OpenPage, server: WebServer, **options: object) -> Page:
    """A page with the record, its engine off."""
    page = open_page(**({"storage_state": remembering(server.origin, engine=False)} | options))
    page.locator("#open-file").set_input_files([{"name": "game.kif", "mimeType": "text/plain", "buffer": KIF.encode()}])
    expect(names(page)).to_have_count(6)
    return page


def names(page: Page) -> Locator:
    """The moves of the record, with the start."""
    return page.locator(".moves .name")


def saved(page: Page, kind: str) -> str:
    """The file that the page saves."""
    page.locator("summary", has_text=re.compile("Save|保存")).click()
    with page.expect_download() as download:
        page.get_by_role("button", name=kind.upper(), exact=True).click()
    page.keyboard.press("Escape")
    return Path(download.value.path()).read_text(encoding="utf-8")


def test_record_shows_variations_comments_clocks_and_hostile_names(open_page: OpenPage, server: WebServer) -> None:
    page = opened(open_page, server, locale="ja-JP")
    expect(names(page)).to_have_text(["開始局面", "☗７六歩", "☖３四歩", "☗２六歩", "☗６六歩", "☖８四歩"])
    expect(page.locator(".moves .variation .name")).to_have_text(["☗６六歩", "☖８四歩"])
    expect(page.locator(".moves .time")).to_have_text(["0:05", "1:01", "0:00", "0:02", "0:03"])
    expect(page.locator(".moves .end")).to_have_text("投了、先手の勝ち")
    expect(page.locator(".player").nth(0)).to_contain_text("<script>alert(1)</script>")
    expect(page.locator(".player").nth(1)).to_have_text("☗ <b>先手</b>")
    expect(page.get_by_label("コメント")).to_have_value("はじめに<img src=x onerror=alert(1)>")
    assert page.locator("img, .player b").count() == 0
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("コメント")).to_have_value("よい手")


def test_record_is_walked_branched_and_pruned(open_page: OpenPage, server: WebServer) -> None:
    page = opened(open_page, server)
    current = page.locator(".moves .current .name")
    page.keyboard.press("End")
    expect(current).to_have_text("P-2f")
    page.keyboard.press("Shift+ArrowRight")
    expect(current).to_have_text("P-6f")
    page.locator(".moves").hover()
    page.mouse.wheel(0, 100)
    expect(current).to_have_text("P-8d")
    page.get_by_role("button", name="Make main line").click()
    expect(page.locator(".moves .variation .name")).to_have_text(["P-2f"])
    expect(page.locator(".moves .end")).to_have_text("Resignation, Black wins")  # of the game as it was played
    expect(page.get_by_text("Result of the game as it was played, up to move 3")).to_be_visible()
    page.locator(".moves .move", has_text="P-2f").click()
    page.get_by_role("button", name="Delete from here").click()
    expect(page.locator(".moves .variation")).to_have_count(0)
    expect(current).to_have_text("P-3d")
    move(page, "2g", "2f")
    expect(page.locator(".moves .variation .name")).to_have_text(["P-2f"])
    page.get_by_label("Comment").fill("mine")
    page.get_by_label("Comment").press("Tab")
    expect(page.locator(".moves .current .has-comment")).to_be_visible()


def test_record_is_saved_in_four_formats(open_page: OpenPage, server: WebServer, tmp_path: Path) -> None:
    page = opened(open_page, server)
    move(page, "2g", "2f")  # from the start: another variation
    page.get_by_label("Comment").fill("mine")
    page.get_by_label("Comment").press("Tab")
    for kind, suffix in [("kif", "kif"), ("csa", "csa"), ("jkf", "jkf"), ("usi", "usi")]:
        path = tmp_path / f"game.{suffix}"
        path.write_text(saved(page, kind), encoding="utf-8")
        record = read_record(path)
        assert record.usi_moves() == ["7g7f", "3c3d", "2g2f"]
        if kind in ("kif", "jkf"):
            assert sorted([played.move.usi() for played in each.moves] for each in record.variations) == [
                ["2g2f"],
                ["6g6f", "8c8d"],
            ]
            assert "mine" in path.read_text(encoding="utf-8")


def test_record_is_pasted_and_dropped_and_what_is_none_is_refused(
    open_page: OpenPage, server: WebServer, problems: list[str]
) -> None:
    page = open_page(storage_state=remembering(server.origin, engine=False))
    page.locator("#open-file").set_input_files(
        [{"name": "x.kif", "mimeType": "text/plain", "buffer": b"\x00\xff" * 50}]
    )
    expect(page.locator(".banner")).to_contain_text("Cannot read the record")
    problems[:] = [problem for problem in problems if "400" not in problem]  # the browser notes the refusal
    page.locator("summary", has_text="Paste").click()
    page.get_by_label("A record").fill("position startpos moves 7g7f 3c3d")
    page.locator(".menu").get_by_role("button", name="Open").click()
    expect(names(page)).to_have_text(["Start", "P-7f", "P-3d"])
    page.evaluate(
        """text => {
        const data = new DataTransfer();
        data.items.add(new File([text], "game.csa"));
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        (ROOT / "examples" / "game.csa").read_text(encoding="utf-8"),
    )
    expect(names(page)).to_have_count(119)
    page.evaluate(
        """text => {
        const data = new DataTransfer();
        data.setData("text/plain", text);
        document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
        }""",
        KIF,
    )
    expect(names(page)).to_have_count(6)


def test_records_of_the_command_line_open_with_the_page(
    open_page: OpenPage, serve: Callable[..., WebServer], tmp_path: Path
) -> None:
    (tmp_path / "other.kif").write_text(KIF, encoding="utf-8")
    server = serve(files=(ROOT / "examples" / "game.csa", tmp_path / "other.kif"))
    page = open_page(server=server, storage_state=remembering(server.origin, engine=False))
    expect(names(page)).to_have_count(119)
    page.get_by_label("Record files").select_option("other.kif")
    expect(names(page)).to_have_count(6)


def test_record_outlives_a_reload(open_page: OpenPage, serve: Callable[..., WebServer], short_game: Path) -> None:
    server = serve(files=(short_game,))
    page = open_page(server=server, storage_state=remembering(server.origin, engine=False))
    expect(page.locator(".moves button.move")).to_have_count(31)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("f")
    move(page, "1c", "1d", flip=True)
    page.locator("#comment").fill("端歩")
    page.keyboard.press("Tab")
    page.reload()
    expect(page.locator(".moves button.move")).to_have_count(32)
    expect(page.locator(".moves .variation .current .name")).to_have_text("P-1d")
    expect(page.locator("#comment")).to_have_value("端歩")
    click(page, "1g", flip=True)  # the board is still turned
    expect(page.locator(".board .target").first).to_be_visible()
    page.goto(server.origin)  # opened, not loaded again
    expect(page.locator(".moves button.move")).to_have_count(31)


def test_menus_close_by_escape_and_by_a_press_elsewhere(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(storage_state=remembering(server.origin, engine=False))
    paste, save = (page.locator("details.menu", has_text=text) for text in ("Paste", "Save"))
    paste.locator("summary").click()
    page.locator("#pasted").fill("startpos")
    page.locator("#pasted").press("Escape")
    expect(paste).not_to_have_attribute("open", "")
    expect(paste.locator("summary")).to_be_focused()
    save.locator("summary").click()
    expect(save).to_have_attribute("open", "")
    page.locator("h1").click()
    expect(save).not_to_have_attribute("open", "")


def test_handicap_game_with_an_illegal_move_says_its_sides_the_move_and_the_end(
    open_page: OpenPage, server: WebServer
) -> None:
    kif = (
        "手合割：二枚落ち\n手数----指手---------消費時間--\n   1 ６二銀(71)\n&しおり\n"
        "   2 ７五歩(77)   ( 0:09/00:00:09)\n   3 反則勝ち   ( 0:02/00:00:02)\n*二手指し\n"
    )
    page = open_page(storage_state=remembering(server.origin, engine=False), locale="ja-JP")
    page.locator("#open-file").set_input_files([{"name": "a.kif", "mimeType": "text/plain", "buffer": kif.encode()}])
    expect(names(page)).to_have_text(["開始局面", "☖６二銀"])
    expect(page.locator(".moves .end")).to_have_text(["☗７五歩（反則）0:09", "反則、上手の勝ち0:02"])
    expect(page.locator(".moves .end-comment")).to_have_text("二手指し")
    expect(page.locator(".moves .has-bookmark")).to_have_attribute("title", "しおり：しおり")
    expect(page.locator(".plate .player")).to_have_text(["☖ 上手", "☗ 下手"])
    record = read_record(saved(page, "kif").encode())
    assert (record.illegal_move, record.illegal_move_time_ms, record.ending_time_ms) == ("7g7e", 9000, 2000)
    assert (record.ending_comment, record.moves[0].bookmark) == ("二手指し", "しおり")
