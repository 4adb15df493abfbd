"""Records on the page: names, copies, several files, the list of games, mate problems, a report as KIF."""

import re
from collections.abc import Callable
from pathlib import Path

from page_play import begin, expect_moves, expect_phase
from patience import PATIENCE_S, until
from playwright.sync_api import Page, expect
from web_board import choose_language, click, move, remembering

from fukayomi import read_record
from fukayomi.web import WebServer

expect.set_options(timeout=1000 * PATIENCE_S)
OpenPage = Callable[..., Page]
Serve = Callable[..., WebServer]
PROBLEM = "sfen 4k4/9/4P4/9/9/9/9/9/9 b G2r2b3g4s4n4l17p 1"
THREE_PLIES = "sfen 8l/6lpk/7n1/6S1P/9/9/9/9/9 b RN 1"


def quiet(open_page: OpenPage, server: WebServer, **options: object) -> Page:
    """A page whose engine is off."""
    return open_page(**({"server": server, "storage_state": remembering(server.origin, engine=False)} | options))


def paste(page: Page, text: str) -> None:
    """Open a text by the menu."""
    page.locator("summary", has_text=re.compile("^(Paste|貼り付け)$")).click()
    page.locator("#pasted").fill(text)
    page.locator("#pasted + button").click()


def named(name: str, moves: str) -> dict[str, str]:
    """A record as a file of which Black is known by a name."""
    return {"name": f"{name}.usi", "text": f"startpos moves {moves}"}


def drop(page: Page, *files: dict[str, str]) -> None:
    """Drop files on the page."""
    page.evaluate(
        """files => {
          const data = new DataTransfer();
          for (const {name, text} of files) data.items.add(new File([text], name));
          document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        list(files),
    )


def copied(page: Page, what: str) -> str:
    """What a button of the menu puts on the clipboard."""
    page.evaluate("() => navigator.clipboard.writeText('')")
    page.locator("summary", has_text=re.compile("^(Save|保存)$")).click()
    page.locator(f"[data-copy={what}]").click()
    until(lambda: page.evaluate("() => navigator.clipboard.readText()"))
    expect(page.locator(".banners")).to_contain_text("Copied")
    page.keyboard.press("Escape")
    return page.evaluate("() => navigator.clipboard.readText()")


def test_players_get_names_which_are_shown_kept_and_saved(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server)
    move(page, "7g", "7f")
    page.locator(".facts summary").click()
    page.locator('.player-name[data-side="b"]').fill("山田 太郎")
    page.locator('.player-name[data-side="w"]').fill("Ms <b>Suzuki</b>")
    expect(page.locator(".plate .player")).to_have_text(["☖ Ms <b>Suzuki</b>", "☗ 山田 太郎"])
    page.reload()  # before a field has lost the focus
    expect(page.locator(".plate .player")).to_have_text(["☖ Ms <b>Suzuki</b>", "☗ 山田 太郎"])
    page.locator("summary", has_text="Save").click()
    with page.expect_download() as download:
        page.locator("[data-format=kif]").click()
    record = read_record(download.value.path().read_bytes())
    assert (record.black_name, record.white_name) == ("山田 太郎", "Ms <b>Suzuki</b>")


def test_facts_are_named_in_the_page_s_language(open_page: OpenPage, server: WebServer, short_game: Path) -> None:
    page = quiet(open_page, server)
    page.locator("#open-file").set_input_files(short_game)
    expect(page.locator(".moves .name")).to_have_count(31)
    page.locator(".facts summary").click()
    terms = page.locator(".facts dt")
    for language, name in (("en", "Most moves"), ("ja", "最大手数")):
        choose_language(page, language)
        expect(terms.filter(has_text=name)).to_be_visible()
        assert all(text.isascii() == (language == "en") for text in terms.all_inner_texts())


def test_position_and_record_are_copied(open_page: OpenPage, server: WebServer) -> None:
    page = quiet(open_page, server, permissions=["clipboard-read", "clipboard-write"])
    move(page, "7g", "7f")
    page.locator("#comment").fill("角道")
    assert copied(page, "sfen") == "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2"
    record = read_record(copied(page, "kif").encode())
    assert (record.usi_moves(), record.moves[0].comment) == (["7g7f"], "角道")


def test_several_files_are_dropped_and_the_list_stays_with_what_is_changed(
    open_page: OpenPage, server: WebServer, problems: list[str]
) -> None:
    page = quiet(open_page, server)
    bad = {"name": "bad.kif", "text": "\x00 nothing"}
    drop(page, named("a", "7g7f"), bad, named("b", "2g2f 8c8d"), named("c", "5g5f 5c5d 2h5h"))
    games = page.get_by_label("Games", exact=True)
    expect(games.locator("option")).to_have_count(3)
    expect(page.locator(".banners")).to_contain_text("bad.kif")
    expect(page.locator(".moves .name")).to_have_count(2)
    games.select_option(index=1)
    expect(page.locator(".moves .name")).to_have_count(3)
    page.locator("#comment").fill("mine")
    games.select_option(index=2)
    expect(page.locator(".moves .name")).to_have_count(4)
    expect(page.locator("#comment")).to_have_value("")
    paste(page, "position startpos moves 1g1f")  # one record leaves the list as it is
    expect(page.locator(".moves .name")).to_have_text(["Start", "P-1f"])
    expect(games.locator("option:checked")).to_have_text("–")
    games.select_option(value="1")
    expect(page.locator("#comment")).to_have_value("mine")
    expect(games.locator("option")).to_have_count(3)
    problems[:] = [problem for problem in problems if "400" not in problem]  # of bad.kif


def test_list_of_a_folder_stays_over_a_reload(open_page: OpenPage, serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    for name, moves in (("a", "7g7f"), ("b", "2g2f 8c8d"), ("c", "5g5f 5c5d 2h5h")):
        (folder / f"{name}.usi").write_text(f"startpos moves {moves}\n")
    server = serve(files=(folder,))
    page = quiet(open_page, server)
    games = page.get_by_label("Games", exact=True)
    games.select_option(index=1)
    expect(page.locator(".moves .name")).to_have_count(3)
    page.locator("#comment").fill("mine")
    page.reload()
    expect(games.locator("option")).to_have_count(3)
    expect(games).to_have_value("1")
    games.select_option(index=2)
    expect(page.locator(".moves .name")).to_have_count(4)
    games.select_option(index=1)
    expect(page.locator("#comment")).to_have_value("mine")


def test_problem_with_one_king_is_solved_and_played(open_page: OpenPage, server: WebServer) -> None:
    page = open_page(server=server)  # the engine is on, and is not asked
    paste(page, THREE_PLIES)
    page.locator('[data-action="solve-mate"]').click()
    found = page.locator('[data-mate="mate"]')
    expect(found.locator("strong")).to_have_text("Mate in 3")
    choose_language(page, "ja")
    expect(found.locator("strong")).to_have_text("3手詰め")
    expect(found.locator(".step")).to_have_count(3)
    page.locator('[data-action="adopt-mate"]').click()
    expect(page.locator(".moves .name")).to_have_count(4)
    expect(page.locator(".situation")).to_have_text("詰み、先手の勝ち")
    expect(page.locator('[data-action="solve-mate"]')).to_be_disabled()
    paste(page, PROBLEM)
    expect(page.locator(".main-board .pieces use")).to_have_count(2)
    page.locator('[data-place="b:G"]').click()
    click(page, "1a")
    expect(page.locator(".moves .name")).to_have_count(2)
    move(page, "5a", "4b")  # the side with the king, which goes on
    expect(page.locator(".moves .name")).to_have_count(3)
    page.locator('[data-action="solve-mate"]').click()
    expect(page.locator('[data-mate="no_mate"]')).to_be_visible()


def test_report_is_saved_as_kif_with_its_comments(open_page: OpenPage, server: WebServer, short_game: Path) -> None:
    page = quiet(open_page, server, at="#game")
    page.locator("#open-file").set_input_files(short_game)
    expect(page.locator(".moves .name")).to_have_count(31)
    page.keyboard.press("ArrowRight")
    page.locator("#comment").fill("自分のコメント")
    page.locator('[data-action="analyse-game"]').click()
    expect(page.locator(".players")).to_be_visible()
    expect(page.locator('[data-action="stop-job"]')).to_have_count(0)  # all moves are judged
    with page.expect_download() as download:
        page.locator('[data-action="save-annotated"]').click()
    record = read_record(download.value.path().read_bytes())
    assert record.moves[0].comment.startswith("自分のコメント\n")
    assert sum("最善" in played.comment for played in record.moves) >= 5
    assert record.variations
    expect(page.locator(".moves .name")).to_have_count(31)  # the record on the board is as it was


def test_a_game_is_answered_while_another_page_analyses(open_page: OpenPage, serve: Serve) -> None:
    server = serve()
    analysing = open_page(server=server, storage_state=remembering(server.origin, limit=0))
    expect(analysing.locator('[data-state="running"]')).to_be_visible()
    playing = quiet(open_page, server, at="#play")
    begin(playing)
    for count, (start, end) in enumerate((("7g", "7f"), ("2g", "2f"), ("6g", "6f")), 1):
        move(playing, start, end)
        expect_moves(playing, 2 * count)
        expect_phase(playing, "reader")
    nodes = analysing.locator(".lines")
    before = int(nodes.get_attribute("data-nodes") or 0)
    expect(nodes).not_to_have_attribute("data-nodes", str(before))  # it goes on
    expect(analysing.locator('[data-state="running"]')).to_be_visible()
