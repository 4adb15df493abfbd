"""The search without a network: nodes a CPU-second and bytes a node, beside those measured for other engines.

    python benchmarks/search.py [--json] [--nodes 400000] [--repeats 3]

A node is a newly evaluated leaf, never a revisit nor an end of the game; CPU is the whole process's; bytes include
every arena; mate in one is on, and there is no cache of evaluations. The evaluator draws logits of about N(0, 1.5) from
a hash of the planes, which is as sharp as a network's policy. The best of the repeats counts.

No peer can be run from Python with a stub for its network, so the peers' figures are constants: each measured once,
from its own source with a stub for its network, in one thread on two contended cores of an AMD Zen 4 server.
"""

import argparse
import json

from fukayomi.cli.engine.bench import DROPS_SFEN, BenchResult, measure
from fukayomi.shogi import START_SFEN

POSITIONS = {"start": START_SFEN, "drops": DROPS_SFEN}

# FukauraOu of YaneuraOu 9.70git (33ccf1f): 1 thread, batch 128, 400 000 nodes, leaf df-pn off. nshogi-engine (8109351):
# its `nothing` executor, 1 search, 1 evaluation and 1 feeding thread, batch 128.
PEERS = {
    "start": {
        "fukauraou": {"nodes_per_cpu_s": 82_150, "bytes_per_node": 891},
        "nshogi_engine": {"nodes_per_cpu_s": 115_200},
    },
    "drops": {
        "fukauraou": {"nodes_per_cpu_s": 55_200, "bytes_per_node": 2_666},
        "nshogi_engine": {"nodes_per_cpu_s": 48_500},
    },
}
BATCH = 64


def figures(name: str, result: BenchResult) -> dict[str, object]:
    """Ours, the peers' and the ratio to the faster of them."""
    fastest = max(peer["nodes_per_cpu_s"] for peer in PEERS[name].values())
    return {
        "ours_nodes_per_cpu_s": round(result.nodes_per_cpu_s),
        "ours_bytes_per_node": round(result.bytes_per_node),
        "nodes": result.nodes,
        "peers": PEERS[name],
        "ratio": round(result.nodes_per_cpu_s / fastest, 2),
    }


def main() -> None:
    """Measure both positions in turn, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=400_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()

    best: dict[str, BenchResult] = {}
    for _ in range(arguments.repeats):
        for name, sfen in POSITIONS.items():
            result = measure(sfen, arguments.nodes, BATCH)
            if name not in best or result.nodes_per_cpu_s > best[name].nodes_per_cpu_s:
                best[name] = result
    report = {name: figures(name, result) for name, result in best.items()}
    print(json.dumps(report) if arguments.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
