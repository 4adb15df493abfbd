"""Full batches run for some time, as all measurements of networks do, and positions for them.

The positions stand in where there is no file of positions.
"""

import itertools
import threading
import time
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from fukayomi.engine.evaluators.library_calls import LIBRARY_CALLS
from fukayomi.interruption import join_threads, start_threads
from fukayomi.shogi import Position

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.backend import Model
    from fukayomi.engine.evaluators.protocol import Evaluator, Slot


def filled_slot(model: "Model | Evaluator", batch: int, positions: Sequence[Position]) -> "Slot":
    """A slot with a batch of these positions and their legal moves, repeated as often as it takes."""
    slot = model.allocate(batch)
    for i, position in enumerate(itertools.islice(itertools.cycle(positions), batch)):
        slot.input.write(i, position, position.legal_moves)
    return slot


def run_batches(model: "Model | Evaluator", slots: "Sequence[Slot]", batch: int, seconds: float) -> int:
    """Run batches for some time, each slot at least once and in a thread of its own; returns their number.

    Raises:
        EvaluatorError: A run failed.
    """
    counts: list[int] = []
    errors: list[Exception] = []
    is_interrupted = threading.Event()
    end = time.perf_counter() + seconds

    def work(slot: "Slot") -> None:
        count = 0
        try:
            while not is_interrupted.is_set() and (count == 0 or time.perf_counter() < end):
                with LIBRARY_CALLS:
                    model.run(slot, batch)
                count += 1
        except Exception as error:  # of any library; raised again below
            errors.append(error)
        counts.append(count)

    threads = [threading.Thread(target=work, args=(slot,), daemon=True) for slot in slots]
    try:
        start_threads(threads)
        for thread in threads:
            thread.join()
    except BaseException:  # Ctrl-C: the model may be closed next
        is_interrupted.set()
        join_threads(threads)
        raise
    if errors:
        raise errors[0]
    return sum(counts)


PROBES = (
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
    "lnsgkgsnl/1r5b1/p1ppppppp/1p7/9/2P4P1/PP1PPPP1P/1B5R1/LNSGKGSNL w - 4",
    "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL b RGgsn5p 1",
    "4k4/9/9/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b RB2G2S2N2L9P 1",
    "4k4/9/9/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w RB2G2S2N2L9P 1",
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/9/9/4K4 w rb2g2s2n2l9p 1",
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/9/9/4K4 b rb2g2s2n2l9p 1",
    "7k1/9/7P1/9/9/9/9/9/K8 b G2r2b3g4s4n4l17p 1",
    "7k1/7G1/7P1/9/9/9/9/9/K8 w 2r2b3g4s4n4l17p 2",
)
"""Even positions, handicaps, and some that are won for either side."""
GAME = (
    "7g7f 3c3d 2g2f 4c4d 3i4h 8b3b 2f2e 2b3c 5i6h 5a6b 6h7h 6b7b 4i5h 3a4b 3g3f 7b8b 5g5f 9c9d 9g9f 4b4c 7i6h "
    "4c5d 4h5g 4a5b 6g6f 6c6d 6i5i 7a7b 6h6g 7b6c 5i6h 6a7b 1g1f 4d4e 1f1e 3b2b 2i3g 3c4d 2h2i 3d3e 3f3e 2b3b "
    "4g4f 4e4f 5g4f 4d3e 4f3e 3b3e B*2f 3e3f 5f5e S*3h 2i2h 5d5e 6f6e 5e4f 3g4e 3h3i 2h2g 3f3h+ 2g1g P*4g P*4i "
    "3h4i 4e5c+ 4g4h+ 5c5b 6c5b G*6b 4h5h 6g5h 4i3h 1g1h 3i2h+ 6b7b 8b7b 8h4d P*5c 1h2h 3h2h 7h8h R*2i 2f1g "
    "2h1g 1i1g B*7i 8h7h N*5f S*6i 2i5i+ 7h7i 5f6h+ 7i8h G*6a B*3f 7b8b G*6c 5b6c 3f6c+ 6h6i 5h6i 5i6i R*3a "
    "G*6b S*7i S*6g N*8e 6i7i 8h9h 7i7h 4d8h S*9g 9h9g S*8f 9g8f 6g7f+ 8f9g 7h8g"
)
"""A game between two engines on floodgate, 2026-01-05 (examples/game.csa)."""


@cache
def probe_positions() -> tuple[Position, ...]:
    """`PROBES`, and every second position of `GAME`: 71 positions."""
    game = Position()
    found = [Position.from_sfen(sfen) for sfen in PROBES]
    for ply, move in enumerate(GAME.split()):
        if ply % 2 == 0:
            found.append(game.copy())
        game.push_usi(move)
    return tuple(found)
