"""What mate searches add to searches of positions near the end of games, and what they cost.

    python benchmarks/search_mates.py [GAMES...] [--positions 60] [--ms 150] [--nodes 400] [--json]

Each game gives one position, 3 to 20 plies before its end. `announced`: in how many the search with
`<5x64>` announces a mate by the side to move, and in how many one of it, after so many ms. The modes: mate in
one at the leaves; mate in three; with that, a thread for the root (`root`), and one for the principal variation (`pv`).
`walked_into`: by `Root_Move_Mate_Nodes`, in how many positions the search chooses a move after which df-pn with 262 144
nodes finds a mate of it, after so many ms with the thread for the root, and the nodes of all searches.
`leaves`: by `Leaf_Mate_Plies` and `Leaf_Mate_Nodes`, the share of playouts that end at a proven result in searches of
so many nodes, and CPU microseconds a node. There is no cache of evaluations. `df_pn`: what the root's thread does
alone: the means of its nodes, at most 262 144, and of its CPU time, and the share of positions that are then open.
"""

import argparse
import json
import random
import time
from pathlib import Path

from fukayomi import Network, Position, read_record
from fukayomi._native import SearchParams
from fukayomi.data.records.sources import find_files, iter_sources
from fukayomi.engine.control import Control, Limits
from fukayomi.engine.mate_threads import MateOptions
from fukayomi.engine.search import Searcher, SearchResult
from fukayomi.shogi import MateReason, MateSolver

MODES: dict[str, tuple[int, MateOptions | None]] = {
    "mate in one": (1, None),
    "mate in three": (3, None),
    "root": (3, MateOptions(root_plies=33)),
    "pv": (3, MateOptions(root_plies=33, pv_threads=1)),
}
VISITS = (0, 64, 256, 1024)
LEAVES = ((0, 0), (1, 0), (3, 0), (3, 30), (3, 100))
DF_PN_NODES = 262_144
GAME = Path(__file__).parents[1] / "examples" / "game.csa"


def positions_of(games: list[Path], count: int) -> list[Position]:
    """A position near the end of each of so many games."""
    chooser = random.Random(21)
    sources = [source for source in iter_sources(find_files(games)) if source.name.endswith(".csa")]
    chooser.shuffle(sources)
    found: list[Position] = []
    for source in sources[:count]:
        record = read_record(source.data)
        position = Position.from_sfen(record.initial_sfen)
        for move in record.moves[: len(record.moves) - chooser.randint(3, 20)]:
            position.push(move.move)
        if not position.is_mated():
            found.append(position)
    return found


def search(
    network: Network,
    position: Position,
    limits: Limits,
    plies: int,
    nodes: int = 0,
    visits: int = 0,
    mates: MateOptions | None = None,
) -> SearchResult:
    """One search with a tree of its own."""
    params = SearchParams()
    params.leaf_mate_plies, params.leaf_mate_nodes, params.root_move_mate_nodes = plies, nodes, visits
    with Searcher(network.pool, params, memory_mb=64) as searcher:
        return searcher.search(position, Control(limits), mates=mates)


def measure_leaves(network: Network, positions: list[Position], nodes: int) -> dict[str, dict[str, float]]:
    """Shares of proven playouts, and what a node costs."""
    found: dict[str, dict[str, float]] = {}
    for plies, leaf_nodes in LEAVES:
        cpu = time.process_time()
        results = [search(network, position, Limits(nodes=nodes), plies, leaf_nodes).progress for position in positions]
        cpu = time.process_time() - cpu
        searched = sum(result.nodes for result in results)
        proven = 1 - searched / sum(result.playouts for result in results)
        found[f"{plies} plies, {leaf_nodes} nodes"] = {
            "proven": round(proven, 4),
            "us_per_node": round(cpu / searched * 1e6, 1),
        }
    return found


def measure_walks(network: Network, positions: list[Position], limits: Limits) -> dict[str, dict[str, int]]:
    """Moves that walk into a mate."""
    found = {f"{visits}": {"positions": 0, "nodes": 0} for visits in VISITS}
    solver = MateSolver(memory_mb=256)
    for position in positions:
        for visits in VISITS:
            result = search(network, position, limits, 3, visits=visits, mates=MODES["root"][1])
            assert result.best is not None
            after = position.copy()
            after.push(result.best)
            mated = solver.solve(after, nodes=DF_PN_NODES, shortest=False).reason == MateReason.MATE
            found[f"{visits}"]["positions"] += mated
            found[f"{visits}"]["nodes"] += result.progress.nodes
    return found


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", type=Path, help="CSA files, folders, archives (default: examples/game.csa)")
    parser.add_argument("--positions", type=int, default=60)
    parser.add_argument("--ms", type=int, default=150)
    parser.add_argument("--nodes", type=int, default=400)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    positions = positions_of(arguments.games or [GAME], arguments.positions)

    announced = {mode: [0, 0] for mode in MODES}
    with Network("<5x64>", cache_mb=0) as network:
        for position in positions:
            for mode, (plies, mates) in MODES.items():
                lines = search(network, position, Limits(time_ms=arguments.ms), plies, mates=mates).lines
                if lines and lines[0].mate is not None:
                    announced[mode][lines[0].mate < 0] += 1
        walks = measure_walks(network, positions, Limits(time_ms=arguments.ms))
        leaves = measure_leaves(network, positions, arguments.nodes)
    solver = MateSolver(memory_mb=256)
    cpu = time.process_time()
    solved = [solver.solve(position, nodes=DF_PN_NODES, plies=33, shortest=False) for position in positions]
    cpu = time.process_time() - cpu
    report = {
        "positions": len(positions),
        "announced": announced,
        "walked_into": walks,
        "leaves": leaves,
        "df_pn": {
            "mean_nodes": round(sum(result.nodes for result in solved) / len(solved)),
            "mean_ms": round(cpu / len(solved) * 1e3, 1),
            "open": round(sum(result.reason == MateReason.NODES for result in solved) / len(solved), 3),
        },
    }
    print(json.dumps(report) if arguments.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
