"""Write the openings with which `fukayomi learn` measures strength.

    python tools/generate/measuring_openings.py src/fukayomi/loop/openings.sfen

Each is the beginning of a game that `<5x64>` plays against itself, 8 to 16 plies long, every move drawn
from its policy; the network gives each side a chance of 42 % or more. No two lines end in the same position.
"""

import argparse
from pathlib import Path

import numpy as np

from fukayomi import Network, Position
from fukayomi.files.atomic import replace_file

AT_ONCE = 256
"""Games that are played at once."""
LENGTHS = range(8, 17, 2)
MARGIN = 0.08
"""Largest distance of the chance of winning from one half."""


def openings(count: int, seed: int) -> list[Position]:
    """Balanced openings, all different."""
    random = np.random.default_rng(seed)
    found: dict[str, Position] = {}
    with Network(device="cpu", precision="fp32", threads=1, batch_size=16) as network:
        while len(found) < count:
            games = [Position() for _ in range(AT_ONCE)]
            for ply in range(max(LENGTHS) + 1):
                evaluation = network.evaluate(games)
                for n, position in enumerate(games):
                    is_level = abs(float(evaluation.winrates[n]) - 0.5) <= MARGIN
                    if ply == LENGTHS[n % len(LENGTHS)] and is_level and not position.is_check():
                        found.setdefault(" ".join(position.sfen().split()[:3]), position.copy())
                    legal = int(evaluation.counts[n])
                    odds = evaluation.probabilities[n, :legal].astype(np.float64)
                    position.push(position.legal_moves[random.choice(legal, p=odds / odds.sum())])
    return list(found.values())[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the openings with which fukayomi learn measures strength.")
    parser.add_argument("out", type=Path, help="file to write")
    parser.add_argument("--count", type=int, default=1000, help="number of openings")
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    given = parser.parse_args()
    lines = [position.usi() + "\n" for position in openings(given.count, given.seed)]
    head = (
        f"# {given.count} openings: python tools/generate/measuring_openings.py FILE"
        f" --count {given.count} --seed {given.seed}\n"
    )
    replace_file(given.out, (head + "".join(lines)).encode())


if __name__ == "__main__":
    main()
