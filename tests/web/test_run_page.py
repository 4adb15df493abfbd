"""Training runs, learning runs and matches on the page, in a real browser, while they grow."""

import re
from collections.abc import Callable
from pathlib import Path

import match_samples
import pytest
import run_samples
from patience import PATIENCE_S
from playwright.sync_api import Page, expect
from web_board import PHONE, remembering

from fukayomi.loop.journal import Journal
from fukayomi.web import WebServer

expect.set_options(timeout=1000 * PATIENCE_S)
OpenPage = Callable[..., Page]


@pytest.fixture
def show(serve, open_page: OpenPage) -> Callable[..., Page]:
    """Opens the page of a folder: ``show(folder, "#training")``."""

    def show(folder: Path, at: str, **options: object) -> Page:
        server: WebServer = serve(files=(folder,))
        return open_page(server, at, **({"storage_state": remembering(server.origin, engine=False)} | options))

    return show


def choose(page: Page, *names: str) -> None:
    """Tick training runs."""
    for name in names:
        page.locator(f'label[data-run="{name}"] input').check()


def chart(page: Page, name: str):
    return page.locator(f'figure[data-chart="{name}"]')


def look_again(page: Page) -> None:
    """Come back to the page: it asks at once instead of in two seconds."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_the_curves_of_a_run_grow_while_it_trains(show, tmp_path: Path) -> None:
    run = run_samples.training_run(tmp_path / "runs" / "a", steps=300)
    page = show(tmp_path / "runs", "#training")
    expect(page.locator("[data-last-step]")).to_have_attribute("data-last-step", "300")
    expect(chart(page, "policy_loss")).to_have_attribute("data-last", "300")
    expect(chart(page, "policy_loss").locator("canvas")).to_be_visible()
    run_samples.train_on(run, 310, 400)
    with (run / "log.jsonl").open("a") as log:
        log.write('{"train": {"step": 410, "pol')
    look_again(page)
    expect(page.locator("[data-last-step]")).to_have_attribute("data-last-step", "400")
    expect(chart(page, "policy_loss")).to_have_attribute("data-last", "400")
    expect(chart(page, "policy_accuracy").locator(".u-legend")).to_contain_text("runs/a (test)0.5")
    speed = chart(page, "positions_a_second").locator(".u-legend")
    expect(speed).to_contain_text("runs/a256")  # 64 positions a step, 4 steps a second
    run_samples.training_run(tmp_path / "runs" / "<b>new</b>", steps=20)
    expect(page.locator('label[data-run="runs/<b>new</b>"]')).to_have_text("runs/<b>new</b>")


def test_runs_are_overlaid_with_the_settings_in_which_they_differ(show, tmp_path: Path) -> None:
    run_samples.training_run(tmp_path / "runs" / "a", steps=400)
    run_samples.training_run(tmp_path / "runs" / "b", steps=200, lr=0.5, loss=4)
    page = show(tmp_path / "runs", "#training")
    choose(page, "runs/b")
    loss = chart(page, "policy_loss")
    expect(loss).to_have_attribute("data-lines", "6")  # raw, smoothed and test of both
    rows = page.locator('[data-table="differences"] tbody tr')
    expect(rows).to_have_count(1)
    expect(rows).to_have_text(re.compile(r"training\.lr\s*0\.01\s*0\.5"))
    expect(loss).to_have_attribute("data-last", "400")
    page.locator("#axis").select_option("positions")
    expect(loss).to_have_attribute("data-last", str(400 * 64))
    page.locator("#axis").select_option("time")
    expect(loss).to_have_attribute("data-last", "100")
    page.locator("#axis").select_option("step")
    page.locator("#smooth").fill("0")
    page.locator("#smooth").press("Enter")
    expect(loss).to_have_attribute("data-lines", "4")
    for name in ("log-x", "log-y"):
        page.locator(f'[data-action="{name}"]').click()
        expect(page.locator(f'[data-action="{name}"]')).to_have_attribute("aria-pressed", "true")
    # The cursor is at the same step in all charts.
    loss.locator(".u-over").hover(position={"x": 120, "y": 60})
    place = loss.locator(".u-legend .u-value").first
    expect(place).not_to_have_text("400")
    expect(chart(page, "learning_rate").locator(".u-legend .u-value").first).to_have_text(place.inner_text())
    page.locator('label[data-run="runs/a"] input').uncheck()
    expect(loss).to_have_attribute("data-lines", "2")
    expect(page.locator('[data-table="differences"]')).to_have_count(0)


def test_a_learning_run_shows_its_rating_over_time(show, tmp_path: Path) -> None:
    folder = run_samples.learning_run(tmp_path / "run", generations=2)
    page = show(folder, "#training")
    expect(page.locator("[data-generation]")).to_have_attribute("data-generation", "2")
    for name in ("rating", "fresh", "plies", "endings", "league", "window", "wrong"):
        expect(chart(page, name).locator("canvas")).to_be_visible()
    expect(page.locator('[data-table="generations"] tbody tr')).to_have_count(3)
    run_samples.next_generation(folder, Journal(folder), 3)
    look_again(page)
    expect(page.locator("[data-generation]")).to_have_attribute("data-generation", "3")
    expect(chart(page, "rating")).to_have_attribute("data-last", "3")
    for _ in range(2):  # what is shown already stays
        page.locator('[data-run="run/games"]').click()
        expect(page.locator("[data-games]")).to_have_attribute("data-games", "6")
    expect(chart(page, "results").locator("canvas")).to_be_visible()
    rows = page.locator('[data-table="games"] tbody tr')
    expect(rows).to_have_count(6)
    plies = int(rows.nth(1).locator("td").nth(5).inner_text())
    page.get_by_role("button", name="Open game 5 on the board").click()
    expect(page.locator(".moves button.move")).to_have_count(plies + 1)
    page.get_by_role("tab", name="Training").click()
    choose(page, "run/learner")
    expect(chart(page, "policy_loss")).to_have_attribute("data-last", "200")


def test_a_match_is_followed_and_its_games_open_on_the_board(show, tmp_path: Path) -> None:
    settings = match_samples.settings_of("<i>a</i>", "b", "c", games=60)
    match = run_samples.SampleMatch(tmp_path / "m", settings).play(12, favourite="b")
    page = show(tmp_path / "m", "#matches")
    expect(page.locator("[data-games]")).to_have_attribute("data-games", "12")
    expect(page.locator(".live")).to_have_text("● being played")
    players = page.locator('[data-table="league"] tbody tr')
    expect(players).to_have_count(3)
    expect(players.first).to_have_attribute("data-player", "b")
    expect(players.first.locator("svg.interval")).to_be_visible()
    expect(page.locator('[data-table="cross"]')).to_contain_text("<i>a</i>")
    expect(page.locator('[data-table="pairs"] tbody tr')).to_have_count(3)
    expect(page.locator('[data-part="colors"]')).to_contain_text("Black wins")
    expect(page.locator('[data-table="strategies"] tbody tr').first).to_be_visible()
    expect(page.locator('[data-table="games"] tbody tr')).to_have_count(12)
    match.play(1)
    look_again(page)
    expect(page.locator("[data-games]")).to_have_attribute("data-games", "13")
    expect(page.locator('[data-table="games"] tbody tr').first).to_have_attribute("data-game", "13")
    page.get_by_role("button", name="Open game 12 on the board").click()
    expect(page.locator(".main-board svg.board")).to_be_visible()
    expect(page.locator(".moves button.move")).to_have_count(41)
    match.close()


def test_a_list_of_games_keeps_its_place_while_one_is_on_the_board(show, tmp_path: Path) -> None:
    run_samples.SampleMatch(tmp_path / "m", match_samples.settings_of(games=60)).play(60).close()
    page = show(tmp_path / "m", "#matches", **PHONE, locale="ja-JP")
    row = page.locator('[data-game="3"]')
    for width, height in ((390, 664), (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        row.scroll_into_view_if_needed()
        place = page.evaluate("scrollY")
        assert place > 500
        row.get_by_role("button").click()
        expect(page.locator(".main-board svg.board")).to_be_visible()
        page.locator("#tab-matches").click()
        expect(row).to_be_in_viewport()
        assert page.evaluate("scrollY") == place


def test_forfeits_and_times_have_tables_and_a_warning(show, tmp_path: Path) -> None:
    settings = match_samples.settings_of("a", "<i>b</i>", games=12)
    run_samples.SampleMatch(tmp_path / "m", settings).play(12, loser="<i>b</i>").close()
    page = show(tmp_path / "m", "#matches")
    rows = page.locator('[data-table="forfeits"] tbody tr')
    expect(rows).to_have_count(1)
    expect(rows.first).to_have_attribute("data-player", "<i>b</i>")
    expect(rows.first).to_contain_text("6 / ")
    expect(page.locator('[data-part="forfeit-warning"]')).to_contain_text("<i>b</i>")
    times = page.locator('[data-table="times"] tbody tr')
    expect(times).to_have_count(2)
    expect(times.first.locator("td").nth(4)).to_have_text("3")


def test_a_test_stands_between_its_bounds_in_japanese(show, tmp_path: Path) -> None:
    run_samples.match(tmp_path / "m", "新", "旧", games=130, favourite="新", sprt={"elo0": 0, "elo1": 5})
    page = show(tmp_path / "m", "#matches", locale="ja-JP", color_scheme="dark")
    test = page.locator(".sprt")
    expect(test).to_have_attribute("data-decision", "continue")
    expect(test).to_contain_text("H0: 新 は 旧 より 0.0 強い。H1: 5.0。単位は正規化Elo。")
    expect(test).to_contain_text("Elo(ロジスティック)")
    expect(test.locator("circle.llr")).to_be_visible()
    games = page.locator('[data-table="games"] tbody tr')
    expect(games).to_have_count(100)
    page.get_by_role("button", name="さらに表示").click()
    expect(games).to_have_count(130)
    games.nth(120).locator("button").click()
    expect(page.locator("#tab-analyse")).to_have_attribute("aria-selected", "true")
    page.locator("#tab-matches").click()  # the list is where it was left
    expect(games).to_have_count(130)
    expect(games.nth(120)).to_be_in_viewport()


def test_several_matches_are_a_league_on_a_narrow_screen(show, tmp_path: Path) -> None:
    run_samples.match(tmp_path / "all" / "one", "a", "b", games=8)
    run_samples.match(tmp_path / "all" / "two", "b", "c", games=8)
    page = show(tmp_path / "all", "#matches", **PHONE)
    expect(page.locator("[data-games]")).to_have_attribute("data-games", "16")
    expect(page.locator('[data-table="league"] tbody tr')).to_have_count(3)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390, "tables scroll in themselves"
    for _ in range(2):  # what is shown already stays
        page.locator('[data-match="all/two"]').tap()
        expect(page.locator("[data-games]")).to_have_attribute("data-games", "8")
    expect(page.locator('[data-table="games"] tbody tr')).to_have_count(8)


def test_a_tab_that_the_address_names_stays(serve, open_page: OpenPage, tmp_path: Path, short_game: Path) -> None:
    run_samples.match(tmp_path / "m", "a", "b", games=2)
    server: WebServer = serve(files=(short_game, tmp_path / "m"))
    page = open_page(server, "#matches", storage_state=remembering(server.origin, engine=False))
    expect(page.locator("[data-games]")).to_have_attribute("data-games", "2")
    page.get_by_role("tab", name="Analyse").click()
    expect(page.locator(".moves button.move")).to_have_count(31)


def test_nothing_is_asked_while_nobody_looks(show, tmp_path: Path) -> None:
    run_samples.training_run(tmp_path / "runs" / "a", steps=100)
    page = show(tmp_path / "runs", "")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.install()
    page.get_by_role("tab", name="Training").click()
    expect(page.locator("[data-last-step]")).to_have_attribute("data-last-step", "100")
    with page.expect_request(re.compile(r"/api/runs/.*known=")):
        page.clock.run_for(5000)
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true, configurable: true})")
    page.clock.run_for(5000)
    page.evaluate("fetch('api/state').then(answer => answer.text())")
    before = [url for url in asked if "/api/runs" in url]
    page.clock.run_for(60_000)
    page.evaluate("fetch('api/state').then(answer => answer.text())")
    assert [url for url in asked if "/api/runs" in url] == before
    with page.expect_request(re.compile("/api/runs")):
        page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    page.get_by_role("tab", name="Analyse").click()
    page.evaluate("fetch('api/state').then(answer => answer.text())")
    before = [url for url in asked if "/api/runs" in url]
    page.clock.run_for(60_000)
    page.evaluate("fetch('api/state').then(answer => answer.text())")
    assert [url for url in asked if "/api/runs" in url] == before


def test_without_folders_the_page_says_what_to_do(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(server, "#training")
    expect(page.locator("#panel")).to_contain_text("fukayomi web runs/")
    page.get_by_role("tab", name="Matches").click()
    expect(page.locator("#panel")).to_contain_text("fukayomi web matches/")


def test_folders_of_the_command_line_open_their_tab(show, tmp_path: Path) -> None:
    run_samples.training_run(tmp_path / "runs" / "a", steps=100)
    run_samples.match(tmp_path / "matches" / "m", games=2)
    expect(show(tmp_path / "runs", "").locator("[data-last-step]")).to_have_attribute("data-last-step", "100")
    expect(show(tmp_path / "matches", "").locator("[data-games]")).to_have_attribute("data-games", "2")
