"""Playing against the engine in the page: by clicks and taps, in both languages, with every way to end a game."""

import re
from collections.abc import Callable

from page_play import begin, expect_moves, expect_phase
from playwright.sync_api import Page, expect
from web_board import PHONE, choose_language, click, move, tap

from fukayomi.web import WebServer
from fukayomi.web.play.strength import MEASURED

OpenPage = Callable[..., Page]
Serve = Callable[..., WebServer]
MATE_NEXT = "4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1"
ENTERED = "1+R2K1+B2/PPPPPPPPP/2+B3+R2/9/9/9/9/9/4k4 b GS 1"


def begin_from(page: Page, sfen: str) -> None:
    """Begin a game from a position, which is pasted as the record."""
    words = page.locator("#position-text")
    before = words.inner_text()
    page.evaluate(
        """text => {
          const data = new DataTransfer();
          data.setData("text/plain", text);
          document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
        }""",
        f"sfen {sfen}",
    )
    expect(words).not_to_have_text(before)
    begin(page, start="board")


def test_a_game_by_clicks_with_taking_back_hint_and_resignation(open_page: OpenPage) -> None:
    page = open_page(at="#play")
    begin(page)
    expect_phase(page, "reader")
    move(page, "7g", "7f")
    expect_moves(page, 2)
    expect_phase(page, "reader")
    page.locator('[data-action="hint"]').click()
    expect(page.locator(".play-hint")).to_contain_text(
        re.compile("^[A-Z][^ ]*-?[1-9][a-i][^ ]*; win rate of ☗ [0-9]+ %$")
    )
    expect(page.locator(".main-board .arrow")).to_have_count(1)
    move(page, "2g", "2f")
    expect_moves(page, 4)
    page.locator('[data-action="take-back"]').click()
    expect_moves(page, 2)
    expect(page.locator(".play-hint")).to_have_count(0)
    page.locator('[data-action="resign"]').click()
    expect(page.locator('[data-action="resign"]')).to_have_text("Really resign?")
    page.locator('[data-action="resign"]').click()
    expect(page.locator(".play-turn")).to_have_text("You lose: resignation")
    expect(page.locator(".record .end")).to_be_visible()
    expect(page.locator(".main-board .player").first).to_contain_text("fukayomi (nodes=10)")


def test_on_a_phone_in_japanese_and_the_page_loaded_again(open_page: OpenPage) -> None:
    page = open_page(at="#play", locale="ja-JP", **PHONE)
    begin(page)
    expect(page.locator(".play-turn")).to_have_text("あなたの手番です")
    tap(page, "7g")
    page.locator(".board .target").first.wait_for()
    tap(page, "7f")
    expect_moves(page, 2)
    expect(page.locator(".play-turn")).to_have_text("あなたの手番です")
    page.reload()
    expect(page.locator(".play-turn")).to_have_text("あなたの手番です")
    expect_moves(page, 2)
    page.locator('[data-action="take-back"]').tap()
    expect_moves(page, 0)


def test_in_a_handicap_game_the_engine_gives_the_handicap_and_begins(open_page: OpenPage) -> None:
    page = open_page(at="#play")
    page.locator('select[name="play.strength"]').select_option("time")
    page.locator('select[name="play.timeMs"]').select_option("100")
    page.locator('select[name="play.start"]').select_option(label="2 pieces")
    page.locator('[data-action="begin"]').click()
    expect_phase(page, "reader")
    expect_moves(page, 1)
    expect(page.locator(".main-board .pieces use")).to_have_count(38)


def test_a_mate_and_a_declaration(open_page: OpenPage) -> None:
    page = open_page(at="#play")
    begin_from(page, MATE_NEXT)
    page.locator('[data-place="b:G"]').click()
    click(page, "5b")
    expect(page.locator(".play-turn")).to_have_text("You win: mate")
    with page.expect_download() as saved:
        page.locator(".files summary", has_text="Save").click()
        page.locator(".files [data-format=kif]").click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert "５二金打" in text
    assert "詰み" in text
    begin_from(page, ENTERED)
    page.locator('[data-action="declare"]').click()
    expect(page.locator(".play-turn")).to_have_text("You win: declaration")


def test_clocks_run_and_time_ends_the_game(open_page: OpenPage) -> None:
    page = open_page(at="#play")
    begin(page, clock="600b30")
    clock = page.locator('[data-clock="black"] dd')
    expect(clock).to_have_text(re.compile("^(10:00|9:[0-5][0-9]) [+] 30 s$"))
    expect(clock).to_have_text(re.compile("^9:[0-5][0-9] "))  # it runs
    expect(page.locator('[data-clock="white"] dd')).to_have_text("–")
    expect(page.locator(".clocks .ticking")).to_have_attribute("data-clock", "black")


def test_two_pages_play_games_of_their_own_one_as_white_on_a_turned_board(open_page: OpenPage) -> None:
    first, second = open_page(at="#play"), open_page(at="#play")
    begin(first)
    begin(second, color="white")
    expect_moves(second, 1)
    move(first, "7g", "7f")
    expect_moves(first, 2)
    expect_moves(second, 1)
    expect_phase(second, "reader")
    move(second, "3c", "3d", flip=True)
    expect_moves(second, 3)


def test_the_rating_says_what_is_measured_and_what_is_not(open_page: OpenPage) -> None:
    page = open_page(at="#play")
    rating = page.locator(".play-rating")
    page.locator('select[name="play.strength"]').select_option("time")
    page.locator('select[name="play.timeMs"]').select_option("1000")
    expect(rating.locator('[data-measured="1000"]')).to_have_count(2)
    for measured in MEASURED:
        if measured.time_ms == 1000:
            expect(rating).to_contain_text(f"{measured.score:g} %")
            expect(rating).to_contain_text(measured.opponent)
    page.locator('select[name="play.timeMs"]').select_option("10000")
    expect(rating.locator("[data-other-network]")).to_have_count(1)  # these tests have no network at all
    expect(rating).to_contain_text("has not been measured")
    choose_language(page, "ja")
    expect(rating).to_contain_text("この時間での実測はなく")
    page.locator('select[name="play.strength"]').select_option("nodes")
    expect(rating.locator("[data-measured]")).to_have_count(0)
    page.locator('select[name="play.temperature"]').select_option("1")
    expect(rating).to_contain_text("段級位はわかりません")
    expect(rating.locator("p")).to_have_count(3)
    choose_language(page, "en")
    expect(rating).to_contain_text("measured against people")


def test_a_game_that_the_server_has_forgotten_stays_in_the_record(
    open_page: OpenPage, serve: Serve, problems: list[str]
) -> None:
    own = serve()
    page = open_page(own, at="#play")
    begin(page)
    move(page, "7g", "7f")
    expect_moves(page, 2)
    game_id = page.evaluate("() => sessionStorage.getItem('fukayomi.play')")
    page.evaluate("id => fetch(`api/play/${id}`, {method: 'DELETE'})", game_id)
    page.evaluate("() => document.querySelector('[data-action=hint]').click()")
    expect(page.locator(".banners")).to_contain_text("not on the server any more")
    expect_moves(page, 2)
    assert len(problems) == 1  # the browser reports the answer 404
    problems.clear()
