"""Transpositions: the share of a search's nodes, and what sharing their values adds to the evaluation cache.

    python benchmarks/transpositions.py [--json] [--nodes 400 1000 10000] [--openings FILE.sfen --count 5]

Each position is searched in a new tree with a new cache, batch 8, to so many nodes: what the cache answers are
transpositions. Then it is searched with `transposition_values` to as many evaluations: the ratio of the playouts.
"""

import argparse
import json
from pathlib import Path

from fukayomi import Network, Position
from fukayomi._native import EvalCache, Search, SearchParams
from fukayomi.cli.engine.bench import NETWORK_POSITIONS
from fukayomi.engine.evaluators.protocol import Evaluator, Slot

BATCH = 8
CACHE_MB = 64
TREE_MB = 512
OPENING_PLIES = 24


def read_openings(path: Path, count: int) -> dict[str, Position]:
    """Positions of a file of USI lines, at equal distances."""
    lines = [line.split() for line in path.read_text("utf-8").splitlines() if line.strip()]
    chosen = [i * len(lines) // count for i in range(count)]
    return {f"opening, line {i + 1}": Position.from_usi(" ".join(lines[i][: 2 + OPENING_PLIES])) for i in chosen}


def search(evaluator: Evaluator, slot: Slot, position: Position, nodes: int = 0, evaluations: int = 0) -> Search:
    """Search to so many nodes, or share values and search to so many evaluations."""
    params = SearchParams()
    params.transposition_values = nodes == 0
    found = Search(params, TREE_MB)
    found.set_position(position)
    batch = found.new_batch(BATCH, EvalCache(CACHE_MB))
    while (left := nodes - found.nodes if nodes else evaluations - found.evaluations) > 0:
        limit = min(BATCH, left)
        arrays = slot.planes1, slot.planes2, slot.labels, slot.counts
        n = found.gather(batch, *arrays, limit, nodes=left if nodes else None)
        if n > 0:
            evaluator.run(slot, n)
            found.apply(batch, slot.logits, slot.values)
        elif batch.hits == 0:
            break
    return found


def main() -> None:
    """Measure all positions and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[400, 1000, 10_000])
    parser.add_argument("--openings", type=Path, help="a file of 'startpos moves ...' lines")
    parser.add_argument("--count", type=int, default=5, help="positions of that file, after 24 plies each")
    parser.add_argument("--network", type=Path, help="ONNX file; the embedded network without it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    positions = {name: Position.from_sfen(sfen) for name, sfen in NETWORK_POSITIONS.items()}
    if arguments.openings is not None:
        positions |= read_openings(arguments.openings, arguments.count)

    report: dict[str, dict[int, dict[str, float]]] = {}
    with Network(arguments.network, device="cpu", threads=1, batch_size=BATCH) as network:
        slot = network.evaluator.allocate(BATCH)
        for name, position in positions.items():
            report[name] = {}
            for nodes in arguments.nodes:
                plain = search(network.evaluator, slot, position, nodes=nodes)
                shared = search(network.evaluator, slot, position, evaluations=plain.evaluations)
                report[name][nodes] = {
                    "transpositions": round(1 - plain.evaluations / plain.nodes, 3),
                    "playouts_ratio": round(shared.playouts / plain.playouts, 3),
                    "same_move": plain.lines(1)[0].move == shared.lines(1)[0].move,
                }
    print(json.dumps(report) if arguments.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
