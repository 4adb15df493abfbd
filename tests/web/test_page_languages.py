"""The page in Japanese and English, in the light and in the dark, for screen readers."""

import ast
import re
from collections.abc import Callable, Iterator
from importlib import resources
from itertools import product
from pathlib import Path

import pytest
import run_samples
from patience import PATIENCE_S
from places import ROOT
from playwright.sync_api import Page, expect
from web_board import PHONE, choose_language, remembering

from fukayomi.engine.report.graph import COLORS
from fukayomi.shogi import START_SFEN, IllegalMoveError, Position, ShogiError
from fukayomi.shogi.svg import DIGITS, KANJI
from fukayomi.web import WebServer
from fukayomi.web.answers import Refused
from fukayomi.web.records import read_games

expect.set_options(timeout=1000 * PATIENCE_S)
OpenPage = Callable[..., Page]
PACKAGE = ROOT / "src" / "fukayomi"
STATIC, WRITTEN = PACKAGE / "web" / "static", PACKAGE / "engine" / "report" / "web"
"""The page of a server, and pages in one file with what both have."""
LITTLE = {"limit": 100, "report-nodes": 20}
"""Settings of a reader with little time."""
KEY = re.compile(r"""(?:\bt\(|title = |title: )["']([a-z]+\.[\w.?-]+)["']""")


def texts(language: str) -> dict[str, str]:
    """The texts of a language file; a long one has a line of its own."""
    lines = (STATIC / "lang" / f"{language}.js").read_text(encoding="utf-8")
    return dict(re.findall(r'^  "([^"]+)":\s+"(.*)",$', lines, re.MULTILINE))


def test_languages_have_the_same_keys_and_placeholders() -> None:
    japanese, english = texts("ja"), texts("en")
    assert list(japanese) == list(english)
    for key in japanese:
        assert sorted(re.findall(r"\{\w+\}", japanese[key])) == sorted(re.findall(r"\{\w+\}", english[key])), key


def test_texts_that_modules_use_exist() -> None:
    used = {key for path in STATIC.rglob("*.js") for key in KEY.findall(path.read_text(encoding="utf-8"))}
    assert len(used) > 80
    assert used - texts("en").keys() == set()


def test_templates_have_no_styles_of_their_own() -> None:
    for path in (*STATIC.rglob("*.js"), *WRITTEN.rglob("*.js")):
        if path.parent.name != "vendor":
            assert not re.search(
                r"\bstyle=|unsafeHTML|innerHTML|insertAdjacent|\beval\(", path.read_text(encoding="utf-8")
            ), path


def test_numerals_are_those_of_other_boards() -> None:
    drawing = (WRITTEN / "shared" / "board" / "drawing.js").read_text(encoding="utf-8")
    for numerals in (DIGITS, KANJI):
        assert [number for number in range(1, 10) if f'"{numerals[number]}"' not in drawing] == []


def test_colours_of_graphs_are_shared() -> None:
    css = (STATIC / "style" / "base.css").read_text(encoding="utf-8")
    light = dict(re.findall(r"--([\w-]+): light-dark\((#\w+),", css))
    assert {name: light[name] for name in COLORS} == COLORS


def test_browser_chooses_the_language_until_the_reader_does(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(locale="ja-JP", storage_state=remembering(server.origin, engine=False))
    expect(page.locator("html")).to_have_attribute("lang", "ja")
    expect(page.get_by_role("tab", name="検討")).to_be_visible()
    page.locator(".settings > summary").click()
    page.get_by_label("言語").select_option("en")
    expect(page.get_by_role("tab", name="Analyse")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.reload()
    expect(page.get_by_role("tab", name="Analyse")).to_be_visible()


def test_dark_mode_is_the_browsers_until_the_reader_chooses(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(color_scheme="dark", storage_state=remembering(server.origin, engine=False))
    body = page.locator("body")
    expect(body).to_have_css("background-color", "rgb(21, 24, 28)")
    page.locator(".settings > summary").click()
    page.get_by_label("Colours").select_option("light")
    expect(body).to_have_css("background-color", "rgb(244, 242, 236)")
    page.reload()
    expect(body).to_have_css("background-color", "rgb(244, 242, 236)")


def test_tabs_are_walked_with_arrow_keys(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(storage_state=remembering(server.origin, engine=False))
    tabs = page.get_by_role("tab")
    tabs.first.focus()
    page.keyboard.press("ArrowRight")
    expect(tabs.nth(1)).to_be_focused()
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowLeft")
    expect(tabs.first).to_have_attribute("aria-selected", "true")


@pytest.fixture
def axe() -> str:
    """The script of axe-core."""
    pytest.importorskip("axe_playwright_python")
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def test_axe_finds_nothing_serious(
    open_page: OpenPage, serve: Callable[..., WebServer], axe: str, short_game: Path
) -> None:
    server = serve(files=(short_game,))
    page = open_page(server=server, locale="ja-JP", storage_state=remembering(server.origin, **LITTLE))
    page.evaluate(axe)
    expect(page.locator(".live-state")).to_have_attribute("data-state", "limit")
    page.locator(".candidates .step").first.click()
    assert in_both_schemes(page) == []
    page.locator('[data-action="setup"]').click()
    assert serious(page) == []
    page.locator('[data-action="cancel"]').click()
    show_report(page)
    assert in_both_schemes(page) == []
    for tab in page.get_by_role("tab").all()[2:]:  # the first two are those above
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        assert serious(page) == []
    page.locator("#tab-analyse").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert serious(page) == []


def test_axe_finds_nothing_serious_on_a_phone(
    open_page: OpenPage, serve: Callable[..., WebServer], axe: str, short_game: Path
) -> None:
    server = serve(files=(short_game,))
    page = open_page(server=server, storage_state=remembering(server.origin, **LITTLE), **PHONE)
    page.evaluate(axe)
    expect(page.locator(".live-state")).to_have_attribute("data-state", "limit")
    page.locator(".candidates .step").first.click()
    assert serious(page) == []
    show_report(page)
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_axe_finds_nothing_serious_in_runs_and_matches(
    open_page: OpenPage, serve: Callable[..., WebServer], axe: str, tmp_path: Path
) -> None:
    run_samples.learning_run(tmp_path / "runs" / "learn", generations=2)
    for name, loss in (("a", 5), ("b", 4)):
        run_samples.training_run(tmp_path / "runs" / name, loss=loss)
    run_samples.match(tmp_path / "runs" / "m", "a", "b", games=4, sprt={"elo0": 0, "elo1": 5})
    run_samples.match(tmp_path / "runs" / "n", "b", "c", "d", games=6)
    server = serve(files=(tmp_path / "runs",))
    remembered = remembering(server.origin, engine=False)
    page = open_page(server, "#training", storage_state=remembered)
    page.evaluate(axe)
    expect(page.locator('[data-table="generations"] tbody tr')).to_have_count(3)
    assert in_both_schemes(page) == []
    page.locator('[data-run="runs/learn/games"]').click()
    expect(page.locator('[data-table="games"] tbody tr')).to_have_count(6)
    assert in_both_schemes(page) == []
    for name in ("runs/a", "runs/b"):
        page.locator(f'label[data-run="{name}"] input').check()
    expect(page.locator('[data-table="differences"], [data-table="runs"] tbody tr').last).to_be_visible()
    assert in_both_schemes(page) == []
    page.locator("#tab-matches").click()
    for name, games in (("runs", 10), ("runs/m", 4)):
        page.locator(f'[data-match="{name}"]').click()
        expect(page.locator("[data-games]")).to_have_attribute("data-games", str(games))
        expect(page.locator('[data-table="league"] tbody tr').first).to_be_visible()
        assert in_both_schemes(page) == []


def in_both_schemes(page: Page) -> list[str]:
    """The serious findings in the light, and in the dark."""
    found: list[str] = []
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        found += serious(page)
    return found


def test_every_tab_fits_on_a_small_phone(
    open_page: OpenPage, serve: Callable[..., WebServer], tmp_path: Path, short_game: Path
) -> None:
    run_samples.learning_run(tmp_path / "learn", generations=1)
    run_samples.match(tmp_path / "m", "an engine with a long name 1.2.3", "b", games=2, sprt={"elo0": 0, "elo1": 5})
    server = serve(files=(short_game, tmp_path / "learn", tmp_path / "m"))
    small = PHONE | {"viewport": {"width": 360, "height": 640}}
    page = open_page(server, storage_state=remembering(server.origin, **LITTLE), **small)
    tabs = {
        "analyse": '.live-state[data-state="limit"]',
        "game": '[data-action="analyse-game"]',
        "play": '[data-action="begin"]',
        "worth": ".worth-table tbody tr",
        "training": '[data-table="generations"]',
        "matches": '[data-table="games"] tbody tr',
    }
    for language, (tab, filled) in product(("ja", "en"), tabs.items()):
        if tab == "analyse":
            choose_language(page, language)
        page.locator(f"#tab-{tab}").tap()
        expect(page.locator(filled).first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 360, tab
        nav, own = page.locator("nav").bounding_box(), page.locator(f"#tab-{tab}").bounding_box()
        assert nav is not None
        assert own is not None
        assert own["x"] >= 0
        assert own["x"] + own["width"] <= nav["x"] + nav["width"] + 1, f"the name of {tab} is in sight"


def show_report(page: Page) -> None:
    """Analyse the game, and go to a mistake."""
    page.locator("#tab-game").click()
    page.locator('[data-action="analyse-game"]').click()
    expect(page.locator(".graph")).to_be_visible()
    expect(page.locator("progress")).to_have_count(0)
    page.locator(".mistakes .link").first.click()


def serious(page: Page) -> list[str]:
    """The serious findings of axe-core, with the elements."""
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


REASONS = {
    "invalid SFEN '4K4/9 b - 1': a side has two kings": "玉が二枚あります",
    "invalid SFEN 'x': White has two pawns on file 8 (nifu)": "後手の二歩です（8筋）",
    "invalid SFEN 'x': Black's pawn on 9a can never move": "９一の歩に行き所がありません",
    "3 pieces of the type rook in a hand, but a set has only 2": "飛車は2枚までです",
    "record: neither CSA, KIF, KI2, JKF nor USI lines: it begins 'text'": "棋譜の形ではありません（「text」）",
    "record, line 2: ply 1: illegal move '７五歩(77)' (the pawn cannot reach 7e) in 'x'": (
        "2行目：1手目：「７五歩(77)」は指せません（歩は７五へ動けません）"
    ),
    "record, line 4: ply 1: illegal move '+7775FU' (illegal move '7g7e' in 'x': the pawn cannot reach 7e)": (
        "4行目：1手目：「+7775FU」は指せません（歩は７五へ動けません）"
    ),
    "game.kif, line 4: ply 3: illegal move '２五歩(27)' (the pawn cannot reach 2e) in 'x'": (
        "game.kif、4行目：3手目：「２五歩(27)」は指せません（歩は２五へ動けません）"
    ),
    "a,b.csa, line 2: the first position is impossible (invalid SFEN 'x': White has two pawns on file 2 (nifu)): 'x'": (
        "a,b.csa、2行目：開始局面が正しくありません：後手の二歩です（2筋）"
    ),
    "shogi.db: neither CSA, KIF, KI2, JKF nor USI lines: it begins '#YANEURAOU'": (
        "shogi.db：棋譜の形ではありません（「#YANEURAOU」）"
    ),
    "game.kif: ply 3: the comment is cut to 20000 characters": (
        "game.kif：3手目：コメントが長いため、はじめの20000文字だけを読みました"
    ),
    "record: before the first move: the comment is cut to 20000 characters": (
        "開始局面：コメントが長いため、はじめの20000文字だけを読みました"
    ),
    "record: at the end: the comment is cut to 20000 characters": (
        "終局：コメントが長いため、はじめの20000文字だけを読みました"
    ),
    "record: ply 3: the bookmark is cut to 20000 characters": (
        "3手目：しおりが長いため、はじめの20000文字だけを読みました"
    ),
    "there are 8 games; end one of them": "対局は8局までです。どれかを終えてください",
    "nodes.5.comment: String should have at most 20000 characters": "nodes.5.comment は20000文字までです",
    "something new": "エラー：something new",
    "局面": "局面",
    "": "",
}


def test_reasons_of_the_server_are_told_in_japanese(modules: Page) -> None:
    found = modules.evaluate(
        """async texts => {
          const {reasonIn} = await import("/static/lang/reasons.js");
          return texts.map(text => [reasonIn(text, "ja"), reasonIn(text, "en")]);
        }""",
        list(REASONS),
    )
    assert found == [[japanese, english] for english, japanese in REASONS.items()]


def test_every_reason_of_the_rules_has_a_japanese_form(modules: Page) -> None:
    positions = [START_SFEN, "7nk/9/7G1/9/9/9/9/9/4K4 b P 1", "4k4/2P6/N8/9/4r4/9/9/9/4K4 b PN 1"]
    squares = [f"{file}{rank}" for file in range(1, 10) for rank in "abcdefghi"]
    reasons: set[str] = set()
    for sfen in positions:
        for origin in (*squares, "P*", "N*"):
            for goal in squares:
                try:
                    Position.from_sfen(sfen).push_usi(origin + goal)
                except IllegalMoveError as error:
                    reasons.add(str(error).split("': ", 1)[-1])
                except ShogiError:
                    pass
    found = modules.evaluate(
        """async texts => {
          const {reasonIn} = await import("/static/lang/reasons.js");
          return texts.filter(text => /[a-z]/.test(reasonIn(text, "ja")));
        }""",
        sorted(reasons),
    )
    assert len(reasons) > 60
    assert found == []


def reasons_in(path: Path) -> Iterator[list[str]]:
    """The texts of the errors that a module raises: each as its parts, between which something is filled in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith(
            ("Error", "Refused", "_error", "error_answer")
        ):
            continue
        for given in call.args:
            found = named.get(given.id) if isinstance(given, ast.Name) else given
            for text in (found.body, found.orelse) if isinstance(found, ast.IfExp) else (found,):
                if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value:
                    yield [text.value]
                elif isinstance(text, ast.JoinedStr):
                    yield "".join(
                        str(part.value) if isinstance(part, ast.Constant) else "\0" for part in text.values
                    ).split("\0")


SAYING = ("shogi/formats/**/*.py", "shogi/record.py", "web/**/*.py")
"""Modules whose errors come to the page."""
FOR_THE_COMMAND = (
    "without a token the page is for this computer alone",
    "the token is empty",
    "the suffix is not one of",
    "is always UTF-8; only",
)
"""Texts of errors that a command or a program gets, and no page."""
FILLINGS = (
    "1",
    "7g",
    "77",
    "pawn",
    "'x'",
    "x",
    "not a move",
    "illegal move of FU to 7f",
    "unknown handicap 'x' without a board",
)


def test_every_error_of_the_server_has_a_japanese_form(modules: Page) -> None:
    texts = [text for pattern in SAYING for path in sorted(PACKAGE.glob(pattern)) for text in reasons_in(path)]
    texts = [
        text
        for text in texts
        if "".join(text).strip(" :;") and not any(word in "".join(text) for word in FOR_THE_COMMAND)
    ]
    assert len(texts) > 90
    tried = [
        ["".join(part + filling for part, filling in zip(text, [*filled, ""], strict=True)) for filled in fillings]
        for text in texts
        for fillings in [tuple(product(FILLINGS, repeat=len(text) - 1))[:9999]]
    ]
    found = modules.evaluate(
        """async tried => {
          const {reasonIn} = await import("/static/lang/reasons.js");
          const isKnown = text => [text, `'x' ${text}`].some(each => !reasonIn(each, "ja").startsWith("エラー："));
          return tried.filter(texts => !texts.some(isKnown)).map(([text]) => text);
        }""",
        tried,
    )
    assert found == []


DAMAGED = [
    *(
        f"position sfen {sfen}"
        for sfen in (
            "9/9/9/9/9/9/9/9/9 b",
            "9/9/9/9/9/9/9/9 b - 1",
            "9/9/9/9/9/9/9/9/8 b - 1",
            "9/9/9/9/9/9/9/9/x8 b - 1",
            "9/9/9/9/9/9/9/9/+G8 b - 1",
            "9/9/9/9/9/9/9/9/8+ b - 1",
            "KK7/9/9/9/9/9/9/9/9 b - 1",
            "9/9/9/9/9/9/9/9/9 x - 1",
            "9/9/9/9/9/9/9/9/9 b 0P 1",
            "9/9/9/9/9/9/9/9/9 b 2 1",
            "9/9/9/9/9/9/9/9/9 b K 1",
            "9/9/9/9/9/9/9/9/9 b 3R 1",
            "9/9/9/9/9/9/9/9/9 b - x",
            "P8/9/9/9/9/9/9/9/9 b - 1",
            "9/P8/P8/9/9/9/9/9/9 b - 1",
            "4k4/4R4/9/9/9/9/9/9/4K4 b - 1",
            "RRR6/9/9/9/9/9/9/9/9 b - 1",
            "09/9/9/9/9/9/9/9/9 b - 1",
        )
    ),
    *(f"startpos moves {move}" for move in ("7g7e", "9z9a", "x", "7g7g", "Z*5e", "P*5z", "5e5d", "3c3d")),
    *(
        f"PI\n+\n{line}\n"
        for line in ("+7775FU", "+77", "+7776KI", "+X976FU", "+0076OU", "+0076FU", "-3334FU", "+5554FU", "nonsense")
    ),
    *(
        f"{line}\n+\n"
        for line in (
            "PI99FU",
            "PX",
            "P1 * ",
            "P1XXXXXX",
            "P1-KY-KE-GI-KI-OU-KI-GI-KE-KY-FU",
            "P+99",
            "P+0AFU",
            "P+00OU",
            "P+00XX",
            "P+99XX",
            "P+99FU98FU",
            "P+00HI00HI00HI",
        )
    ),
    *(
        f"手合割：平手\n{line}\n"
        for line in (
            "1 ７五歩(77)",
            "1 同歩(77)",
            "1 nonsense",
            "1 ７六歩(76)",
            "1 ７六銀(77)",
            "1 ７六歩(70)",
            "1 ７六歩(77)\n2 投了\n3 ３四歩(33)",
            "▲５八金",
            "▲同歩",
            "△３四歩",
            "▲７六竜",
        )
    ),
    "手合割：謎落ち\n1 ３四歩(33)\n",
    "手合割：その他\n1 ３四歩(33)\n",
    "後手の持駒：謎\n1 ７六歩(77)\n",
    "手合割：その他\n|・・・|\n1 ７六歩(77)\n",
    "先手の持駒：歩\n1 ７六歩(77)\n",
    '{"header": {}, "moves": 3}',
    '{"header": {}, "moves": [{}, {"move": {"to": {"x": 7, "y": 6}, "piece": "FU"}}]}',
    '{"header": {}, "moves": [{}, {"move": {"from": {"x": 5, "y": 5}, "to": {"x": 7, "y": 6}, "piece": "FU"}}]}',
    '{"header": {}, "initial": {"preset": "謎"}, "moves": [{}]}',
    '{"header": {}',
    "[" * 9999,
    "text",
    "\0\0\0\0",
]
"""Records in which something is wrong, in each of the formats."""


@pytest.mark.parametrize("name", ["", "game.x"])
def test_what_is_wrong_with_a_record_is_told_in_japanese(modules: Page, name: str) -> None:
    said: set[str] = set()
    for text in DAMAGED:
        try:
            said.update(read_games(text.encode(), name)["problems"])
        except Refused as error:
            said.add(str(error.detail))
    found = modules.evaluate(
        """async texts => {
          const {reasonIn} = await import("/static/lang/reasons.js");
          const names = /SFEN|CSA|USI|JKF|JSON|startpos|game.x/g;
          const words = text => reasonIn(text, "ja").replace(/「[^」]*」/g, "").replace(names, "");
          return texts.filter(text => /[a-z]{2}/i.test(words(text))).map(text => [text, reasonIn(text, "ja")]);
        }""",
        sorted(said),
    )
    assert len(said) > 50
    assert found == []
