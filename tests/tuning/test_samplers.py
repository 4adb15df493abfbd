"""Optuna's samplers: that they find an optimum, and depend on seed and results alone."""

import random
from typing import Literal

import pytest

from fukayomi.tuning import Dimension, Sampler

Kind = Literal["tpe", "cma-es"]
KINDS: tuple[Kind, ...] = ("tpe", "cma-es")
LINES = [Dimension(0, 100, 20, 5, 0.1), Dimension(0, 1000, 300, 50, 0.1)]


def play(sampler: Sampler, trials: int, elo: float, seed: int = 0) -> None:
    """Trials of 40 games each against a function whose best point is (60, 700)."""
    chance = random.Random(seed)

    def lost(point: "tuple[int, ...]") -> float:
        return elo * (((point[0] - 60) / 50) ** 2 + ((point[1] - 700) / 500) ** 2)

    for _ in range(trials // 4):
        results: list[float | None] = []
        for each in sampler.propose(4):
            rate = 1 / (1 + 10 ** ((lost(each.first) - lost(each.second)) / 400))
            results.append(sum(2 if chance.random() < rate else -2 for _ in range(40)) / 40)
        sampler.tell(results)


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_found(kind: Kind) -> None:
    sampler = Sampler(LINES, kind, seed=1)
    play(sampler, 80, 200)
    first, second = sampler.estimates()
    assert abs(first.value - 60) < 15
    assert abs(second.value - 700) < 150
    assert first.low <= first.value <= first.high


@pytest.mark.parametrize("kind", KINDS)
def test_noise_alone_keeps_the_starts_within_the_intervals(kind: Kind) -> None:
    lines = [Dimension(0, 100, 50, 5, 0.1), Dimension(0, 1000, 500, 50, 0.1)]
    for seed in range(4):
        sampler = Sampler(lines, kind, seed=seed)
        play(sampler, 80, 0, seed)
        for estimate, line in zip(sampler.estimates(), lines, strict=True):
            assert estimate.low <= line.start <= estimate.high


@pytest.mark.parametrize("kind", KINDS)
def test_trials_depend_on_seed_and_results_alone(kind: Kind) -> None:
    one, same, other = (Sampler(LINES, kind, seed=seed) for seed in (1, 1, 2))
    first = one.propose(1)
    assert first == same.propose(1) == other.propose(1)
    assert first[0].first == first[0].second == (20, 300)  # the start
    for each in (one, same, other):
        each.tell([0.5])
    for _ in range(6):
        proposals = one.propose(3)
        assert proposals == same.propose(3) != other.propose(3)
        for each in (one, same, other):
            each.tell([0.25, None, -1])
    assert one.estimates() == same.estimates()


def test_choices_have_no_order() -> None:
    lines = [Dimension(0, 3, 0, 0.5, 0.1, is_choice=True), Dimension(0, 9, 4, 1, 0.1)]
    sampler = Sampler(lines, "tpe", seed=3)
    for _ in range(15):
        sampler.tell([2.0 if each.first[0] == 2 else -1.0 for each in sampler.propose(4)])
    assert sampler.estimates()[0].value == 2
