"""The document of an analysis: it restores the analysis completely, and nothing damaged is taken for one."""

import copy
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from analysis_answers import Script, answer, first_move
from places import ROOT

from fukayomi import analyse, read_record
from fukayomi.engine.analysis.analyser import analyse_positions, analyse_record, assemble
from fukayomi.engine.analysis.game_analysis import GameAnalysis, SearchLimits
from fukayomi.engine.engine import Engine
from fukayomi.engine.report.document import AnalysisFileError
from fukayomi.shogi import START_SFEN, Move
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, Variation

MOVES = ("7g7f", "3c3d", "8h2b+", "3a2b")


def game(moves: tuple[str, ...] = MOVES) -> Record:
    played = [RecordedMove(Move.from_usi(usi), score_cp=20, comment="よい手", time_ms=1000) for usi in moves]
    return Record(
        name="game.kif",
        initial_sfen=START_SFEN,
        moves=played,
        black_name="先手\x1b[31m",
        white_name="Gote",
        black_rating=1500.5,
        headers={"手合割": "平手"},
        variations=[
            Variation(2, [RecordedMove(Move.from_usi("8c8d")), RecordedMove(Move.from_usi("2g2f"))], "では"),
            Variation(3, [RecordedMove(Move.from_usi("9g9f"), bookmark="枝")], parent=0),
        ],
        ending_comment="終わり",
        ending_time_ms=3000,
        termination=Termination.RESIGN,
        result=Result.WHITE_WIN,
    )


def analysed() -> GameAnalysis:
    """Four moves, one of which misses a mate; the lines say 同."""
    answers = [
        answer((0.5, "7g7f 3c3d"), (0.4, "2g2f")),
        answer((0.45, "8c8d"), (0.4, "3c3d")),
        answer((1.0, "2g2f 8c8d", 5), (0.4, "1g1f")),
        answer((0.3, "3a2b 7i8h"), (0.1, "1c1d")),
        answer((0.123456789, "2g2f"), (0.1, "1g1f")),
    ]
    limits = SearchLimits(nodes=100, multipv=2)
    return analyse_record(game(), Script(*answers), engine="test network", limits=limits)


def document() -> dict[str, Any]:
    """As a program reads it from the file."""
    return json.loads(json.dumps(analysed().to_dict()))


def test_the_document_restores_the_analysis_with_all_its_figures() -> None:
    analysis = analysed()
    restored = GameAnalysis.from_dict(json.loads(json.dumps(analysis.to_dict())))
    assert restored == analysis
    assert restored.moves[2].has_missed_mate
    assert restored.positions[3].lines[0].japanese[0] == "☖同銀"
    assert restored.to_html() == analysis.to_html()


def test_save_and_load(tmp_path: Path) -> None:
    analysis = analysed()
    analysis.save(tmp_path)
    assert GameAnalysis.load(tmp_path) == analysis


def test_part_of_a_game_is_restored_as_the_part(tmp_path: Path) -> None:
    record = game()
    known = assemble(record, analyse_positions(record, first_move, 1, 1))
    both = assemble(record, analyse_positions(record, first_move, 4, 4), known=known)
    assert [position.ply for position in both.positions] == [0, 1, 3, 4]
    assert [move.ply for move in both.moves] == [1, 4]
    both.save(tmp_path)
    assert GameAnalysis.load(tmp_path) == both


def test_the_example_game_survives_the_file(tmp_path: Path) -> None:
    record = read_record(ROOT / "examples" / "game.csa")
    with Engine("<hash>") as engine:
        analysis = engine.analyse(record, nodes=10)
        analysis.save(tmp_path)
        loaded = GameAnalysis.load(tmp_path)
        again = engine.analyse(record, nodes=10, known=loaded)
    assert loaded.to_dict() == analysis.to_dict() == again.to_dict()


def _set(*path: Any) -> Callable[[dict[str, Any]], None]:
    *keys, last, value = path

    def change(document: dict[str, Any]) -> None:
        for key in keys:
            document = document[key]
        document[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document.pop("record"), "record is missing"),
        (_set("record", "moves", 0, "move", "7g7e"), "illegal move"),
        (_set("record", "moves", 3, "move", "8c8d"), "does not agree"),
        (_set("record", "initial_sfen", "nonsense"), "nonsense"),
        (_set("record", "termination", "exploded"), "exploded"),
        (_set("record", "result", "__class__"), "is not a result"),
        (_set("record", "headers", {"a": 1}), "record.headers.a"),
        (_set("record", "variations", 0, "ply", 6), "after the end"),
        (_set("record", "variations", 0, "moves", 0, "move", "7g7f"), "illegal move"),
        (_set("record", "moves", 0, "time_ms", -1), "record.moves.0.time_ms"),
        (_set("positions", 0, "win_rate", 1.5), "positions.0.win_rate"),
        (_set("positions", 0, "cp", "12"), "positions.0.cp"),
        (_set("positions", 0, "ply", 9), "not in order"),
        (_set("positions", 1, "ply", 0), "not in order"),
        (_set("positions", 0, "sfen", "8k/9/9/9/9/9/9/9/K8 b - 1"), "positions does not agree"),
        (_set("positions", 0, "lines", 0, "pv", ["7g7f", "7g7f"]), "illegal move"),
        (_set("positions", 0, "lines", 0, "japanese", ["☗\x1b[2J"]), "positions does not agree"),
        (_set("positions", 0, "lines", []), "the position before ply 1 has no lines"),
        (_set("positions", 0, "limits", "multipv", 10**9), "positions.0.limits.multipv"),
        (_set("moves", 0, "ply", 2), "moves are not those"),
        (_set("moves", 0, "loss", -0.5), "moves.0.loss"),
        (_set("moves", 0, "mistake", "blunder"), "moves does not agree"),
        (_set("moves", 0, "color", "white"), "moves does not agree"),
        (_set("engine", "a\x1b[31m"), "cannot be printed"),
        (_set("black", "somebody else"), "black does not agree"),
        (_set("is_complete", False), "is_complete does not agree"),
    ],
)
def test_a_damaged_document_is_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    found = copy.deepcopy(document())
    change(found)
    with pytest.raises(AnalysisFileError, match=message.replace(".", r"\.")):
        GameAnalysis.from_dict(found)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "{}", "[" * 100_000, '{"engine": NaN}', "\x00", "１"])
def test_a_file_that_is_no_document_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "analysis.json").write_text(text, encoding="utf-8")
    with pytest.raises(AnalysisFileError, match=r"analysis\.json is not an analysis, or damaged"):
        GameAnalysis.load(tmp_path)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "analysis.json").open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(AnalysisFileError, match=r"analysis\.json: larger than 64 MiB; delete all analysis\.\* files"):
        GameAnalysis.load(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_a_pipe_in_its_place_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "analysis.json")
    with pytest.raises(AnalysisFileError, match="a named pipe"):
        GameAnalysis.load(tmp_path)


class Counted:
    """A search that counts the positions it is asked about."""

    def __init__(self) -> None:
        self.plies: list[int] = []

    def __call__(self, position: Any, **_: object) -> Any:
        if self.plies[-1:] != [position.ply - 1]:
            self.plies.append(position.ply - 1)
        return first_move(position)


@pytest.mark.parametrize(
    ("before", "now", "searched"),
    [
        (SearchLimits(800, 350), SearchLimits(800, 350), 0),
        (SearchLimits(2000), SearchLimits(400), 0),
        (SearchLimits(400), SearchLimits(2000), 5),
        (SearchLimits(None, 500), SearchLimits(None, 400), 0),
        (SearchLimits(None, 400), SearchLimits(None, 500), 5),
        (SearchLimits(800, 350), SearchLimits(None, 350), 5),
        (SearchLimits(800, 350), SearchLimits(100), 0),  # at least 100 nodes were evaluated within the time
        (SearchLimits(800, 350), SearchLimits(801), 5),
        (SearchLimits(400, multipv=3), SearchLimits(400), 0),
        (SearchLimits(400), SearchLimits(400, multipv=3), 5),
    ],
)
def test_what_was_searched_with_less_is_searched_again(before: SearchLimits, now: SearchLimits, searched: int) -> None:
    known = analyse_record(game(), first_move, limits=before)
    search = Counted()
    analysis = analyse_record(game(), search, limits=now, known=known)
    assert len(search.plies) == searched
    assert {position.limits for position in analysis.positions} == {now if searched else before}


def test_an_analysis_goes_on_from_a_part_of_it() -> None:
    record, limits = game(), SearchLimits(nodes=100)
    part = assemble(record, analyse_positions(record, first_move, 2, 2, limits=limits))
    search = Counted()
    whole = analyse_record(record, search, limits=limits, known=part)
    assert search.plies == [0, 3, 4]
    assert whole == analyse_record(record, first_move, limits=limits)


def test_limits_are_named_by_how_often_they_were_used() -> None:
    record = game()
    part = assemble(record, analyse_positions(record, first_move, 1, 1, limits=SearchLimits(nodes=5)))
    rest = analyse_positions(record, first_move, 3, 4, limits=SearchLimits(time_ms=5))
    assert assemble(record, rest, known=part).limits == "5 ms per position; 5 nodes per position"


def test_known_must_be_of_the_same_game_and_network() -> None:
    known = analyse(game(), nodes=1, network="<hash>")
    assert analyse(game(), nodes=1, network="<hash>", known=known) == known
    with pytest.raises(ValueError, match="another game, or by another network"):
        analyse(game(MOVES[:3]), nodes=1, network="<hash>", known=known)
    with pytest.raises(ValueError, match="another game, or by another network"):
        analyse(game(), nodes=1, network="<uniform>", known=known)
