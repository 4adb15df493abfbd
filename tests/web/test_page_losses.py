"""What a reader types is not lost: before a reload, when the engine answers, when the browser keeps nothing."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from page_play import begin, expect_moves, expect_phase
from patience import PATIENCE_S, until
from playwright.sync_api import Page, WebSocketRoute, expect
from web_board import PHONE, choose_language, click, move, remembering

from fukayomi.web import WebServer

expect.set_options(timeout=1000 * PATIENCE_S)
OpenPage = Callable[..., Page]
Serve = Callable[..., WebServer]

TSUME = "4k4/9/4G4/9/9/9/9/9/9 b G2r2b2g4s4n4l18p 1"
GAME = "手合割：平手\n先手：山田\n1 ７六歩(77)\n2 ３四歩(33)\n3 投了\n"
SEVERAL = "/\n".join(f"N+{name}\nPI\n+\n+7776FU\n-3334FU\n%TORYO\n" for name in ("一郎", "二郎", "三郎"))
REFUSED = """
  indexedDB.open = () => { throw new DOMException("no", "SecurityError"); };
  for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, name, {get() { throw new DOMException("no", "SecurityError"); }});
"""
FULL = """
  const put = IDBObjectStore.prototype.put;
  IDBObjectStore.prototype.put = function (value) {
    if (window.isFull) throw new DOMException("full", "QuotaExceededError");
    return put.call(this, value);
  };
"""


@pytest.fixture
def server(serve: Serve) -> WebServer:
    """A server for one test."""
    return serve()


def quiet(open_page: OpenPage, server: WebServer, **options: object) -> Page:
    """A page whose engine is off."""
    return open_page(**({"server": server, "storage_state": remembering(server.origin, engine=False)} | options))


def reload(page: Page, script: str = "") -> None:
    """Load the page again, with a script that comes before its own."""
    if script:
        page.add_init_script(script)
    page.reload()
    page.locator("html[data-ready]").wait_for(state="attached")


def open_text(page: Page, text: str, name: str = "game.kif") -> None:
    page.locator("#open-file").set_input_files([{"name": name, "mimeType": "text/plain", "buffer": text.encode()}])


def names(page: Page) -> list[str]:
    """The moves of the record, with the start."""
    return page.locator(".moves .name").all_text_contents()


def test_an_sfen_outlives_a_reload_before_its_field_loses_focus(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server, **PHONE, locale="ja-JP")
    page.locator('[data-action="setup"]').click()
    page.locator("#sfen").fill("4k4/9/4G4/9")  # not yet all of it
    reload(page)
    expect(page.locator("#sfen")).to_have_value("4k4/9/4G4/9")
    page.locator("#sfen").fill(TSUME)
    reload(page)
    expect(page.locator("#sfen")).to_have_value(TSUME)
    page.locator('[data-action="use"]').click()
    expect(page.locator('[data-action="solve-mate"]')).to_be_visible()


def test_a_text_that_is_no_position_is_not_used(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server)
    page.locator('[data-action="setup"]').click()
    page.locator("#sfen").fill("4k4/9/4G4/9")
    page.locator('[data-action="use"]').click()
    expect(page.locator(".setup .error")).to_have_text("Not an SFEN")
    expect(page.locator("#sfen")).to_have_value("4k4/9/4G4/9")
    page.locator('[data-action="cancel"]').click()
    page.keyboard.press("Control+z")
    expect(page.locator("#sfen")).to_have_value("4k4/9/4G4/9")
    page.locator('[data-action="clear"]').click()  # another position, and the text is gone
    expect(page.locator("#sfen")).to_have_value("9/9/9/9/9/9/9/9/9 b - 1")
    expect(page.locator(".setup .error")).to_have_count(0)


def test_a_position_that_is_set_up_outlives_its_page(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server)
    page.locator('[data-action="setup"]').click()
    page.locator('[data-action="clear"]').click()
    page.locator('[data-piece="k"]').click()
    click(page, "5a")
    reload(page)  # it stays one record
    page.locator('[data-piece="G"]').click()
    click(page, "5c")
    half = "4k4/9/4G4/9/9/9/9/9/9 b - 1"
    expect(page.locator("#sfen")).to_have_value(half)
    other = page.context.new_page()
    page.close()
    other.goto(server.address)
    other.locator('[data-action="go-on"]').click()
    other.locator('[data-action="setup"]').click()
    expect(other.locator("#sfen")).to_have_value(half)
    other.locator("summary", has_text="History").click()
    expect(other.locator("[data-kept]")).to_have_count(1)


def test_a_comment_stays_with_its_move_when_the_engine_answers(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server, at="#play")
    held: list[Callable[[], None]] = []

    def hold(socket: WebSocketRoute) -> None:
        to_server = socket.connect_to_server()
        to_server.on_message(
            lambda text: held.append(lambda: socket.send(text)) if '"type":"play"' in str(text) else socket.send(text)
        )

    page.context.route_web_socket(re.compile("/ws$"), hold)
    reload(page)
    begin(page, strength="time", timeMs="1000")
    move(page, "7g", "7f")
    expect_phase(page, "engine")
    page.locator("#comment").press_sequentially("角道を")
    until(lambda: page.wait_for_timeout(20) or len(held) > 1)
    for release in held:
        release()
    expect_phase(page, "reader")
    expect_moves(page, 2)
    expect(page.locator(".moves .current .ply")).to_have_text("2")
    expect(page.locator("[data-noted]")).to_have_text("1 P-7f")
    page.keyboard.type("開ける")
    expect(page.locator("#comment")).to_have_value("角道を開ける")
    page.locator("#comment").blur()
    expect(page.locator("#comment")).to_have_value("")
    expect(page.locator("[data-noted]")).to_have_count(0)
    page.locator(".moves .move", has_text="P-7f").click()
    expect(page.locator("#comment")).to_have_value("角道を開ける")


def test_text_that_cannot_be_read_stays_in_the_field(
    open_page: OpenPage, server: WebServer, problems: list[str]
) -> None:
    page = quiet(open_page, server, locale="ja-JP")
    wrong = GAME.replace("３四歩(33)", "３五歩(33)")
    page.locator("summary", has_text="貼り付け").click()
    page.locator("#pasted").fill(wrong)
    page.locator(".menu[open] button.primary").click()
    expect(page.locator(".banners")).to_contain_text("4行目：2手目：「３五歩(33)」は指せません")
    expect(page.locator("#pasted")).to_have_value(wrong)
    page.locator("#pasted").fill(GAME)
    page.locator(".menu[open] button.primary").click()
    expect(page.locator(".moves .name")).to_have_count(3)
    expect(page.locator("#pasted")).to_have_value("")
    assert [each for each in problems if "400" in each]
    problems.clear()


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
def test_a_browser_that_keeps_nothing_says_so_and_asks_before_it_is_left(
    open_page: OpenPage, server: WebServer, locale: str
) -> None:
    page = quiet(open_page, server, locale=locale)
    reload(page, REFUSED)
    expect(page.locator(".banner")).to_have_count(0)
    move(page, "7g", "7f")
    told = "stores nothing" if locale == "en-US" else "このブラウザーには保存できません"
    expect(page.locator(".banners")).to_contain_text(told)
    page.locator('[data-action="new"]').click()
    undo = page.locator('[data-banner="undo"]')
    expect(undo).to_contain_text("keeps nothing" if locale == "en-US" else "このブラウザーには保存できません")
    undo.locator('[data-action="undo-banner"]').click()
    expect(page.locator(".moves .name")).to_have_count(2)
    asked: list[str] = []
    page.on("dialog", lambda dialog: asked.append(dialog.type) or dialog.accept())
    page.reload()
    assert asked == ["beforeunload"]


def test_what_found_no_space_is_kept_with_the_next_change(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server, locale="ja-JP")
    reload(page, FULL)
    page.evaluate("window.isFull = true")
    move(page, "7g", "7f")
    expect(page.locator(".banners")).to_contain_text("このブラウザーに保存できません：空き容量がありません")
    page.locator('[data-action="new"]').click()
    expect(page.locator('[data-banner="undo"]')).not_to_contain_text("保存されています")
    page.evaluate("window.isFull = false")
    move(page, "2g", "2f")
    page.locator("summary", has_text="履歴").click()
    expect(page.locator("[data-kept]")).to_have_count(2)
    page.keyboard.press("Escape")
    page.locator('[data-action="new"]').click()
    expect(page.locator('[data-banner="undo"]')).to_contain_text("保存されています")


def test_a_dead_server_is_told_in_words(open_page: OpenPage, server: WebServer, problems: list[str]) -> None:
    page = quiet(open_page, server)
    page.context.route(re.compile("/api/"), lambda route: route.abort())
    page.locator("#typed-move").fill("7g7f")
    for language, said in (("en", "the server does not answer"), ("ja", "サーバーが応答しません")):
        choose_language(page, language)
        open_text(page, GAME)
        expect(page.locator(".banners")).to_contain_text(said)
    assert all("ERR_FAILED" in each for each in problems)
    problems.clear()


def test_the_games_of_a_file_outlive_a_reload_with_what_was_changed(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server)
    open_text(page, SEVERAL, "games.csa")
    games = page.get_by_label("Games")
    expect(games.locator("option")).to_have_count(3)
    games.select_option("1")
    expect(page.locator(".player-name").first).to_have_value("二郎")
    page.locator("#comment").fill("二局目")
    games.select_option("2")
    expect(page.locator(".player-name").first).to_have_value("三郎")
    for _ in range(2):
        reload(page)
        expect(page.locator(".player-name").first).to_have_value("三郎")
        expect(games.locator("option")).to_have_count(3)
        expect(games).to_have_value("2")
    games.select_option("1")
    expect(page.locator("#comment")).to_have_value("二局目")
    games.select_option("0")
    expect(page.locator(".player-name").first).to_have_value("一郎")
    page.locator("summary", has_text="History").click()
    expect(page.locator("[data-kept]")).to_have_count(1)


def test_a_list_of_the_command_line_keeps_what_was_changed(open_page: OpenPage, serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "games.csa"
    path.write_text(SEVERAL, encoding="utf-8")
    page = quiet(open_page, serve(files=(path,)))
    page.locator("#comment").fill("一局目")
    page.get_by_label("Games").select_option("1")
    expect(page.locator(".player-name").first).to_have_value("二郎")
    reload(page)
    expect(page.locator(".player-name").first).to_have_value("二郎")
    page.get_by_label("Games").select_option("0")
    expect(page.locator("#comment")).to_have_value("一局目")


def test_a_page_that_is_ready_takes_a_comment_for_the_record_it_opened(
    open_page: OpenPage, serve: Serve, tmp_path: Path
) -> None:
    path = tmp_path / "games.csa"
    path.write_text(SEVERAL, encoding="utf-8")
    page = quiet(open_page, serve(files=(path,)))
    address = page.url
    page.add_init_script(
        "const draw = requestAnimationFrame; requestAnimationFrame = run => setTimeout(() => draw(run), 2000);"
    )
    page.goto("about:blank")
    page.goto(address)
    page.locator("html[data-ready]").wait_for(state="attached")
    assert page.locator(".player-name").first.input_value() == "一郎"
    page.locator("#comment").fill("一局目")
    page.get_by_label("Games").select_option("1")
    expect(page.locator(".player-name").first).to_have_value("二郎")
    page.get_by_label("Games").select_option("0")
    expect(page.locator("#comment")).to_have_value("一局目")


def test_a_comment_does_not_stay_when_another_record_comes_before_the_page_is_drawn(
    open_page: OpenPage, server: WebServer
) -> None:
    page = quiet(open_page, server)
    open_text(page, GAME)
    expect(page.locator(".moves .name")).to_have_count(3)
    page.evaluate(
        """() => {
          const field = document.getElementById("comment");
          field.value = "mine";
          field.dispatchEvent(new Event("input"));
          document.querySelector('[data-action="new"]').click();
        }"""
    )
    expect(page.locator(".moves .name")).to_have_count(1)
    expect(page.locator("#comment")).to_have_value("")
    page.locator('[data-action="undo"]').click()
    expect(page.locator("#comment")).to_have_value("mine")


def test_a_comment_is_never_too_long_to_be_saved(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server)
    move(page, "7g", "7f")
    page.locator("#comment").focus()
    page.keyboard.insert_text("長" * 30_000)
    expect(page.locator("#comment")).to_have_value("長" * 20_000)
    page.locator("summary", has_text="Save").click()
    with page.expect_download() as saved:
        page.locator('[data-format="kif"]').click()
    assert "長" * 20_000 in Path(saved.value.path()).read_text(encoding="utf-8-sig")


def test_a_comment_that_is_cut_is_told(open_page: OpenPage, server: WebServer, tmp_path: Path) -> None:
    path = tmp_path / "game.kif"
    path.write_text(GAME.replace("(77)\n", "(77)\n*" + "長" * 30_000 + "\n"), encoding="utf-8")
    page = quiet(open_page, server)
    for language, text in (
        ("en", "game.kif: ply 1: the comment is cut to 20000 characters"),
        ("ja", "game.kif：1手目：コメントが長いため、はじめの20000文字だけを読みました"),
    ):
        choose_language(page, language)
        page.locator("#open-file").set_input_files(path)
        expect(page.locator(".banners")).to_contain_text(text)
    page.locator(".moves .name", has_text="７六歩").click()
    expect(page.locator("#comment")).to_have_value("長" * 20_000)


def test_what_is_said_of_many_files_can_be_read_and_closed(
    open_page: OpenPage, server: WebServer, problems: list[str]
) -> None:
    page = quiet(open_page, server, **PHONE, locale="ja-JP")
    for width, height in ((390, 664), (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        page.locator("#open-file").set_input_files(
            [{"name": f"{n}.kif", "mimeType": "text/plain", "buffer": b"nothing"} for n in range(60)]
        )
        banner = page.locator(".banner", has_text="59.kif")
        expect(banner).to_be_in_viewport(ratio=1)
        close = banner.get_by_role("button")
        expect(close).to_be_in_viewport(ratio=1)
        close.click()
        expect(banner).to_have_count(0)
    assert all("400" in each for each in problems)
    problems.clear()


def test_what_was_said_of_a_lost_game_goes_when_it_is_played_on(
    open_page: OpenPage, server: WebServer, problems: list[str]
) -> None:
    page = quiet(open_page, server, at="#play")
    begin(page)
    move(page, "7g", "7f")
    expect_moves(page, 2)
    expect_phase(page, "reader")
    page.evaluate("fetch(`api/play/${sessionStorage['fukayomi.play']}`, {method: 'DELETE'})")
    reload(page)
    page.locator("summary", has_text="History").click()
    page.locator("[data-kept]").click()
    expect(page.locator(".banners")).to_contain_text("does not have the game any more")
    page.locator('[data-action="play-on"]').click()
    expect_phase(page, "reader")
    expect(page.locator(".banners")).not_to_contain_text("does not have the game any more")
    assert all("404" in each for each in problems)
    problems.clear()
