"""Perft through the Python call: ours against cshogi's, which loops in Python and counts the last ply by its move list.

    python benchmarks/perft.py [--depth 5] [--repeats 3] [--json]

Both count the same positions without a hash table in one thread, in turn; the best run of each counts.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false, reportAttributeAccessIssue=false
# (cshogi has no types.)

import argparse
import json
import time
from collections.abc import Callable

import cshogi

from fukayomi.shogi import Position


def cshogi_perft(board: cshogi.Board, depth: int) -> int:
    """Positions after `depth` plies; the last ply is counted, not played: cshogi's fastest documented way."""
    if depth == 1:
        return len(board.legal_moves)
    nodes = 0
    for move in board.legal_moves:
        board.push(move)
        nodes += cshogi_perft(board, depth - 1)
        board.pop()
    return nodes


def timed(count: Callable[[int], int], depth: int) -> tuple[int, float]:
    """Nodes and CPU seconds of one run."""
    start = time.process_time()
    nodes = count(depth)
    return nodes, time.process_time() - start


def main() -> None:
    """Measure, compare the counts, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()

    position, board = Position(), cshogi.Board()
    counters: list[Callable[[int], int]] = [position.perft, lambda depth: cshogi_perft(board, depth)]
    best = [float("inf")] * len(counters)
    counts: set[int] = set()
    for _ in range(arguments.repeats):
        for i, counter in enumerate(counters):
            nodes, seconds = timed(counter, arguments.depth)
            counts.add(nodes)
            best[i] = min(best[i], seconds)
    if len(counts) != 1:
        raise SystemExit(f"the counts differ: {sorted(counts)}")

    nodes = counts.pop()
    ours, theirs = (nodes / seconds for seconds in best)
    figures = {"ours_nodes_per_s": round(ours), "cshogi_nodes_per_s": round(theirs), "ratio": round(ours / theirs, 2)}
    print(json.dumps(figures) if arguments.json else "\n".join(f"{name}: {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
