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
