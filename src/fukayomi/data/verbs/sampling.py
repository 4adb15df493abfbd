"""``fukayomi data sample``: items drawn at random, each with the same chance."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from fukayomi.data.convert.blocks import VerbError, index_keys, seeded_keys
from fukayomi.data.formats.format import map_rows
from fukayomi.data.jobs.job import Files, Summary, opened
from fukayomi.data.verbs.job import finish, stream_blocks, verb_job
from fukayomi.listener import SILENT, Listener

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
