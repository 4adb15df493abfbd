"""Leaves of searches: positions a CPU-second, and what they cost beside the same games without them.

    python benchmarks/leaves.py [--json] [--model FILE.onnx] [--device auto] [--positions 60000] [--repeats 3]
        [--threads 1] [--nodes 16] [--searched 0] [--teacher FILE.onnx]

In turn in every repeat, from the start position with the defaults of `fukayomi leaves` (but for nodes and searched):

- `collect_leaves` to a folder: `leaves`, different positions written, and `evaluated`, positions evaluated by the
  network that searches, each a CPU-second; with `--teacher` its labels are counted in the time;
- the same games in the same pool, without leaves and without a cache: `games`, positions evaluated a CPU-second.

`share_of_games` is evaluated / games: what labels, the search for duplicates and writing leave. CPU time is that of the
process, so that other programs disturb little. Rates are medians of the repeats.
"""

import argparse
import json
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from fukayomi._native import SelfplayPool
from fukayomi.engine import Network
from fukayomi.selfplay import LeafSettings, collect_leaves
from fukayomi.selfplay.pool_threads import PoolThreads, games_at_once, slots_of
from fukayomi.shogi import Position


def measure_leaves(
    network: Network, teacher: Network | None, settings: LeafSettings, positions: int, seed: int
) -> tuple[float, float, int]:
    """Positions written and evaluated, each a CPU-second, and the number of games."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        found = collect_leaves(folder, network, positions, settings=settings, teacher=teacher, seed=seed)
        seconds = time.process_time() - begin
        assert sum(path.stat().st_size for path in Path(folder).glob("*.hcpe3")) > 0
    return found.new / seconds, found.evaluated / seconds, found.games


def measure_games(network: Network, settings: LeafSettings, games: int, seed: int) -> float:
    """Positions evaluated a CPU-second in the games alone."""
    params = settings.params(seed)
    params.keep_leaves, params.keep_nodes = False, 0
    pool = SelfplayPool(
        params, network.settings.search_params(), max(slots_of(network), games_at_once(network)),
        shares=slots_of(network),
    )  # fmt: skip
    threads = PoolThreads(pool, [network])
    for number in range(games):
        pool.add(number, Position())
    begin, over = time.process_time(), 0
    threads.start()
    while over < games:
        over += sum(len(report) for report in threads.reports(0.25))
    threads.close()
    return pool.totals()[2] / (time.process_time() - begin)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--model", default="<5x64>", help="network that searches")
    parser.add_argument("--device", default="auto", help="library and device: native, openvino, ...")
    parser.add_argument("--positions", type=int, default=60_000, help="positions of a round")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads for a batch")
    parser.add_argument("--nodes", type=int, default=LeafSettings().nodes, help="nodes of each search")
    parser.add_argument("--teacher", help="network that labels; default: the one that searches")
    parser.add_argument("--searched", type=int, default=0, help="write positions of the trees with so many visits")
    options = parser.parse_args()
    settings = LeafSettings(nodes=options.nodes, searched=options.searched)
    rounds: list[tuple[float, float, float]] = []
    how = {"device": options.device, "threads": options.threads}
    with ExitStack() as stack:
        network = stack.enter_context(Network(options.model, **how))
        teacher = stack.enter_context(Network(options.teacher, **how)) if options.teacher else None
        for repeat in range(options.repeats):
            written, evaluated, games = measure_leaves(network, teacher, settings, options.positions, repeat)
            rounds.append((written, evaluated, measure_games(network, settings, games, repeat)))
        name = str(network) if teacher is None else f"{network}, labels by {teacher}"
    leaves, evaluated, alone = (statistics.median(column) for column in zip(*rounds, strict=True))
    found = {
        "network": name,
        "leaves_per_cpu_s": leaves,
        "evaluated_per_cpu_s": evaluated,
        "games_evaluated_per_cpu_s": alone,
        "share_of_games": statistics.median(each[1] / each[2] for each in rounds),
        "shares": [each[1] / each[2] for each in rounds],
    }
    if options.json:
        print(json.dumps(found))
        return
    print(f"{name}\nper CPU-second: {leaves:,.0f} leaves of {evaluated:,.0f} evaluated; games alone {alone:,.0f}")
    print(f"share of the games alone: {found['share_of_games']:.3f}")


if __name__ == "__main__":
    main()
