"""Batches of training positions from hcpe3, shuffled, in positions per CPU second, beside cshogi's decoding.

    python benchmarks/loader.py [--json] [FILE.hcpe3]

Ours is what `fukayomi train` reads: batches of 1024 in random order (bit-packed planes, the policy as labels and
weights, value, result), prepared by the loader's one thread. cshogi's is the cheapest way to the same that its
documentation offers in Python: games one after another, a Board that plays the moves, `make_input_features` (floats,
into one pair of arrays) and `make_move_label` for every candidate; it does not shuffle, which favours it. The two take
turns, and the best round of each counts. First, planes, policies, values and results of both are compared.

Without a file, the games are random moves with as many candidates as a search of about 800 visits has.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# (cshogi has no types.)

import argparse
import json
import math
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cshogi
import numpy as np
from cshogi.dlshogi import make_input_features, make_move_label

from fukayomi import _native
from fukayomi._native import EVAL_SCALE
from fukayomi.learning import Dataset
from fukayomi.learning.data.batch import training_batches
from random_games import write_random_games

BATCH = 1024
BATCHES = 60  # of ours a round
CSHOGI_POSITIONS = 6_000  # of cshogi's a round
COMPARED = 2_000


Target = tuple[float, float, dict[int, float]]


def cshogi_positions(data: bytes, features1: np.ndarray, features2: np.ndarray) -> Iterator[Target]:
    """Value, result and policy of each position with candidates; its planes are in the arrays until the next one."""
    board = cshogi.Board()
    at = 0
    while at < len(data):
        board.set_hcp(np.frombuffer(data, np.uint8, 32, at))
        moves, result = struct.unpack_from("<HB", data, at + 32)
        at += 36
        for _ in range(moves):
            move, evaluation, count = struct.unpack_from("<HhH", data, at)
            pairs = struct.unpack_from(f"<{2 * count}H", data, at + 6)
            at += 6 + 4 * count
            if count:
                turn = board.turn
                make_input_features(board, features1, features2)
                total = sum(pairs[1::2])
                policy = {
                    make_move_label(board.move_from_move16(pairs[i]), turn): pairs[i + 1] / total
                    for i in range(0, 2 * count, 2)
                }
                won = 0.5 if result & 3 == 0 else float((result & 3) - 1 == turn)
                yield 1 / (1 + math.exp(-evaluation / EVAL_SCALE)), won, policy
            board.push_move16(move)


def compare(path: Path, data: Dataset) -> None:
    """Exit with a message if the two readers differ."""
    features1, features2 = np.zeros((62, 9, 9), np.float32), np.zeros((57, 9, 9), np.float32)
    theirs = cshogi_positions(path.read_bytes(), features1, features2)
    ours1, ours2 = np.empty((1, 62, 9, 9), np.float32), np.empty((1, 57, 9, 9), np.float32)
    skipped = 0
    for number in range(min(COMPARED, len(data))):
        mine = data.arrays([number])
        _native.unpack_planes(mine.planes1, mine.planes2, ours1, ours2)
        policy = dict(zip(mine.places.tolist(), mine.weights.tolist(), strict=True))
        for value, result, soft in theirs:
            same = np.array_equal(ours1[0], features1) and np.array_equal(ours2[0], features2)
            used = {label: weight for label, weight in soft.items() if weight > 0}
            same = same and policy.keys() == used.keys() and abs(mine.values[0] - value) < 1e-6
            if same and mine.results[0] == result and all(abs(policy[k] - used[k]) < 1e-6 for k in used):
                break
            skipped += 1  # moves into a repetition are left out in ours
            if skipped > data.repetitions:
                sys.exit(f"position {number} differs from cshogi's")
        else:
            sys.exit(f"cshogi has no position {number}")


def cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def measure(path: Path, rounds: int) -> dict[str, float]:
    content = path.read_bytes()
    opened_data: list[Dataset] = []
    opened = cpu_seconds(lambda: opened_data.append(Dataset(path)))
    (positions,) = opened_data
    compare(path, positions)
    features1, features2 = np.zeros((62, 9, 9), np.float32), np.zeros((57, 9, 9), np.float32)
    batches = min(BATCHES, 4 * (len(positions) // BATCH))
    some = min(CSHOGI_POSITIONS, len(positions))

    def ours() -> None:
        for batch in training_batches(positions, BATCH, seed=0, start=0, stop=batches):
            assert len(batch) == BATCH

    def theirs() -> None:
        reader = cshogi_positions(content, features1, features2)
        for _ in range(some):
            next(reader)

    ours()
    wall = time.perf_counter()
    ours()
    wall = time.perf_counter() - wall
    times = [(cpu_seconds(ours), cpu_seconds(theirs)) for _ in range(rounds)]
    ours_s, theirs_s = (min(column) for column in zip(*times, strict=True))
    ours_rate, theirs_rate = batches * BATCH / ours_s, some / theirs_s
    return {
        "positions": len(positions),
        "candidates_a_position": round(len(positions.arrays(np.arange(len(positions))).places) / len(positions), 1),
        "ours_positions_per_s": round(ours_rate),
        "cshogi_positions_per_s": round(theirs_rate),
        "ratio": round(ours_rate / theirs_rate, 1),
        "ours_positions_per_wall_s": round(batches * BATCH / wall),
        "opened_positions_per_s": round(len(positions) / opened),
        "index_bytes_a_position": round(positions.index_bytes / len(positions), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, help="an hcpe3 file (default: random games)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each (default 5)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = args.file
        if path is None:
            path = Path(folder) / "random.hcpe3"
            write_random_games(path)
        result = measure(path, args.rounds)
    if args.json:
        print(json.dumps(result))
    else:
        print(f"{result['positions']:,} positions with {result['candidates_a_position']} candidates")
        print(f"ours    {result['ours_positions_per_s']:>10,} positions/CPU-s, shuffled, batches of {BATCH}")
        print(f"cshogi  {result['cshogi_positions_per_s']:>10,} positions/CPU-s, in order")
        print(f"ratio   {result['ratio']:>10.1f}")
        print(f"opened  {result['opened_positions_per_s']:>10,} positions/CPU-s, checked and indexed")
        print(f"index   {result['index_bytes_a_position']:>10.2f} bytes a position")


if __name__ == "__main__":
    main()
