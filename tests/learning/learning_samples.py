"""hcpe records of random games, made with nothing but the public classes of the game; a console that interrupts."""

import signal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from fukayomi import _native
from fukayomi.shogi import Position

RECORD = np.dtype([("hcp", "u1", 32), ("eval", "<i2"), ("move", "<u2"), ("result", "u1"), ("pad", "u1")])


def random_records(count: int, seed: int) -> NDArray[np.void]:
    """Records of positions from games of random moves, with random evaluations and results."""
    random = np.random.default_rng(seed)
    records = np.zeros(count, RECORD)
    position, ply = Position(), 0
    for record in records:
        moves = position.legal_moves
        if not moves or ply == 60:
            position, ply = Position(), 0
            moves = position.legal_moves
        move = moves[random.integers(len(moves))]
        record["hcp"] = np.frombuffer(_native.encode_hcp(position), np.uint8)
        record["eval"] = random.integers(-2000, 2001)
        record["move"] = move.raw
        record["result"] = random.integers(0, 3)
        position.push(move)
        ply += 1
    return records


class InterruptingConsole(Console):
    """Presses Ctrl-C at the first line of metrics."""

    def print(self, *objects: Any, **options: Any) -> None:
        signal.raise_signal(signal.SIGINT)
