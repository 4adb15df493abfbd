"""The live analysis in a real browser: lines, arrows, the small board, several pages, a server that ends."""

import json
import re
from collections.abc import Callable, Iterator

import pytest
from patience import PATIENCE_S
from places import ROOT
from playwright.sync_api import Page, expect
from web_board import PHONE, move, remembering

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import CoreStubEvaluator
from fukayomi.web import WebServer, WebSettings

expect.set_options(timeout=1000 * PATIENCE_S)
OpenPage = Callable[..., Page]
MATE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
"""G*5b mates."""
WATCH_SOCKETS = """() => {
  const send = WebSocket.prototype.send;
  window.sent = [];
  WebSocket.prototype.send = function (text) {
    window.sent.push(text);
    send.call(this, text);
  };
}"""


@pytest.fixture
def server() -> Iterator[WebServer]:
    """A server of its own: others keep the searches of other tests, which go on where they were."""
    with WebServer(WebSettings(evaluator="<hash>", port=0)) as started:
        yield started


def limited(server: WebServer, **settings: object) -> dict[str, object]:
    """Options of a page whose searches are short."""
    return {"storage_state": remembering(server.origin, **({"limit": 200} | settings))}


def state(page: Page, word: str) -> None:
    expect(page.locator(".live-state")).to_have_attribute("data-state", word)


def test_lines_arrows_and_what_the_reader_chooses(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**limited(server))
    state(page, "limit")
    rows = page.locator(".candidates tbody")
    expect(rows).to_have_count(3)
    first = rows.first
    expect(first.locator("tr").first.locator("td")).to_have_text(
        [
            re.compile(r"^\d+\.\d %$"),
            re.compile(r"^([+−]\d+|0)$"),
            re.compile(r"^\d+$"),
            re.compile(r"^\d+\.\d %$"),
            re.compile(r"^\d+$"),
        ]
    )
    expect(page.locator(".live-state")).to_contain_text("200 nodes")
    arrows = page.locator(".board .arrow")
    expect(arrows.last).to_have_class(re.compile("best"))
    expect(page.locator(".board .arrow-label.best text")).to_have_text(re.compile(r"^\d+$"))
    assert 1 <= arrows.count() <= 3
    page.get_by_label("Lines").select_option("5")
    expect(rows).to_have_count(5)
    page.keyboard.press("a")
    expect(arrows).to_have_count(0)
    page.keyboard.press("z")
    expect(rows).to_have_count(0)
    page.keyboard.press("z")
    expect(rows).to_have_count(5)
    best = first.get_attribute("data-move")
    page.keyboard.press(" ")
    expect(page.locator(".moves .current .ply")).to_have_text("1")
    page.keyboard.press("ArrowLeft")
    expect(rows.first).to_have_attribute("data-move", best or "")
    page.keyboard.press("l")
    state(page, "off")


def test_line_is_played_through_on_a_small_board(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**limited(server), locale="ja-JP")
    state(page, "limit")
    expect(page.locator(".candidates .name").first).to_have_text(re.compile("^☗[１-９]"))
    page.locator(".candidates .step").nth(1).click()
    small = page.locator(".trial")
    expect(small).to_contain_text("読み筋 2/")
    expect(small.locator(".board .last")).to_have_count(2)
    small.locator('[data-trial="back"]').click()
    expect(small).to_contain_text("読み筋 1/")
    expect(page.locator(".main-board .board .last")).to_have_count(0)  # the main board stays
    small.get_by_role("button", name="この手順を棋譜に加える").click()
    expect(page.locator(".moves .current .ply")).to_have_text("1")
    expect(small).to_have_count(0)


def test_results_are_kept_and_shown_at_once(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**limited(server))
    state(page, "limit")
    move(page, "1g", "1f")
    state(page, "limit")
    expect(page.locator(".lines")).not_to_have_attribute("data-nodes", "0")
    page.evaluate(WATCH_SOCKETS)
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".candidates tbody")).to_have_count(3)
    state(page, "limit")
    assert page.evaluate("window.sent") == []  # nothing was asked: it was known
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".lines")).to_have_attribute("data-nodes", "1024")  # beyond the limit


def test_a_search_may_end_by_its_time(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**limited(server, limit=-50))
    state(page, "limit")
    page.evaluate(WATCH_SOCKETS)
    page.get_by_role("button", name="Resume").click()
    state(page, "limit")
    page.get_by_label("Limit").select_option("2 s")
    asked = [json.loads(text) for text in page.evaluate("window.sent")]
    limits = [message["limit"] for message in asked if message["type"] == "analyse"]
    assert limits[0]["time_ms"] >= 50
    assert limits[-1] == {"time_ms": 2000}


def test_search_is_stopped_and_goes_on_without_limit(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**limited(server, limit=0))
    state(page, "running")
    expect(page.locator(".candidates tbody")).to_have_count(3)
    page.get_by_role("button", name="Stop").click()
    state(page, "stopped")
    expect(page.locator(".candidates tbody")).to_have_count(3)
    page.get_by_role("button", name="Resume").click()
    state(page, "running")
    page.keyboard.press("Escape")
    state(page, "stopped")


def test_two_pages_share_one_engine(open_page: OpenPage, server: WebServer) -> None:
    first = open_page(**limited(server, limit=0))
    state(first, "running")
    second = open_page(**limited(server, limit=0))
    state(second, "running")
    state(first, "running")  # the same position: the same search
    move(second, "9g", "9f")
    state(second, "running")
    state(first, "taken")
    expect(first.locator(".candidates tbody")).to_have_count(3)
    first.get_by_role("button", name="Resume").click()
    state(first, "running")
    state(second, "taken")
    first.keyboard.press("Escape")
    state(first, "stopped")


def test_mate_is_announced_as_proven(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**limited(server))
    page.locator("summary", has_text="Paste").click()
    page.get_by_label("A record").fill(f"position sfen {MATE}")
    page.locator(".menu").get_by_role("button", name="Open").click()
    expect(page.locator(".candidates .score").first).to_have_text("☗ mate in 1")
    expect(page.locator(".candidates .name").first).to_have_text("G*5b")
    page.keyboard.press(" ")
    expect(page.locator(".situation")).to_have_text("Mate, Black wins")


def test_page_finds_a_server_that_was_killed_and_is_back(open_page: OpenPage, problems: list[str]) -> None:
    settings = WebSettings(evaluator="<hash>", port=0, files=(ROOT / "examples" / "game.csa",))
    with WebServer(settings) as server:
        page = open_page(server=server, **limited(server))
        state(page, "limit")
        page.keyboard.press("ArrowRight")
        state(page, "limit")
        port = server.port
    expect(page.locator(".banner.warning")).to_contain_text("Not connected")
    state(page, "offline")
    expect(page.locator(".lines")).to_have_class(re.compile("stale"))
    expect(page.locator(".candidates tbody")).to_have_count(3)
    with WebServer(settings.changed(port=port)):
        expect(page.locator(".banner.warning")).to_have_count(0)
        page.keyboard.press("ArrowRight")
        state(page, "limit")
        expect(page.locator(".candidates tbody")).to_have_count(3)
    problems[:] = [
        problem for problem in problems if "ERR_CONNECTION_REFUSED" not in problem and "WebSocket" not in problem
    ]


def test_engine_that_fails_is_told_and_works_again_when_it_can(
    open_page: OpenPage, serve: Callable[..., WebServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(CoreStubEvaluator, "core")  # without which no batch runs unseen
    server = serve()
    page = open_page(server=server, **limited(server))
    state(page, "limit")

    def fail(*_: object) -> None:
        raise EvaluatorError("the device is gone")

    with monkeypatch.context() as broken:
        broken.setattr(server.state.network.wait().evaluator, "run", fail)
        move(page, "7g", "7f")
        state(page, "error")
        expect(page.locator(".live-state")).to_have_text("Error: the network failed: the device is gone")
        page.locator("#tab-game").click()
        page.locator('[data-action="analyse-game"]').click()
        expect(page.locator(".banner")).to_contain_text("The analysis failed: the network failed: the device is gone")
        page.locator("#tab-analyse").click()
        state(page, "error")
    page.locator('[data-action="resume"]').click()
    state(page, "limit")
    expect(page.locator(".candidates tbody")).to_have_count(3)


def test_lines_on_a_narrow_screen(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**limited(server), **PHONE)
    state(page, "limit")
    page.locator(".candidates .step").first.tap()
    expect(page.locator(".trial")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_client_waits_while_a_key_repeats(open_page: OpenPage, serve: Callable[..., WebServer]) -> None:
    server = serve(files=(ROOT / "examples" / "game.csa",))
    page = open_page(server=server, **limited(server))
    state(page, "limit")
    page.evaluate(WATCH_SOCKETS)
    page.evaluate(
        """() => {
        for (let i = 0; i < 20; i++) {
          document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true, repeat: i > 0}));
        }
        }"""
    )
    expect(page.locator(".moves .current .ply")).to_have_text("20")
    state(page, "limit")
    expect(page.locator(".candidates tbody")).to_have_count(3)
    asked = [text for text in page.evaluate("window.sent") if "analyse" in text]
    assert len(asked) == 2  # the first key's, and the last one's


def test_page_waits_for_a_network_that_loads(open_page: OpenPage, serve: Callable[..., WebServer]) -> None:
    server = serve(evaluator="")  # the embedded network
    page = open_page(server=server, **limited(server, limit=20))
    state(page, "limit")
    expect(page.locator(".candidates tbody")).to_have_count(3)
    expect(page.locator(".banner")).to_have_count(0)


def test_reports_of_older_requests_are_dropped(modules: Page) -> None:
    kept = modules.evaluate(
        """async () => {
        const {LiveAnalysis} = await import("/static/live/analysis.js");
        const {Game} = await import("/static/record/game.js");
        const game = new Game(() => {});
        let next = 0;
        const socket = {connected: true, on() {}, send: () => true, newId: () => ++next};
        const page = {game, socket, state: {}, setup: {isOpen: false}, update() {}, say() {}};
        const live = new LiveAnalysis(page);
        live.isOn = live.isActive = true;
        live.request();
        const older = live.id;
        game.play("7g7f");
        live.request();
        const line = {move: "3c3d", pv: ["3c3d"], cp: 0, mate: null};
        live.reported({id: older, visits: 9, nodes: 9, lines: [line]});
        live.ended({id: older, reason: "limit"});
        const before = [live.results.size, live.state];
        live.reported({id: live.id, visits: 9, nodes: 9, lines: [line]});
        return [...before, live.results.size];
        }"""
    )
    assert kept == [0, "running", 1]
