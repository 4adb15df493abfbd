"""Mates in analyses: the shortest that is known, 頓死, and moves of which nothing is known."""

import pytest
from analysis_answers import Script, answer

from fukayomi._native import SearchLine
from fukayomi.engine.analysis.analyser import analyse_record
from fukayomi.engine.analysis.game_analysis import GameAnalysis, PositionAnalysis, SearchLimits
from fukayomi.engine.report.words import evaluation
from fukayomi.engine.search import Progress, Reason, SearchResult
from fukayomi.shogi import START_SFEN, MateSolver, Move, Position
from fukayomi.shogi.record import Record, RecordedMove

MATE_IN_3 = "8l/6lpk/7n1/6S1P/9/9/9/9/K8 b RN 1"  # N*2d 1b2a R*4a


def analysed(moves: str, *answers: SearchResult, sfen: str = START_SFEN, multipv: int = 3) -> GameAnalysis:
    played = [RecordedMove(Move.from_usi(usi)) for usi in moves.split()]
    return analyse_record(
        Record(initial_sfen=sfen, moves=played), Script(*answers), limits=SearchLimits(multipv=multipv)
    )


def first(sfen: str, found: SearchResult, multipv: int = 3) -> PositionAnalysis:
    return analysed("", found, sfen=sfen, multipv=multipv).positions[0]


def test_the_shortest_mate_is_reported_where_the_search_proved_a_longer_one() -> None:
    position = first(MATE_IN_3, answer((1.0, "R*1c", 15), (1.0, "N*2d", 17), (0.4, "9i8i")))
    assert (position.score.mate, position.score.winrate) == (3, 1.0)
    assert position.lines[0].usi == ("N*2d", "1b2a", "R*4a")
    assert [line.usi[0] for line in position.lines] == ["N*2d", "R*1c", "9i8i"]
    assert [line.score.mate for line in position.lines] == [3, 15, None]
    assert evaluation(position.score) == "☗3手詰"
    solved = MateSolver(16).solve(Position.from_sfen(MATE_IN_3), nodes=100_000)
    assert solved.plies == position.score.mate


def test_the_side_that_is_mated_resists_as_long_as_it_can() -> None:
    after = Position.from_sfen(MATE_IN_3)
    after.push_usi("N*2d")
    reply = after.legal_moves[0].usi()
    analysis = analysed("N*2d", answer((1.0, "N*2d", 15)), answer((0.0, reply, -14)), sfen=MATE_IN_3)
    before, position = analysis.positions
    assert (before.score.mate, position.score.mate) == (3, 2)  # plies, from Black's side
    assert len(position.lines[0].usi) == 2
    assert evaluation(position.score) == "☗1手詰"  # Black mates by one move after White's
    assert evaluation(before.score) == "☗3手詰"


@pytest.mark.parametrize("mate", [1, 3])
def test_a_proof_as_short_as_any_mate_stays(mate: int) -> None:
    position = first(MATE_IN_3, answer((1.0, "N*2d", mate)))
    assert position.score.mate == mate


def test_a_win_without_a_length_gets_the_one_that_the_solver_finds() -> None:
    assert first(MATE_IN_3, answer((1.0, "N*2d"))).score.mate == 3
    unknown = first(START_SFEN, answer((1.0, "2g2f"))).score
    assert unknown.mate is None
    assert (evaluation(unknown), evaluation(unknown, "en")) == ("☗詰みあり", "☗ mates")


def test_where_the_solver_finds_nothing_the_proof_counts() -> None:
    assert first(START_SFEN, answer((1.0, "2g2f", 7))).score.mate == 7
    assert first(START_SFEN, answer((0.0, "2g2f", -6))).score.mate == -6


def test_a_lost_position_cannot_be_thrown_away() -> None:
    """頓死: the opponent's mate is new, and the position could be held."""
    lost = analysed("1g1f", answer((0.03, "2g2f"), (0.02, "1g1f")), answer((1.0, "8c8d", 3))).moves[0]
    thrown = analysed("1g1f", answer((0.55, "2g2f"), (0.5, "1g1f")), answer((1.0, "8c8d", 3))).moves[0]
    forced = analysed("2g2f", answer((0.55, "2g2f")), answer((1.0, "8c8d", 3))).moves[0]  # the search saw no better
    assert [move.has_allowed_mate for move in (lost, thrown, forced)] == [False, True, False]


def unvisited(usi: str) -> SearchLine:
    return SearchLine(pv=[Move.from_usi(usi)], visits=0, prior=0.1, winrate=0.52, mate=None)


def test_moves_that_were_not_visited_are_no_candidates() -> None:
    visited = answer((0.6, "2g2f")).lines
    lines = (*visited, unvisited("7g7f"), unvisited("1g1f"))
    progress = Progress(lines=lines, nodes=2, root_visits=2, seconds=0.1, seldepth=1, hashfull=0)
    position = first(START_SFEN, SearchResult(lines[0].move, None, progress, Reason.LIMIT))
    assert [line.usi[0] for line in position.lines] == ["2g2f"]


def test_a_position_whose_moves_were_not_visited_has_its_own_score() -> None:
    lines = (unvisited("7g7f"), unvisited("1g1f"))
    progress = Progress(lines=lines, nodes=1, root_visits=1, seconds=0.1, seldepth=1, hashfull=0)
    position = first(START_SFEN, SearchResult(lines[0].move, None, progress, Reason.LIMIT))
    assert (position.score.winrate, len(position.lines)) == (pytest.approx(0.52), 1)
