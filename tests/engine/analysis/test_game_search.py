"""How the search of a game is shared out, and when a verdict is certain."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from fukayomi._native import SearchLine
from fukayomi.engine import Engine
from fukayomi.engine.analysis.analyser import Examination, GameSearch
from fukayomi.engine.analysis.game_analysis import SearchLimits
from fukayomi.engine.search import Progress, Reason, SearchResult
from fukayomi.shogi import Move, Position

BEST, PLAYED, THIRD = (Move.from_usi(usi) for usi in ("2g2f", "1g1f", "7g7f"))


@dataclass
class Tree:
    """A search in which the move played has one loss after another, and visits go where they are asked to go."""

    losses: Sequence[float]
    calls: list[tuple[int | None, int | None, tuple[Move, ...]]] = field(default_factory=list)
    visits: dict[Move, int] = field(default_factory=lambda: {BEST: 0, THIRD: 0, PLAYED: 0})

    def __call__(
        self,
        position: Position,
        *,
        nodes: int | None = None,
        time_ms: int | None = None,
        multipv: int = 1,
        compare: Sequence[Move] = (),
    ) -> SearchResult:
        self.calls.append((nodes, time_ms, tuple(compare)))
        count = nodes or time_ms or 0
        for _ in range(count):
            to = min(compare, key=self.visits.__getitem__) if compare else BEST
            self.visits[to] += 1
        round_number = sum(1 for call in self.calls if not call[2]) - 1
        loss = self.losses[min(round_number, len(self.losses) - 1)]
        rates = {BEST: 0.6, THIRD: 0.5, PLAYED: 0.6 - loss}
        lines = [SearchLine(pv=[move], visits=self.visits[move], prior=0.1, winrate=rates[move]) for move in rates]
        lines.sort(key=lambda line: -line.visits)
        return SearchResult(lines[0].move, None, Progress(tuple(lines), count, 0, 0.1, 1, 0), Reason.LIMIT)


def test_a_move_that_loses_nothing_is_compared_once() -> None:
    tree = Tree([0.01])
    found = GameSearch(tree, SearchLimits(nodes=100), 1).examine(Position(), PLAYED)
    assert tree.calls == [(35, None, ()), (15, None, (BEST, PLAYED))]
    assert found.is_certain
    assert found.nodes == 50
    assert found.played is not None
    assert found.played.visits == 15


def test_the_best_move_is_compared_with_nothing() -> None:
    tree = Tree([0.3])
    found = GameSearch(tree, SearchLimits(time_ms=1000), 1).examine(Position(), BEST)
    assert tree.calls == [(None, 350, ())]
    assert found.is_certain
    assert GameSearch(Tree([0.3]), SearchLimits(nodes=100), 1).examine(Position(), None).is_certain


def test_a_position_without_a_move_played_gets_the_whole_limits() -> None:
    for limits in (SearchLimits(nodes=20), SearchLimits(time_ms=10_000)):
        tree = Tree([0.3])
        GameSearch(tree, limits, 1).examine(Position(), None)
        assert tree.calls == [(limits.nodes, limits.time_ms, ())]


def test_the_last_position_gets_what_the_others_leave() -> None:
    tree = Tree([0.06, 0.04] * 5)
    search = GameSearch(tree, SearchLimits(nodes=100), 3)
    spent: list[int] = []
    for played in (PLAYED, PLAYED, None):
        search.examine(Position(), played)
        spent.append(sum(nodes or 0 for nodes, _, _ in tree.calls) - sum(spent))
    assert spent == [200, 50, 50]


def test_a_mistake_is_searched_twice_as_far_until_its_class_stays() -> None:
    tree = Tree([0.06, 0.04, 0.12, 0.13])
    found = GameSearch(tree, SearchLimits(nodes=100), 100).examine(Position(), PLAYED)
    assert [nodes for nodes, _, compared in tree.calls if not compared] == [35, 35, 70, 140]
    assert [nodes for nodes, _, compared in tree.calls if compared] == [15, 15, 30, 60]
    assert found.is_certain
    assert found.played is not None
    assert found.played.winrate == pytest.approx(0.47)


def test_visits_of_comparisons_do_not_rank_moves() -> None:
    tree = Tree([0.01])
    tree.visits[THIRD] = 5
    found = GameSearch(tree, SearchLimits(nodes=100), 1).examine(Position(), PLAYED)
    assert [(line.move, line.visits) for line in found.lines] == [(BEST, 35), (THIRD, 5), (PLAYED, 15)]


def test_a_class_that_never_stays_is_uncertain() -> None:
    tree = Tree([0.06, 0.04, 0.06, 0.04, 0.06, 0.04])
    search = GameSearch(tree, SearchLimits(nodes=100), 1_000)
    assert not search.examine(Position(), PLAYED).is_certain
    assert sum(nodes or 0 for nodes, _, _ in tree.calls) <= 800


@pytest.mark.parametrize("positions", [1, 2, 5, 30])
def test_all_positions_together_stay_within_their_limits(positions: int) -> None:
    trees = [Tree([0.06, 0.04] * 5) for _ in range(positions)]
    found: list[Examination] = []

    def ask(position: Position, **limits: object) -> SearchResult:
        return trees[len(found)](position, **limits)  # type: ignore[arg-type]

    search = GameSearch(ask, SearchLimits(nodes=100), positions)
    while len(found) < positions:
        found.append(search.examine(Position(), PLAYED))
    used = [sum(nodes or 0 for nodes, _, _ in tree.calls) for tree in trees]
    assert sum(used) <= 100 * positions
    assert min(used) >= 50
    assert not any(each.is_certain for each in found[1:])


def test_the_engine_compares_in_the_tree_that_it_has() -> None:
    with Engine("<hash>", memory_mb=16) as engine:
        before = {line.move: line.visits for line in engine.search(Position(), nodes=300, multipv=600).lines}
        result = engine.search(Position(), nodes=200, multipv=600, compare=[PLAYED, THIRD])
        after = {line.move: line.visits for line in result.lines}
        assert after[PLAYED] + after[THIRD] >= before[PLAYED] + before[THIRD] + 200
        assert abs(after[PLAYED] - after[THIRD]) <= 1 + abs(before[PLAYED] - before[THIRD])
        others = set(before) - {PLAYED, THIRD}
        assert {move: after[move] for move in others} == {move: before[move] for move in others}
        with pytest.raises(ValueError, match="5e5d"):
            engine.search(Position(), nodes=1, compare=[Move.from_usi("5e5d")])
