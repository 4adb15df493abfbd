"""Error rates and lengths of the sequential test, from simulated matches under both hypotheses.

    python benchmarks/sprt.py [--json] [--matches N]

Each line has N matches of two players whose true difference is exactly elo0 (or elo1) on the scale of the model. They
are evaluated after every game (three counts) or after every pair (five) until a bound is passed. `wrong` is the share
that accepted the other hypothesis, with Wilson's interval; it should not exceed alpha (or beta).

Games follow Davidson's model: a draw rate of 5 % between equals, an advantage of the first move, and openings that
favour one side, the same opening in both games of a pair. Counted singly, such games seem to scatter more than they
do, because what the opening gives in one game it takes in the other: the test is then safer than necessary, and
slower. Pairs do not have this problem.

The exact likelihood ratio is computed where an approximation comes near a bound. For a few matches of each line it is
computed at every step; the program fails if the outcome differs.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false
# (SciPy has no types.)

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from fukayomi.arena.statistics.intervals import NELO_PER_UNIT, elo_to_score, wilson
from fukayomi.arena.statistics.sprt import SprtModel, SprtSettings
from fukayomi.arena.statistics.sprt_likelihood import log_likelihood_ratios

DRAW_RATE = 0.05  # between equals
CHUNK = 128  # results per step of the simulation
NEAR, NEAR_EARLY, EARLY = 0.05, 0.5, 100  # distance to a bound below which the exact ratio is computed; early results
LOOKS = (0, 6, 24, CHUNK)  # blocks of exact ratios: nothing counts after the first crossing
FULLY_EXACT = 100  # one match in N is computed exactly throughout
MOST_EXACT = 20  # at most


@dataclass(frozen=True)
class Condition:
    """What decides games apart from strength, in Elo."""

    name: str
    first_move: float
    """Black's advantage."""
    openings: float
    """Standard deviation of Black's advantage from the opening."""


CONDITIONS = (
    Condition("level", 0, 0),
    Condition("first move +60", 60, 0),
    Condition("first move +60, openings ±200", 60, 200),
)


def game(elo: np.ndarray) -> np.ndarray:
    """Davidson's probabilities of loss, draw and win at this advantage: [..., 3]."""
    nu = 2 * DRAW_RATE / (1 - DRAW_RATE)
    strength = 10 ** (elo / 400)
    weights = np.stack([np.ones_like(strength), nu * np.sqrt(strength), strength], axis=-1)
    return weights / weights.sum(-1, keepdims=True)


def pair(elo: float, condition: Condition) -> np.ndarray:
    """Probabilities of the results of both games of a pair, the first with Black: [3, 3]."""
    points, weights = np.polynomial.hermite_e.hermegauss(31)
    black = condition.first_move + condition.openings * points
    return np.einsum("o,oi,oj->ij", weights / weights.sum(), game(elo + black), game(elo - black))


def advantage(results: np.ndarray, by_pairs: bool, model: SprtModel) -> float:
    """The true advantage, on the model's scale, of a player with these results of a pair: [3, 3]."""
    if by_pairs:
        shares = np.bincount(np.add.outer(range(3), range(3)).ravel(), results.ravel())
    else:
        shares = (results.sum(0) + results.sum(1)) / 2
    scores = np.linspace(0, 1, len(shares))
    mean = shares @ scores
    if model is SprtModel.LOGISTIC:
        return -400 * math.log10(1 / mean - 1)
    sigma = math.sqrt(shares @ (scores - mean) ** 2)
    return float(mean - 0.5) / sigma * NELO_PER_UNIT / (math.sqrt(2) if by_pairs else 1)


def quick_ratios(counts: np.ndarray, settings: SprtSettings) -> np.ndarray:
    """An approximation that shows where the exact ratio must be computed: [..., k] -> [...]."""
    scores = np.linspace(0, 1, counts.shape[-1])
    total = counts.sum(-1)
    mean = counts @ scores / total
    sigma = np.sqrt(np.maximum(counts @ scores**2 / total - mean**2, 1e-4))
    if settings.model is SprtModel.LOGISTIC:
        low, high, found = elo_to_score(settings.elo0) - 0.5, elo_to_score(settings.elo1) - 0.5, mean - 0.5
        return total * (high - low) * (2 * found - low - high) / (2 * sigma**2)
    root = math.sqrt(2 if counts.shape[-1] == 5 else 1)
    low, high = settings.elo0 / NELO_PER_UNIT * root, settings.elo1 / NELO_PER_UNIT * root
    return total * (high - low) * (2 * (mean - 0.5) / sigma - low - high) / 2


def exact_ratios(counts: np.ndarray, settings: SprtSettings) -> np.ndarray:
    normalized = settings.model is SprtModel.NORMALIZED
    return log_likelihood_ratios(counts, settings.elo0, settings.elo1, normalized=normalized)


def first_crossings(counts: np.ndarray, settings: SprtSettings, exactly: bool) -> tuple[np.ndarray, np.ndarray]:
    """Find where each match ends.

    Args:
        counts: After each result: [matches, results, 3 or 5].
        settings: The test.
        exactly: Whether to compute the exact ratio everywhere.

    Returns:
        The first result after which a bound was passed (-1 if none), and whether it was the upper one; [matches] each.
    """
    ratios = quick_ratios(counts, settings)
    margin = np.where(counts[0].sum(-1) < EARLY, NEAR_EARLY, NEAR)
    near = (ratios < settings.lower + margin) | (ratios > settings.upper - margin) | exactly
    order = near.cumsum(1)
    ends, upper = np.full(len(counts), -1), np.zeros(len(counts), bool)
    for low, high in itertools.pairwise(LOOKS):
        matches, results = np.nonzero(near & (order > low) & (order <= high) & (ends < 0)[:, None])
        exact = exact_ratios(counts[matches, results], settings)
        over = (exact >= settings.upper) | (exact <= settings.lower)
        matches, first = np.unique(matches[over], return_index=True)
        ends[matches], upper[matches] = results[over][first], exact[over][first] > 0
    return ends, upper


def simulate(
    results: np.ndarray, by_pairs: bool, settings: SprtSettings, matches: int, seed: int, exactly: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Play matches until the test ends them.

    Args:
        results: Probabilities of the results of a pair: [3, 3].
        by_pairs: Whether to evaluate pairs instead of games.
        settings: The test.
        matches: Number of matches. Each has its own random numbers: more matches do not change the first ones.
        seed: Random seed.
        exactly: Whether to compute the exact ratio everywhere.

    Returns:
        Whether H1 was accepted, and after how many games; [matches] each.
    """
    accepted, games = np.zeros(matches, bool), np.zeros(matches, np.int64)
    running = np.arange(matches)
    outcomes = 5 if by_pairs else 3
    counts = np.zeros((matches, outcomes), np.int32)
    edges = results.ravel().cumsum()[:-1]
    pairs_a_chunk = CHUNK if by_pairs else CHUNK // 2
    done = 0
    while len(running):
        rng = np.random.default_rng([seed, done])
        drawn = np.searchsorted(edges, rng.random((running[-1] + 1, pairs_a_chunk), np.float32)[running])
        first, second = drawn // 3, drawn % 3
        played = first + second if by_pairs else np.stack([first, second], 2).reshape(len(running), CHUNK)
        steps = counts[:, None] + (played[:, :, None] == np.arange(outcomes)).cumsum(1, dtype=np.int32)
        ends, upper = first_crossings(steps, settings, exactly)
        over = ends >= 0
        accepted[running[over]] = upper[over]
        games[running[over]] = (done + ends[over] + 1) * (2 if by_pairs else 1)
        running, counts = running[~over], steps[~over, -1]
        done += CHUNK
    return accepted, games


def measure(
    condition: Condition, model: SprtModel, by_pairs: bool, truth: str, matches: int, seed: int
) -> dict[str, object]:
    """One line of the table.

    Args:
        condition: Conditions of the games.
        model: Scale of the hypotheses 0 and 20.
        by_pairs: Whether to evaluate pairs instead of games.
        truth: The true hypothesis, ``H0`` or ``H1``.
        matches: Number of matches.
        seed: Random seed.
    """
    settings = SprtSettings(elo0=0, elo1=20, model=model)
    elo = settings.elo0 if truth == "H0" else settings.elo1
    miss: Callable[[float], float] = lambda x: advantage(pair(x, condition), by_pairs, model) - elo  # noqa: E731
    results = pair(float(brentq(miss, -300, 300, xtol=1e-10)), condition)  # pyright: ignore[reportArgumentType]
    start = time.process_time()
    accepted, games = simulate(results, by_pairs, settings, matches, seed)
    exact = simulate(results, by_pairs, settings, min(matches // FULLY_EXACT + 1, MOST_EXACT), seed, exactly=True)
    if not all(np.array_equal(a[: len(b)], b) for a, b in zip((accepted, games), exact, strict=True)):
        sys.exit(f"the approximation gave another outcome: {condition.name}, {model.value}, {truth}")
    wrong = int(accepted.sum() if truth == "H0" else (~accepted).sum())
    low, high = wilson(wrong, matches - wrong)
    return {
        "condition": condition.name, "model": model.value, "counts": 5 if by_pairs else 3, "truth": truth,
        "matches": matches, "wrong": wrong / matches, "wrong_low": low, "wrong_high": high,
        "bound": settings.alpha if truth == "H0" else settings.beta, "mean_games": float(games.mean()),
        "cpu_s": round(time.process_time() - start, 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--matches", type=int, default=10_000, help="matches per line (default 10 000)")
    args = parser.parse_args()
    lines: list[dict[str, object]] = []
    if not args.json:
        print(f"{'games':30} {'model':10} {'counts':6} {'truth':5}  wrong (95 %)             bound  mean games")
    every = itertools.product(CONDITIONS, SprtModel, (False, True), ("H0", "H1"))
    for seed, (condition, model, by_pairs, truth) in enumerate(every):
        line = measure(condition, model, by_pairs, truth, args.matches, seed)
        lines.append(line)
        if not args.json:
            print(
                f"{line['condition']:30} {line['model']:10} {line['counts']:6} {line['truth']:5}  "
                f"{line['wrong']:6.2%} ({line['wrong_low']:6.2%} - {line['wrong_high']:6.2%})  "
                f"{line['bound']:5.0%}  {line['mean_games']:10.0f}",
                flush=True,
            )
    if args.json:
        print(json.dumps({"elo0": 0, "elo1": 20, "draw_rate": DRAW_RATE, "lines": lines}))


if __name__ == "__main__":
    main()
