"""How near the methods of `fukayomi tune` come to the best values of functions that are known, with results of games.

Parameters have ranges of 10, 100 and 1 000 in turn; each starts in the middle, where CMA-ES begins, has its best value
at 70 or 30 % in turn, and loses by the square of the distance. Games are drawn from the difference in Elo, without
draws. Beside our methods stands SPSA as Spall published it, with one gain for all parameters (`plain`): the same
distances in units of the parameters, those of the smallest.

    python studies/tune_functions.py --runs 8

The table has the Elo that is left to gain; at the start it is `--elo` for each parameter.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from statistics import fmean, stdev

from fukayomi.tuning import Dimension, Sampler, Spsa
from fukayomi.tuning.parameters import Tuner

SCALES = (10.0, 100.0, 1000.0)
BATCH = 8
TRIAL_PAIRS = 20
Make = Callable[[list[Dimension], int, int], tuple[Tuner, int]]


def lines(count: int, pairs: int, *, is_plain: bool = False) -> list[Dimension]:
    """The parameters."""
    scales = [SCALES[number % len(SCALES)] for number in range(count)]
    smallest = min(scales)
    return [
        Dimension(0, scale, 0.5 * scale, (smallest if is_plain else scale) / 20, min(0.1, 60 / pairs))
        for scale in scales
    ]


METHODS: dict[str, Make] = {
    "plain": lambda found, pairs, seed: (Spsa(lines(len(found), pairs, is_plain=True), pairs, seed=seed), 1),
    "spsa": lambda found, pairs, seed: (Spsa(found, pairs, seed=seed), 1),
    "adam": lambda found, pairs, seed: (Spsa(found, pairs, seed=seed, adam=True), 1),
    "tpe": lambda found, pairs, seed: (Sampler(found, "tpe", seed=seed), TRIAL_PAIRS),
    "cma-es": lambda found, pairs, seed: (Sampler(found, "cma-es", seed=seed), TRIAL_PAIRS),
}


def left(found: Sequence[Dimension], point: Sequence[float], elo: float) -> float:
    """Elo that is left to gain."""
    best = (0.3 if number % 2 else 0.7 for number in range(len(found)))
    return sum(elo * ((x / each.high - at) / 0.2) ** 2 for each, x, at in zip(found, point, best, strict=True))


def play(method: str, count: int, pairs: int, elo: float, seed: int) -> float:
    """Elo that is left after a run."""
    found = lines(count, pairs)
    tuner, pairs_each = METHODS[method](found, pairs, seed)
    chance = random.Random(seed)
    proposals = pairs // pairs_each
    while proposals:
        asked = tuner.propose(min(BATCH, proposals))
        proposals -= len(asked)
        results: list[float | None] = []
        for each in asked:
            better = left(found, each.second, elo) - left(found, each.first, elo)
            rate = 1 / (1 + 10 ** (-better / 400))
            results.append(sum(1 if chance.random() < rate else -1 for _ in range(2 * pairs_each)) / pairs_each)
        tuner.tell(results)
    return left(found, [each.value for each in tuner.estimates()], elo)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=8, help="runs of each cell, with seeds of their own")
    parser.add_argument("--parameters", type=int, nargs="+", default=[2, 12])
    parser.add_argument("--pairs", type=int, nargs="+", default=[500, 2000, 8000])
    parser.add_argument("--elo", type=float, default=10, help="Elo of each parameter at the start")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    arguments = parser.parse_args()
    print("| parameters | pairs | at the start | " + " | ".join(arguments.methods) + " |")
    print("|---|---|---|" + "---|" * len(arguments.methods))
    for count in arguments.parameters:
        for pairs in arguments.pairs:
            cells: list[str] = []
            for method in arguments.methods:
                runs = [play(method, count, pairs, arguments.elo, seed) for seed in range(arguments.runs)]
                error = stdev(runs) / len(runs) ** 0.5 if len(runs) > 1 else 0.0
                cells.append(f"{fmean(runs):.1f} ±{error:.1f}")
            start = count * arguments.elo
            print(f"| {count} | {pairs:,} | {start:g} | {' | '.join(cells)} |".replace(",", " "), flush=True)


if __name__ == "__main__":
    main()
