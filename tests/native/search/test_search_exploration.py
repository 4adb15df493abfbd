"""Noise by visit, forced playouts, and what is taught of them."""

import math
import random

import numpy as np
import numpy.typing as npt
import pytest
from search_runner import MATSURI, Runner

from fukayomi._native import Color, Move, PlaneInput, Position, SearchParams

WHOLE = 65535


class SharpEvaluator:
    """One move has most of the policy in each position, and all positions are worth the same."""

    def __init__(self, value: float = 0.5, logit: float = 14.0) -> None:
        self.value, self.logit = value, logit

    def run(
        self, _input: PlaneInput, n: int, logits: npt.NDArray[np.float32], values: npt.NDArray[np.float32], /
    ) -> None:
        logits[:n] = 0
        logits[:n, 0] = self.logit
        values[:n] = self.value


def exploring(
    *, noise: float = 0.0, forced: float = 0.0, epsilon: float = 0.0, seed: int = 1, temperature: float = 1.0
) -> SearchParams:
    params = SearchParams()
    params.root_visit_noise, params.forced_playouts, params.root_noise_epsilon = noise, forced, epsilon
    params.seed, params.softmax_temperature = seed, temperature
    return params


def searched(sfen: str, params: SearchParams, nodes: int, *, capacity: int = 1, explores: bool = True) -> Runner:
    runner = Runner(params=params, capacity=capacity)
    runner.search.set_position(Position.from_sfen(sfen), nodes=nodes, explores=explores)
    runner.run(nodes)
    runner.search.check_invariants()
    return runner


def visits(runner: Runner) -> dict[Move, int]:
    return {line.move: line.visits for line in runner.search.lines(600) if line.visits}


def taught(runner: Runner) -> dict[Move, int]:
    return dict(runner.search.teaching())


START = Position().sfen()


def test_without_exploration_the_visits_are_taught() -> None:
    for capacity in (1, 16):
        runner = searched(START, SearchParams(), 500, capacity=capacity)
        assert taught(runner) == visits(runner)
        weights = [weight for _, weight in runner.search.teaching()]
        assert weights == sorted(weights, reverse=True)
        assert runner.search.teaching()[0][0] == runner.search.lines(1)[0].move


def test_nothing_is_taught_before_the_root_has_visits() -> None:
    runner = Runner(Position())
    assert runner.search.teaching() == []
    runner.run(1)
    assert runner.search.teaching() == []
    runner.run(2)
    assert [weight for _, weight in runner.search.teaching()] == [1]
    mated = Runner(Position.from_sfen("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"))
    assert mated.search.teaching() == []


def test_a_proven_win_is_taught_alone() -> None:
    runner = searched("4k4/9/4P4/9/9/9/9/9/4K4 b G 1", SearchParams(), 50)
    assert [move.usi() for move, _ in runner.search.teaching()] == ["G*5b"]


def test_moves_that_lose_are_not_taught() -> None:
    runner = searched(START, SearchParams(), 500)
    (first, most), (second, weight), *_ = runner.search.teaching()
    after = Position()
    after.push(first)
    assert runner.search.prove(after, Color.WHITE)
    assert runner.search.teaching()[0] == (second, weight)
    assert visits(runner)[first] == most
    assert taught(runner) == {move: n for move, n in visits(runner).items() if move != first}


def test_where_all_moves_lose_visits_are_taught() -> None:
    runner = searched("4k4/9/9/9/9/9/4g4/9/4K4 b 2g2r 1", SearchParams(), 5000)
    assert runner.search.is_decided
    assert taught(runner) == visits(runner)


def test_many_visits_fit_into_the_weights() -> None:
    move = Position().legal_moves[0]
    runner = Runner(Position(), capacity=64, search_moves=[move])
    runner.run(66_000)
    assert visits(runner)[move] > WHOLE
    assert runner.search.teaching() == [(move, WHOLE)]


@pytest.mark.parametrize("noise", [0.003, 0.05, 1.0])
def test_the_noise_depends_on_the_seed_alone(noise: float) -> None:
    runners = [searched(START, exploring(noise=noise, seed=seed), 800) for seed in (1, 1, 2)]
    assert runners[0].search.lines(600) == runners[1].search.lines(600)
    assert runners[0].search.teaching() == runners[1].search.teaching()
    assert (visits(runners[0]) == visits(runners[2])) == (noise == 1.0), (
        "if all moves have it, nothing is left to chance"
    )


def test_visits_that_noise_caused_are_not_taught() -> None:
    # Without noise one move gets all visits, and all moves have the same value.
    shares: dict[float, float] = {}
    for noise in (0.001, 0.003, 0.01):
        caused, total = 0, 0
        for seed in range(20):
            runner = Runner(params=exploring(noise=noise, seed=seed), evaluator=SharpEvaluator(), capacity=1)
            runner.search.set_position(Position(), nodes=100)
            runner.run(100)
            count = visits(runner)
            main = max(count, key=lambda move: count[move])
            assert taught(runner) == {main: count[main]}
            caused += sum(count.values()) - count[main]
            total += sum(count.values())
        # 29 moves, each with the chance of noise; with it a move wins as long as it has not many visits.
        expected = total * (1 - (1 - noise) ** 29)
        assert abs(caused - expected) < 4 * math.sqrt(expected) + 0.05 * expected, (noise, caused, expected)
        shares[noise] = caused / total
    assert shares[0.001] < shares[0.003] < shares[0.01]


def test_the_move_is_chosen_without_the_noise() -> None:
    for seed in range(20):
        runner = searched(START, exploring(noise=0.2, seed=seed), 60)
        weights = runner.search.teaching()
        assert weights[0][0] == runner.search.lines(1)[0].move
        assert weights[0][1] == max(weight for _, weight in weights)
        assert sum(weight for _, weight in weights) < 59


def test_visits_in_flight_that_are_given_up_are_not_counted() -> None:
    runner = Runner(params=exploring(noise=0.3), capacity=8)
    runner.search.set_position(Position(), nodes=400)
    numbers = random.Random(1)
    while runner.search.nodes < 400:
        n = runner.slot.gather(runner.search, runner.batch, 8)
        if numbers.random() < 0.5 and runner.search.nodes:
            runner.search.cancel(runner.batch)
            continue
        runner.slot.run(runner.evaluator, n)
        runner.slot.apply(runner.search, runner.batch)
    runner.search.check_invariants()
    for move, weight in runner.search.teaching():
        assert 0 < weight <= visits(runner)[move]
    assert 0 < sum(taught(runner).values()) < sum(visits(runner).values())


def test_a_search_that_does_not_explore_is_the_plain_one() -> None:
    params = exploring(noise=0.1, forced=2.0, epsilon=0.25)
    runner = searched(START, params, 300, explores=False)
    plain = searched(START, exploring(), 300)
    assert runner.search.lines(600) == plain.search.lines(600)
    assert runner.search.teaching() == plain.search.teaching()


def test_noise_visits_are_remembered_as_long_as_the_root() -> None:
    runner = searched(START, exploring(noise=0.1), 300)
    before = runner.search.teaching()
    assert sum(taught(runner).values()) < sum(visits(runner).values())
    assert runner.search.set_position(Position())
    assert runner.search.teaching() == before
    position = Position()
    position.push(before[0][0])
    assert runner.search.set_position(position)
    assert taught(runner) == visits(runner), "the visits of a kept tree were not for this root"


def test_forced_playouts_have_their_number() -> None:
    for seed in range(6):
        params = exploring(forced=2.0, seed=seed)
        runner = searched(MATSURI if seed % 2 else START, params, 400 + 100 * seed)
        lines = [line for line in runner.search.lines(600) if line.visits]
        total = sum(line.visits for line in lines)
        for line in lines:
            if line.mate is None:
                # One by one, and of the total as it was at the last visit.
                assert line.visits >= math.floor(math.sqrt(2.0 * line.prior * (total - len(lines))))
        plain = searched(MATSURI if seed % 2 else START, exploring(seed=seed), 400 + 100 * seed)
        assert visits(runner) != visits(plain)


def pruned(runner: Runner, params: SearchParams, factor: float) -> dict[Move, int]:
    """The visits without those that were forced: the rule of Wu, 2019, by a loop over each visit."""
    lines = [line for line in runner.search.lines(600) if line.visits]
    total = sum(line.visits for line in lines)
    c = math.log((total + params.c_base_root + 1) / params.c_base_root) + params.c_init_root

    def score(prior: float, winrate: float, n: int) -> float:
        return winrate + c * prior * math.sqrt(total) / (1 + n)

    best = lines[0]
    found = {best.move: best.visits}
    for line in lines[1:]:
        n = line.visits
        for _ in range(math.ceil(math.sqrt(factor * line.prior * total))):
            if n > 0 and score(line.prior, line.winrate, n - 1) < score(best.prior, best.winrate, best.visits):
                n -= 1
        if n > 1:
            found[line.move] = n
    return found


def test_forced_playouts_are_not_taught() -> None:
    for seed in range(8):
        params = exploring(forced=(0.5, 2.0, 8.0)[seed % 3])
        start = Position()
        numbers = random.Random(seed)
        for _ in range(2 * seed):
            start.push(numbers.choice(start.legal_moves))
        runner = searched(start.sfen(), params, 300)
        assert not any(line.mate for line in runner.search.lines(600) if line.visits)
        expected = pruned(runner, params, params.forced_playouts)
        assert taught(runner) == expected
        assert sum(expected.values()) < 299


def test_pruned_targets_drop_bad_moves_that_noise_brought_up() -> None:
    raw, cleaned, found = 0, 0, 0
    for seed in range(8):
        runner = searched(START, exploring(forced=2.0, epsilon=0.25, seed=seed), 600)
        weights = taught(runner)
        best = runner.search.lines(1)[0]
        bad = [line for line in runner.search.lines(600) if line.visits and line.winrate < best.winrate - 0.05]
        raw += sum(line.visits for line in bad)
        cleaned += sum(weights.get(line.move, 0) for line in bad)
        found += weights[best.move] == best.visits
    assert found == 8, "the best move keeps all it has"
    assert cleaned < 0.8 * raw


def test_everything_at_once_gets_on_with_batches_and_proofs() -> None:
    for sfen in (START, MATSURI, "4k4/9/9/9/9/9/4g4/9/4K4 b 2g2r 1"):
        runner = searched(sfen, exploring(noise=0.05, forced=2.0, epsilon=0.25), 2000, capacity=32)
        weights = runner.search.teaching()
        assert weights[0][0] == runner.search.lines(1)[0].move
        assert all(0 < weight <= visits(runner)[move] for move, weight in weights)
