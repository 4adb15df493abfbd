"""The engine, analyses and the analysis service agree with the table of repetitions (docs/usi-options.md)."""

import csv
from collections.abc import Generator
from pathlib import Path

import pytest
from patience import PATIENCE_S
from repetition_games import BEFORE, FOURTH, PERPETUAL, PERPETUAL_FOURTH, SHUFFLE, position, without_past

from fukayomi.engine import AnalysisQuery, AnalysisService, Engine, Network
from fukayomi.engine.control import Control, Limits
from fukayomi.engine.evaluators.protocol import hash_evaluator
from fukayomi.engine.mate_threads import MateOptions
from fukayomi.engine.search import Searcher
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import MateReason, MateSolver, Position

NODES = 600
# Black mates in one by G*5b in many ways; here the game has gone to and fro before.
MATING = "4k4/9/4P4/9/9/9/9/9/4K4 b 2Gr2b2g4s4n4l17p 1"


@pytest.fixture
def network() -> Generator[Network]:
    with Network(hash_evaluator(16), cache_mb=0) as network:
        yield network


@pytest.fixture
def engine(network: Network) -> Generator[Engine]:
    with Engine(network, settings=UsiSettings(batch_visits=0)) as engine:
        yield engine


@pytest.mark.parametrize("game", [BEFORE, PERPETUAL])
def test_a_recurrence_from_before_the_board_is_nothing(engine: Engine, game: str) -> None:
    found = engine.search(position(game), nodes=NODES, multipv=600)
    engine.new_game()
    assert found.lines == engine.search(without_past(game), nodes=NODES, multipv=600).lines


@pytest.mark.parametrize(("game", "move", "winrate"), [(FOURTH, "7b8b", 0.5), (PERPETUAL_FOURTH, "4a5a", 1.0)])
def test_the_fourth_occurrence_is_a_result(engine: Engine, game: str, move: str, winrate: float) -> None:
    lines = {line.move.usi(): line for line in engine.search(position(game), nodes=NODES, multipv=600).lines}
    assert (lines[move].winrate, lines[move].depth, lines[move].mate) == (winrate, 1, None)


@pytest.mark.parametrize("nodes", [1, 300])
def test_a_win_by_the_fourth_occurrence_needs_no_visit(engine: Engine, nodes: int) -> None:
    cycle = " 9b9a 5a5b 9a9b 5b5a"
    start = "sfen 4k4/+R8/9/9/9/9/9/9/4K4 b Gr2b3g4s4n4l9p 1 moves"
    game = f"{start}{3 * cycle}".removesuffix(" 5b5a")
    best = engine.search(position(game), nodes=nodes).lines[0]
    assert (best.move.usi(), best.winrate, best.mate) == ("5b5a", 1.0, None)


def test_a_recurrence_in_the_search_ends_nothing(engine: Engine) -> None:
    found = engine.search(position(SHUFFLE), nodes=NODES, multipv=600)
    assert found.progress.nodes == NODES
    assert all(0.0 < line.winrate < 1.0 and line.mate is None for line in found.lines)


def test_games_that_were_resigned_or_lost(shared_data: Path) -> None:
    with (shared_data / "outside-3" / "repetition.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == 3
    with Engine("<5x64>") as engine:
        for row in rows:
            found = engine.search(position(row["position"]), nodes=500)
            engine.new_game()
            alone = engine.search(without_past(row["position"]), nodes=500)
            assert found.lines[0].mate is None
            assert abs(found.lines[0].cp - alone.lines[0].cp) <= 150, row["name"]
            assert abs(found.lines[0].cp) < 5000
            if row["right"].startswith("as without history"):
                assert found.lines[0].move == alone.lines[0].move
            elif "plays on" not in row["right"]:
                assert found.lines[0].move.usi() == row["right"].split(",")[0]


def test_an_analysis_reports_no_mistakes_for_recurrences(shared_data: Path) -> None:
    game = Position.from_usi((shared_data / "outside-3" / "rep1.usi").read_text("utf-8").strip())
    with Engine("<5x64>") as engine:
        analysis = engine.analyse(game, nodes=300)
    assert {move.ply for move in analysis.mistakes()} == {4}, "8c8d, which leaves a bishop, is the only one"


@pytest.mark.parametrize("game", [BEFORE, PERPETUAL])
def test_the_service_answers_as_without_the_past(network: Network, game: str) -> None:
    start, _, moves = game.partition(" moves ")
    sfen = Position().sfen() if start == "startpos" else start.removeprefix("sfen ")
    with AnalysisService(network, memory_mb=64) as service:
        answers = []
        for query in (
            AnalysisQuery(sfen=sfen, moves=moves.split(), turns=[len(moves.split())], visits=NODES, multipv=5),
            AnalysisQuery(sfen=position(game).sfen(), turns=[0], visits=NODES, multipv=5),
        ):
            (answer,) = service.submit(query).result(PATIENCE_S)
            answers.append([(move.move, move.visits, move.win_rate) for move in answer.moves])
    assert answers[0] == answers[1]


def mating_game(cycles: int) -> Position:
    """Black is about to mate; the position has occurred this often more."""
    return Position.from_usi(f"sfen {MATING}" + (" moves" + " 5i5h 5a4a 5h5i 4a5a" * cycles if cycles else ""))


@pytest.mark.parametrize("cycles", [1, 2])
def test_a_mate_counts_whatever_repeated_before(cycles: int) -> None:
    game = mating_game(cycles)
    found = MateSolver(16).solve(game, nodes=10_000, plies=7)
    assert found.reason is MateReason.MATE
    with Searcher([hash_evaluator(8)], memory_mb=64) as searcher:
        result = searcher.search(game, Control(Limits(nodes=2000)), mates=MateOptions(root_plies=7))
    assert result.lines[0].mate is not None
    assert result.lines[0].mate > 0
