"""CSA files to one hcpe3 file, in games a CPU-second, beside cshogi's parser alone on the same files.

    python benchmarks/csa.py [--json] [ARCHIVE_OR_FOLDER]

Ours is `fukayomi data convert` from a folder: find and read the files, parse, replay and judge every game, write hcpe3.
cshogi's is `cshogi.CSA.Parser.parse_str` on each text and nothing after it; the texts are in memory. The two take
turns, and the best round of each counts; before that, the moves and the results of both are compared.

Without an archive: the records of tests/samples, fifty times.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# (cshogi has no types.)

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from cshogi import CSA

from fukayomi.data.convert.convert import convert_data
from fukayomi.data.formats.hcpe3 import read_hcpe3
from fukayomi.data.formats.kinds import Target
from fukayomi.data.records.sources import find_files, iter_sources

RECORDS = Path(__file__).resolve().parents[1] / "tests" / "samples" / "records"
COPIES = 50


def write_games(source: Path | None, most: int, folder: Path) -> list[str]:
    """One CSA file a game; returns their texts, in the order in which a folder is read."""
    if source is None:
        texts = [path.read_text() for path in sorted(RECORDS.glob("*.csa"))] * COPIES
    else:
        sources = islice(iter_sources(find_files([source])), 2 * most)
        texts = [item.data.decode() for item in sources if item.name.endswith(".csa")]
    texts = texts[:most]
    for number, text in enumerate(texts):
        (folder / f"{number:06d}.csa").write_text(text)
    return texts


def compare(texts: list[str], out: Path) -> int:
    """How many games ours left out (of no useful end); SystemExit if moves or results of the others differ."""
    ours = iter([(game.moves.tolist(), int(game.result)) for games in read_hcpe3(out) for game in games])
    game = next(ours, None)
    left_out = 0
    for text in texts:
        parser = CSA.Parser.parse_str(text)[0]
        moves = [move & 0x7FFF for move in parser.moves]
        if game is not None and moves == game[0] and parser.win == game[1]:
            game = next(ours, None)
        else:
            left_out += 1
    if game is not None:
        sys.exit("a game of ours is not cshogi's")
    return left_out


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def measure(source: Path | None, most: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name) / "csa", Path(name) / "out.hcpe3"
        folder.mkdir()
        texts = write_games(source, most, folder)

        def ours() -> None:
            convert_data([folder], out, to=Target.HCPE3)

        def theirs() -> None:
            for text in texts:
                CSA.Parser.parse_str(text)

        ours()
        left_out = compare(texts, out)
        times = [(cpu_seconds(ours), cpu_seconds(theirs)) for _ in range(rounds)]
    ours_s, theirs_s = (min(column) for column in zip(*times, strict=True))
    return {
        "games": len(texts),
        "left_out": left_out,
        "ours_games_per_s": round(len(texts) / ours_s),
        "cshogi_games_per_s": round(len(texts) / theirs_s),
        "ratio": round(theirs_s / ours_s, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", type=Path, help="CSA files (default: the records of tests/samples)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--games", type=int, default=1000, help="how many games at most (default 1000)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each of the two runs (default 3)")
    args = parser.parse_args()
    result = measure(args.source, args.games, args.rounds)
    if args.json:
        print(json.dumps(result))
    else:
        print(f"{result['games']:,} games, of which {result['left_out']:,} have no end that counts")
        print(f"ours    {result['ours_games_per_s']:>10,} games/CPU-s, CSA to hcpe3")
        print(f"cshogi  {result['cshogi_games_per_s']:>10,} games/CPU-s, parsing alone")
        print(f"ratio   {result['ratio']:>10.2f}")


if __name__ == "__main__":
    main()
