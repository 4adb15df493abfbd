"""``fukayomi data split``: divide the items of files among several others."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.convert.blocks import (
    Block,
    Inputs,
    VerbError,
    game_hashes,
    hash_numbers,
    held_out,
    packed_positions,
    position_hashes,
    seeded_keys,
)
from fukayomi.data.formats.kinds import SPLIT_RUN, Unit
from fukayomi.data.jobs.job import Files, Summary, opened
from fukayomi.data.verbs.job import finish, room_for_copy, stream_blocks, verb_job
from fukayomi.listener import SILENT, Listener
from fukayomi.tabular import counted


@dataclass(frozen=True, slots=True)
class _Rule:
    """Rule that assigns items to outputs."""

    shares: tuple[float, ...]
    """Share of each output; empty with `every`."""
    every: int | None
    by: Unit
    run: int
    seed: int


def split(
    inputs: Files,
    outs: Sequence[Path | str],
    *,
    shares: Sequence[float] | None = None,
    every: int | None = None,
    by: Unit | str = Unit.GAME,
    run: int = SPLIT_RUN,
    seed: int = 0,
    listener: Listener = SILENT,
) -> Summary:
    """Divide the items of the inputs among the outputs, in the order of the inputs.

    Games are divided by their moves: a game goes to the same output whatever else is read with it, and so do equal
    games. After a kill the same call resumes the work and writes the same bytes.

        split("games.hcpe3", ["train.hcpe3", "test.hcpe3"], shares=(95, 5))

    Args:
        inputs: What to split: hcp, hcpe, psv, hcpe3 or records, all of one format.
        outs: The files to write.
        shares: The share of each output, in proportion; equal if None. Items are assigned at random, so the sizes
            meet the shares approximately.
        every: Instead of shares: the second of two outputs gets one game, or run of rows, in `every`. Games are
            chosen by their moves, so their number meets the share approximately.
        by: What stays together: "game" or "position".
        run: Consecutive rows that stay together as if they were a game; 1 if the rows were shuffled.
        seed: Random seed; the same seed gives identical output.
        listener: Hears of the progress.

    Raises:
        VerbError: The options do not fit the files.
        ValueError: An input is damaged.
        OSError: A file cannot be read or written.
    """
    inputs = opened(inputs)
    if every is None and shares is None:
        shares = [1.0] * len(outs)
    if every is not None and shares is not None:
        raise VerbError("give either shares or every, not both")
    rule = _Rule(tuple(shares or ()), every, Unit(by), run, seed)
    _check(inputs, outs, rule)
    options = asdict(rule) | {"shares": list(rule.shares), "by": str(rule.by)}
    with verb_job("split", inputs, outs, options, listener=listener, room=room_for_copy(inputs, outs)) as job:
        for block in stream_blocks(job, inputs, "splitting"):
            parts = _parts(block, rule)
            for number, output in enumerate(job.outputs):
                chosen = parts == number
                output.append(block.take(chosen), int(chosen.sum()))
        return finish(job)


def _parts(block: Block, rule: _Rule) -> NDArray[np.int64]:
    """The output that each item of a block goes to: int64 [N]."""
    if not isinstance(block.content, np.ndarray):
        hashes = game_hashes(block.content)
        if rule.every is not None:
            return held_out(hashes, rule.every).astype(np.int64)
        units = hash_numbers(hashes)
    else:
        units = block.indices // np.uint64(rule.run if rule.by is Unit.GAME else 1)
        if rule.every is not None:
            return (units % np.uint64(rule.every) == rule.every - 1).astype(np.int64)
    if rule.by is Unit.POSITION:
        positions = packed_positions(block.content)
        assert positions is not None  # _check refuses games
        units = position_hashes(positions)
    chances = (seeded_keys(units, rule.seed) >> np.uint64(11)) * 2.0**-53  # uniform over 0 to 1
    ends = np.cumsum(rule.shares)[:-1] / sum(rule.shares)
    return np.searchsorted(ends, chances, side="right")


def _check(inputs: Inputs, outs: Sequence[Path | str], rule: _Rule) -> None:
    if rule.every is None and len(rule.shares) != len(outs):
        raise VerbError(f"{counted(len(rule.shares), 'share')} for {counted(len(outs), 'output')}")
    if rule.every is None and (len(outs) < 2 or not all(0 < share < float("inf") for share in rule.shares)):
        raise VerbError("a split needs two or more outputs, each with a share above 0")
    if rule.every is not None and (len(outs) != 2 or rule.every < 2):
        raise VerbError("to hold out one item in N, give two outputs and an N of 2 or more")
    is_rows = inputs.written not in ("hcpe3", "records")
    if rule.by is Unit.POSITION and (not is_rows or rule.every is not None):
        raise VerbError("a split by position needs rows (hcp, hcpe, psv) and shares")
    if rule.run < 1:
        raise VerbError(f"a run needs at least 1 row, not {rule.run}")
