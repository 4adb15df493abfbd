"""What the reader has done is not lost: reloads, other records, deletions, closed pages, a server that starts again."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from page_play import begin, expect_moves, expect_phase
from patience import PATIENCE_S, until
from playwright.sync_api import Browser, Locator, Page, expect
from web_board import click, move, remembering

from fukayomi import read_record
from fukayomi.web import WebServer

expect.set_options(timeout=1000 * PATIENCE_S)
OpenPage = Callable[..., Page]
Serve = Callable[..., WebServer]

KIF = """手合割：平手
先手：山田
後手：鈴木
手数----指手---------消費時間--
   1 ７六歩(77)
   2 ３四歩(33)
   3 ２六歩(27)
   4 投了
変化：3手
   3 ６六歩(67)
   4 ８四歩(83)
"""


@pytest.fixture
def server(serve: Serve) -> WebServer:
    """A server for one test: games that are begun stay on it."""
    return serve()


def quiet(open_page: OpenPage, server: WebServer, **options: object) -> Page:
    """A page whose engine is off."""
    return open_page(**({"server": server, "storage_state": remembering(server.origin, engine=False)} | options))


def open_text(page: Page, text: str, name: str = "game.kif") -> None:
    """Open a record as a file."""
    page.locator("#open-file").set_input_files([{"name": name, "mimeType": "text/plain", "buffer": text.encode()}])


def names(page: Page) -> Locator:
    """The moves of the record, with the start."""
    return page.locator(".moves .name")


def history(page: Page) -> Locator:
    """The list of the records that are kept; it is opened."""
    page.locator("summary", has_text=re.compile("^(History|履歴)$")).click()
    return page.locator("[data-kept]")


def kept_comments(page: Page) -> list[str]:
    """Comments of the kept records."""
    return page.evaluate(
        """() => new Promise(resolve => {
          indexedDB.open("fukayomi").onsuccess = event => {
            event.target.result.transaction("records").objectStore("records").getAll().onsuccess = found =>
              resolve(found.target.result.flatMap(({record}) => record.nodes).map(n => n.comment).filter(Boolean));
          };
        })"""
    )


def test_a_game_writes_into_its_own_record_and_not_into_one_that_is_opened(
    open_page: OpenPage, server: WebServer
) -> None:
    page = quiet(open_page, server, at="#play")
    begin(page)
    move(page, "7g", "7f")
    expect_moves(page, 2)
    expect_phase(page, "reader")
    open_text(page, KIF)
    expect(names(page)).to_have_text(["Start", "P-7f", "P-3d", "P-2f", "P-6f", "P-8d"])
    expect(page.locator(".play-game")).to_contain_text("Another record is on the board")
    page.locator('[data-action="take-back"]').click()  # of the game: the record on the board has nothing to do with it
    expect(page.locator('[data-action="take-back"]')).to_be_disabled()
    expect(names(page)).to_have_text(["Start", "P-7f", "P-3d", "P-2f", "P-6f", "P-8d"])
    move(page, "2g", "2f")  # a move in the record, none of the game
    expect(names(page)).to_have_count(7)
    expect_phase(page, "reader")
    page.locator('[data-action="to-game"]').click()
    expect(names(page)).to_have_text(["Start"])
    move(page, "2g", "2f")
    expect_moves(page, 2)
    page.locator('[data-action="undo"]').click()  # back to the record that was opened
    expect(names(page)).to_have_count(7)


def test_moves_of_a_running_game_are_not_deleted_and_the_game_goes_on(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server, at="#play")
    begin(page)
    move(page, "7g", "7f")
    expect_moves(page, 2)
    expect_phase(page, "reader")
    page.locator('[data-action="delete"]').click()
    expect(page.locator(".banners")).to_contain_text("use Take back")
    expect_moves(page, 2)
    move(page, "2g", "2f")
    expect_moves(page, 4)
    expect_phase(page, "reader")
    # A variation that was looked at meanwhile is no part of the game, and may go.
    page.locator("#tab-analyse").click()
    page.keyboard.press("Home")
    move(page, "9g", "9f")
    expect_moves(page, 5)
    page.locator("#tab-play").click()
    page.locator('[data-action="to-game"]').click()
    move(page, "6g", "6f")
    expect(page.locator(".moves > ol > li:not(.variation) .name")).to_have_count(7)
    expect(page.locator(".moves .variation .name")).to_have_text(["P-9f"])
    page.locator(".moves .move", has_text="P-9f").click()
    page.locator('[data-action="delete"]').click()
    expect(page.locator(".moves .variation")).to_have_count(0)


def test_moves_that_are_taken_back_stay_as_a_variation_if_something_is_noted_on_them(
    open_page: OpenPage, server: WebServer
) -> None:
    page = quiet(open_page, server, at="#play")
    begin(page)
    move(page, "7g", "7f")
    expect_moves(page, 2)
    page.locator("#comment").fill("待ったの前")
    page.locator('[data-action="take-back"]').click()
    expect(page.locator(".moves .current .name")).to_have_text("Start")
    expect_moves(page, 2)
    move(page, "2g", "2f")
    expect_moves(page, 4)
    expect(page.locator(".moves > ol > li:not(.variation) .name").nth(1)).to_have_text("P-2f")
    expect(page.locator(".moves .variation .has-comment")).to_have_count(1)
    for _ in range(2):
        page.locator('[data-action="resign"]').click()
    expect(page.locator(".record .end")).to_be_visible()
    page.locator('[data-action="take-back"]').click()  # also after the end, which is gone then
    expect_phase(page, "reader")
    expect(page.locator(".record .end")).to_have_count(0)
    expect_moves(page, 2)


def test_deletion_and_promotion_can_be_undone(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server)
    open_text(page, KIF)
    expect(names(page)).to_have_count(6)
    page.keyboard.press("ArrowRight")
    page.locator('[data-action="delete"]').click()
    expect(names(page)).to_have_text(["Start"])
    expect(page.locator('[data-banner="undo"]')).to_contain_text("Deleted P-7f and what follows")
    page.locator('[data-action="undo-banner"]').click()
    expect(names(page)).to_have_count(6)
    expect(page.locator(".moves .end")).to_have_text("Resignation, Black wins")
    expect(page.locator('[data-banner="undo"]')).to_have_count(0)
    page.locator(".moves .move", has_text="P-6f").click()
    page.get_by_role("button", name="Make main line").click()
    expect(page.locator(".moves .variation .name")).to_have_text(["P-2f"])
    page.keyboard.press("Control+z")
    expect(page.locator(".moves .variation .name")).to_have_text(["P-6f", "P-8d"])
    page.keyboard.press("Control+z")  # undoing is undone
    expect(page.locator(".moves .variation .name")).to_have_text(["P-2f"])
    # What is done after a deletion or promotion stays when that is undone.
    open_text(page, KIF)
    expect(page.locator(".moves .variation .name")).to_have_text(["P-6f", "P-8d"])  # it is the one that was opened
    page.locator(".moves .move", has_text="P-2f").click()
    page.locator('[data-action="delete"]').click()
    expect(names(page)).to_have_text(["Start", "P-7f", "P-3d", "P-6f", "P-8d"])
    page.locator("#comment").fill("after 3d")
    page.keyboard.press("Tab")
    click(page, "2g", "2f")  # the same move again, and one more
    click(page, "4c", "4d")
    page.locator("#comment").fill("after 4d")
    page.locator(".facts summary").click()
    page.locator('.player-name[data-side="b"]').fill("佐藤")
    page.locator('[data-action="undo"]').click()
    expect(page.locator(".moves .move", has_text="P-2f")).to_have_count(1)
    expect(names(page)).to_have_text(["Start", "P-7f", "P-3d", "P-2f", "P-6f", "P-8d", "P-4d"])
    expect(page.locator('.player-name[data-side="b"]')).to_have_value("佐藤")
    for move_name, comment in (("P-3d", "after 3d"), ("P-4d", "after 4d")):
        page.locator(".moves .move", has_text=move_name).click()
        expect(page.locator("#comment")).to_have_value(comment)
    page.locator('[data-action="undo"]').click()  # the deletion again
    expect(names(page)).to_have_text(["Start", "P-7f", "P-3d", "P-6f", "P-2f", "P-4d", "P-8d"])
    page.locator(".moves .move", has_text="P-4d").click()
    expect(page.locator("#comment")).to_have_value("after 4d")
    page.get_by_role("button", name="Make main line").click()
    page.locator("#comment").fill("later")
    click(page, "3i", "4h")
    page.locator(".moves .move", has_text="S-4h").wait_for()
    page.locator('[data-action="undo"]').click()
    expect(names(page)).to_have_text(["Start", "P-7f", "P-3d", "P-6f", "P-2f", "P-4d", "S-4h", "P-8d"])
    page.locator(".moves .move", has_text="P-4d").click()
    expect(page.locator("#comment")).to_have_value("later")


def test_opening_pasting_beginning_and_setting_up_warn_and_can_be_undone(
    open_page: OpenPage, server: WebServer
) -> None:
    page = quiet(open_page, server)
    move(page, "7g", "7f")
    page.locator("#comment").fill("mine")

    def expect_back() -> None:
        banner = page.locator('[data-banner="undo"]')
        expect(banner).to_contain_text("kept in this browser")
        banner.locator('[data-action="undo-banner"]').click()
        expect(page.locator("#comment")).to_have_value("mine")
        expect(names(page)).to_have_count(2)

    open_text(page, KIF)
    expect(names(page)).to_have_count(6)
    expect_back()
    page.locator("summary", has_text="Paste").click()
    page.locator("#pasted").fill("position startpos moves 2g2f 8c8d 2f2e")
    page.locator("#pasted + button").click()
    expect(names(page)).to_have_count(4)
    expect_back()
    page.locator('[data-action="setup"]').click()
    page.locator('[data-action="clear"]').click()
    page.locator('[data-action="cancel"]').click()
    page.locator('[data-action="undo-banner"]').click()  # the position that was set up
    expect(page.locator(".main-board .pieces use")).to_have_count(0)
    page.locator("#handicap").select_option(index=3)
    page.locator('[data-action="use"]').click()
    expect(names(page)).to_have_count(1)
    expect_back()
    page.locator("#tab-play").click()
    begin(page)
    expect(names(page)).to_have_count(1)
    expect_back()
    expect(page.locator('[data-action="to-game"]')).to_be_visible()


def test_playing_on_after_the_end_keeps_the_result(open_page: OpenPage, server: WebServer, tmp_path: Path) -> None:
    page = quiet(open_page, server)
    open_text(page, KIF)
    expect(names(page)).to_have_count(6)
    page.keyboard.press("End")
    move(page, "8c", "8d")
    expect(names(page)).to_have_count(7)
    expect(page.locator(".moves .end")).to_have_text("Resignation, Black wins")
    expect(page.locator(".moves .variation .name").first).to_have_text("P-6f")
    expect(page.locator(".moves .variation .name").last).to_have_text("P-8d")
    for kind in ("kif", "jkf"):
        page.locator("summary", has_text="Save").click()
        with page.expect_download() as download:
            page.locator(f"[data-format={kind}]").click()
        page.keyboard.press("Escape")
        path = tmp_path / f"game.{kind}"
        download.value.save_as(path)
        record = read_record(path)
        assert (record.usi_moves(), record.termination.value) == (["7g7f", "3c3d", "2g2f"], "resign")
        assert ["8c8d"] in [[played.move.usi() for played in each.moves] for each in record.variations]
        open_text(page, path.read_text(encoding="utf-8"), path.name)
        expect(names(page)).to_have_count(7)
        expect(page.locator(".moves .end")).to_have_text("Resignation, Black wins")
    page.locator(".moves .move", has_text="P-6f").click()
    page.get_by_role("button", name="Make main line").click()
    expect(page.locator(".moves .end")).to_have_text("Resignation, Black wins")
    page.locator("summary", has_text="Save").click()
    with page.expect_download() as download:
        page.locator("[data-format=kif]").click()
    record = read_record(download.value.path().read_bytes())
    assert record.usi_moves() == ["7g7f", "3c3d", "6g6f", "8c8d"]
    assert (record.termination.value, record.headers["Result"]) == ("none", "Resignation, Black wins")


def test_work_is_kept_when_the_page_is_closed_and_offered_again(
    open_page: OpenPage, server: WebServer, browser: Browser
) -> None:
    page = quiet(open_page, server)
    context = page.context
    expect(page.locator('[data-banner="offered"]')).to_have_count(0)
    open_text(page, KIF)
    expect(names(page)).to_have_count(6)
    page.keyboard.press("ArrowRight")
    page.locator("#comment").fill("考え中")
    page.close()
    second = context.new_page()
    second.goto(server.address)
    offer = second.locator('[data-banner="offered"]')
    expect(offer).to_contain_text("☗ 山田 – ☖ 鈴木")
    third = context.new_page()  # both are offered it; who takes it has it
    third.goto(server.address)
    offer.locator('[data-action="go-on"]').click()
    expect(second.locator("#comment")).to_have_value("考え中")
    expect(second.locator(".moves .current .name")).to_have_text("P-7f")
    expect(second.locator(".moves .end")).to_have_text("Resignation, Black wins")
    expect(offer).to_have_count(0)
    # A page that opens the same record writes a copy: neither overwrites the other.
    expect(history(third)).to_have_count(1)
    third.locator("[data-kept]").click()
    expect(third.locator("#comment")).to_have_value("考え中")
    third.locator("#comment").fill("third")
    second.locator("#comment").fill("second")
    third.wait_for_timeout(300)
    assert sorted(kept_comments(third)) == ["second", "third"]


def test_the_offer_is_dismissed_and_the_history_forgets_and_remembers(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server)
    move(page, "7g", "7f")
    expect(history(page)).to_have_count(1)
    page.goto(server.origin)
    page.locator('[data-banner="offered"] .icon').click()
    page.goto(server.origin)
    page.locator("html[data-ready]").wait_for(state="attached")
    expect(page.locator('[data-banner="offered"]')).to_have_count(0)
    expect(history(page)).to_have_count(1)
    page.locator("[data-forget]").click()
    expect(page.locator("[data-kept]")).to_have_count(0)
    page.locator('[data-action="undo-banner"]').click()
    expect(history(page)).to_have_count(1)


def test_the_history_is_inside_the_window(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server, locale="ja-JP")
    open_text(page, KIF)
    expect(names(page)).to_have_count(6)
    page.locator("#comment").fill("mine")
    for width in (390, 820, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        expect(history(page)).to_have_count(1)
        box = page.locator(".kept").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        page.keyboard.press("Escape")


def test_finished_games_are_kept(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server, at="#play")
    for first in ("7g7f", "2g2f"):
        begin(page)
        move(page, first[:2], first[2:])
        expect_moves(page, 2)
        page.locator('[data-action="resign"]').click()
        page.locator('[data-action="resign"]').click()
        expect(page.locator(".record .end")).to_be_visible()
    page.goto(server.origin)
    page.locator("html[data-ready]").wait_for(state="attached")
    expect(page.locator('[data-banner="offered"]')).to_have_count(0)  # they are over
    games = history(page)
    expect(games).to_have_count(2)
    for game in games.all():
        expect(game).to_contain_text("fukayomi (nodes=10) · 2 moves · Resignation, White wins")
    games.nth(1).click()
    expect(page.locator(".moves .name").nth(1)).to_have_text("P-7f")
    expect(page.locator(".record .end")).to_contain_text("Resignation, White wins")
    expect(page.locator(".moves .time")).to_have_count(2)


def test_a_game_goes_on_in_a_page_that_was_opened_anew_and_is_seen_from_the_side_of_the_reader(
    open_page: OpenPage, server: WebServer
) -> None:
    page = quiet(open_page, server, at="#play")
    begin(page, color="white")
    expect_moves(page, 1)
    expect_phase(page, "reader")
    page.locator("#comment").fill("初手")
    context = page.context
    page.close()
    second = context.new_page()
    second.goto(server.origin)
    second.locator('[data-action="go-on"]').click()
    expect_phase(second, "reader")
    expect(second.locator("#comment")).to_have_value("初手")
    move(second, "3c", "3d", flip=True)
    expect_moves(second, 3)


def test_what_the_engine_answered_while_the_page_was_away_is_on_the_board(
    open_page: OpenPage, server: WebServer
) -> None:
    page = quiet(open_page, server, at="#play")
    page.route_web_socket("**/ws", lambda _: None)  # what the server says of its own accord is not heard
    page.reload()
    begin(page, nodes="51200")  # some tenths of a second: the server answers before the engine has moved
    move(page, "7g", "7f")
    expect_phase(page, "engine")
    game = page.evaluate("() => sessionStorage.getItem('fukayomi.play')")
    phase = "async game => (await (await fetch(`api/play/${game}`)).json()).phase"
    until(lambda: page.evaluate(phase, game) == "reader")
    expect_moves(page, 1)
    page.reload()
    expect_moves(page, 2)
    expect_phase(page, "reader")
    expect(page.locator(".moves [aria-current]")).to_have_attribute("data-node", "2")
    expect(page.locator('[data-action="to-game"]')).to_have_count(0)


def test_a_browser_without_locks_and_clipboard_writes_copies(open_page: OpenPage, server: WebServer) -> None:
    """As over plain HTTP from another computer."""
    page = quiet(open_page, server)
    page.context.add_init_script("delete Navigator.prototype.locks; delete Navigator.prototype.clipboard")
    page.goto(server.origin)
    move(page, "7g", "7f")
    page.locator("#comment").fill("first")
    page.locator("summary", has_text="Save").click()
    page.locator("[data-copy=sfen]").click()
    expect(page.locator(".banners")).to_contain_text("Copied")
    page.reload()
    page.locator("#comment").press("End")
    page.locator("#comment").press_sequentially(" again")
    page.reload()
    expect(page.locator("#comment")).to_have_value("first again")
    assert kept_comments(page) == ["first again"]
    page.goto(f"{server.origin}/?anew")
    page.locator('[data-action="go-on"]').click()
    expect(page.locator("#comment")).to_have_value("first again")
    page.locator("#comment").fill("third")
    expect(history(page)).to_have_count(2)
    assert sorted(kept_comments(page)) == ["first again", "third"]


def test_a_comment_outlives_a_reload_and_what_another_version_of_the_page_kept_does_no_harm(
    open_page: OpenPage, server: WebServer
) -> None:
    page = quiet(open_page, server)
    page.evaluate(
        "() => addEventListener('pagehide', () => sessionStorage.setItem('fukayomi.record', '{\"record\": 1}'))"
    )
    page.reload()
    move(page, "7g", "7f")
    expect(names(page)).to_have_text(["Start", "P-7f"])
    page.locator("#comment").fill("角道")  # the field keeps the focus
    page.reload()
    expect(page.locator("#comment")).to_have_value("角道")
    page.locator("#comment").press_sequentially("、定跡")
    page.reload()
    expect(page.locator("#comment")).to_have_value("角道、定跡")
    expect(names(page)).to_have_text(["Start", "P-7f"])


def test_a_server_that_starts_again_loses_no_game_and_the_game_is_played_on(
    open_page: OpenPage, serve: Serve, problems: list[str]
) -> None:
    first = serve(token=None)
    page = quiet(open_page, first, at="#play")
    begin(page)
    move(page, "7g", "7f")
    expect_moves(page, 2)
    expect_phase(page, "reader")
    page.locator("#comment").fill("二手目まで")
    first.__exit__()
    expect(page.locator(".banners")).to_contain_text("Not connected to the server")
    serve(token=None, port=first.port)
    expect(page.locator(".banners")).to_contain_text("does not have the game any more")
    expect_moves(page, 2)
    expect(page.locator("#comment")).to_have_value("二手目まで")
    page.locator('[data-action="play-on"]').click()
    expect_phase(page, "reader")
    expect_moves(page, 2)
    move(page, "2g", "2f")
    expect_moves(page, 4)
    expect_phase(page, "reader")
    page.locator('[data-action="resign"]').click()
    page.locator('[data-action="resign"]').click()
    expect(page.locator(".record .end")).to_be_visible()
    expect(page.locator(".moves .has-comment")).to_have_count(1)
    expect(page.locator(".moves .time")).to_have_count(4)
    expect(history(page)).to_have_count(1)  # one record, not two
    problems.clear()  # the browser tells of the lost connection and the answer 404


def test_a_server_that_starts_again_finds_the_edits_and_the_settings(
    open_page: OpenPage, serve: Serve, problems: list[str]
) -> None:
    """Its port is the same, its token is not."""
    first = serve()
    page = quiet(open_page, first)
    open_text(page, KIF)
    expect(names(page)).to_have_count(6)
    page.locator("#comment").fill("考え中")
    page.locator(".settings > summary").click()
    page.get_by_label("Language").select_option("ja")
    page.locator(".settings > summary").click()
    first.__exit__()
    expect(page.locator(".banners")).to_contain_text("サーバーとつながっていません")
    page.locator("#comment").press_sequentially("、続き")  # also while there is no server
    expect(names(page)).to_have_count(6)
    context = page.context
    page.close()
    again = serve(port=first.port)
    assert again.address != first.address
    other = context.new_page()
    other.goto(again.address)
    expect(other.get_by_role("tab", name="検討")).to_be_visible()
    other.locator('[data-action="go-on"]').click()
    expect(other.locator("#comment")).to_have_value("考え中、続き")
    expect(names(other)).to_have_count(6)
    problems.clear()  # the browser tells of the lost connection


def test_an_analysis_is_kept_with_its_record(open_page: OpenPage, server: WebServer, short_game: Path) -> None:
    page = quiet(open_page, server, at="#game")
    page.locator("#open-file").set_input_files(short_game)
    expect(names(page)).to_have_count(31)
    page.locator('[data-action="analyse-game"]').click()
    expect(page.locator(".players")).to_be_visible()
    open_text(page, KIF)
    expect(page.locator(".players")).to_have_count(0)
    page.locator('[data-action="undo"]').click()
    expect(page.locator(".players")).to_be_visible()
    page.goto(f"{server.origin}/?again#game")
    page.locator('[data-action="go-on"]').click()
    expect(page.locator(".players")).to_be_visible()
