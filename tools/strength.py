"""A match of the embedded network against another USI engine, refereed by a client that is not ours (cshogi.cli).

Every opening is played twice, colours swapped. The result is the score of fukayomi with draws as half a point, and its
95 % interval (Wilson's where no game was drawn).

    .venv/bin/python tools/strength.py --openings OPENINGS.sfen --opponent fairy-stockfish --opponent-ms 100 --games 40

Run it on an otherwise idle machine. 40 games at a second a move take more than half an hour.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from fukayomi.arena.statistics.intervals import score_interval

OPPONENT_OPTIONS = {
    "fairy-stockfish": "UCI_Variant:shogi,Threads:{threads}",
    "gpsusi": "BookDepth:0",
}


def find_program(name: str) -> str:
    """The full path of an engine; Debian's games are often not on PATH."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + os.pathsep + "/usr/games")
    if path is None:
        sys.exit(f"strength.py: {name} is not installed (Debian's packages: fairy-stockfish, gpsshogi)")
    return path


def match_command(arguments: argparse.Namespace) -> list[str]:
    """The command line of the match."""
    options = OPPONENT_OPTIONS.get(arguments.opponent, "").format(threads=arguments.opponent_threads)
    return [
        sys.executable, "-u", "-m", "cshogi.cli", str(arguments.engine), find_program(arguments.opponent),
        "--name1", "fukayomi", "--name2", arguments.opponent,
        "--options1", arguments.options, "--options2", options,
        "--byoyomi", str(arguments.ms), str(arguments.opponent_ms),
        "--games", str(arguments.games), "--draw", "320", "--keep-process",
        "--opening", str(arguments.openings), "--opening-moves", "24", "--opening-seed", str(arguments.seed),
        *(["--csa", str(arguments.records)] if arguments.records else []),
    ]  # fmt: skip


def run_match(command: list[str]) -> dict[str, int]:
    """Play the match; its lines pass through to stderr. Returns wins, losses and draws of fukayomi."""
    pattern = re.compile(r"^fukayomi vs \S+: (\d+)-(\d+)-(\d+) ")
    result: dict[str, int] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stderr.write(line)
            sys.stderr.flush()
            if match := pattern.match(line):
                result = dict(zip(("wins", "losses", "draws"), map(int, match.groups()), strict=True))
    if process.returncode != 0 or not result:
        sys.exit(f"strength.py: the match ended with exit code {process.returncode} and no result")
    return result


def parse_arguments() -> argparse.Namespace:
    """The command line of this program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--openings", type=Path, required=True, help="a file of 'startpos moves ...' lines")
    parser.add_argument("--opponent", default="fairy-stockfish", help="program of a USI engine")
    parser.add_argument("--opponent-ms", type=int, default=100, help="byoyomi of the opponent, ms")
    parser.add_argument("--opponent-threads", type=int, default=1, help="threads of the opponent")
    ours = Path(sys.executable).with_name("fukayomi-usi")
    parser.add_argument("--engine", type=Path, default=ours, help="our engine")
    parser.add_argument("--ms", type=int, default=1000, help="byoyomi of fukayomi, ms")
    parser.add_argument("--options", default="", help="USI options of fukayomi, NAME:VALUE,...")
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1, help="order of the openings")
    parser.add_argument("--records", type=Path, help="folder for the CSA records")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def main() -> None:
    """Play and report."""
    arguments = parse_arguments()
    result = run_match(match_command(arguments))
    games = sum(result.values())
    points = result["wins"] + result["draws"] / 2
    low, high = score_interval((result["losses"], result["draws"], result["wins"]))
    report = {
        "opponent": arguments.opponent, "opponent_ms": arguments.opponent_ms, "ms": arguments.ms,
        "games": games, **result,
        "score": points / games, "interval_95": [low, high],
    }  # fmt: skip
    if arguments.json:
        print(json.dumps(report))
    else:
        print(
            f"fukayomi ({arguments.ms} ms) - {arguments.opponent} ({arguments.opponent_ms} ms): "
            f"{result['wins']}-{result['losses']}-{result['draws']}, "
            f"score {100 * points / games:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)"
        )


if __name__ == "__main__":
    main()
