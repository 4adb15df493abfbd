"""`fukayomi.Engine`: searches within limits, games, analyses."""

import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from odd_evaluators import Failing, Slow
from patience import PATIENCE_S, until
from places import ROOT

from fukayomi import Engine, EvaluatorError, Network, Position, analyse, play_match, read_record
from fukayomi.engine import RootRule
from fukayomi.engine.answer.move_choice import MoveChoice
from fukayomi.engine.settings import UsiSettings
from fukayomi.listener import Listener
from fukayomi.shogi import InvalidSfenError, Move
from fukayomi.shogi.record import Record
from fukayomi.usi.text import Go

EXAMPLE = ROOT / "examples" / "game.csa"
ONE_MOVE = "8k/9/9/9/9/9/7p1/9/r7K b - 1"
"""Black's only legal move is 1i1h."""
MATED = "7k1/7G1/7P1/9/9/9/9/9/K8 w - 2"
DECLARED = "+P+P+P+P+P+P+P+P+P/K+R+B6/9/9/9/9/9/9/8k b RB 1"


class Heard(Listener):
    """Remembers the progress that it was told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int | None]] = []

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self.calls.append((stage, done, total))


def test_a_search_returns_lines_within_the_nodes() -> None:
    with Engine("<hash>") as engine:
        result = engine.search(Position(), nodes=100, multipv=4)
    assert result.progress.nodes == 100
    assert len(result.lines) == 4
    first = result.lines[0]
    assert result.best == first.move == first.pv[0]
    assert result.ponder == first.pv[1]
    assert first.visits >= result.lines[1].visits
    assert 0 < first.prior < 1
    assert 0 < first.winrate < 1
    assert first.mate is None
    assert first.cp == round(756 * math.log(first.winrate / (1 - first.winrate)))
    assert [row["move"] for row in result.rows()] == [line.move.usi() for line in result.lines]
    assert result.to_polars()["visits"].to_list() == [line.visits for line in result.lines]
    assert repr(result) == f"<SearchResult: {first.move.usi()}, 100 nodes>"


def test_a_mate_is_worth_30000_centipawns() -> None:
    with Engine("<hash>") as engine:
        line = engine.search(Position.from_sfen("7k1/9/7P1/9/9/9/9/9/K8 b G 1"), nodes=10).lines[0]
    assert (line.move.usi(), line.mate, line.cp) == ("G*2b", 1, 30_000)


def test_only_the_given_moves_are_searched() -> None:
    moves = [Move.from_usi("9g9f"), Move.from_usi("1g1f")]
    with Engine("<hash>") as engine:
        result = engine.search(Position(), nodes=50, moves=moves, multipv=5)
        assert {line.move for line in result.lines} == set(moves)
        with pytest.raises(ValueError, match="9g9e"):
            engine.search(Position(), nodes=50, moves=[Move.from_usi("9g9e")])
        with pytest.raises(ValueError, match="moves is empty"):
            engine.search(Position(), nodes=50, moves=[])


def test_moves_from_a_generator_restrict_a_search_without_time() -> None:
    """No evaluation comes in time, so the engine searches once more: the restriction still holds."""
    with Engine(Slow(0.1)) as engine:
        for move in Position().legal_moves[:3]:
            result = engine.search(Position(), time_ms=1, moves=(each for each in [move]))
            assert [line.move for line in result.lines] == [move]


def test_a_forced_move_is_searched_as_deeply_as_others() -> None:
    with Engine("<hash>") as engine:
        assert engine.search(Position.from_sfen(ONE_MOVE), nodes=100, time_ms=20_000).progress.nodes == 100


def test_time_ends_a_search() -> None:
    with Engine("<hash>") as engine:
        start = time.monotonic()
        assert engine.search(Position(), time_ms=100).lines
        assert 0.09 < time.monotonic() - start < PATIENCE_S / 2


def test_there_is_a_line_however_short_the_time() -> None:
    with Engine(Slow(0.1)) as engine:
        assert engine.search(Position(), time_ms=1).lines


def test_a_mated_side_has_no_move() -> None:
    with Engine("<hash>") as engine:
        result = engine.search(Position.from_sfen(MATED), nodes=10)
    assert (result.best, result.ponder, result.lines) == (None, None, ())


@pytest.mark.parametrize("wrong", [{}, {"nodes": 0}, {"time_ms": 0}, {"nodes": 10, "multipv": 0}])
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with Engine("<hash>") as engine, pytest.raises(ValueError, match=r"nodes|time_ms|multipv"):
        engine.search(Position(), **wrong)


def test_a_failing_network_is_an_error() -> None:
    with Engine(Failing()) as engine:
        with pytest.raises(EvaluatorError, match="caught fire"):
            engine.search(Position(), nodes=10)
        with pytest.raises(EvaluatorError, match="caught fire"):
            engine.choose(Position(), Go(nodes=10))


def test_several_engines_share_a_network() -> None:
    with Network("<hash>") as network:
        engines = [Engine(network, memory_mb=16) for _ in range(3)]
        results: list[Any] = [None] * 3

        def search(number: int) -> None:
            results[number] = engines[number].search(Position(), nodes=200)

        threads = [threading.Thread(target=search, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        engines[0].close()
        again = engines[1].search(Position(), nodes=300)  # closing one engine leaves the network open
        assert [result.progress.nodes for result in (*results, again)] == [200, 200, 200, 300]
        assert all(result.best in Position().legal_moves for result in (*results, again))
        for engine in engines[1:]:
            engine.close()


def test_a_search_tells_its_listener() -> None:
    heard = Heard()
    with Engine(Slow(0.05)) as engine:
        engine.search(Position(), time_ms=1_300, listener=heard)
    assert [stage for stage, _, _ in heard.calls] == ["nodes"] * len(heard.calls)
    assert len(heard.calls) >= 1
    assert all(total is None for _, _, total in heard.calls)


# ---------------------------------------------------------------------------------------------- games


def test_chooses_a_legal_move_and_says_why() -> None:
    with Engine("<hash>") as engine:
        engine.new_game()
        answer = engine.choose(Position(), Go(nodes=64))
    assert answer.bestmove is not None
    assert Move.from_usi(answer.bestmove.move) in Position().legal_moves
    info = answer.best_info
    assert info is not None
    assert info.pv[0] == answer.bestmove.move
    assert info.nodes == 64


def test_keeps_its_time() -> None:
    with Engine("<hash>") as engine:
        start = time.monotonic()
        engine.choose(Position(), Go(byoyomi_ms=300, btime_ms=0, wtime_ms=0))
        assert 0.15 <= time.monotonic() - start < PATIENCE_S / 2


def test_plans_to_end_earlier_after_a_late_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    choose = MoveChoice.choose

    def choose_late(*arguments: Any) -> Any:
        time.sleep(0.6)  # what a busy machine does between the end of a search and its answer
        return choose(*arguments)

    with Engine(Slow(0.05)) as engine:

        def searched_ms() -> int:
            info = engine.choose(Position(), Go(movetime_ms=2_000)).best_info
            assert info is not None
            assert info.time_ms is not None
            return info.time_ms

        monkeypatch.setattr(MoveChoice, "choose", choose_late)
        assert searched_ms() >= 1_850  # less the automatic margin
        monkeypatch.undo()
        assert 1_000 <= searched_ms() < 1_800


@pytest.mark.parametrize(("sfen", "move"), [(DECLARED, "win"), (MATED, "resign")])
def test_declares_and_resigns(sfen: str, move: str) -> None:
    with Engine("<hash>") as engine:
        answer = engine.choose(Position.from_sfen(sfen), Go(byoyomi_ms=5_000))
    assert answer.bestmove is not None
    assert answer.bestmove.move == move


BLUNDERS = "startpos moves 7g7f 3c3d 8h2b+ 1c1d 2b3a"  # White has lost a bishop and a silver


def test_resigns_below_the_threshold() -> None:
    with Engine(settings=UsiSettings(resign_threshold=300)) as engine:
        answers = [choice(engine, text) for text in ("startpos moves 7g7f", BLUNDERS)]
    assert answers[0] in MOVES_OF_WHITE
    assert answers[1] == "resign"


def test_a_game_that_was_lost_when_it_began_is_not_resigned() -> None:
    with Engine(settings=UsiSettings(resign_threshold=300)) as engine:
        assert choice(engine, BLUNDERS) != "resign"
        assert choice(engine, f"{BLUNDERS} 9c9d 9g9f") != "resign"
        assert choice(engine, "startpos moves 7g7f") in MOVES_OF_WHITE, "another game begins"
        assert choice(engine, BLUNDERS) == "resign"


MOVES_OF_WHITE = {move.usi() for move in Position.from_usi("startpos moves 7g7f").legal_moves}


def choice(engine: Engine, text: str) -> str:
    answer = engine.choose(Position.from_usi(text), Go(nodes=60))
    assert answer.bestmove is not None
    return answer.bestmove.move


def test_stop_ends_a_search_without_limits() -> None:
    with Engine("<hash>", memory_mb=64) as engine:
        engine.stop()  # nothing is running: no effect
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.append(engine.choose(Position(), Go(infinite=True))))
        thread.start()
        time.sleep(0.2)
        assert thread.is_alive()

        def ends() -> bool:
            engine.stop()  # again, if the search had not begun
            return not thread.is_alive()

        until(ends)
        assert len(answers) == 1


def test_identity_names_what_differs_from_the_defaults() -> None:
    with Engine("<hash>") as plain, Engine("<hash>", memory_mb=64) as small:
        assert plain.identity == plain.network.identity
        assert small.identity == f"{plain.identity} USI_Hash=64"


def test_two_engines_play_a_match() -> None:
    with Network("<hash>") as network, Engine(network) as one, Engine(network, memory_mb=64) as two:
        result = play_match({"one": one, "two": two}, games=2, clock="nodes=16", rules={"max_plies": 12})
    assert [len(game.moves) for game in result.games] == [12, 12]
    assert {row["games"] for row in result.rows()} == {2}


# ---------------------------------------------------------------------------------------------- analyses


def test_a_file_becomes_an_analysis() -> None:
    heard = Heard()
    analysis = analyse(EXAMPLE, nodes=5, first=3, last=6, network="<hash>", listener=heard)
    assert [move.ply for move in analysis.moves] == [3, 4, 5, 6]
    assert analysis.engine == "hash (hash-0)"
    assert analysis.limits == "5 nodes per position"
    assert heard.calls == [("positions", done, 5) for done in range(1, 6)]


def test_a_record_and_a_position_are_games() -> None:
    record = read_record(b"position startpos moves 7g7f 3c3d 2g2f")
    position = Position.from_usi("startpos moves 7g7f 3c3d 2g2f")
    with Engine("<hash>") as engine:
        by_record = engine.analyse(record, nodes=5, multipv=3)
        engine.new_game()
        by_position = engine.analyse(position, nodes=5, multipv=3)
    assert by_record.moves == by_position.moves
    assert [len(each.lines) for each in by_record.positions] == [3, 3, 3, 3]


def test_an_analysis_keeps_three_candidates_with_their_visits() -> None:
    analysis = analyse(Position.from_usi("startpos moves 7g7f"), nodes=50, network="<hash>")
    for position in analysis.positions:
        visits = [line.visits for line in position.lines]
        assert len(visits) == 3
        assert visits == sorted(visits, reverse=True)
        assert sum(visits) > 0


def test_both_limits_hold_by_default() -> None:
    analysis = analyse(Position(), network="<hash>")
    assert analysis.limits == "800 nodes or 350 ms per position, whichever comes first"
    assert 0 < analysis.positions[0].nodes <= 800


def test_what_is_no_game_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSfenError, match="king"):
        analyse(Record(initial_sfen="4k4/9/4G4/9/9/9/9/9/9 b G 1"), nodes=1, network="<hash>")
    with pytest.raises(FileNotFoundError):
        analyse(tmp_path / "no.kif", nodes=1, network="<hash>")


def test_an_analysis_is_a_table_a_figure_and_files(tmp_path: Path) -> None:
    analysis = analyse(EXAMPLE, nodes=3, last=8, network="<hash>")
    rows: Sequence[Any] = analysis.rows()
    assert [row["ply"] for row in rows] == list(range(1, 9))
    assert rows[0]["move"] == analysis.moves[0].usi
    assert rows[0]["winrate"] == analysis.moves[0].after.score.winrate
    assert analysis.to_polars()["cp"].to_list() == [move.after.score.cp for move in analysis.moves]
    text = str(analysis)
    assert "☗７六歩" in text
    assert "3 nodes per position" in text
    assert repr(analysis) == "<GameAnalysis: 8 of 118 moves>"

    analysis.plot().savefig(tmp_path / "evaluation.png")
    assert (tmp_path / "evaluation.png").read_bytes()[:4] == b"\x89PNG"
    assert analysis._repr_html_().startswith("<img ")
    names = ["analysis.html", "analysis.svg", "analysis.kifu", "analysis.csa", "analysis.json"]
    assert [path.name for path in analysis.save(tmp_path)] == names
    assert analysis.to_html() == (tmp_path / "analysis.html").read_text(encoding="utf-8")
    assert analysis.to_dict()["total_moves"] == 118


def test_positions_and_moves_may_be_text() -> None:
    with Engine("<hash>") as engine:
        by_text = engine.search("startpos moves 7g7f", nodes=50, moves=["3c3d", "8c8d"], multipv=2)
        engine.new_game()
        position = Position("startpos moves 7g7f")
        by_object = engine.search(position, nodes=50, moves=[Move.from_usi("3c3d"), Move.from_usi("8c8d")], multipv=2)
        assert by_text.rows() == by_object.rows()
        assert engine.search(position.sfen(), nodes=5).best in position.legal_moves
        with pytest.raises(InvalidSfenError):
            engine.search("7g7f", nodes=5)
        assert engine.analyse("startpos moves 7g7f 3c3d", nodes=2).moves[1].usi == "3c3d"
        record = Record.from_text("startpos moves 7g7f 3c3d")
        assert len(engine.network.evaluate(record.positions())) == 3
        assert engine.network.evaluate("startpos").winrates == engine.network.evaluate([Position()]).winrates


def test_the_tree_tells_of_every_position_that_it_reached() -> None:
    with Engine("<hash>") as engine:
        result = engine.search("startpos", nodes=400, multipv=30)
        root = engine.tree("startpos")
        assert root.rows() == result.rows()
        assert (root.best, root.position) == (result.best, Position())
        for line in result.lines[:3]:
            node = engine.tree(f"startpos moves {line.move.usi()}")
            assert [each.move for each in node.lines if each.visits == 0] or len(node.lines) == 30
            assert {each.move for each in node.lines} == set(node.position.useful_moves)
            assert sum(each.visits for each in node.lines) == line.visits - 1
            assert [node.best] == line.pv[1:2]
            order = [each.visits for each in node.lines]
            assert order == sorted(order, reverse=True)
            mean = sum(each.visits * each.winrate for each in node.lines) / (line.visits - 1)
            assert mean == pytest.approx(1 - line.winrate, abs=0.5 / line.visits + 1e-3)
        deep = Position("startpos")
        for move in result.lines[0].pv[:3]:
            deep.push(move)
        assert engine.tree(deep).best == result.lines[0].pv[3]
        assert (
            repr(root) == f"<TreeNode: {root.best.usi()}, {sum(e.visits > 0 for e in root.lines)} of 30 moves visited>"
        )
        for outside in ("startpos moves 9g9f 9c9d 9f9e 9d9e", "4k4/9/9/9/9/9/9/9/4K4 b G"):
            with pytest.raises(ValueError, match="the tree has no moves of"):
                engine.tree(outside)


def test_gumbel_search_of_one_position() -> None:
    params = UsiSettings().search_params()
    params.root_rule, params.gumbel_moves, params.seed = RootRule.GUMBEL, 4, 3
    with Engine("<hash>", params=params) as engine:
        result = engine.search("startpos", nodes=32, multipv=30)
        visited = [line.move for line in result.lines if line.visits]
        again = engine.search("startpos", nodes=32, multipv=30)
    assert len(visited) <= 4
    assert result.best in visited
    assert next(iter(result.policy)) == result.best
    assert sum(result.policy.values()) == pytest.approx(1)
    assert len(result.policy) > len(visited), "the improved policy has moves that were not sampled"
    assert set(again.policy) <= set(Position().legal_moves)
    with Engine("<hash>") as engine:
        usual = engine.search("startpos", nodes=100, multipv=30)
    total = sum(line.visits for line in usual.lines)
    assert usual.policy == {line.move: line.visits / total for line in usual.lines if line.visits}
