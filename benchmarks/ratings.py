"""Ratings with errors of a large league: 50 players, 100 000 games, 1 000 simulations, in CPU-seconds.

    python benchmarks/ratings.py [--json]

The peer is a plain implementation: the same replays one by one, each solved by SciPy's L-BFGS on the same likelihood
with its exact gradient, to SciPy's default precision (fukayomi's is 1e-11). It solves only PEER_REPLAYS of them, and
its time is scaled up. The ratings of both are compared first.

Estimated lower limit: a replay has 2 450 pairings (first and second mover). Two binomial numbers for each take 0.15
us apiece in NumPy's sampler, together 0.75 ms; three or four Newton steps, each with an exponential and some passes
over 2 450 numbers (30 us) and a linear system of 50 unknowns (60 us), take 0.35 ms; the draw rate takes 0.3 ms. That
is 1.4 s for 1 000 replays. The rest of the measured time is memory traffic of arrays of many replays.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (SciPy has no types.)

import argparse
import json
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from fukayomi.arena.ratings.options import RatingOptions
from fukayomi.arena.ratings.rating import Ratings, rate_tally
from fukayomi.arena.ratings.tally import Pairings, Tally

PLAYERS = 50
GAMES = 100_000
SIMULATIONS = 1000
PEER_REPLAYS = 20
TOLERANCE = 0.01  # points, between the two solutions


def make_league(seed: int) -> Tally:
    """All players meet with both colours; strengths have a deviation of 150 points, and a tenth of games is drawn."""
    rng = np.random.default_rng(seed)
    point = RatingOptions().point
    ratings = rng.normal(0, 150, PLAYERS)
    league = Tally()
    pairs = [(one, other) for one in range(PLAYERS) for other in range(PLAYERS) if one != other]
    for number, (first, second) in enumerate(pairs):
        games = GAMES // len(pairs) + (number < GAMES % len(pairs))
        draws = rng.binomial(games, 0.1)
        wins = rng.binomial(games - draws, 1 / (1 + np.exp(-point * (ratings[first] - ratings[second] + 30))))
        for points, count in ((1, wins), (0.5, draws), (0, games - draws - wins)):
            if count:
                league.add(f"player {first:02}", f"player {second:02}", points, int(count))
    return league


def solve_plainly(pairings: Pairings, points: np.ndarray, precision: dict[str, float] | None = None) -> np.ndarray:
    """Ratings with sum 0, and the first-move advantage, in logits: [players + 1]."""
    games = pairings.games

    def badness(values: np.ndarray) -> tuple[float, np.ndarray]:
        gap = values[pairings.first] - values[pairings.second] + values[-1]
        pull = games / (1 + np.exp(-gap)) - points
        slope = np.append(
            np.bincount(pairings.first, pull, PLAYERS) - np.bincount(pairings.second, pull, PLAYERS), pull.sum()
        )
        return float(games @ np.logaddexp(0, gap) - points @ gap), slope

    found = minimize(badness, np.zeros(PLAYERS + 1), jac=True, method="L-BFGS-B", options=precision or {}).x
    found[:-1] -= found[:-1].mean()
    return found


def replay_plainly(pairings: Pairings, ratings: Ratings) -> None:
    """Solve PEER_REPLAYS replays, one by one."""
    rng = np.random.default_rng(0)
    point = RatingOptions().point
    strength = {player.name: player.rating * point for player in ratings.players}
    values = np.array([strength[name] for name in pairings.names])
    gap = values[pairings.first] - values[pairings.second] + ratings.first_mover_advantage * point
    expected = 1 / (1 + np.exp(-gap))
    draw = ratings.draw_rate / 100 * 4 * expected * (1 - expected)  # an approximation; it takes the same time
    for _ in range(PEER_REPLAYS):
        draws = rng.binomial(pairings.games, draw)
        wins = rng.binomial(pairings.games - draws, (expected - draw / 2) / (1 - draw))
        solve_plainly(pairings, wins + 0.5 * draws)


def compare(pairings: Pairings, ratings: Ratings) -> float:
    """The largest difference of a rating, in points; exits if it exceeds TOLERANCE."""
    plain = solve_plainly(pairings, pairings.points, {"gtol": 1e-6, "ftol": 1e-15}) / RatingOptions().point
    ours = {player.name: player.rating for player in ratings.players}
    largest = max(abs(ours[name] - value) for name, value in zip(pairings.names, plain[:-1], strict=True))
    if largest > TOLERANCE:
        sys.exit(f"the ratings differ by {largest} points")
    return largest


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def measure(rounds: int) -> dict[str, float]:
    league = make_league(seed=1)
    pairings = league.pairings()
    options = RatingOptions(simulations=SIMULATIONS)
    ratings = rate_tally(league, options)
    difference = compare(pairings, ratings)
    times = [
        (cpu_seconds(lambda: rate_tally(league, options)), cpu_seconds(lambda: replay_plainly(pairings, ratings)))
        for _ in range(rounds)
    ]
    ours_s, plain_s = (min(column) for column in zip(*times, strict=True))
    plain_s *= SIMULATIONS / PEER_REPLAYS
    return {
        "players": PLAYERS, "games": int(pairings.games.sum()), "simulations": SIMULATIONS,
        "cpu_s": round(ours_s, 2), "plain_cpu_s": round(plain_s, 2), "ratio": round(plain_s / ours_s, 1),
        "largest_difference": round(difference, 6),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each of the two (default 3)")
    args = parser.parse_args()
    result = measure(args.rounds)
    if args.json:
        print(json.dumps(result))
    else:
        print(f"ours         {result['cpu_s']:>8.2f} CPU-s, {SIMULATIONS:,} simulations of {result['games']:,} games")
        print(f"plain SciPy  {result['plain_cpu_s']:>8.2f} CPU-s, from {PEER_REPLAYS} of them")
        print(f"ratio        {result['ratio']:>8.1f}")


if __name__ == "__main__":
    main()
