"""The root's policy: plain PUCT, or PUCT over priors with Dirichlet noise."""

import pytest
from search_runner import MATSURI, Runner

from fukayomi._native import Move, Position, SearchLine, SearchParams, UniformEvaluator


def noise(epsilon: float, seed: int = 1, alpha: float = 0.15) -> SearchParams:
    params = SearchParams()
    params.root_noise_epsilon = epsilon
    params.root_noise_alpha = alpha
    params.seed = seed
    return params


def lines(params: SearchParams, nodes: int = 2000) -> list[tuple[str, int, float]]:
    runner = Runner(Position.from_sfen(MATSURI), params=params)
    runner.run(nodes)
    runner.search.check_invariants()
    return [(line.move.usi(), line.visits, line.winrate) for line in runner.search.lines(600)]


def test_without_noise_the_seed_changes_nothing() -> None:
    assert lines(noise(0.0, seed=1)) == lines(noise(0.0, seed=2)) == lines(SearchParams())


def test_the_same_seed_gives_the_same_search() -> None:
    assert lines(noise(0.25)) == lines(noise(0.25))
    assert lines(noise(0.25)) != lines(noise(0.25, seed=2))
    assert lines(noise(0.25)) != lines(SearchParams())


def test_a_little_noise_changes_little() -> None:
    plain, noisy = lines(SearchParams(), 100), lines(noise(1e-6), 100)
    assert [visits for _, visits, _ in plain] == [visits for _, visits, _ in noisy]


def test_noise_alone_shares_the_visits_out_by_chance() -> None:
    # Every move has the same value and prior, so plain PUCT visits all alike; alpha 0.15 favours a few of the 30 moves.
    most: set[str] = set()
    for seed in range(8):
        runner = Runner(Position(), params=noise(1.0, seed), evaluator=UniformEvaluator())
        runner.run(2000)
        shares = runner.visits()
        best = max(shares, key=lambda move: shares[move])
        assert shares[best] > 4 * 2000 / 30
        most.add(best)
    assert len(most) >= 4
    even = Runner(Position(), evaluator=UniformEvaluator())
    even.run(2000)
    assert max(even.visits().values()) < 2 * 2000 / 30


@pytest.mark.parametrize("alpha", [0.001, 1000.0])
def test_any_concentration_works(alpha: float) -> None:
    runner = Runner(Position(), params=noise(1.0, alpha=alpha), evaluator=UniformEvaluator())
    runner.run(2000)
    runner.search.check_invariants()
    shares = runner.visits()
    assert sum(shares.values()) == runner.search.root_visits - 1
    assert (max(shares.values()) > 1000) == (alpha < 1)


def test_the_lines_tell_the_network_s_priors() -> None:
    runners = [Runner(Position.from_sfen(MATSURI), params=params) for params in (SearchParams(), noise(0.5))]
    priors: list[dict[str, float]] = []
    for runner in runners:
        runner.run(500)
        priors.append({line.move.usi(): line.prior for line in runner.search.lines(600)})
    assert priors[0] == priors[1]


def test_noise_comes_anew_with_each_root_and_the_tree_is_kept() -> None:
    runner = Runner(Position(), params=noise(0.25))
    runner.run(3000)
    position = Position()
    position.push(runner.search.lines(1)[0].move)
    assert runner.search.set_position(position)
    runner.search.check_invariants()
    runner.run(3000)
    runner.search.check_invariants()
    assert runner.search.root_visits > 3000


def test_noise_and_proofs_get_on() -> None:
    # Every move loses; noise must not keep the search from seeing it.
    runner = Runner(Position.from_sfen("4k4/9/9/9/9/9/4g4/9/4K4 b 2g2r 1"), params=noise(0.5))
    runner.run(5000)
    runner.search.check_invariants()
    assert runner.search.is_decided


def test_search_moves_get_noise_too() -> None:
    position = Position.from_sfen(MATSURI)
    moves = position.legal_moves[:3]
    runner = Runner(position, params=noise(1.0), search_moves=moves)
    runner.run(300)
    found: list[SearchLine] = runner.search.lines(600)
    assert {line.move for line in found} == set(moves)


def test_the_number_of_nodes_is_for_planning_only() -> None:
    # PUCT does not plan, so nothing changes, and the search goes on beyond the number.
    found: list[list[tuple[str, int]]] = []
    for nodes in (None, 0, 100, 10**6):
        runner = Runner(params=noise(0.25))
        runner.search.set_position(Position.from_sfen(MATSURI), nodes=nodes)
        runner.run(500)
        assert runner.search.nodes == 500
        found.append([(line.move.usi(), line.visits) for line in runner.search.lines(600)])
    assert all(lines == found[0] for lines in found)


def test_moves_are_ranked_by_proof_then_by_visits() -> None:
    for epsilon in (0.0, 0.5):
        runner = Runner(Position.from_sfen(MATSURI), params=noise(epsilon))
        runner.run(3000)
        found: list[SearchLine] = runner.search.lines(600)
        open_lines = [line.visits for line in found if line.mate is None and line.winrate > 0]
        assert open_lines == sorted(open_lines, reverse=True)
        lost = [line.winrate <= 0 and line.visits > 0 for line in found]
        assert True not in lost or not any(line.visits for line in found[lost.index(True) :] if line.winrate > 0)


def test_compared_moves_get_the_same_number_of_visits() -> None:
    runner = Runner(Position(), capacity=1)  # in batches, leaves that wait for others shift a few visits
    runner.run(1000)
    before = runner.visits()
    ranked = sorted(before, key=lambda move: -before[move])
    pair = [Move.from_usi(ranked[0]), Move.from_usi(ranked[-1])]
    runner.search.set_position(Position())
    runner.search.compare(pair)
    runner.run(2000)
    runner.search.check_invariants()
    after = runner.visits()
    assert abs(after[ranked[0]] - after[ranked[-1]]) <= 1
    assert {move: after[move] for move in ranked[1:-1]} == {move: before[move] for move in ranked[1:-1]}
    runner.search.set_position(Position())  # ends the comparison, keeps the tree
    runner.run(500)
    assert sum(runner.visits()[move] - after[move] for move in ranked[1:-1]) > 0


def test_where_all_compared_moves_are_proven_the_others_are_searched() -> None:
    runner = Runner(Position.from_sfen("4k4/9/4P4/9/9/9/9/9/4K4 b G 1"))
    mate = Move.from_usi("G*5b")
    runner.run(1)
    lines = runner.search.lines(600)
    runner.search.set_position(Position.from_sfen("4k4/9/4P4/9/9/9/9/9/4K4 b G 1"))
    runner.search.compare([mate])
    runner.run(50)
    assert runner.search.lines(1)[0].mate == 1
    assert len(runner.search.lines(600)) == len(lines)


def test_only_moves_of_the_root_can_be_compared() -> None:
    runner = Runner(Position())
    with pytest.raises(ValueError, match="5e5d"):
        runner.search.compare([Move.from_usi("5e5d")])
    with pytest.raises(ValueError, match="no move"):
        runner.search.compare([])
