"""``fukayomi data sample``: so many items, each as likely as any other."""

from pathlib import Path

import numpy as np

from fukayomi.data.convert.blocks import ROWS, Block, Inputs
from fukayomi.data.convert.keys import index_keys, seeded_keys
from fukayomi.data.formats.rows import map_rows
from fukayomi.data.jobs.work import Listener, Summary, Work, silent

_AT_ONCE = 1 << 18
_TOP_BITS = 16


def sample(inputs: Inputs, out: Path, count: int, seed: int = 0, listener: Listener = silent) -> Summary:
    """Write `count` items, drawn without putting back, in the order of the inputs; all, if there are no more.

    Each item has a key, a function of the seed and its number; those with the lowest keys are taken. So the items are
    counted first, and memory does not grow with them.

    Raises:
        ValueError: An input is not what it should be.
        OSError: Something cannot be read or written.
    """
    with Work("sample", inputs, [out], {"count": count, "seed": seed}, listener) as work:
        if "total" not in work.memory:
            if inputs.kind in ROWS:
                work.memory["total"] = sum(len(map_rows(path, ROWS[inputs.kind])) for path in inputs.paths)
            else:
                work.stream("counting", lambda _: None)
                work.memory["total"] = work.read
        total: int = work.memory["total"]
        if "limit" not in work.memory:
            work.memory["limit"] = key_limit(total, count, seed)
        limit = np.uint64(work.memory["limit"])

        def choose(block: Block) -> None:
            chosen = index_keys(block, seed) <= limit
            work.outputs[0].append(block.take(chosen), int(chosen.sum()))

        work.stream("sampling", choose)
        return work.finish()


def key_limit(total: int, count: int, seed: int) -> int:
    """The `count`-th lowest of the keys of `total` items; found in two passes, the first over their highest bits."""
    if count >= total:
        return (1 << 64) - 1
    shift = np.uint64(64 - _TOP_BITS)
    below = np.zeros(1 << _TOP_BITS, np.int64)
    for first in range(0, total, _AT_ONCE):
        below += np.bincount((_keys(first, total, seed) >> shift).astype(np.int64), minlength=len(below))
    ends = np.cumsum(below)
    top = int(np.searchsorted(ends, count))  # in this bin is the key
    inside = [keys[keys >> shift == top] for keys in (_keys(first, total, seed) for first in range(0, total, _AT_ONCE))]
    rank = count - (int(ends[top - 1]) if top else 0)
    return int(np.sort(np.concatenate(inside))[rank - 1])


def _keys(first: int, total: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return seeded_keys(np.arange(first, min(total, first + _AT_ONCE), dtype=np.uint64), seed)
