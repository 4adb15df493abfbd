"""The annotated record: what a player sees of an analysis in a GUI."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from analysis_answers import Script, answer, first_move, game
from places import ROOT

from fukayomi.engine.analysis.analyser import analyse_record, assemble
from fukayomi.engine.engine import Engine
from fukayomi.engine.report.files import annotated, annotated_csa, write_report
from fukayomi.shogi import Move
from fukayomi.shogi.formats import read_record, read_records
from fukayomi.shogi.record import Record, RecordedMove, Variation

FLOODGATE = b"V2.2\nPI\n+\n+7776FU\n'** 30 -3334FU +2726FU\n-3334FU\n'** -30 +2726FU\n+8822UM\n-3122GI\n%TORYO\n"


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


def test_csa_has_scores_and_lines_as_floodgate_writes_them(tmp_path: Path) -> None:
    record, analysis = game()
    record.moves[0].comment = "端から"
    write_report(analysis, tmp_path)
    text = (tmp_path / "analysis.csa").read_text(encoding="utf-8")
    assert re.search(r"^\+1716FU\n'\*\* -152 -9394FU\n'\* 端から$", text, re.MULTILINE)
    (read,) = read_records(tmp_path / "analysis.csa")
    assert read.usi_moves() == record.usi_moves()
    assert [played.score_cp for played in read.moves] == [move.after.score.cp for move in analysis.moves]
    assert "端から" in read.moves[0].comment
    assert "【疑問手】勝率 60 → 45 %、最善は▲２六歩" in read.moves[0].comment


def test_annotating_leaves_the_record_alone() -> None:
    record, analysis = game()
    annotated(analysis)
    annotated_csa(analysis)
    assert [played.comment for played in record.moves] == ["", "", "", ""]
    assert [played.score_cp for played in record.moves] == [20, 20, 20, 20]


def test_where_a_move_lost_something_the_best_line_is_a_variation(tmp_path: Path) -> None:
    record, analysis = game()
    write_report(analysis, tmp_path)
    (read,) = read_records(tmp_path / "analysis.kifu")
    assert read.usi_moves() == record.usi_moves()
    found = {variation.ply: [played.move.usi() for played in variation.moves] for variation in read.variations}
    assert found == {1: ["2g2f", "8c8d"], 4: ["3c3d", "2g2f"]}  # the moves at plies 2 and 3 were the best
    first = next(variation for variation in read.variations if variation.ply == 1).moves[0]
    assert "最善手（勝率 60 %、評価値 +307）" in first.comment
    assert first.score_cp == 307


def test_small_losses_and_declarations_make_no_variation() -> None:
    record, _ = game()
    rates = [(0.505, "2g2f"), (0.5, "9c9d"), (0.5, "7g7f"), (0.5, "8c8d"), (0.5, "2g2f")]
    analysis = analyse_record(record, Script(*map(answer, rates)))
    assert analysis.moves[0].loss == pytest.approx(0.005)
    assert annotated(analysis).variations == []
    _, analysis = game()
    positions = list(analysis.positions)
    positions[3] = replace(positions[3], lines=(replace(positions[3].lines[0], usi=("win",), japanese=("☖宣言勝ち",)),))
    assert [each.ply for each in annotated(assemble(record, positions)).variations] == [1]


def test_variations_of_the_record_stay() -> None:
    record, analysis = game()
    record.variations.append(Variation(2, [RecordedMove(Move.from_usi("3c3d"), comment="定跡")]))
    assert [each.ply for each in annotated(analysis).variations] == [2, 1, 4]
    assert len(record.variations) == 1


def test_lines_are_japanese_and_never_those_of_the_record(tmp_path: Path) -> None:
    record = read_record(FLOODGATE)
    assert record.moves[0].pv
    write_report(analyse_record(record, first_move), tmp_path)
    text = (tmp_path / "analysis.kifu").read_text(encoding="utf-8")
    assert "-3334FU" not in text
    lines = re.findall(r"読み筋[= ](\S+)", text)
    assert lines
    assert all(re.match(r"[▲△][１-９同]", line) for line in lines)


def test_a_score_in_the_records_own_comment_stays_the_only_one_of_its_kind(tmp_path: Path) -> None:
    record, analysis = game()
    record.moves[0].comment = "評価値=55"
    write_report(analysis, tmp_path)
    (read,) = read_records(tmp_path / "analysis.kifu")
    assert re.findall(r"^評価値=(-?\d+)", read.moves[0].comment, re.MULTILINE) == ["55"]
    assert re.findall(r"^#評価値=(-?\d+)", read.moves[0].comment, re.MULTILINE) == ["-152"]


def test_mates_are_written_as_shogihome_does(tmp_path: Path) -> None:
    record = Record(moves=[RecordedMove(Move.from_usi("2g2f"))])
    analysis = analyse_record(record, Script(answer((0.6, "7g7f")), answer((1.0, "8c8d", 5))))
    write_report(analysis, tmp_path)
    (read,) = read_records(tmp_path / "analysis.kifu")
    assert "#詰み=後手勝ち:5手" in read.moves[0].comment
    assert read.moves[0].mate == -5


def test_the_example_game_reads_back_with_its_main_line(tmp_path: Path) -> None:
    record = read_record(ROOT / "examples" / "game.csa")
    with Engine("<hash>") as engine:
        write_report(engine.analyse(record, nodes=30), tmp_path)
    (read,) = read_records(tmp_path / "analysis.kifu")
    assert read.usi_moves() == record.usi_moves()
    assert (read.termination, read.result) == (record.termination, record.result)
    assert len(read.variations) > 10
