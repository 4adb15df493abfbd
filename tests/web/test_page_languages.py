"""The page in Japanese and English, in the light and in the dark, for screen readers."""

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest
import run_samples
from patience import PATIENCE_S
from places import ROOT
from playwright.sync_api import Page, expect
from web_board import PHONE, remembering

from fukayomi.engine.report.graph import COLORS
from fukayomi.shogi.svg import DIGITS, KANJI
from fukayomi.web import WebServer

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
    assert serious(page) == []
    page.locator('[data-action="setup"]').click()
    assert serious(page) == []
    page.locator('[data-action="cancel"]').click()
    show_report(page)
    assert serious(page) == []
    for tab in page.get_by_role("tab").all():
        tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        assert serious(page) == []
    page.locator("#tab-analyse").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert serious(page) == []


@pytest.mark.parametrize("options", [PHONE, {"color_scheme": "dark"}], ids=["narrow", "dark"])
def test_axe_finds_nothing_serious_elsewhere(
    open_page: OpenPage, serve: Callable[..., WebServer], axe: str, short_game: Path, options: dict[str, object]
) -> None:
    server = serve(files=(short_game,))
    page = open_page(server=server, storage_state=remembering(server.origin, **LITTLE), **options)
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
    run_samples.match(tmp_path / "runs" / "m", "a", "b", games=8, sprt={"elo0": 0, "elo1": 5})
    run_samples.match(tmp_path / "runs" / "n", "b", "c", "d", games=12)
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
    for name, games in (("runs", 20), ("runs/m", 8)):
        page.locator(f'[data-match="{name}"]').click()
        expect(page.locator("[data-games]")).to_have_attribute("data-games", str(games))
        expect(page.locator('[data-table="league"] tbody tr').first).to_be_visible()
        assert in_both_schemes(page) == []


def in_both_schemes(page: Page) -> list[str]:
    """The serious findings in the light, and in the dark."""
    found: list[str] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found += serious(page)
    return found


@pytest.mark.parametrize("locale", ["ja-JP", "en-US"])
def test_every_tab_fits_on_a_small_phone(
    open_page: OpenPage, serve: Callable[..., WebServer], tmp_path: Path, short_game: Path, locale: str
) -> None:
    run_samples.learning_run(tmp_path / "learn", generations=1)
    run_samples.match(tmp_path / "m", "an engine with a long name 1.2.3", "b", games=2, sprt={"elo0": 0, "elo1": 5})
    server = serve(files=(short_game, tmp_path / "learn", tmp_path / "m"))
    small = PHONE | {"viewport": {"width": 360, "height": 640}}
    page = open_page(server, locale=locale, storage_state=remembering(server.origin, **LITTLE), **small)
    for tab, filled in {
        "analyse": '.live-state[data-state="limit"]',
        "game": '[data-action="analyse-game"]',
        "play": '[data-action="begin"]',
        "worth": ".worth-table tbody tr",
        "training": '[data-table="generations"]',
        "matches": '[data-table="games"] tbody tr',
    }.items():
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
