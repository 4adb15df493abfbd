"""The evaluation cache: nodes per CPU-second and the share of nodes that it saves, beside the same search without it.

    python benchmarks/eval_cache.py [--json] [--nodes 3000] [--game-nodes 300] [--plies 60]

Single searches, and games of the network against itself with a tree for each side, or one for both; batch 8, one
thread.
"""

import argparse
import json
import time

from fukayomi import Network, Position
from fukayomi._native import Batch, EvalCache, Search, SearchParams
from fukayomi.cli.engine.bench import NETWORK_POSITIONS
from fukayomi.engine.evaluators.protocol import Evaluator, Slot

BATCH = 8
CACHE_MB = 64
OPENING = "startpos moves 7g7f 3c3d"


class Player:
    """A tree, and the network that it asks."""

    def __init__(self, evaluator: Evaluator, slot: Slot, cache: EvalCache | None) -> None:
        self.evaluator, self.slot = evaluator, slot
        self.search = Search(SearchParams(), 1024)
        self.batch: Batch = self.search.new_batch(BATCH, cache)

    def run(self, position: Position, nodes: int) -> None:
        """Search a position."""
        search, slot = self.search, self.slot
        search.set_position(position)
        while (left := nodes - search.nodes) > 0:
            n = search.gather(self.batch, slot.input, 0, min(BATCH, left), nodes=left)
            if n > 0:
                self.evaluator.run(slot, n)
                search.apply(self.batch, slot.logits, slot.values)
            elif self.batch.hits == 0:
                return


def measure(players: list[Player], position: Position, nodes: int, plies: int) -> tuple[int, int, float]:
    """Play a game of so many plies; nodes, evaluations, CPU-seconds."""
    position, searched, evaluated, cpu = position.copy(), 0, 0, time.process_time()
    for ply in range(plies):
        player = players[ply % len(players)]
        player.run(position, nodes)
        searched += player.search.nodes
        evaluated += player.search.evaluations
        best = player.search.lines(1)
        if not best:
            break
        position.push(best[0].move)
    return searched, evaluated, time.process_time() - cpu


def main() -> None:
    """Measure all cases without and with a cache, in turn, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--game-nodes", type=int, default=300)
    parser.add_argument("--plies", type=int, default=60)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    cases = {name: (Position.from_sfen(sfen), arguments.nodes, 1, 1) for name, sfen in NETWORK_POSITIONS.items()}
    opening = Position.from_usi(OPENING)
    cases["game, two trees"] = opening, arguments.game_nodes, arguments.plies, 2
    cases["game, one tree"] = opening, arguments.game_nodes, arguments.plies, 1

    report: dict[str, dict[str, float]] = {}
    with Network("<5x64>", threads=1, batch_size=BATCH) as network:
        evaluator = network.evaluator
        slot = evaluator.allocate(BATCH)
        evaluator.run(slot, BATCH)  # warm
        for name, (position, nodes, plies, trees) in cases.items():
            rates: list[float] = []
            share = 0.0
            for cache in (None, EvalCache(CACHE_MB)):
                players = [Player(evaluator, slot, cache) for _ in range(trees)]
                searched, evaluated, cpu = measure(players, position, nodes, plies)
                rates.append(searched / cpu)
                share = 1 - evaluated / searched
            report[name] = {
                "nodes_per_cpu_s": round(rates[1]),
                "without_cache": round(rates[0]),
                "share_from_cache": round(share, 3),
                "ratio": round(rates[1] / rates[0], 2),
            }
    print(json.dumps(report) if arguments.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
