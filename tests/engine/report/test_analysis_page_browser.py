"""The page in a browser: replay by keys and taps, languages, narrow screens, hostile records, no requests."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from analysis_answers import HOSTILE, Script, answer, first_move, game
from patience import PATIENCE_S
from places import ROOT
from playwright.sync_api import Browser, Locator, Page, expect

from fukayomi import analyse
from fukayomi.engine.analysis.analyser import analyse_positions, analyse_record, assemble
from fukayomi.engine.analysis.game_analysis import Candidate, Score
from fukayomi.engine.report.files import AnalysisIndex
from fukayomi.engine.report.page import analysis_page
from fukayomi.shogi import START_SFEN, Position
from fukayomi.shogi.record import Record, RecordedMove, Termination

PHONE = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True}
KANA_OR_KANJI = re.compile("[ぁ-んァ-ヶ一-龥]")
"""Moves are written in Japanese in both languages."""

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the example game."""
    path = tmp_path_factory.mktemp("page") / "analysis.html"
    path.write_text(
        analysis_page(analyse(ROOT / "examples" / "game.csa", nodes=20, network="<hash>")), encoding="utf-8"
    )
    return path


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a page from disk; at the end nothing must have failed and nothing must have been requested."""
    problems: list[str] = []
    contexts: list[Any] = []

    def open_page(page: str | Path, *, address: str = "", **options: Any) -> Page:
        path = page if isinstance(page, Path) else tmp_path / "analysis.html"
        if isinstance(page, str):
            path.write_text(page, encoding="utf-8")
        context = browser.new_context(**({"locale": "ja-JP"} | options))
        context.set_default_timeout(1000 * PATIENCE_S)
        contexts.append(context)
        opened = context.new_page()
        opened.on("console", lambda message: problems.append(message.text))
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        opened.on("request", lambda request: problems.append(request.url) if request.url != path.as_uri() else None)
        opened.goto(path.as_uri() + address)
        return opened

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def short_page(**facts: object) -> str:
    return analysis_page(game(**facts)[1])


def expect_status(page: Page, text: str) -> None:
    """Wait until the status shows a text."""
    expect(page.locator("#status")).to_contain_text(text, use_inner_text=True)


def piece_at(page: Page, square: str) -> Locator:
    """The piece on a square, by its centre in units of the board."""
    width, height = 35, 37
    x, y = 2 + (9 - int(square[0]) + 0.5) * width, 18 + ("abcdefghi".index(square[1]) + 0.5) * height
    return page.locator(f'#board .pieces use[transform^="translate({x:g},{y:g})"]')


def test_keys_replay_the_game(open_page: Open) -> None:
    page = open_page(short_page())
    expect_status(page, "開始局面")
    expect(page.locator("#board .pieces use")).to_have_count(40)
    expect(piece_at(page, "1g")).to_have_attribute("href", "#koma-pawn")
    page.keyboard.press("ArrowRight")
    expect_status(page, "1手目 ☗１六歩")
    expect(piece_at(page, "1g")).to_have_count(0)
    expect(piece_at(page, "1f")).to_have_attribute("href", "#koma-pawn")
    page.keyboard.press("End")
    expect_status(page, "4手目 ☖８四歩")
    page.keyboard.press("ArrowRight")  # there is no further move
    expect_status(page, "4手目 ☖８四歩")
    page.keyboard.press("ArrowLeft")
    expect_status(page, "3手目 ☗７六歩")
    page.keyboard.press("Home")
    expect_status(page, "開始局面")
    expect_status(page, "次の手 1手目 ☗１六歩")  # the first move is a mistake
    page.keyboard.press("n")
    expect_status(page, "3手目 ☗７六歩")  # before the next mistake, which the card has
    expect_status(page, "次の手 4手目 ☖８四歩 大悪手 −55 %")
    expect_status(page, "最善は☖３四歩")
    expect(page.locator("#board .arrow.played")).to_have_count(1)
    page.keyboard.press("Shift+N")
    expect_status(page, "開始局面")
    page.keyboard.press("ArrowDown")
    expect_status(page, "4手目 ☖８四歩")
    page.keyboard.press("k")
    expect_status(page, "3手目 ☗７六歩")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("j")
    expect_status(page, "1手目 ☗１六歩")
    page.keyboard.press("f")
    expect(piece_at(page, "9d")).to_have_attribute("href", "#koma-pawn")  # 1f seen from the other side


def test_keys_with_modifiers_are_the_browsers(open_page: Open) -> None:
    page = open_page(short_page())
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Control+End")
    page.locator("#language-ja").focus()
    page.keyboard.press("n")
    expect_status(page, "開始局面")


def test_taps_replay_the_game(open_page: Open) -> None:
    page = open_page(short_page(), **PHONE)
    for name in ("first", "back", "forward", "last", "previousMistake", "nextMistake", "flip"):
        box = page.locator(f'[data-action="{name}"]').bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44, name
    page.get_by_role("button", name="一手進む").tap()
    expect_status(page, "1手目")
    page.get_by_role("button", name="最後の局面").tap()
    expect_status(page, "4手目")
    expect(page.get_by_role("button", name="一手進む")).to_be_disabled()
    page.get_by_role("button", name="一手戻る").tap()
    expect_status(page, "3手目")
    page.get_by_role("button", name="前の悪手").tap()
    expect_status(page, "開始局面")


def test_a_mistake_shows_what_was_better(open_page: Open) -> None:
    page = open_page(short_page(), address="#ply-4")
    expect(page.locator("#board")).to_be_in_viewport(ratio=0.9)
    expect_status(page, "大悪手 −55 %")
    expect_status(page, "最善は☖３四歩")
    page.locator("#status button").click()  # the position in which it was better
    expect_status(page, "3手目")
    expect(page.locator("#board .arrow.best")).to_have_count(1)
    expect(page.locator("#board .arrow.played")).to_have_count(1)


def test_uncertain_verdicts_have_a_question_mark(open_page: Open) -> None:
    record, analysis = game()
    positions = list(analysis.positions)
    positions[3] = replace(positions[3], is_certain=False)
    page = open_page(analysis_page(assemble(record, positions)), address="#ply-4")
    expect_status(page, "大悪手？ −55 %")
    expect(page.locator(".mark.uncertain")).to_have_count(1)
    expect(page.locator("#ply-4")).to_contain_text("大悪手？")
    page.get_by_text("English").click()
    expect_status(page, "blunder? −55 %")


def test_the_move_of_the_game_has_the_numbers_that_judged_it(open_page: Open) -> None:
    record, analysis = game()
    positions = list(analysis.positions)
    played = Candidate(Score(0.7, 640), ("8c8d", "2g2f"), ("☖８四歩", "☗２六歩"), visits=12)
    positions[3] = replace(positions[3], played=played)
    page = open_page(analysis_page(assemble(record, positions)), address="#ply-3")
    row = page.locator("#lines li.played")
    assert re.split(r"\s+", row.inner_text()) == ["☖８四歩実戦", "+640", "70.0", "%", "12", "☗２六歩"]
    page.keyboard.press("ArrowRight")
    expect_status(page, "悪手 −35 %")  # 65 % for the best move, 30 % for this one


def test_candidates_have_numbers_and_the_move_of_the_game(open_page: Open) -> None:
    page = open_page(short_page())
    best, played = page.locator("#lines li").all()
    assert re.split(r"\s+", best.inner_text()) == ["☗２六歩", "+307", "60.0", "%", "100", "☖８四歩"]
    expect(played).to_contain_text("☗１六歩実戦")
    expect(played).to_contain_text("−152")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#lines li")).to_have_count(1)  # White played the best move
    expect(page.locator("#lines li")).to_contain_text("☖９四歩実戦")


def test_a_line_is_played_through_on_the_board(open_page: Open) -> None:
    page = open_page(short_page())
    page.locator("#lines li .name").first.click()
    expect_status(page, "読み筋 1/2 ☗２六歩")
    expect(piece_at(page, "2f")).to_have_attribute("href", "#koma-pawn")
    page.keyboard.press("ArrowRight")
    expect_status(page, "読み筋 2/2 ☖８四歩")
    expect(piece_at(page, "8d")).to_have_attribute("href", "#koma-pawn")
    page.keyboard.press("ArrowRight")  # the line ends here
    expect_status(page, "読み筋 2/2 ☖８四歩")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect_status(page, "開始局面")
    expect(piece_at(page, "2f")).to_have_count(0)
    page.get_by_text("☖８四歩").first.click()
    expect_status(page, "読み筋 2/2 ☖８四歩")
    page.keyboard.press("Escape")
    expect_status(page, "開始局面")


def test_lines_capture_drop_and_promote_as_the_rules_say(open_page: Open) -> None:
    position = Position.from_usi("startpos moves 7g7f 3c3d")
    line = "8h2b+ 3a2b B*4e"
    analysis = analyse_record(
        Record(initial_sfen=START_SFEN, moves=[RecordedMove(move) for move in position.moves]),
        Script(answer((0.5, "7g7f")), answer((0.5, "3c3d")), answer((0.5, line))),
    )
    page = open_page(analysis_page(analysis), address="#ply-2")
    page.locator("#lines li .name").first.click()
    expect(piece_at(page, "2b")).to_have_attribute("href", "#koma-horse")
    expect(page.locator("#hand-black use")).to_have_attribute("href", "#koma-bishop")
    page.keyboard.press("ArrowRight")
    expect(piece_at(page, "2b")).to_have_attribute("href", "#koma-silver")
    expect(page.locator("#hand-white use")).to_have_attribute("href", "#koma-bishop")
    page.keyboard.press("ArrowRight")
    expect(piece_at(page, "4e")).to_have_attribute("href", "#koma-bishop")
    expect(page.locator("#hand-black use")).to_have_count(0)
    expect(page.locator("#board .pieces use")).to_have_count(39)


def test_a_declaration_or_a_drop_is_drawn_without_an_arrow(open_page: Open) -> None:
    record, analysis = game()
    better = replace(analysis.positions[3].lines[0], usi=("win",), japanese=("☖宣言勝ち",))
    positions = list(analysis.positions)
    positions[3] = replace(positions[3], lines=(better,))
    page = open_page(analysis_page(assemble(record, positions)), address="#ply-3")
    expect_status(page, "3手目")
    expect(page.locator("#board .arrow.played")).to_have_count(1)
    expect(page.locator("#board .arrow.best")).to_have_count(0)


def test_graph_and_table_jump_to_the_ply(open_page: Open, long_page: Path) -> None:
    page = open_page(long_page, viewport={"width": 1280, "height": 800})
    plot = page.locator(".plot.winrate")
    box = plot.bounding_box()
    assert box is not None
    plot.click(position={"x": box["width"] * 59 / 118, "y": box["height"] * 0.9})
    expect_status(page, "59手目")
    expect(page.locator(".plot.winrate line.cursor")).to_have_attribute("x1", "50%")
    page.locator("#ply-100 td").first.click()
    expect_status(page, "100手目")
    expect(page.locator("tr.now")).to_have_attribute("id", "ply-100")
    expect(page.locator("#board")).to_be_in_viewport(ratio=0.9)
    page.locator("#ply-30 a").focus()
    page.keyboard.press("Enter")
    expect_status(page, "30手目")


def test_taps_on_graph_and_table_jump_to_the_ply(open_page: Open, long_page: Path) -> None:
    page = open_page(long_page, **PHONE)
    plot = page.locator(".plot.cp")
    box = plot.bounding_box()
    assert box is not None
    plot.tap(position={"x": box["width"] * 59 / 118, "y": box["height"] / 2})
    expect_status(page, "59手目")
    page.locator("#ply-90").tap()
    expect_status(page, "90手目")
    expect(page.locator("#board")).to_be_in_viewport(ratio=0.9)


def visible_text(page: Page) -> str:
    """Text of the page without the switch itself."""
    return page.locator("main").inner_text().replace("日本語", "").replace("English", "")


def test_one_language_at_a_time(open_page: Open) -> None:
    facts = {"black_name": "A", "white_name": "B", "event": "", "start_time": ""}
    page = open_page(short_page(**facts), locale="en-US")
    expect_status(page, "Start")
    page.keyboard.press("End")
    assert KANA_OR_KANJI.findall(visible_text(page)) == []
    assert page.evaluate("document.documentElement.lang") == "en"
    page.get_by_text("日本語").click()
    assert re.findall("[a-z]{4,}", visible_text(page).replace("fukayomi", "").replace("test network", "")) == []
    assert re.findall(r"[PLNSGBRK]\d?[a-i]?[-x*]\d[a-i]|\b\d[a-i]\d[a-i]", page.locator("main").inner_text()) == []
    assert page.evaluate("document.documentElement.lang") == "ja"
    page.reload()  # kept for the session
    expect_status(page, "開始局面")


@pytest.mark.parametrize(("locale", "language"), [("ja", "ja"), ("en-GB", "en"), ("fr-FR", "en")])
def test_the_browser_chooses_the_language(open_page: Open, locale: str, language: str) -> None:
    page = open_page(short_page(), locale=locale)
    expect(page.locator(f"#language-{language}")).to_be_checked()


def inside(page: Page, selector: str) -> bool:
    """Whether every visible element that matches lies within the 375 pixels."""
    found = page.evaluate(
        """selector => [...document.querySelectorAll(selector)].map(each => each.getBoundingClientRect())
        .filter(box => box.width > 0).map(box => [box.left, box.right])""",
        selector,
    )
    assert found, selector
    return all(left >= 0 and right <= 375 for left, right in found)


def test_other_screens_need_no_sideways_scrolling(open_page: Open, long_page: Path) -> None:
    page = open_page(long_page, locale="en")
    for width, height in ((600, 375), (768, 1024), (1000, 700)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        board = page.locator("#board").bounding_box()
        assert board is not None
        assert board["height"] <= height


def test_everything_fits_a_phone_in_both_languages(open_page: Open, long_page: Path) -> None:
    page = open_page(long_page, **PHONE)
    page.keyboard.press("n")
    for language in ("日本語", "English"):
        page.get_by_text(language).tap()
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        for selector in (
            "td",
            ".plot",
            ".plot text",
            "#board",
            ".controls button",
            ".card",
            "#lines li *",
            "#status *",
            "h1",
        ):
            assert inside(page, selector), selector
        expect(page.locator(".plot.cp path.cp")).to_be_visible()
        expect(page.locator("#ply-1 td").nth(4)).to_be_visible()  # the evaluation


def test_the_index_of_several_games_is_a_page_like_these(open_page: Open) -> None:
    index = AnalysisIndex()
    index.add(game()[1], "first.kif", "first")
    index.add(game(black_name=HOSTILE, white_name=HOSTILE, start_time=HOSTILE)[1], HOSTILE, HOSTILE)
    page = open_page(index.to_html(), **PHONE, locale="en")
    expect(page.locator("h1")).to_have_text("2 games analysed", use_inner_text=True)
    expect(page.get_by_text("White wins, resignation").first).to_be_visible()
    expect(page.get_by_text("4手で後手の勝ち（投了）").first).to_be_hidden()
    assert inside(page, "td")
    assert page.locator("img").count() == 0
    page.get_by_text("日本語").tap()
    expect(page.locator("h1")).to_have_text("棋譜解析 2局", use_inner_text=True)


def test_the_board_is_the_same_without_any_japanese_font(
    browser: Browser, chromium: str, long_page: Path, tmp_path: Path
) -> None:
    """A second browser, for which only one font is installed, which has no kanji."""
    font = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    shutil.copy(font, tmp_path)
    config = tmp_path / "fonts.conf"
    folder = f"<dir>{tmp_path}</dir><cachedir>{tmp_path / 'cache'}</cachedir>"
    config.write_text(f"<fontconfig>{folder}</fontconfig>", encoding="utf-8")
    environment = os.environ | {"FONTCONFIG_FILE": str(config)}
    bare = browser.browser_type.launch(executable_path=chromium, timeout=3000 * PATIENCE_S, env=environment)
    pictures: list[bytes] = []
    try:
        for each in (browser, bare):
            page = each.new_page(locale="ja-JP")
            page.goto(long_page.as_uri())
            page.keyboard.press("End")
            expect(page.locator("#board .pieces use")).not_to_have_count(0)
            assert page.locator("#board text").count() == 0
            pictures.append(page.locator("#board").screenshot(animations="disabled"))
            page.close()
    finally:
        bare.close()
    assert pictures[0] == pictures[1]


def test_a_hostile_record_runs_nothing(open_page: Open) -> None:
    record, analysis = game(black_name=HOSTILE, white_name=HOSTILE * 3, event=HOSTILE, start_time=HOSTILE)
    record.illegal_move, record.termination = HOSTILE, Termination.ILLEGAL_MOVE
    record.comment = record.moves[0].comment = HOSTILE
    page = open_page(analysis_page(assemble(record, analysis.positions, engine=HOSTILE)), **PHONE)
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect_status(page, "4手目")
    expect(page.locator("h1")).to_contain_text(HOSTILE)
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_the_policy_stops_any_other_script_style_and_request(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "analysis.html"
    path.write_text(
        short_page().replace("<main>", "<main><script>window.ran = 1</script><img src='x' onerror='window.ran = 2'>"),
        encoding="utf-8",
    )
    context = browser.new_context()
    page = context.new_page()
    loaded: list[str] = []
    page.on("requestfinished", lambda request: loaded.append(request.url))
    page.goto(path.as_uri())
    page.keyboard.press("ArrowRight")
    expect_status(page, "P-1f")
    assert page.evaluate("window.ran") is None
    assert page.evaluate("fetch('data:,x').then(() => 'loaded', () => 'refused')") == "refused"
    context.close()
    assert loaded == [path.as_uri()]


def test_without_javascript_graph_and_table_remain(open_page: Open) -> None:
    page = open_page(short_page(), java_script_enabled=False)
    expect(page.locator(".plot.winrate path.curve")).to_be_visible()
    expect(page.locator("#ply-4")).to_be_visible()
    expect(page.locator("#board")).to_be_hidden()
    expect(page.get_by_text("Biggest mistakes")).to_be_hidden()
    page.get_by_text("English").click()
    expect(page.get_by_text("Biggest mistakes")).to_be_visible()


def test_plies_outside_the_range_are_shown_as_not_analysed(open_page: Open) -> None:
    record, _ = game()
    page = open_page(analysis_page(assemble(record, analyse_positions(record, first_move, 2, 3))))
    expect_status(page, "この局面は解析していません")
    page.keyboard.press("ArrowRight")
    expect_status(page, "評価値")


def test_an_analysis_of_nothing_shows_the_game(open_page: Open) -> None:
    record, _ = game()
    page = open_page(analysis_page(assemble(record, [])))
    page.keyboard.press("End")
    expect_status(page, "4手目 ☖８四歩")
