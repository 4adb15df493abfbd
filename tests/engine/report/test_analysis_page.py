"""The page as a file: well-formed, self-contained, and safe with any text of the record."""

import json
import re
from html.parser import HTMLParser

import pytest
from analysis_answers import HOSTILE, first_move, game
from places import ROOT

from fukayomi import analyse
from fukayomi.engine.analysis.analyser import analyse_positions, analyse_record, assemble
from fukayomi.engine.report.page import analysis_page
from fukayomi.shogi import Move
from fukayomi.shogi.formats.kif.board import HANDICAPS
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

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


def test_page_is_well_formed_and_complete() -> None:
    found = outline(analysis_page(game()[1]))
    for words in ("先手太郎", "Gote", "Cup", "2026/01/02", "投了", "test network", "100 nodes", "100 ノード"):
        assert words in found.text
    assert "☖８四歩" in found.text
    assert "大悪手" in found.text
    assert "☖３四歩" in found.text  # what was better
    assert "−55 %" in found.text
    assert "主な悪手・疑問手" in found.text
    assert [f"ply-{ply}" in found.ids for ply in (0, 1, 2, 3, 4, 5)] == [False, True, True, True, True, False]


def test_page_is_self_contained() -> None:
    page = analysis_page(game()[1])
    assert "http:" not in page
    assert "https:" not in page
    assert "url(" not in page.replace("url(#", "")
    assert "@import" not in page
    found = outline(page)
    assert all(link.startswith("#") for link in found.links)
    assert {link[1:] for link in found.links} <= set(found.ids)  # every link has a target
    assert len(found.ids) == len(set(found.ids))
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(found.tags)
    assert " style=" not in page  # the policy forbids it
    assert page.count('<symbol id="koma-pawn"') == 1


def test_graph_and_table_link_to_the_rows() -> None:
    assert {"#ply-1", "#ply-4"} <= set(outline(analysis_page(game()[1])).links)


def test_page_escapes_the_texts_of_the_record() -> None:
    record, analysis = game(black_name=HOSTILE, white_name=HOSTILE, event=HOSTILE, start_time=HOSTILE)
    record.illegal_move = HOSTILE
    record.termination = Termination.ILLEGAL_MOVE
    analysis = assemble(record, analysis.positions, engine=HOSTILE)
    page = analysis_page(analysis)
    found = outline(page)
    assert found.tags.count("script") == 3  # the document, the data and the script, all ours
    assert "img" not in found.tags
    assert HOSTILE in found.text
    assert "49" not in found.text.split("指し手一覧")[0].split("悪手")[0]


def replayed(page: str) -> list[dict[str, object]]:
    """The data of the script."""
    found = re.search(r'<script type="application/json" id="replay">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_script_has_every_ply_with_its_candidates_and_verdict() -> None:
    plies = replayed(analysis_page(game()[1]))
    assert [ply.get("name") for ply in plies] == [
        None, ["☗１六歩", "P-1f"], ["☖９四歩", "P-9d"], ["☗７六歩", "P-7f"], ["☖８四歩", "P-8d"],
    ]  # fmt: skip
    assert plies[0]["sfen"] == "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b -"
    assert plies[0]["lines"] == [
        {
            "winrate": 60.0, "evaluation": "+307", "visits": 100, "usi": "2g2f 8c8d",
            "names": ["☗２六歩 ☖８四歩", "P-2f P-8d"],
        },
    ]  # fmt: skip
    assert [ply for ply, entry in enumerate(plies) if "verdict" in entry] == [1, 4]
    assert plies[4]["verdict"] == {
        "kind": "blunder", "words": ["大悪手", "blunder"], "loss": "55", "marks": [], "best": ["☖３四歩", "P-3d"],
    }  # fmt: skip


def test_plies_outside_the_analysed_range_have_boards_too() -> None:
    record, _ = game()
    plies = replayed(analysis_page(assemble(record, analyse_positions(record, first_move, 2, 3))))
    assert len(plies) == 5
    assert ["winrate" in ply for ply in plies] == [False, True, True, True, False]


@pytest.mark.parametrize("moves", [0, 1])
def test_page_of_a_game_of_no_moves_or_one(moves: int) -> None:
    record = Record(moves=[RecordedMove(Move.from_usi("7g7f"))][:moves])
    outline(analysis_page(analyse_record(record, first_move)))


def test_page_of_an_analysis_interrupted_at_once() -> None:
    record, _ = game()
    assert "Partial: 0 of 4 moves" in outline(analysis_page(assemble(record, []))).text


def test_partial_analysis_says_so() -> None:
    record, _ = game()
    found = outline(analysis_page(assemble(record, analyse_positions(record, first_move, 2, 3))))
    assert "Partial: 2 of 4 moves" in found.text
    assert "全4手のうち2手" in found.text


def test_page_of_a_long_game_is_light() -> None:
    analysis = analyse(ROOT / "examples" / "game.csa", nodes=30, network="<hash>")
    assert len(analysis_page(analysis).encode()) < 360_000  # 118 plies in both languages


def test_handicap_game_says_its_sides() -> None:
    record = Record(initial_sfen=HANDICAPS["二枚落"], moves=[RecordedMove(Move.from_usi("7a6b"))])
    record.termination, record.result, record.ending_word = Termination.OTHER, Result.BLACK_WIN, "接続切れ"
    analysis = analyse_record(record, first_move)
    assert analysis.players == ("下手", "上手")
    assert analysis.result.startswith("1手で下手の勝ち（接続切れ）")
    text = outline(analysis_page(analysis)).text
    assert "☗下手の勝率" in text
    assert "先手" not in text
    assert "後手" not in text
