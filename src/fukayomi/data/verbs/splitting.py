"""``fukayomi data split``: divide the items of files among several others.

``fukayomi data sample``: items drawn at random, each with the same chance.

``fukayomi data merge``: several files as one.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
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
    index_keys,
    packed_positions,
    position_hashes,
    seeded_keys,
)
from fukayomi.data.formats.format import map_rows
from fukayomi.data.formats.kinds import SPLIT_RUN, Unit
from fukayomi.data.jobs.buckets import BucketFiles
from fukayomi.data.jobs.job import Files, Job, Summary, opened
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


_AT_ONCE = 1 << 18
_TOP_BITS = 16


def sample(
    inputs: Files,
    out: Path | str,
    count: int,
    *,
    positions: bool = False,
    seed: int = 0,
    listener: Listener = SILENT,
) -> Summary:
    """Write `count` items, drawn at random without replacement, in the order of the inputs.

    Each item has a key, a function of the seed and its number; the items with the lowest keys are taken. So the items
    are counted first, and memory does not grow with their number. After a kill the same call resumes the work and
    writes the same bytes.

        sample("games.hcpe3", "some.hcpe", 100_000, positions=True)

    Args:
        inputs: What to draw from: hcp, hcpe, psv, hcpe3 or records, all of one format.
        out: The file to write.
        count: How many items to draw; all are taken if there are fewer.
        positions: Draw searched positions of hcpe3 games, written as hcpe, instead of games.
        seed: Random seed; the same seed gives identical output.
        listener: Hears of the progress.

    Raises:
        VerbError: `positions` is given and the inputs are not hcpe3, or `count` is less than 1.
        ValueError: An input is damaged.
        OSError: A file cannot be read or written.
    """
    inputs = opened(inputs)
    if count < 1:
        raise VerbError(f"the number of items must be 1 or more, not {count}")
    if positions:
        if inputs.kind != "hcpe3":
            raise VerbError(f"positions are drawn from hcpe3 games, not from {inputs.kind}")
        inputs = replace(inputs, as_rows=True)
    with verb_job("sample", inputs, [out], {"count": count, "seed": seed}, listener=listener) as job:
        if "limit" not in job.memory:
            if inputs.rows is not None:
                total = sum(len(map_rows(path, inputs.rows.dtype)) for path in inputs.paths)
            else:
                for _ in stream_blocks(job, inputs, "counting"):
                    pass
                total = job.read
            job.memory["limit"] = _key_limit(total, count, seed)
        limit = np.uint64(job.memory["limit"])
        for block in stream_blocks(job, inputs, "sampling"):
            chosen = index_keys(block, seed) <= limit
            job.outputs[0].append(block.take(chosen), int(chosen.sum()))
        return finish(job)


def _key_limit(total: int, count: int, seed: int) -> int:
    """The `count`-th lowest of the keys of `total` items; found in two passes, the first over their highest bits."""
    if count >= total:
        return (1 << 64) - 1
    shift = np.uint64(64 - _TOP_BITS)
    below = np.zeros(1 << _TOP_BITS, np.int64)
    for first in range(0, total, _AT_ONCE):
        below += np.bincount((_keys(first, total, seed) >> shift).astype(np.int64), minlength=len(below))
    ends = np.cumsum(below)
    top = int(np.searchsorted(ends, count))  # the bin that holds the key
    inside = [keys[keys >> shift == top] for keys in (_keys(first, total, seed) for first in range(0, total, _AT_ONCE))]
    rank = count - (int(ends[top - 1]) if top else 0)
    return int(np.sort(np.concatenate(inside))[rank - 1])


def _keys(first: int, total: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return seeded_keys(np.arange(first, min(total, first + _AT_ONCE), dtype=np.uint64), seed)


_SEEN = "games"  # the file of hashes in the job's folder
_HASH_BYTES = 16


def merge(inputs: Files, out: Path | str, *, unique_games: bool = False, listener: Listener = SILENT) -> Summary:
    """Write all items of the inputs, one file after the other.

    After a kill the same call resumes the work and writes the same bytes.

        merge(["monday.hcpe3", "tuesday.hcpe3"], "week.hcpe3", unique_games=True)

    Args:
        inputs: What to merge: hcp, hcpe, psv, hcpe3 or records, all of one format.
        out: The file to write.
        unique_games: Keep only the first of games with the same start and moves. Takes about 100 bytes of memory per
            game.
        listener: Hears of the progress.

    Raises:
        VerbError: `unique_games` is given for rows, which are not games.
        ValueError: An input is damaged.
        OSError: A file cannot be read or written.
    """
    inputs = opened(inputs)
    if unique_games and inputs.kind not in ("hcpe3", "records"):
        raise VerbError(f"{inputs.kind} files have no games; use `fukayomi data uniq` to remove duplicate rows")
    room = None if unique_games else room_for_copy(inputs, [out])
    with verb_job("merge", inputs, [out], {"unique_games": unique_games}, listener=listener, room=room) as job:
        seen = _SeenGames(job) if unique_games and not job.is_done("merging") else None
        for block in stream_blocks(job, inputs, "merging"):
            kept = np.ones(len(block), np.bool_) if seen is None else seen.are_new(block)
            job.outputs[0].append(block.take(kept), int(kept.sum()))
        if seen is not None:
            job.found["duplicates"] = job.read - job.outputs[0].items
        return finish(job)


class _SeenGames:
    """The hashes of the games so far, which are also kept in a file for a later run."""

    def __init__(self, job: Job) -> None:
        self._file = BucketFiles(job.folder, _SEEN, 1, job.memory.get(_SEEN))
        job.memory[_SEEN] = self._file.state
        path = job.folder.bucket_path(0, _SEEN)
        data = path.read_bytes() if path.exists() else b""
        self._hashes = {data[at : at + _HASH_BYTES] for at in range(0, len(data), _HASH_BYTES)}

    def are_new(self, block: Block) -> NDArray[np.bool_]:
        """Mask of the games that were not seen before: bool [N]."""
        assert not isinstance(block.content, np.ndarray)
        fresh: list[bytes] = []
        new = np.zeros(len(block), np.bool_)
        for index, key in enumerate(game_hashes(block.content)):
            if key not in self._hashes:
                self._hashes.add(key)
                fresh.append(key)
                new[index] = True
        data = np.frombuffer(b"".join(fresh), np.uint8)
        self._file.append(data, np.array([len(data)], np.int64))
        return new
