"""Mate problems per CPU-second: ours and cshogi's DfPn, in turn on the same problems under the same limits.

    python benchmarks/mate.py [--data ../shared/data] [--nodes 1000000] [--tsume-nodes 50000] [--most 400] [--json]

The mates of games (`mate-N`) have known lengths; `tsume-N` are composed problems by length, most with one king. Both
solvers stop at the first mate, of at most 31 plies. A node is what each solver counts as one. `solved` is the share of
problems that each solves within the limit of nodes. `ratio` is that of the times for all problems of a group, solved or
not. Positions are parsed before the clock starts.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# (cshogi has no types.)

import argparse
import json
import time
from pathlib import Path

import cshogi

from fukayomi.shogi import MateReason, MateSolver, Position

PLIES = 31
MEMORY_MB = 64
CHUNK = 20


def problems(data: Path, most: int) -> dict[str, list[str]]:
    """The SFENs of each group, `most` of each at equal distances."""
    groups = {
        f"mate-{plies}": (data / "mate" / f"mate-{plies}-ply.txt").read_text().splitlines() for plies in (3, 5, 7)
    }
    for line in (data / "tsume" / "tsume.jsonl").read_text().splitlines():
        problem = json.loads(line)
        groups.setdefault(f"tsume-{problem['plies']}", []).append(problem["sfen"])
    groups = {name: groups[name] for name in sorted(groups)}
    return {name: sfens[:: max(1, len(sfens) // most)][:most] for name, sfens in groups.items()}


def measure(sfens: list[str], nodes: int) -> dict[str, float]:
    """Both solvers on one group, a few problems at a time each."""
    positions = [Position.from_sfen(sfen, allow_missing_king=True) for sfen in sfens]
    boards = [cshogi.Board(sfen) for sfen in sfens]
    ours, theirs = MateSolver(MEMORY_MB), cshogi.DfPn(PLIES, nodes)
    mate = MateReason.MATE  # looking it up takes 0.2 microseconds
    our_seconds = their_seconds = 0.0
    our_mates = their_mates = 0
    for first in range(0, len(sfens), CHUNK):
        start = time.process_time()
        for position in positions[first : first + CHUNK]:
            result = ours.solve(position, nodes=nodes, plies=PLIES, shortest=False)
            our_mates += result.reason is mate
        middle = time.process_time()
        for board in boards[first : first + CHUNK]:
            their_mates += theirs.search(board)
        our_seconds += middle - start
        their_seconds += time.process_time() - middle
    count = len(sfens)
    return {
        "problems": count,
        "ours_per_s": round(count / our_seconds, 1),
        "cshogi_per_s": round(count / their_seconds, 1),
        "ratio": round(their_seconds / our_seconds, 2),
        "ours_solved": round(our_mates / count, 4),
        "cshogi_solved": round(their_mates / count, 4),
    }


def main() -> None:
    """Measure every group, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--nodes", type=int, default=1_000_000, help="nodes for a mate of a game")
    parser.add_argument("--tsume-nodes", type=int, default=50_000, help="nodes for a composed problem")
    parser.add_argument("--most", type=int, default=400, help="problems of a group")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if not (arguments.data / "mate").is_dir():
        raise SystemExit(f"needs the problems of ../shared/data, which is not at {arguments.data}")
    groups = {
        name: measure(sfens, arguments.tsume_nodes if name.startswith("tsume") else arguments.nodes)
        for name, sfens in problems(arguments.data, arguments.most).items()
    }
    report = {"ratio": groups["mate-7"]["ratio"], **groups}
    print(json.dumps(report) if arguments.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
