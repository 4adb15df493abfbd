"""``fukayomi data split``: deal the items of files to several others."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.convert.blocks import Block, Inputs, VerbError
from fukayomi.data.convert.keys import game_hashes, packed_positions, position_hashes, seeded_keys
from fukayomi.data.jobs.work import Listener, Summary, Work, room_for_copy, silent


class Unit(StrEnum):
    """What stays together."""

    GAME = "game"
    """Games, and all that are equal to them; of rows, which do not say where a game ends, runs of rows."""
    POSITION = "position"
    """All rows of a position."""


@dataclass(frozen=True, slots=True)
class Deal:
    """Who gets what."""

    shares: tuple[float, ...] = ()
    """What each output gets, in proportion; by chance, so that the shares are met nearly."""
    every: int | None = None
    """Instead: the second of two outputs gets the last of every so many."""
    unit: Unit = Unit.GAME
    run: int = 1000
    """So many rows that follow each other stay together, for the sake of the games that they come from."""
    seed: int = 0


def split(inputs: Inputs, outs: Sequence[Path], deal: Deal, listener: Listener = silent) -> Summary:
    """Deal the items of the inputs to the outputs, in the order of the inputs.

    Games are dealt by what was played: a game goes to the same output whatever else is read with it, and so do its
    duplicates.

    Raises:
        VerbError: The deal does not fit the files.
        ValueError: An input is not what it should be.
        OSError: Something cannot be read or written.
    """
    _check(inputs, outs, deal)
    options = asdict(deal) | {"shares": list(deal.shares), "unit": str(deal.unit)}
    with Work("split", inputs, outs, options, listener, room=room_for_copy(inputs, outs)) as work:

        def hand_out(block: Block) -> None:
            parts = parts_of(block, deal)
            for number, output in enumerate(work.outputs):
                chosen = parts == number
                output.append(block.take(chosen), int(chosen.sum()))

        work.stream("splitting", hand_out)
        return work.finish()


def parts_of(block: Block, deal: Deal) -> NDArray[np.int64]:
    """The output that each item of a block goes to: int64 [N]."""
    units = block.indices
    if isinstance(block.content, np.ndarray) and deal.unit is Unit.GAME:
        units = units // np.uint64(deal.run)
    if deal.every is not None:
        return (units % np.uint64(deal.every) == deal.every - 1).astype(np.int64)
    if deal.unit is Unit.POSITION:
        positions = packed_positions(block.content)
        assert positions is not None  # _check refuses games
        units = position_hashes(positions)
    elif not isinstance(block.content, np.ndarray):
        units = np.array([int.from_bytes(key[:8], "little") for key in game_hashes(block.content)], np.uint64)
    chances = (seeded_keys(units, deal.seed) >> np.uint64(11)) * 2.0**-53  # even over 0 to 1
    ends = np.cumsum(deal.shares)[:-1] / sum(deal.shares)
    return np.searchsorted(ends, chances, side="right")


def _check(inputs: Inputs, outs: Sequence[Path], deal: Deal) -> None:
    if deal.every is None and len(deal.shares) != len(outs):
        raise VerbError(f"{len(deal.shares)} shares for {len(outs)} outputs")
    if deal.every is None and (min(deal.shares, default=0) <= 0 or len(outs) < 2):
        raise VerbError("a split needs two outputs or more, each with a share above 0")
    if deal.every is not None and (len(outs) != 2 or deal.every < 2):
        raise VerbError("to take one of every N, give two outputs, and N of 2 or more")
    is_rows = inputs.written not in ("hcpe3", "records")
    if deal.unit is Unit.POSITION and (not is_rows or deal.every is not None):
        raise VerbError("only rows are dealt by position, and by shares")
    if deal.run < 1:
        raise VerbError("a run has a row at least")
