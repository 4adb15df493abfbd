"""What the page does with the reader's moves in a real browser: promotions taken back, faults in words, typed moves,
keys after clicks, branches, the quiz, strengths, sounds."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from page_play import begin, expect_phase
from patience import PATIENCE_S, until
from playwright.sync_api import Page, expect
from web_board import PHONE, board, choose_language, click, drag, move, place, remembering, tap

from fukayomi import analyse
from fukayomi.shogi import Position
from fukayomi.web import WebServer

expect.set_options(timeout=1000 * PATIENCE_S)
OpenPage = Callable[..., Page]
PROMOTING = "startpos moves 7g7f 3c3d"
FAULTS = {
    "4k4/9/P8/9/9/9/9/9/4K4 b P 1": ("b:P", "9e", "二歩です", "There is a pawn of the same side on the file (nifu)"),
    "7nk/9/7G1/9/9/9/9/9/4K4 b P 1": ("b:P", "1b", "打ち歩詰めです", "A dropped pawn must not mate (uchifuzume)"),
    "4k4/9/9/9/4r4/9/9/8P/4K4 b - 1": ("1h", "1g", "玉を取られてしまいます", "The king would be in check"),
    "4k4/9/9/9/4r4/9/9/4G4/4K4 b - 1": ("5h", "4h", "玉を取られてしまいます", "The king would be in check"),
    "4k4/9/9/9/9/9/9/9/4K4 b N 1": ("b:N", "3b", "桂の行き所がありません", "The knight could never move from 3b"),
}
"""What is tried in a position, and what is wrong with it."""
COUNT_SOUNDS = """() => {
  window.sounds = [];
  for (const name of ["createBufferSource", "createOscillator"]) {
    const own = AudioContext.prototype[name];
    AudioContext.prototype[name] = function () { window.sounds.push(name); return own.call(this); };
  }
}"""


def quiet(server: WebServer, **settings: object) -> dict[str, object]:
    """Options of a page whose engine is off."""
    return {"storage_state": remembering(server.origin, **({"engine": False} | settings))}


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


def test_promotion_is_taken_back_by_mouse_and_keys(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server))
    paste(page, PROMOTING)
    expect(page.locator(".moves .move")).to_have_count(3)
    page.keyboard.press("End")
    ways: list[Callable[[], None]] = [
        lambda: page.locator('[data-action="cancel-promotion"]').click(),
        lambda: page.locator(".choice").click(position={"x": 20, "y": 20}),
        lambda: page.locator(".plate").first.click(),
        lambda: page.keyboard.press("Escape"),
    ]
    for take_back in ways:
        move(page, "8h", "2b")
        expect(page.locator(".choice")).to_be_visible()
        take_back()
        expect(page.locator(".choice")).to_have_count(0)
        expect(page.locator(".moves .move")).to_have_count(3)
    drag(page, "8h", "2b")  # by a drag as well, and then it is made
    expect(page.locator(".choice")).to_be_visible()
    page.get_by_role("button", name="Promote", exact=True).click()
    expect(page.locator(".moves .current .name")).to_have_text("Bx2b+")


def test_promotion_is_taken_back_by_touch(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server), **PHONE, locale="ja-JP")
    paste(page, PROMOTING)
    expect(page.locator(".moves .move")).to_have_count(3)
    page.locator('.bar [data-action="last"]').tap()
    for way in ("やめる", ""):
        tap(page, "8h")
        page.locator(".board .target").first.wait_for()
        tap(page, "2b")
        if way:
            page.get_by_role("button", name=way).tap()
        else:
            page.locator(".choice").tap(position={"x": 20, "y": 20})
        expect(page.locator(".choice")).to_have_count(0)
    expect(page.locator(".moves .move")).to_have_count(3)


def test_illegal_moves_say_why(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server))
    situation = page.locator(".situation")
    for language, name in enumerate(("ja", "en")):
        choose_language(page, name)
        for sfen, (origin, goal, *words) in FAULTS.items():
            paste(page, f"sfen {sfen}")
            expect(page.locator(".board .pieces use")).to_have_count(len(re.findall("[a-zA-Z]", sfen.split()[0])))
            if ":" in origin:
                page.locator(f'[data-place="{origin}"]').click()
            else:
                click(page, origin)
            expect(page.locator(".selected")).to_have_count(1)
            click(page, goal)
            expect(situation).to_have_text(words[language])
            expect(page.locator("#spoken")).to_have_text(words[language])
        page.locator('[data-action="new"]').click()
        expect(situation).to_have_text("")
        click(page, "3c")
        expect(situation).to_have_text(("先手の手番です", "It is Black's turn")[language])
        move(page, "7g", "7f")
        expect(page.locator(".moves .move")).to_have_count(2)
        expect(situation).to_have_text("")  # said of a position that is not on the board any more


def test_arrow_keys_step_after_a_click_on_a_tab(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server))
    paste(page, PROMOTING)
    expect(page.locator(".moves .move")).to_have_count(3)
    page.locator("#tab-game").click()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".moves .current .name")).to_have_text("P-7f")
    expect(page.locator("#tab-game")).to_have_attribute("aria-selected", "true")
    page.locator("#tab-game").focus()  # who walks among the tabs by keys goes on
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-play")).to_have_attribute("aria-selected", "true")


def test_moves_are_typed_in_western_notation(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server))
    field = page.get_by_label("Type a move")
    typed = ["P-2f", "p-34", "P7f", "Px2b", "G6a-5b", "Bx2b+", "Sx2b", "B*5e"]
    names = ["P-2f", "P-3d", "P-7f", None, "G6a-5b", "Bx2b+", "Sx2b", "B*5e"]
    for text, name in zip(typed, names, strict=True):
        field.fill(text)
        field.press("Enter")
        if name is None:
            expect(page.locator(".banner")).to_contain_text(f"{text} is not a legal move")
        else:
            expect(page.locator(".moves .current .name")).to_have_text(name)


def test_typed_moves_of_all_notations_mean_the_same(modules: Page) -> None:
    position = Position.from_usi("startpos moves 7g7f 3c3d 8h2b+ 3a2b")
    found = modules.evaluate(
        """async ([sfen, legal]) => {
          const {parse, typedMoves, western} = await import("/static/position.js");
          const position = parse(sfen);
          return legal.map(usi => [usi, typedMoves(western(position, usi), position, legal)]);
        }""",
        [position.sfen(), [move.usi() for move in position.legal_moves]],
    )
    assert [usi for usi, meant in found if meant != [usi]] == []


def test_siblings_stand_apart_and_branches_of_the_next_move_are_chosen(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server))
    for goal in ("7f", "6f", "2f"):
        page.keyboard.press("Home")
        move(page, f"{goal[0]}g", goal)
        expect(page.locator(".moves .current .name")).to_have_text(f"P-{goal}")
    siblings = page.locator(".moves .variation > ol")
    expect(siblings).to_have_count(2)
    first, second = (each.bounding_box() for each in siblings.all())
    assert first is not None
    assert second is not None
    assert second["y"] - first["y"] - first["height"] >= 3
    expect(page.locator(".branches")).to_have_count(0)
    page.keyboard.press("Home")
    buttons = page.locator(".branches button")
    expect(buttons).to_have_text(["P-7f", "P-6f", "P-2f"])
    expect(page.locator(".branches .chosen")).to_have_text("P-2f")
    buttons.nth(1).click()
    expect(page.locator(".moves .current .name")).to_have_text("P-6f")


# ------------------------------------------------------------------------------------------ the quiz


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory, short_game: Path) -> str:
    """The document of the beginning of the example game."""
    folder = tmp_path_factory.mktemp("quiz")
    analyse(short_game, nodes=40, network="<hash>").save(folder)
    return (folder / "analysis.json").read_text(encoding="utf-8")


def first_question(document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first mistake, and the position before it."""
    question = next(each for each in document["moves"] if each["mistake"])
    return question, next(each for each in document["positions"] if each["ply"] == question["ply"] - 1)


def begin_quiz(page: Page, document: dict[str, Any]) -> None:
    """Open a document, and ask for the first better move."""
    text = json.dumps(document).encode()
    page.locator("#open-document").set_input_files(
        [{"name": "analysis.json", "mimeType": "application/json", "buffer": text}]
    )
    page.locator('[data-action="quiz"]').click()
    expect(page.locator(".quiz")).to_have_attribute("data-state", "asked")


@pytest.mark.parametrize(("rate", "verdict"), [(0.0, "right"), (0.999, "wrong")])
def test_quiz_searches_moves_that_the_report_has_no_line_of(
    open_page: OpenPage, server: WebServer, analysis: str, rate: float, verdict: str
) -> None:
    document = json.loads(analysis)
    question, at = first_question(document)
    del at["lines"][1:]
    at["lines"][0]["win_rate"] = rate if question["color"] == "black" else 1 - rate
    position = Position.from_sfen(at["sfen"])
    known = {question["move"], at["lines"][0]["pv"][0]}
    steps = [each.usi() for each in position.legal_moves if each.usi() not in known and not each.is_drop]
    tried = next(usi for usi in steps if sum(each[:4] == usi[:4] for each in steps) == 1)
    page = open_page(at="#game", **quiet(server), locale="ja-JP")
    begin_quiz(page, document)
    click(page, tried[:2])
    page.locator(".board .target").first.wait_for()
    board(page).click(position=place(page, tried[2:4]))  # type: ignore[arg-type]
    expect(page.locator(".quiz")).to_have_attribute("data-state", verdict)
    expect(page.locator(".quiz strong")).to_contain_text(re.compile("[☗☖]"))
    assert not re.search("[A-Z]-", page.locator(".quiz strong").inner_text())
    choose_language(page, "en")
    expect(page.locator(".quiz strong")).to_contain_text(re.compile("[A-Z]-|[A-Z]x"))
    assert not re.search("[☗☖]", page.locator(".quiz strong").inner_text())


@pytest.mark.parametrize(("behind", "verdict"), [(0.04, "right"), (0.06, "wrong")])
def test_quiz_takes_a_candidate_that_is_hardly_worse_than_the_best(
    open_page: OpenPage, server: WebServer, analysis: str, behind: float, verdict: str
) -> None:
    document = json.loads(analysis)
    question, at = first_question(document)
    best, *others = at["lines"]
    tried = next(line for line in others if line["pv"][0] != question["move"] and "*" not in line["pv"][0])
    tried["win_rate"] = best["win_rate"] - (behind if question["color"] == "black" else -behind)
    page = open_page(at="#game", **quiet(server))
    begin_quiz(page, document)
    move(page, tried["pv"][0][:2], tried["pv"][0][2:4])
    expect(page.locator(".quiz")).to_have_attribute("data-state", verdict)


# ------------------------------------------------------------------------------------------ strength and sounds


def test_strengths_have_names(open_page: OpenPage) -> None:
    page = open_page(at="#play")
    level = page.locator('select[name="play.level"]')
    expect(level).to_have_value("medium")
    for language, hard, own in (("en", "Hard", "As chosen below"), ("ja", "強い", "下で選んだ強さ")):
        choose_language(page, language)
        level.select_option(label=hard)
        expect(page.locator('select[name="play.nodes"]')).to_have_value("800")
        level.select_option("beginner")
        expect(page.locator('select[name="play.nodes"]')).to_have_value("1")
        expect(page.locator('select[name="play.temperature"]')).to_have_value("1.5")
        page.locator('select[name="play.nodes"]').select_option("200")
        expect(level.locator("option:checked")).to_have_text(own)
    level.select_option("strongest")
    expect(page.locator('select[name="play.timeMs"]')).to_have_value("10000")


def test_sounds_are_off_until_they_are_wanted(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server))
    page.evaluate(COUNT_SOUNDS)
    move(page, "7g", "7f")
    expect(page.locator(".moves .move")).to_have_count(2)
    assert page.evaluate("window.sounds") == []
    page.locator(".settings > summary").click()
    page.get_by_label("Sound of the pieces").check()
    page.locator(".settings > summary").click()
    move(page, "3c", "3d")
    expect(page.locator(".moves .move")).to_have_count(3)
    assert page.evaluate("window.sounds") == ["createBufferSource"]
    page.keyboard.press("ArrowLeft")  # backwards is silent
    page.keyboard.press("ArrowRight")
    assert page.evaluate("window.sounds.length") == 2
    assert page.evaluate("localStorage.getItem('fukayomi.sounds')") == "true"


def test_last_seconds_are_counted_once_each(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(**quiet(server))
    page.evaluate(COUNT_SOUNDS)
    counted = page.evaluate("""async () => {
      const {Sounds} = await import("/static/sounds.js");
      const {remember} = await import("/static/settings.js");
      const sounds = new Sounds();
      sounds.countDown(10);
      const before = window.sounds.length;
      remember("countdown", true);
      for (const seconds of [12, 11, 9, 9, 9, 8, 1, 0]) sounds.countDown(seconds);
      return [before, window.sounds.length];
    }""")
    assert counted == [0, 3]


def test_last_seconds_of_a_game_are_counted_when_the_reader_wants_it(
    open_page: OpenPage, serve: Callable[..., WebServer]
) -> None:
    server = serve()
    page = open_page(server=server, at="#play", **quiet(server))
    page.clock.install()
    page.reload()
    page.locator("html[data-ready]").wait_for(state="attached")
    page.evaluate(COUNT_SOUNDS)
    begin(page, clock="b30")
    expect_phase(page, "reader")
    page.clock.fast_forward(22_000)
    clock = page.locator('[data-clock="black"] dd')
    expect(clock).to_contain_text(re.compile("0:0[0-8]"))
    assert page.evaluate("window.sounds") == []  # off at first
    page.locator(".settings > summary").click()
    page.get_by_label("Countdown of the last 10 s").check()
    page.clock.fast_forward(1000)
    until(lambda: page.wait_for_timeout(20) or page.evaluate("window.sounds.length"))
    assert set(page.evaluate("window.sounds")) == {"createOscillator"}
