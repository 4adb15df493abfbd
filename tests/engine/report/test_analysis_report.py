"""The graph, the annotated record and the document of an analysis."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from analysis_answers import game
from matplotlib import font_manager

from fukayomi.engine.analysis.game_analysis import Score
from fukayomi.engine.report.document import analysis_document
from fukayomi.engine.report.files import write_report
from fukayomi.engine.report.graph import graph_png
from fukayomi.engine.report.shapes import graph_svg
from fukayomi.engine.report.words import evaluation, lost, verdict
from fukayomi.pictures import JAPANESE_FONTS
from fukayomi.shogi.formats import read_records
from fukayomi.shogi.record import Result, Termination


@pytest.mark.parametrize(
    ("score", "japanese", "english"),
    [
        (Score(0.6, 307), "+307", "+307"),
        (Score(0.4, -307), "−307", "−307"),
        (Score(0.5, 0), "0", "0"),
        (Score(0.0, -30000, -6), "☖5手詰", "☖ mate in 5"),  # Black is to move; White's mate begins after that
        (Score(0.0, -30000, -5), "☖5手詰", "☖ mate in 5"),
        (Score(1.0, 30000, 1), "☗1手詰", "☗ mate in 1"),
        (Score(1.0, 30000, 2), "☗1手詰", "☗ mate in 1"),
        (Score(1.0, 30000), "☗詰みあり", "☗ mates"),
        (Score(0.9999999, 12000), "+12000", "+12000"),
        (Score(1.0, 30000, 0), "☗勝ち", "☗ wins"),
    ],
)
def test_evaluations_in_words(score: Score, japanese: str, english: str) -> None:
    assert (evaluation(score, "ja"), evaluation(score, "en")) == (japanese, english)


def test_verdicts_in_words() -> None:
    moves = game()[1].moves
    assert [verdict(move) for move in moves] == [("疑問手", "dubious"), ("", ""), ("", ""), ("大悪手", "blunder")]
    assert verdict(replace(moves[3], is_certain=False)) == ("大悪手？", "blunder?")


def test_a_loss_is_never_rounded_up_to_the_next_class() -> None:
    assert [lost(0.0996), lost(0.09996, 1), lost(0.1), lost(0.346), lost(0.29, 1), lost(1.0)] == [
        "9", "9.9", "10", "35", "29.0", "100",
    ]  # fmt: skip


def test_graphs_are_pictures_and_the_same_every_time() -> None:
    analysis = game()[1]
    svg = graph_svg(analysis, language="en")
    assert ET.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert svg == graph_svg(analysis, language="en")
    assert "Black's win rate %" in set(ET.fromstring(svg).itertext())
    assert graph_png(analysis)[:8] == b"\x89PNG\r\n\x1a\n"


def test_labels_are_in_one_language() -> None:
    analysis = game()[1]
    assert not re.search("[ぁ-んァ-ン一-龥]", graph_svg(analysis, language="en"))
    svg = graph_svg(analysis, language="ja")
    assert all(words in svg for words in ("先手の勝率", "評価値", "疑問手", "大悪手"))
    assert not any(words in "".join(ET.fromstring(svg).itertext()) for words in ("win rate", "centipawns", ">dubious"))
    if not set(JAPANESE_FONTS) & set(font_manager.get_font_names()):
        with pytest.raises(ValueError, match="need a Japanese font"):
            analysis.plot(language="ja")


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
    names = ["analysis.html", "analysis.svg", "analysis.kifu", "analysis.csa", "analysis.png", "analysis.json"]
    assert [path.name for path in paths] == names
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == sorted(path.name for path in paths)
    assert paths[0].read_text(encoding="utf-8").startswith("<!doctype html>")
    write_report(analysis, tmp_path / "a" / "b")  # and may be written again


def test_the_winner_stays_who_it_is(tmp_path: Path) -> None:
    record, analysis = game()
    record.result = Result.BLACK_WIN  # although Black resigned
    write_report(analysis, tmp_path)
    (read,) = read_records(tmp_path / "analysis.kifu")
    assert len(read) == 4
    assert (read.termination, read.result) == (Termination.RESIGN, Result.BLACK_WIN)
