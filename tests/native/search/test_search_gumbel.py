"""The Gumbel root beside a model of the paper in Python, and what the paper has not: proofs, kept trees, batches."""

import math
import random
from collections import Counter

import numpy as np
import pytest
from gumbel_model import GumbelModel, considered_visits
from puct_model import OPEN, plain_parameters
from search_runner import MATSURI, Runner

from fukayomi._native import Color, Move, Position, RootRule, SearchParams

WHOLE = 65535


def gumbel(seed: int = 1, *, scale: float = 1.0, moves: int = 16, params: SearchParams | None = None) -> SearchParams:
    params = params or SearchParams()
    params.root_rule = RootRule.GUMBEL
    params.seed, params.gumbel_scale, params.gumbel_moves = seed, scale, moves
    params.gumbel_visits, params.gumbel_c_scale = 1, 1.0  # the paper's
    return params


def searched(
    position: Position, params: SearchParams, simulations: int, *, capacity: int = 16, moves: list[Move] | None = None
) -> Runner:
    """A new root and so many simulations."""
    runner = Runner(params=params, capacity=capacity)
    runner.search.set_position(position, moves or [], nodes=simulations + 1)
    simulate(runner, simulations)
    return runner


def simulate(runner: Runner, simulations: int) -> None:
    end = runner.search.root_visits + simulations + (runner.search.root_visits == 0)
    while (left := end - runner.search.root_visits) > 0 and runner.step(min(left, runner.batch.capacity)):
        pass
    runner.search.check_invariants()


def visits(runner: Runner) -> dict[str, int]:
    return {line.move.usi(): line.visits for line in runner.search.lines(600) if line.visits}


def taught(runner: Runner) -> dict[str, float]:
    return {move.usi(): weight / WHOLE for move, weight in runner.search.teaching()}


def random_position(seed: int) -> Position:
    """One of those for which the model is complete."""
    numbers = random.Random(seed)
    position = Position.from_sfen(OPEN)
    for _ in range(numbers.randrange(24)):
        board = [move for move in position.legal_moves if not move.is_drop]
        position.push(numbers.choice(board))
    return Position.from_sfen(position.sfen())


def has_drops(position: Position) -> bool:
    return any(move.is_drop for move in position.legal_moves)


@pytest.mark.parametrize("simulations", [1, 2, 3, 4, 7, 8, 15, 16, 17, 30, 32, 50, 64, 100, 200])
def test_halving_shares_the_visits_out_as_the_table_says(simulations: int) -> None:
    for moves in (1, 2, 3, 4, 16, 30):
        runner = searched(Position(), gumbel(simulations, moves=moves), simulations)
        assert runner.search.root_visits == simulations + 1
        expected = Counter(considered_visits(min(moves, simulations), simulations))
        assert Counter(n for count in visits(runner).values() for n in range(count)) == expected


@pytest.mark.parametrize(
    ("simulations", "moves"), [(1, 1), (2, 2), (8, 2), (15, 3), (16, 4), (32, 8), (64, 16), (400, 16)]
)
def test_as_many_moves_are_sampled_as_there_are_visits_for(simulations: int, moves: int) -> None:
    params = SearchParams()
    params.root_rule = RootRule.GUMBEL
    count = visits(searched(Position(), params, simulations))
    assert Counter(n for each in count.values() for n in range(each)) == Counter(considered_visits(moves, simulations))


def test_visits_choice_and_policy_are_the_model_s() -> None:
    compared = 0
    for seed in range(60):
        position = random_position(seed)
        if has_drops(position):
            continue
        simulations = (4, 8, 16, 24, 32, 64)[seed % 6]
        params = gumbel(seed, params=plain_parameters(), moves=(16, 16, 4, 3)[seed % 4])
        runner = searched(position, params, simulations, capacity=1 + seed % 20)
        model = GumbelModel(position, params, simulations)
        model.run()
        assert visits(runner) == {move: n for move, part in model.root.branches.items() if (n := len(part.values))}
        policy = model.improved_policy()
        found = taught(runner)
        assert found == pytest.approx({move: policy[move] for move in found}, abs=1e-4)
        assert sum(policy[move] for move in policy if move not in found) < 1e-4 * len(policy)
        best = model.ranked()[0]
        assert runner.search.teaching()[0][0].usi() == runner.search.lines(1)[0].move.usi() == best
        compared += 1
    assert compared > 30


@pytest.mark.parametrize("sfen", [Position().sfen(), MATSURI, OPEN])
def test_the_batch_size_changes_nothing(sfen: str) -> None:
    for simulations in (16, 50):
        runners = [
            searched(Position.from_sfen(sfen), gumbel(3), simulations, capacity=capacity) for capacity in (1, 3, 16, 64)
        ]
        for runner in runners:
            assert runner.search.lines(600) == runners[0].search.lines(600)
            assert runner.search.teaching() == runners[0].search.teaching()
            assert runner.search.playouts == simulations + 1


def test_a_batch_ends_with_the_round() -> None:
    runner = Runner(params=gumbel(), capacity=64)
    runner.search.set_position(Position(), nodes=33)
    assert [runner.step() for _ in range(6)] == [1, 16, 8, 4, 4, 2], (
        "all moves, the better half, the better quarter twice"
    )


def test_the_same_seed_gives_the_same_search() -> None:
    runners = [searched(Position(), gumbel(seed), 32) for seed in (5, 5, 6)]
    assert runners[0].search.lines(600) == runners[1].search.lines(600)
    assert runners[0].search.teaching() == runners[1].search.teaching()
    assert visits(runners[0]) != visits(runners[2])


def test_moves_are_a_sample_of_the_policy_without_replacement() -> None:
    # Of five moves two: P(a and b) = P(a) P(b) / (1 - P(a)) + P(b) P(a) / (1 - P(b)).
    moves = Position().legal_moves[:5]
    start = searched(Position(), SearchParams(), 0, moves=moves)
    priors = {line.move.usi(): line.prior for line in start.search.lines(5)}
    total = sum(priors.values())
    runs = 4000
    pairs: Counter[frozenset[str]] = Counter()
    for seed in range(runs):
        runner = Runner(params=gumbel(seed, moves=2), memory_mb=1, capacity=2)
        runner.search.set_position(Position(), moves, nodes=3)
        runner.run(3)
        pairs[frozenset(visits(runner))] += 1
    squares = 0.0
    for a in priors:
        for b in priors:
            if a < b:
                p, q = priors[a] / total, priors[b] / total
                expected = runs * (p * q / (1 - p) + p * q / (1 - q))
                squares += (pairs[frozenset((a, b))] - expected) ** 2 / expected
    assert sum(pairs.values()) == runs
    assert all(len(pair) == 2 for pair in pairs)
    assert squares < 27.9, "chi-square with 9 degrees of freedom exceeds it once in a thousand"


def test_without_chance_the_greatest_priors_are_searched() -> None:
    runner = searched(Position(), gumbel(scale=0.0, moves=8), 8)
    lines = runner.search.lines(600)
    assert {line.move for line in lines if line.visits} == {
        line.move for line in sorted(lines, key=lambda line: -line.prior)[:8]
    }
    for seed in (1, 2):
        plain = Runner(params=gumbel(seed, moves=8))
        plain.search.set_position(Position(), nodes=9, explores=False)
        plain.run(9)
        assert plain.search.lines(600) == lines


def test_the_constants_of_sigma_sharpen_the_policy() -> None:
    entropies: list[float] = []
    for c_visit, c_scale in ((0.0, 0.0), (50.0, 0.1), (50.0, 1.0), (500.0, 1.0)):
        params = gumbel()
        params.gumbel_c_visit, params.gumbel_c_scale = c_visit, c_scale
        policy = taught(searched(Position(), params, 32))
        entropies.append(-sum(p * math.log(p) for p in policy.values()))
    assert entropies == sorted(entropies, reverse=True)
    params.gumbel_c_scale = 0.0
    runner = searched(Position(), params, 32)
    priors = {line.move.usi(): line.prior for line in runner.search.lines(600)}
    total = sum(priors.values())
    assert taught(runner) == pytest.approx({move: prior / total for move, prior in priors.items()}, abs=1e-4)


def test_the_root_s_temperature_is_that_of_the_sample() -> None:
    params = gumbel()
    params.softmax_temperature_root = 2 * params.softmax_temperature
    params.gumbel_c_scale = 0.0
    runner = searched(Position(), params, 16)
    odds = {line.move.usi(): math.sqrt(line.prior) for line in runner.search.lines(600)}
    total = sum(odds.values())
    assert taught(runner) == pytest.approx({move: each / total for move, each in odds.items()}, abs=1e-4)


def test_a_proven_win_is_played_and_taught_alone() -> None:
    runner = searched(Position.from_sfen("4k4/9/4P4/9/9/9/9/9/4K4 b G 1"), gumbel(), 64)
    assert runner.search.is_decided
    assert runner.search.lines(1)[0].mate == 1
    assert [(move.usi(), weight) for move, weight in runner.search.teaching()] == [("G*5b", WHOLE)]


def test_moves_that_lose_drop_out() -> None:
    runner = Runner(params=gumbel(7))
    runner.search.set_position(Position(), nodes=33)
    simulate(runner, 0)
    simulate(runner, 16)
    # The best two are lost after all: the next eight go on.
    lost = [line.move for line in runner.search.lines(2)]
    for move in lost:
        after = Position()
        after.push(move)
        assert runner.search.prove(after, Color.WHITE)
    simulate(runner, 8)
    count = visits(runner)
    assert all(count[move.usi()] == 1 for move in lost)
    assert sum(count.values()) == 24
    known = [line.move for line in runner.search.lines(600) if line.visits]
    assert set(known[-2:]) == set(lost), "behind all others"
    assert not set(lost) & set(dict(runner.search.teaching()))
    simulate(runner, 100)
    assert all(visits(runner)[move.usi()] == 1 for move in lost)


def test_where_every_move_loses_the_longest_is_played() -> None:
    runner = searched(Position.from_sfen("4k4/9/9/9/9/9/4g4/9/4K4 b 2g2r 1"), gumbel(), 500)
    assert runner.search.is_decided
    assert runner.search.teaching()[0][0] == runner.search.lines(1)[0].move


def test_a_drawn_move_needs_no_visits() -> None:
    position = Position.from_usi("startpos moves 2h3h 8b7b 3h2h 7b8b 2h3h 8b7b 3h2h 7b8b 2h3h 8b7b 3h2h")
    for seed in range(20):
        runner = searched(position, gumbel(seed), 64)
        line = next(line for line in runner.search.lines(600) if line.move.usi() == "7b8b")
        assert sum(visits(runner).values()) == 64
        assert (line.visits, line.winrate) == (0, 0.5)


def test_drawn_moves_alone_make_room_for_others() -> None:
    runner = Runner(params=gumbel(scale=0.0, moves=1))
    runner.search.set_position(Position(), nodes=9)
    runner.run(1)
    best = runner.search.lines(1)[0].move
    after = Position()
    after.push(best)
    assert runner.search.prove(after, None)
    simulate(runner, 8)
    assert best.usi() not in visits(runner)
    assert sum(visits(runner).values()) == 8
    ranked = [line.move for line in runner.search.lines(600)]
    assert best in ranked[:2], "a draw remains a choice"


def test_a_single_move_gets_everything() -> None:
    position = Position.from_sfen("9/9/9/9/9/9/k5g2/9/r7K b - 1")
    (only,) = position.legal_moves
    runner = searched(position, gumbel(), 16)
    assert runner.search.teaching() == [(only, WHOLE)]
    assert runner.search.lines(1)[0].visits == runner.search.root_visits - 1


def test_search_moves_are_all_there_is() -> None:
    moves = Position().legal_moves[3:8]
    runner = searched(Position(), gumbel(), 32, moves=moves)
    assert set(visits(runner)) == {move.usi() for move in moves}
    assert set(taught(runner)) <= {move.usi() for move in moves}


def test_a_kept_tree_gets_its_visits_on_top() -> None:
    runner = searched(Position(), gumbel(), 200)
    position = Position()
    position.push(runner.search.lines(1)[0].move)
    assert runner.search.set_position(position, nodes=32)
    before = visits(runner)
    assert sum(before.values()) > 20
    simulate(runner, 32)
    after = visits(runner)
    added = {move: n - before.get(move, 0) for move, n in after.items()}
    assert Counter(n for count in added.values() for n in range(count)) == Counter(considered_visits(16, 32))
    # The policy is that of all visits.
    lines = runner.search.lines(600)
    most = max(after.values())
    odds = [
        math.log(line.prior) + (50 + most) * (2 * line.winrate - 1) for line in lines if line.visits
    ]  # of moves with visits only
    shares = np.exp(np.array(odds) - max(odds))
    found = [taught(runner).get(line.move.usi(), 0.0) for line in lines if line.visits]
    assert np.array(found) / sum(found) == pytest.approx(shares / shares.sum(), abs=2e-4)


def test_the_search_goes_on_beyond_its_plan_with_two_moves() -> None:
    runner = searched(Position(), gumbel(), 16)
    before = visits(runner)
    simulate(runner, 100)
    after = visits(runner)
    changed = [move for move in after if after[move] > before.get(move, 0) + 8]
    assert len(changed) == 2
    assert runner.search.lines(1)[0].move.usi() in changed


def test_without_a_plan_it_works_too() -> None:
    runner = Runner(Position(), params=gumbel())
    runner.run(65)
    assert Counter(n for count in visits(runner).values() for n in range(count)) == Counter(considered_visits(16, 64))


def test_little_memory_and_many_visits_get_on() -> None:
    runner = Runner(params=gumbel(), memory_mb=1)
    runner.search.set_position(Position.from_sfen(MATSURI), nodes=20_000)
    runner.run(20_000)
    runner.search.check_invariants()
    assert runner.search.nodes == 20_000
    assert runner.search.teaching()
