"""The page, the graph and the annotated record: complete, self-contained, and safe with any text in the record."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from analysis_answers import Script, answer, first_move

from fukayomi.engine.analyser import analyse_positions, analyse_record, assemble
from fukayomi.engine.analysis import GameAnalysis, Score, SearchLimits
from fukayomi.engine.report.document import analysis_document
from fukayomi.engine.report.files import annotated, write_report
from fukayomi.engine.report.graph import graph_png, graph_svg, inline_svg
from fukayomi.engine.report.page import analysis_page
from fukayomi.engine.report.words import evaluation
from fukayomi.shogi import START_SFEN, Move
from fukayomi.shogi.formats import read_records
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

HOSTILE = "\"><script>alert(1)</script>&'<img src=x onerror=alert(2)>{{7*7}}"
VOID = {"meta", "path", "rect", "circle", "line", "use", "img", "br", "hr", "input", "link"}


class Outline(HTMLParser):
    """Checks that tags nest; collects ids, links, tags and text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), f"<{tag} {name}> runs a script"
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "xlink:href", "src", "action", "data"):
                self.links.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open, f"</{tag}> closes nothing"
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text += data


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def game(**facts: object) -> tuple[Record, GameAnalysis]:
    """Four moves, two of them bad: 15 % and 55 % lost."""
    moves = [RecordedMove(Move.from_usi(usi), score_cp=20, comment="") for usi in ("1g1f", "9c9d", "7g7f", "8c8d")]
    names = {"black_name": "先手太郎", "white_name": "Gote", "event": "Cup", "start_time": "2026/01/02"} | facts
    record = Record(
        initial_sfen=START_SFEN, moves=moves, termination=Termination.RESIGN, result=Result.WHITE_WIN, **names
    )  # type: ignore[arg-type]
    rates = [(0.6, "2g2f 8c8d"), (0.55, "9c9d"), (0.4, "7g7f"), (0.65, "3c3d 2g2f"), (0.9, "2g2f 8d8e")]
    return record, analyse_record(
        record, Script(*map(answer, rates)), engine="test network", limits=SearchLimits(nodes=100)
    )


def test_page_is_well_formed_and_complete() -> None:
    found = outline(analysis_page(game()[1]))
    for words in ("先手太郎", "Gote", "Cup", "2026/01/02", "投了", "test network", "100 nodes"):
        assert words in found.text
    assert "4手目 ☖８四歩" in found.text
    assert "大悪手" in found.text
    assert "☖３四歩" in found.text  # what was better
    assert "−55 %" in found.text
    assert [f"ply-{ply}" in found.ids for ply in (0, 1, 2, 3, 4, 5)] == [False, True, True, True, True, False]


def test_page_is_self_contained() -> None:
    page = analysis_page(game()[1])
    assert "http" not in page
    assert "url(" not in page.replace("url(#", "")
    assert "@import" not in page
    found = outline(page)
    assert all(link.startswith("#") for link in found.links)
    assert {link[1:] for link in found.links} <= set(found.ids)  # every link has a target
    assert len(found.ids) == len(set(found.ids))
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(found.tags)


def test_graph_links_its_mistakes_to_their_rows() -> None:
    assert {"#ply-1", "#ply-4"} <= set(outline(analysis_page(game()[1])).links)


def test_page_escapes_the_texts_of_the_record() -> None:
    record, analysis = game(black_name=HOSTILE, white_name=HOSTILE, event=HOSTILE, start_time=HOSTILE)
    record.illegal_move = HOSTILE
    record.termination = Termination.ILLEGAL_MOVE
    analysis = assemble(record, analysis.positions, engine=HOSTILE)
    page = analysis_page(analysis)
    found = outline(page)
    assert found.tags.count("script") == 1  # ours
    assert "img" not in found.tags
    assert HOSTILE in found.text
    assert "49" not in found.text.split("指し手一覧")[0].split("悪手")[0]


@pytest.mark.parametrize(
    ("score", "japanese", "english"),
    [
        (Score(0.6, 307), "+307", "+307"),
        (Score(0.4, -307), "−307", "−307"),
        (Score(0.5, 0), "0", "0"),
        (Score(0.0, -30000, -6), "☖6手詰", "☖ mate in 6"),
        (Score(1.0, 30000, 0), "☗勝ち", "☗ wins"),
    ],
)
def test_evaluations_in_words(score: Score, japanese: str, english: str) -> None:
    assert (evaluation(score, "ja"), evaluation(score, "en")) == (japanese, english)


@pytest.mark.parametrize("moves", [0, 1])
def test_page_and_graph_of_a_game_of_no_moves_or_one(moves: int) -> None:
    record = Record(moves=[RecordedMove(Move.from_usi("7g7f"))][:moves])
    analysis = analyse_record(record, first_move)
    outline(analysis_page(analysis))
    ET.fromstring(graph_svg(analysis))


def test_page_of_an_analysis_interrupted_at_once() -> None:
    record, _ = game()
    found = outline(analysis_page(assemble(record, [])))
    assert "Partial: 0 of 4 moves" in found.text


def test_partial_analysis_says_so() -> None:
    record, _ = game()
    found = outline(analysis_page(assemble(record, analyse_positions(record, first_move, 2, 3))))
    assert "Partial: 2 of 4 moves" in found.text


def test_graphs_are_pictures_and_the_same_every_time() -> None:
    analysis = game()[1]
    svg = graph_svg(analysis)
    assert ET.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert svg == graph_svg(analysis)
    assert "Black's win rate" in svg
    assert graph_png(analysis)[:8] == b"\x89PNG\r\n\x1a\n"
    assert "#22262d" not in inline_svg(analysis)  # the page's colours, so that it can be dark
    assert "var(--ink)" in inline_svg(analysis)


def test_cards_show_the_move_played_and_the_better_one() -> None:
    page = analysis_page(game()[1])
    assert page.count('<path class="arrow played"') == page.count('<path class="arrow better"') == 2
    assert page.count('<symbol id="koma-pawn"') == 1


def test_card_of_a_better_declaration_has_one_arrow() -> None:
    record, analysis = game()
    better = replace(analysis.positions[3].lines[0], usi=("win",), japanese=("☖宣言勝ち",))
    positions = list(analysis.positions)
    positions[3] = replace(positions[3], lines=(better,))
    page = analysis_page(assemble(record, positions))
    assert page.count('<path class="arrow played"') == 2
    assert page.count('<path class="arrow better"') == 1


def test_document_is_plain_and_complete() -> None:
    document = json.loads(json.dumps(analysis_document(game()[1])))
    assert document["is_complete"] is True
    assert document["mistakes"] == [4, 1]
    assert document["sides"]["white"]["mistakes"] == {"inaccuracy": 0, "dubious": 0, "mistake": 0, "blunder": 1}
    last = document["moves"][3]
    assert (last["move"], last["best"], last["mistake"]) == ("8c8d", "3c3d", "blunder")
    assert (last["loss"], last["win_rate"]) == (pytest.approx(0.55), pytest.approx(0.9))
    assert document["positions"][0]["lines"][0]["pv"] == ["2g2f", "8c8d"]


def test_files_are_written_whole(tmp_path: Path) -> None:
    _, analysis = game()
    paths = write_report(analysis, tmp_path / "a" / "b", png=True)
    names = ["analysis.html", "analysis.svg", "analysis.kifu", "analysis.png", "analysis.json"]
    assert [path.name for path in paths] == names
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == sorted(path.name for path in paths)
    assert paths[0].read_text(encoding="utf-8").startswith("<!doctype html>")
    write_report(analysis, tmp_path / "a" / "b")  # and may be written again


def test_annotated_record_reads_back_with_our_scores(tmp_path: Path) -> None:
    record, analysis = game()
    record.moves[0].comment = "端から"
    write_report(analysis, tmp_path)
    (read,) = read_records(tmp_path / "analysis.kifu")
    assert read.usi_moves() == record.usi_moves()
    assert [played.score_cp for played in read.moves] == [move.after.score.cp for move in analysis.moves]
    assert "端から" in read.moves[0].comment
    assert "【疑問手】勝率 60 → 45 %、最善は▲２六歩" in read.moves[0].comment
    assert re.search(r"#読み筋=△９四歩", read.moves[0].comment)


def test_an_ending_that_kif_cannot_express_is_left_out(tmp_path: Path) -> None:
    record, analysis = game()
    record.result = Result.BLACK_WIN  # although Black resigned
    write_report(analysis, tmp_path)
    (read,) = read_records(tmp_path / "analysis.kifu")
    assert len(read) == 4
    assert read.termination is Termination.NONE


def test_annotating_leaves_the_record_alone() -> None:
    record, analysis = game()
    annotated(analysis)
    assert [played.comment for played in record.moves] == ["", "", "", ""]
    assert [played.score_cp for played in record.moves] == [20, 20, 20, 20]
