"""What engines spend on a move in the games of a match: the mean by the number of the move, as a table or as JSON.

fukayomi match --engine "before=..." --engine "after=..." --clock main=10m --games 20 --out out/clock
.venv/bin/python studies/time_use.py out/clock
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean, median

from fukayomi.arena.results.match_db import read_records
from fukayomi.shogi.record import Record


def times_by_engine(records: list[Record], step: int) -> dict[str, dict[int, list[float]]]:
    """The seconds of all moves, by engine and by the first ply of the range that the move is in."""
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        names = record.black_name, record.white_name
        is_white = " w " in record.initial_sfen
        for ply, played in enumerate(record.moves, 1):
            if played.time_ms:  # the moves of an opening took none
                found[names[(ply - 1 + is_white) % 2]][(ply - 1) // step * step + 1].append(played.time_ms / 1000)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("match", type=Path, help="folder of a match")
    parser.add_argument("--step", type=int, default=10, help="plies of a row")
    parser.add_argument("--json", action="store_true", help="print one JSON object, with every move's time")
    arguments = parser.parse_args()
    found = times_by_engine(list(read_records(arguments.match)), arguments.step)
    names = sorted(found)
    if arguments.json:
        print(json.dumps({name: {str(ply): found[name][ply] for ply in sorted(found[name])} for name in names}))
        return
    print(f"| moves | {' | '.join(f'{name}: mean, median (s)' for name in names)} |")
    print(f"|---|{'---|' * len(names)}")
    for ply in sorted({ply for name in names for ply in found[name]}):
        cells = (found[name].get(ply, []) for name in names)
        shown = (f"{mean(times):.1f}, {median(times):.1f} ({len(times)})" if times else "-" for times in cells)
        print(f"| {ply} to {ply + arguments.step - 1} | {' | '.join(shown)} |")


if __name__ == "__main__":
    main()
