"""Results that are proven outside the search and entered while it may be running."""

import threading

import pytest
from search_runner import MATSURI, Runner

from fukayomi._native import Color, HashEvaluator, Move, Position, SearchLine, SearchParams, UniformEvaluator

MATED_IN_TWO = "k8/9/1G7/9/9/9/9/9/4K4 b G 1"
EVEN = "4k4/9/9/9/9/9/9/9/4K4 b - 1"


def after(position: Position, *moves: str) -> Position:
    position = position.copy()
    for move in moves:
        position.push_usi(move)
    return position


def line_of(runner: Runner, usi: str) -> SearchLine:
    return next(line for line in runner.search.lines(600) if line.move.usi() == usi)


def test_a_win_makes_the_move_the_best_one_and_decides_the_root() -> None:
    runner = Runner(Position())
    runner.run(300)
    assert runner.search.prove(after(Position(), "9g9f"), Color.BLACK, 4)
    best = runner.search.lines(1)[0]
    assert (best.move.usi(), best.mate, best.winrate) == ("9g9f", 5, 1.0)
    assert runner.search.is_decided
    assert runner.step() == 0
    runner.search.check_invariants()


def test_a_lost_move_gets_no_more_visits() -> None:
    runner = Runner(Position())
    runner.run(300)
    best = runner.search.lines(1)[0]
    position = Position()
    position.push(best.move)
    assert runner.search.prove(position, Color.WHITE, 11)
    runner.run(1000)
    runner.search.check_invariants()
    line = line_of(runner, best.move.usi())
    assert (line.visits, line.mate, line.winrate) == (best.visits, -12, 0.0)
    assert runner.search.lines(600)[-1].move == best.move
    assert not runner.search.is_decided


def test_a_result_travels_up_several_plies() -> None:
    runner = Runner(Position())
    runner.run(3000)
    line = runner.search.lines(1)[0]
    assert len(line.pv) >= 2
    reply = after(Position(), *(move.usi() for move in line.pv[:2]))
    assert runner.search.prove(reply, Color.WHITE, 6), "the reply wins, so the move loses"
    lost = line_of(runner, line.move.usi())
    assert (lost.mate, lost.winrate) == (-8, 0.0)
    assert lost.pv[1] == line.pv[1]
    runner.search.check_invariants()


def test_a_position_whose_replies_are_all_lost_is_won() -> None:
    runner = Runner(Position.from_sfen(EVEN))
    runner.run(500)
    for move in Position.from_sfen(EVEN).legal_moves:
        assert not runner.search.is_decided
        assert runner.search.prove(after(Position.from_sfen(EVEN), move.usi()), Color.WHITE, 3)
    assert runner.search.is_decided
    assert [line.mate for line in runner.search.lines(600)] == [-4] * 5
    runner.search.check_invariants()


def test_a_move_without_a_visit_can_be_proven() -> None:
    runner = Runner(Position())
    runner.run(1)
    assert runner.search.prove(after(Position(), "2h5h"), Color.WHITE)
    assert runner.search.prove(after(Position(), "1i1h"), None)
    runner.run(2000)
    runner.search.check_invariants()
    lost, drawn = line_of(runner, "2h5h"), line_of(runner, "1i1h")
    assert (lost.visits, lost.winrate, lost.mate) == (0, 0.0, None)
    assert (drawn.winrate, drawn.pv) == (0.5, [Move.from_usi("1i1h")])


def test_a_draw_counts_as_its_draw_value() -> None:
    params = SearchParams()
    params.draw_value_black = 0.9
    runner = Runner(Position(), params=params, evaluator=UniformEvaluator())
    runner.run(200)
    assert runner.search.prove(after(Position(), "7g7f"), None)
    runner.run(1000)
    runner.search.check_invariants()
    best = runner.search.lines(1)[0]
    assert (best.move.usi(), best.mate) == ("7g7f", None)
    assert best.winrate == pytest.approx(0.9)


def test_the_shorter_of_two_mates_stays() -> None:
    runner = Runner(Position())
    runner.run(100)
    position = after(Position(), "7g7f")
    for plies, expected in ((8, 9), (4, 5), (6, 5)):
        assert runner.search.prove(position, Color.BLACK, plies)
        assert runner.search.lines(1)[0].mate == expected
    assert runner.search.prove(position, Color.WHITE, 1), "too late: the result is known"
    assert runner.search.lines(1)[0].mate == 5


def test_what_the_tree_does_not_hold_is_not_entered() -> None:
    runner = Runner(Position())
    assert not runner.search.prove(after(Position(), "7g7f"), Color.BLACK, 2), "the root is not evaluated yet"
    runner.run(2)
    assert not runner.search.prove(after(Position(), "9g9f", "9c9d", "9f9e"), None)
    assert not runner.search.prove(Position.from_sfen(MATSURI), None)
    other_past = after(Position(), "5i5h", "5a5b", "5h5i", "5b5a", "7g7f")
    assert not runner.search.prove(other_past, None), "the same position with another past"
    assert not runner.search.is_decided


def test_the_root_itself() -> None:
    runner = Runner(Position())
    runner.run(100)
    assert runner.search.prove(Position(), Color.WHITE, 20)
    assert runner.search.is_decided
    assert runner.step() == 0
    runner.search.check_invariants()


@pytest.mark.parametrize(("winner", "plies"), [(Color.BLACK, 2), (Color.WHITE, 3), (Color.BLACK, -1), (None, 4)])
def test_an_impossible_number_of_plies_is_refused(winner: Color | None, plies: int) -> None:
    with pytest.raises(ValueError, match="mate_plies"):
        Runner(Position()).search.prove(Position(), winner, plies)


@pytest.mark.parametrize("is_applied", [True, False])
def test_a_leaf_in_flight_keeps_its_result(is_applied: bool) -> None:
    runner = Runner(Position())
    runner.run(1)
    n = runner.slot.gather(runner.search, runner.batch, 16)
    assert n > 0
    move = runner.search.lines(1)[0].move  # the greatest prior: it is in the batch
    assert runner.search.prove(after(Position(), move.usi()), Color.WHITE, 5)
    if is_applied:
        runner.slot.run(runner.evaluator, n)
        runner.slot.apply(runner.search, runner.batch)
    else:
        runner.search.cancel(runner.batch)
    runner.search.check_invariants()
    runner.run(500)
    runner.search.check_invariants()
    line = line_of(runner, move.usi())
    assert (line.visits, line.mate) == (1 if is_applied else 0, -6)


def test_a_kept_tree_keeps_results() -> None:
    runner = Runner(Position())
    runner.run(3000)
    first, second = runner.search.lines(1)[0].pv[:2]
    runner.search.prove(after(Position(), first.usi(), second.usi()), Color.BLACK)
    root = after(Position(), first.usi())
    assert runner.search.set_position(root)
    assert line_of(runner, second.usi()).winrate == 0.0
    runner.run(500)
    assert runner.search.lines(1)[0].move != second
    runner.search.check_invariants()


def test_results_come_while_other_threads_search() -> None:
    runner = Runner(Position(), capacity=8, evaluator=HashEvaluator(5))
    runner.run(1)
    moves = [move.usi() for move in Position().legal_moves]
    lost = moves[:25]
    thread = threading.Thread(target=runner.run, args=(20_000,))
    thread.start()
    for move in lost:
        assert runner.search.prove(after(Position(), move), Color.WHITE, 7)
    thread.join()
    runner.search.check_invariants()
    lines = runner.search.lines(600)
    assert {line.move.usi() for line in lines if line.mate == -8} == set(lost)
    assert lines[0].move.usi() not in lost
