"""The report of a game on the page, in a real browser: progress and stop, graph, mistakes, figures, quiz."""

import json
import re
from collections.abc import Callable
from math import exp
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S, until
from places import ROOT
from playwright.sync_api import Page, WebSocketRoute, expect
from web_board import board, click, place, remembering
from web_client import ask

from fukayomi import GameAnalysis, analyse, read_record
from fukayomi.web import WebServer

expect.set_options(timeout=1000 * PATIENCE_S)
OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory, short_game: Path) -> Path:
    """The document of the beginning of the example game."""
    folder = tmp_path_factory.mktemp("report")
    analyse(short_game, nodes=40, network="<hash>").save(folder)
    return folder / "analysis.json"


@pytest.fixture
def report(open_page: OpenPage, server: WebServer, analysis: Path) -> Page:
    """The page with that document."""
    page = open_page(at="#game", storage_state=remembering(server.origin, engine=False))
    page.locator("#open-document").set_input_files(analysis)
    expect(page.locator(".graph")).to_be_visible()
    return page


def document(analysis: Path) -> dict[str, Any]:
    return json.loads(analysis.read_text(encoding="utf-8"))


def test_game_is_analysed_with_progress_and_stopped(open_page: OpenPage, serve: Callable[..., WebServer]) -> None:
    server = serve(files=(ROOT / "examples" / "game.csa",))
    options = {"engine": False, "report-nodes": 30000}
    page = open_page(server=server, at="#game", storage_state=remembering(server.origin, **options))
    page.get_by_role("button", name="Analyse the game").click()
    expect(page.locator("[data-progress]")).to_have_text(re.compile(r"^\d+ of 119 positions$"))
    page.keyboard.press("Escape")  # ends no job
    expect(page.locator("[data-progress]")).to_have_text(re.compile(r"^[1-9]\d* of 119 positions$"))
    page.locator('[data-action="stop-job"]').click()
    expect(page.locator("progress")).to_have_count(0)
    page.get_by_label("Nodes per position").select_option("100")
    page.get_by_role("button", name=re.compile("^Analyse")).click()
    expect(page.locator("[data-progress]")).to_be_visible()
    expect(page.locator(".graph")).to_be_visible()
    expect(page.locator("progress")).to_have_count(0)
    expect(page.locator(".players tbody")).to_have_count(2)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the analysis").click()
    found = GameAnalysis.from_dict(json.loads(Path(download.value.path()).read_text(encoding="utf-8")))
    assert found.is_complete


def test_graph_mistakes_figures_and_accuracy(report: Page, analysis: Path) -> None:
    found = document(analysis)
    mistakes = sorted((move for move in found["moves"] if move["mistake"]), key=lambda move: move["ply"])
    assert len(mistakes) > 2
    cards = report.locator(".mistakes li")
    expect(cards).to_have_count(len(mistakes))
    expect(report.locator(".graph .mark")).to_have_count(len(mistakes))
    cards.nth(1).get_by_role("button").first.click()
    current = report.locator(".moves .current .ply")
    expect(current).to_have_text(str(mistakes[1]["ply"] - 1))  # before it, where a better move can be found
    expect(report.locator(".position-card .next-mistake")).to_contain_text(f"{100 * mistakes[1]['loss']:.1f} %")
    report.keyboard.press("n")
    expect(current).to_have_text(str(mistakes[2]["ply"] - 1))
    report.keyboard.press("Shift+n")
    expect(current).to_have_text(str(mistakes[1]["ply"] - 1))
    report.keyboard.press("ArrowRight")
    expect(report.locator(".moves .current .mark")).to_be_visible()
    box = report.locator(".graph svg").bounding_box()
    assert box is not None
    report.locator(".graph svg").click(position={"x": box["width"] - 10, "y": 60})
    expect(report.locator(".moves .current .ply")).to_have_text("30")
    black = report.locator('.players [data-color="black"]')
    side = found["sides"]["black"]
    expect(black).to_contain_text(f"{100 * side['agreement']:.0f} %")
    expect(black).to_contain_text(f"{100 * side['average_loss']:.2f} %")
    for color in ("black", "white"):  # the accuracy is the mean of the moves
        losses = [100 * move["loss"] for move in found["moves"] if move["color"] == color]
        shares = [max(0.0, min(100.0, 103.1668 * exp(-0.04354 * loss) - 3.1669)) for loss in losses]
        mean = sum(shares) / len(shares)
        expect(report.locator(f'.players [data-color="{color}"] .number').nth(2)).to_have_text(f"{mean:.1f}")
    report.get_by_label("Centipawns").check()
    expect(report.locator(".graph .y").first).to_have_text("-2000")
    report.get_by_label("Centipawns").uncheck()
    cards.first.locator(".pv").click()
    expect(report.locator(".moves .variation")).to_have_count(1)


def test_report_stays_when_the_game_goes_on(report: Page, short_game: Path) -> None:
    *_, (position, _) = read_record(short_game).replay()  # the position goes on to the end
    report.keyboard.press("End")
    report.get_by_label("Type a move").fill(position.legal_moves[0].usi())
    report.get_by_label("Type a move").press("Enter")
    expect(report.locator(".moves .current .ply")).to_have_text("31")
    expect(report.locator(".graph")).to_be_visible()
    expect(report.locator(".position-card .kind")).to_have_count(0)


def test_folder_of_an_analysis_opens_as_a_report(
    open_page: OpenPage, serve: Callable[..., WebServer], analysis: Path
) -> None:
    server = serve(files=(analysis.parent,))
    page = open_page(server=server, storage_state=remembering(server.origin, engine=False))
    expect(page.locator("#tab-game")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".mistakes li")).not_to_have_count(0)


def test_reader_thinks_first(report: Page) -> None:
    report.get_by_label("Think first").check()
    expect(report.locator(".graph")).to_have_count(0)
    expect(report.locator(".moves .mark")).to_have_count(0)
    expect(report.locator(".board .arrow")).to_have_count(0)
    report.get_by_role("button", name="Show the engine's verdict").click()
    expect(report.locator(".graph")).to_be_visible()
    report.keyboard.press("ArrowRight")  # the next position is hidden again
    expect(report.locator(".graph")).to_have_count(0)


def test_quiz_asks_for_better_moves(report: Page, analysis: Path) -> None:
    found = document(analysis)
    first = next(move for move in found["moves"] if move["mistake"])
    report.get_by_role("button", name="Quiz from the mistakes").click()
    expect(report.locator(".quiz")).to_contain_text(f"ply {first['ply']}")
    expect(report.locator(".moves .current .ply")).to_have_text(str(first["ply"] - 1) if first["ply"] > 1 else "")

    def play(usi: str) -> None:
        if usi[1] == "*":
            report.locator(f'[data-place$=":{usi[0]}"]').first.click()
        else:
            click(report, usi[:2])
        report.locator(".board .target").first.wait_for()
        board(report).click(position=place(report, usi[2:4]))  # type: ignore[arg-type]
        if report.locator(".choice").count():
            report.locator(f'.choice [data-usi="{usi}"]').click()

    play(first["move"])
    expect(report.locator(".quiz")).to_contain_text("That is the move of the game")
    play(first["best"])
    expect(report.locator(".quiz")).to_contain_text("Right:")
    expect(report.locator("[data-quiz-score]")).to_have_text("0 of 1 right")  # not at the first try
    expect(report.locator(".board .arrow")).to_have_count(1)
    report.get_by_role("button", name="Next question").click()
    expect(report.locator(".quiz")).to_contain_text("Question 2")
    report.get_by_role("button", name="Show the answer").click()
    expect(report.locator(".quiz")).to_contain_text("Answer:")
    report.get_by_role("button", name="End the quiz").click()
    expect(report.locator(".graph")).to_be_visible()


def test_quiz_goes_on_when_the_reader_comes_back_and_after_a_reload(report: Page, analysis: Path) -> None:
    asked = [move for move in document(analysis)["moves"] if move["mistake"]]
    report.get_by_role("button", name="Quiz from the mistakes").click()
    report.get_by_role("button", name="Show the answer").click()
    expect(report.locator(".quiz strong")).to_contain_text("Answer: ")
    answer = report.locator(".quiz strong").inner_text()
    report.reload()
    expect(report.locator(".quiz strong")).to_have_text(answer)
    report.get_by_role("button", name="Next question").click()
    report.locator("#tab-analyse").click()
    report.keyboard.press("End")
    report.locator("#tab-game").click()
    expect(report.locator(".quiz")).to_contain_text("Question 2")
    expect(report.locator("[data-quiz-score]")).to_have_text("0 of 1 right")
    expect(report.locator(".moves .current .ply")).to_have_text(str(asked[1]["ply"] - 1))
    for is_hidden in ("true", "false"):  # another tab of the browser
        report.evaluate(f"Object.defineProperty(document, 'hidden', {{get: () => {is_hidden}, configurable: true}})")
        report.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(report.locator(".quiz")).to_contain_text("Question 2")
    report.keyboard.press("End")
    report.reload()
    expect(report.locator(".quiz")).to_contain_text("Question 2")
    expect(report.locator("[data-quiz-score]")).to_have_text("0 of 1 right")
    expect(report.locator(".moves .current .ply")).to_have_text(str(asked[1]["ply"] - 1))
    report.get_by_role("button", name="End the quiz").click()
    report.reload()
    expect(report.locator(".graph")).to_be_visible()
    expect(report.locator(".quiz")).to_have_count(0)


def test_quiz_takes_another_move_when_the_connection_was_lost(
    open_page: OpenPage, server: WebServer, analysis: Path
) -> None:
    page = open_page(at="#game", storage_state=remembering(server.origin, engine=False))
    asked: list[WebSocketRoute] = []

    def hold(socket: WebSocketRoute) -> None:
        to_server = socket.connect_to_server()

        def send(text: str | bytes) -> None:
            if '"type":"analyse"' in str(text) and not asked:
                asked.append(socket)
            else:
                to_server.send(text)

        socket.on_message(send)

    page.context.route_web_socket(re.compile("/ws$"), hold)
    page.reload()
    page.locator("#open-document").set_input_files(analysis)
    page.get_by_role("button", name="Quiz from the mistakes").click()
    quiz = page.locator(".quiz")

    def play() -> None:
        click(page, "1c")
        page.locator(".board .target").first.wait_for()
        click(page, "1d")

    play()
    until(lambda: page.wait_for_timeout(20) or bool(asked))
    expect(quiz).to_have_attribute("data-state", "searched")
    asked[0].close()
    expect(quiz).to_have_attribute("data-state", "asked")
    expect(page.locator(".banner.warning")).to_have_count(0)
    play()
    expect(quiz).to_have_attribute("data-state", re.compile("wrong|right"))


def test_quiz_ends_with_its_game(report: Page) -> None:
    report.get_by_role("button", name="Quiz from the mistakes").click()
    expect(report.locator(".quiz")).to_contain_text("Question 1")
    report.keyboard.press("ArrowLeft")
    expect(report.locator(".quiz")).to_contain_text("Question 1")  # looking around is no matter
    report.locator('[data-action="delete"]').click()
    expect(report.locator(".quiz")).to_have_count(0)
    expect(report.locator('[data-action="analyse-game"]')).to_be_visible()
    report.keyboard.press("Control+z")
    report.get_by_role("button", name="Quiz from the mistakes").click()
    expect(report.locator(".quiz")).to_contain_text("Question 1")


def test_analysis_that_goes_on_is_found_again(
    open_page: OpenPage, serve: Callable[..., WebServer], short_game: Path
) -> None:
    server = serve(files=(short_game,))
    settings = {"engine": False, "report-nodes": 1000}
    page = open_page(server=server, at="#game", storage_state=remembering(server.origin, **settings))
    page.locator('[data-action="analyse-game"]').click()
    expect(page.locator("[data-progress]")).to_contain_text("of 31")
    page.reload()
    expect(page.locator(".players")).to_be_visible()
    expect(page.locator("progress")).to_have_count(0)
    page.reload()  # also when it is over
    expect(page.locator(".players")).to_be_visible()


def test_job_of_another_server_is_not_taken_for_ones_own(
    open_page: OpenPage, serve: Callable[..., WebServer], short_game: Path
) -> None:
    server = serve(files=(short_game,))
    page = open_page(server=server, at="#game", storage_state=remembering(server.origin, engine=False))
    page.locator('[data-action="analyse-game"]').wait_for()
    jobs = {"kind": "analyse-game", "record": {"nodes": [{"id": 0}, {"id": 1, "parent": 0, "usi": "2g2f"}]}}
    number = ask(server, "POST", "/api/jobs", jobs | {"limits": {"nodes": 1}}).json["id"]
    shown = page.evaluate(
        """async number => {
        const {GameReport} = await import("/static/report/report.js");
        const {Game} = await import("/static/record/game.js");
        const game = new Game(() => {});
        const page = {game, socket: {on() {}}, update() {}, notify(text) { this.text = text; }, t: key => key};
        const report = new GameReport(page);
        report.goOn({id: number, key: game.start + " 7g7f"});
        while (report.job) {  // until the job has ended
            await new Promise(resolve => setTimeout(resolve, 20));
            await report.look();
        }
        return [report.document, report.known, page.text];
        }""",
        number,
    )
    assert shown == [None, None, None]
