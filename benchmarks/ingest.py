"""Games of self-play validated a CPU-second, beside cshogi replaying their moves alone.

    python benchmarks/ingest.py [--json]

The games have 100 plies, and 10 candidates a move. `validate_chunk` reads a chunk, compares its checksum, replays every
game, judges moves, candidates, visits, evaluations and the result, hashes the game and computes the numbers for the
tripwires. `ingest` also compares games with those accepted before, and enters the chunk in the manifest. cshogi pushes
the moves on its board, and that is all. The three take turns, and the best round of each counts.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# (cshogi has no types.)

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cshogi
import numpy as np

from fukayomi.data.formats.hcpe3 import Game, Games, join_games
from fukayomi.loop.ingest import Manifest, ingest, validate_chunk
from fukayomi.selfplay.chunk import ChunkDetails, write_chunk

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "studies"))
from canary_games import random_game, relabelled

PLIES = 100
SETTINGS: dict[str, Any] = {"playouts": 800, "threshold": 0.99, "min_move": PLIES, "max_move": PLIES}
NETWORK = "0" * 64


def write_games(path: Path, count: int) -> Games:
    """A chunk of games of random moves."""
    rng = np.random.default_rng(1)
    games: list[Game] = []
    while len(games) < count:
        game = random_game(SETTINGS, rng)
        if len(game) == PLIES:  # no repetition came before
            games.append(game)
    joined = join_games(games)
    details = ChunkDetails(
        games=0, positions=0, plies=0, worker="benchmark", sequence=1, first_game=0, seed=1, network=NETWORK,
        build="benchmark", settings=SETTINGS,
    )  # fmt: skip
    path.parent.mkdir()
    write_chunk(path, joined.write(), relabelled(joined, details))
    return joined


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def measure(count: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        store = Path(name)
        chunk = store / "games" / "benchmark-000001.hcpe3"
        games = write_games(chunk, count)
        manifest = Manifest(store)
        manifest.add_network(NETWORK, 0)
        manifest.add_settings(SETTINGS)
        known = manifest.path.read_bytes()
        moves = [game.moves.tolist() for game in games]
        board = cshogi.Board()

        def validate() -> None:
            validate_chunk(chunk)

        def take() -> None:
            manifest.path.write_bytes(known)
            (store / "games.keys").unlink(missing_ok=True)
            if len(ingest(store).accepted) != 1:
                raise SystemExit("the chunk was not accepted")

        def theirs() -> None:
            for played in moves:
                board.reset()
                for move in played:
                    board.push_move16(move)

        seconds = [tuple(cpu_seconds(run) for run in (validate, take, theirs)) for _ in range(rounds)]
    validated, taken, replayed = (min(column) for column in zip(*seconds, strict=True))
    return {
        "games": count,
        "plies": len(games.moves) / count,
        "candidates_a_move": float(games.candidate_counts().mean()),
        "bytes_a_game": float(games.sizes().mean()),
        "validated_games_per_s": round(count / validated),
        "ingested_games_per_s": round(count / taken),
        "cshogi_games_per_s": round(count / replayed),
        "ratio": round(replayed / validated, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--games", type=int, default=1000, help="games of the chunk (default 1000)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each of the three runs (default 5)")
    args = parser.parse_args()
    result = measure(args.games, args.rounds)
    if args.json:
        print(json.dumps(result))
        return
    plies, candidates, size = (result[name] for name in ("plies", "candidates_a_move", "bytes_a_game"))
    print(f"{args.games:,} games of {plies:.0f} plies, {candidates:.1f} candidates a move, {size:,.0f} bytes")
    print(f"validated  {result['validated_games_per_s']:>9,} games/CPU-s")
    print(f"ingested   {result['ingested_games_per_s']:>9,} games/CPU-s")
    print(f"cshogi     {result['cshogi_games_per_s']:>9,} games/CPU-s, replaying the moves alone")
    print(f"ratio      {result['ratio']:>9.3f}")


if __name__ == "__main__":
    main()
