"""Games and opening lines classified by strategy per CPU-second, compared with a matcher without an index.

    python benchmarks/strategy.py [SOURCE...] [--json] [--seconds 3]

SOURCE is any source of `fukayomi strategy` (records, archives, folders); by default the record in `examples/` is
classified repeatedly. Reading is not timed. An opening line is the first 24 plies of a game. The peer is the plain
matcher of the tests, which checks every shape after every move. Both must find the same in a few games first.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fukayomi.arena.results.game import Game
from fukayomi.arena.results.sources import read_games
from fukayomi.arena.strategy.matcher import Matcher
from fukayomi.arena.strategy.reading import load_definitions
from fukayomi.shogi import Move

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "arena" / "strategy"))
from plain_matcher import classify_plainly  # noqa: E402

LINE_PLIES = 24
COMPARED = 3
GAMES = 2_000
"""Limit of games read."""

Played = tuple[str, tuple[Move, ...]]


def compare(matcher: Matcher, games: Sequence[Played]) -> None:
    """Raise SystemExit if the plain matcher finds something else."""
    for sfen, moves in games:
        found = matcher.classify(sfen, moves).plies
        ours = {(tag.definition.name, tag.color): ply for tag, ply in found.items()}
        if ours != classify_plainly(load_definitions(), sfen, moves):
            sys.exit(f"the matchers differ on {' '.join(move.usi() for move in moves)}")


def per_cpu_second(matcher: Matcher, games: Sequence[Played], seconds: float) -> float:
    """Games classified per CPU-second."""
    done, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        for sfen, moves in games:
            matcher.classify(sfen, moves)
        done += len(games)
    return done / spent


def plainly_per_cpu_second(games: Sequence[Played]) -> float:
    start = time.process_time()
    for sfen, moves in games:
        classify_plainly(load_definitions(), sfen, moves)
    return len(games) / (time.process_time() - start)


def read(sources: Sequence[Path]) -> list[Played]:
    games: list[Game] = []
    for game in read_games(sources):
        games.append(game)
        if len(games) == GAMES:
            break
    return [(game.initial_sfen, game.moves) for game in games if game.moves]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", type=Path, metavar="SOURCE")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--seconds", type=float, default=3.0, help="CPU-seconds for each measurement (default 3)")
    args = parser.parse_args()
    games = read(args.sources or [ROOT / "examples" / "game.csa"])
    lines = [(sfen, moves[:LINE_PLIES]) for sfen, moves in games]
    matcher = Matcher(load_definitions())
    compare(matcher, games[:COMPARED])
    ours, plain = per_cpu_second(matcher, games, args.seconds), plainly_per_cpu_second(games[:COMPARED])
    result = {
        "games": len(games),
        "games_per_cpu_s": round(ours),
        "games_per_cpu_minute": round(60 * ours),
        "lines_per_cpu_s": round(per_cpu_second(matcher, lines, args.seconds)),
        "plain_matcher_games_per_cpu_s": round(plain, 1),
        "ratio": round(ours / plain, 1),
    }
    if args.json:
        print(json.dumps(result))
        return
    print(f"games           {result['games_per_cpu_s']:>8,}/CPU-s, of {len(games):,}")
    print(f"position lines  {result['lines_per_cpu_s']:>8,}/CPU-s, {LINE_PLIES} plies each")
    print(f"plain matcher   {plain:>8,.1f} games/CPU-s")
    print(f"ratio           {result['ratio']:>8,.1f}")


if __name__ == "__main__":
    main()
