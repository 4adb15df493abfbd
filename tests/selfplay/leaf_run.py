"""A run of leaves whose parts are compared: started by a test, and as a program that can be killed."""

import sys
from pathlib import Path

from fukayomi.engine.evaluators.protocol import hash_evaluator
from fukayomi.engine.network import Network
from fukayomi.listener import SILENT, Listener
from fukayomi.selfplay import LeafSettings, Leaves, collect_leaves

SHORT = LeafSettings(nodes=30, plies=6)
PART = 400


def collect(
    out: Path,
    positions: int,
    settings: LeafSettings = SHORT,
    *,
    seed: int = 5,
    batch_size: int = 16,
    listener: Listener = SILENT,
) -> Leaves:
    with Network(hash_evaluator(batch_size)) as network:
        return collect_leaves(
            out, network, positions, settings=settings, seed=seed, part_positions=PART, listener=listener
        )


if __name__ == "__main__":
    collect(Path(sys.argv[1]), int(sys.argv[2]))
