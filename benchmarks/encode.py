"""Bit-packed input planes from hcp, in positions a CPU-second of one thread, beside cshogi's on the same positions.

    python benchmarks/encode.py [--json]

Ours is one call for all positions: 32 bytes in, 636 bytes of packed planes out. cshogi's fastest documented way is a
loop of `Board.set_hcp` and `cshogi.dlshogi.make_input_features`, which fills floats; it gets one pair of arrays again
and again, which stays in the cache. The two take turns, and the best round of each counts. Before that, all planes of
both are compared.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# (cshogi has no types.)

import argparse
import json
import random
import sys
import time
from collections.abc import Callable

import cshogi
import numpy as np
from cshogi.dlshogi import make_input_features

from fukayomi import _native
from fukayomi.shogi import Position

POSITIONS = 20_000
COMPARED_AT_ONCE = 500


def random_game_hcps(count: int, seed: int) -> np.ndarray:
    """The positions of random games: uint8 [count, 32]."""
    rng = random.Random(seed)
    hcps: list[bytes] = []
    while len(hcps) < count:
        pos = Position()
        for _ in range(rng.randrange(40, 240)):
            moves = pos.legal_moves
            if not moves:
                break
            hcps.append(_native.encode_hcp(pos))
            pos.push(rng.choice(moves))
    return np.frombuffer(b"".join(hcps[:count]), np.uint8).reshape(count, 32)


def compare(hcps: np.ndarray, planes1: np.ndarray, planes2: np.ndarray) -> None:
    """Raise SystemExit if a plane of ours is not cshogi's."""
    board = cshogi.Board()
    for start in range(0, len(hcps), COMPARED_AT_ONCE):
        part = slice(start, start + COMPARED_AT_ONCE)
        n = len(hcps[part])
        ours1, ours2 = np.empty((n, 62, 9, 9), np.float32), np.empty((n, 57, 9, 9), np.float32)
        _native.unpack_planes(planes1[part], planes2[part], ours1, ours2)
        theirs1, theirs2 = np.empty_like(ours1), np.empty_like(ours2)
        for i, hcp in enumerate(hcps[part]):
            board.set_hcp(hcp)
            make_input_features(board, theirs1[i], theirs2[i])
        if not (np.array_equal(ours1, theirs1) and np.array_equal(ours2, theirs2)):
            sys.exit(f"the planes differ among positions {start} to {start + n - 1}")


def cpu_seconds(run: Callable[[], None]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def measure(rounds: int) -> dict[str, float]:
    hcps = random_game_hcps(POSITIONS, seed=1)
    planes1, planes2 = np.zeros((POSITIONS, 628), np.uint8), np.zeros((POSITIONS, 8), np.uint8)
    rows = list(hcps)
    board = cshogi.Board()
    features1, features2 = np.zeros((62, 9, 9), np.float32), np.zeros((57, 9, 9), np.float32)

    def ours() -> None:
        _native.decode_hcp(hcps, planes1, planes2)

    def theirs() -> None:
        set_hcp = board.set_hcp
        for row in rows:
            set_hcp(row)
            make_input_features(board, features1, features2)

    ours()
    compare(hcps, planes1, planes2)
    times = [(cpu_seconds(ours), cpu_seconds(theirs)) for _ in range(rounds)]
    ours_s, cshogi_s = (min(column) for column in zip(*times, strict=True))
    return {
        "ours_positions_per_s": round(POSITIONS / ours_s),
        "cshogi_positions_per_s": round(POSITIONS / cshogi_s),
        "ratio": round(cshogi_s / ours_s, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=10, help="how often each of the two runs (default 10)")
    args = parser.parse_args()
    result = measure(args.rounds)
    if args.json:
        print(json.dumps(result))
    else:
        print(f"ours    {result['ours_positions_per_s']:>10,} positions/s, bit-packed, from hcp")
        print(f"cshogi  {result['cshogi_positions_per_s']:>10,} positions/s, floats, from hcp")
        print(f"ratio   {result['ratio']:>10.2f}")


if __name__ == "__main__":
    main()
