"""The search from outside: visits, lines, decisions."""

from search_runner import MATSURI, Runner

from fukayomi._native import Position


def test_visits_add_up_and_the_line_is_legal() -> None:
    for sfen in (Position().sfen(), MATSURI):
        position = Position.from_sfen(sfen)
        runner = Runner(position)
        runner.run(2000)
        assert runner.search.nodes == 2000
        assert runner.search.root_visits >= 2000
        runner.search.check_invariants()
        lines = runner.search.lines(600)
        assert sum(line.visits for line in lines) == runner.search.root_visits - 1
        assert sorted(line.move.usi() for line in lines) == sorted(move.usi() for move in position.legal_moves)
        for line in lines:
            replay = position.copy()
            for move in line.pv:
                replay.push(move)


def test_lines_come_in_the_order_of_choice() -> None:
    runner = Runner(Position.from_sfen(MATSURI))
    assert [line.visits for line in runner.search.lines(3)] == [0, 0, 0], "before the first evaluation: any moves"
    runner.run(1)
    priors = [line.prior for line in runner.search.lines(600)]
    assert priors == sorted(priors, reverse=True), "before the second: by the network's policy"
    runner.run(3000)
    lines = runner.search.lines(600)
    open_lines = [line for line in lines if line.mate is None and line.visits > 0]
    assert [line.visits for line in open_lines] == sorted((line.visits for line in open_lines), reverse=True)
    assert all(line.depth == len(line.pv) and line.pv[0] == line.move for line in lines)
    assert [line.move for line in runner.search.lines(5)] == [line.move for line in lines[:5]]
    assert runner.search.lines(0) == []
    assert runner.search.seldepth >= max(line.depth for line in lines) - 1


def test_priors_add_up_to_one() -> None:
    runner = Runner(Position.from_sfen(MATSURI))
    runner.run(1)
    assert abs(sum(line.prior for line in runner.search.lines(600)) - 1.0) < 0.01
