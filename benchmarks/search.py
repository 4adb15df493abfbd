"""The search without a network: nodes a CPU-second and bytes a node, beside those measured for other engines.

Also what a second worker costs, what crossing to Python costs, and the same figure as play has it.

    python benchmarks/search.py [--json] [--nodes 400000] [--repeats 3]

A node is a newly evaluated leaf, never a revisit nor an end of the game; CPU is the whole process's; bytes include
every arena; mate in one is on, mate in three is not, and there is no cache of evaluations. The evaluator draws logits
of about N(0, 1.5) from a hash of the planes, which is as sharp as a network's policy. The best of the repeats counts.

`workers`: nodes a CPU-second of two threads on one tree, each with a batch of its own, beside one. `boundary`: one
batch of 64 crosses three times (gather, evaluate, apply); each costs what the same call with nothing to do costs.
`leaf_mates_us`: microseconds of CPU for each node, by the longest mate that is looked for at each leaf, in plies.
`play`: with the settings, batch, cache and threads of play, in an `Engine` with the hash evaluator.

No peer can be run from Python with a stub for its network, so the peers' figures are constants: each measured once,
from its own source with a stub for its network, in one thread on two contended cores of an AMD Zen 4 server.
"""

import argparse
import json
import threading
import time

from fukayomi import Engine, Network, Position
from fukayomi._native import HashEvaluator, Search
from fukayomi.cli.engine.bench import DROPS_SFEN, BenchResult, bench_params, measure
from fukayomi.engine.evaluators.protocol import PlaneSlot
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
LEAF_MATES = (0, 1, 3)


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


def measure_workers(count: int, nodes: int) -> float:
    """Nodes per CPU-second of so many threads on one tree, from the start position."""
    search = Search(bench_params(), 1024)
    search.set_position(Position())

    def work() -> None:
        batch, slot, evaluator = search.new_batch(BATCH), PlaneSlot.zeros(BATCH), HashEvaluator()
        while search.nodes < nodes:
            n = search.gather(batch, slot.input, 0, BATCH)
            if n == 0:
                time.sleep(0.0001)  # the other has all leaves there are
                continue
            evaluator.run(slot.input, n, slot.logits, slot.values)
            search.apply(batch, slot.logits, slot.values)

    threads = [threading.Thread(target=work) for _ in range(count)]
    cpu = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return search.nodes / (time.process_time() - cpu)


def measure_boundary(calls: int = 20_000) -> float:
    """Microseconds per position for the three calls of a batch, without what they do."""
    search = Search(bench_params(), 16)
    search.stop()
    batch, slot, evaluator = search.new_batch(BATCH), PlaneSlot.zeros(BATCH), HashEvaluator()
    cpu = time.process_time()
    for _ in range(calls):
        search.gather(batch, slot.input, 0, BATCH)
        evaluator.run(slot.input, 0, slot.logits, slot.values)
        search.apply(batch, slot.logits, slot.values)
    return (time.process_time() - cpu) / calls / BATCH * 1e6


def measure_play(sfen: str, nodes: int) -> float:
    """Nodes per CPU-second as play searches."""
    with Network("<hash>") as network, Engine(network) as engine:
        cpu = time.process_time()
        searched = engine.search(Position.from_sfen(sfen), nodes=nodes).progress.nodes
        return searched / (time.process_time() - cpu)


def main() -> None:
    """Measure both positions in turn, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=400_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()

    best: dict[str, BenchResult] = {}
    leaf_mates = {name: dict.fromkeys(LEAF_MATES, float("inf")) for name in POSITIONS}
    workers, play, boundary = {1: 0.0, 2: 0.0}, dict.fromkeys(POSITIONS, 0.0), float("inf")
    for _ in range(arguments.repeats):
        for name, sfen in POSITIONS.items():
            result = measure(sfen, arguments.nodes, BATCH)
            if name not in best or result.nodes_per_cpu_s > best[name].nodes_per_cpu_s:
                best[name] = result
            for plies in LEAF_MATES:
                result = measure(sfen, arguments.nodes, BATCH, params=bench_params(plies))
                leaf_mates[name][plies] = min(leaf_mates[name][plies], 1e6 / result.nodes_per_cpu_s)
            play[name] = max(play[name], measure_play(sfen, arguments.nodes))
        for count in workers:
            workers[count] = max(workers[count], measure_workers(count, arguments.nodes))
        boundary = min(boundary, measure_boundary())
    report: dict[str, object] = {
        name: figures(name, result)
        | {
            "play_nodes_per_cpu_s": round(play[name]),
            "leaf_mates_us": {str(plies): round(us, 2) for plies, us in leaf_mates[name].items()},
        }
        for name, result in best.items()
    }
    report["workers"] = {
        "one_nodes_per_cpu_s": round(workers[1]),
        "two_nodes_per_cpu_s": round(workers[2]),
        "ratio": round(workers[2] / workers[1], 3),
    }
    report["boundary"] = {"us_per_position": round(boundary, 3), "batch": BATCH}
    print(json.dumps(report) if arguments.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
