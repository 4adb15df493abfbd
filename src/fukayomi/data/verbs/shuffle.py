"""``fukayomi data shuffle``: files larger than memory in random order.

Each item has a 64-bit key, a function of the seed and its number in the inputs, and the output is in the order of the
keys: a permutation that knows nothing of memory or buckets. The first pass spreads the items over bucket files by the
highest bits of their keys, the second sorts one bucket after the other.
"""

import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.convert.blocks import LEAST_GAME_BYTES, ROWS, Block, Inputs
from fukayomi.data.convert.detect import DataFormat
from fukayomi.data.convert.keys import index_keys
from fukayomi.data.jobs.folder import BucketFiles, flat_bytes
from fukayomi.data.jobs.work import Listener, Summary, Work, silent
from fukayomi.files.disk import Room

MOST_BUCKET_BITS = 12
_KINDS = ("keys", "sizes", "items")  # each item: uint64, uint32, its bytes
_ITEM_BYTES = 12  # beside its own
_GROWTH_OF_RECORDS = 16  # at most, from an archive to CSA
_MOST_UNSAVED = 4 << 30  # bytes written from one checkpoint to the next, when the buckets that they come from go


def shuffle(
    inputs: Inputs, out: Path, seed: int = 0, memory: int = 1 << 30, listener: Listener = silent,
    scratch: Path | None = None,
) -> Summary:  # fmt: skip
    """Write all items in random order. The bytes depend on the seed and the inputs, in their order, alone.

    Args:
        inputs: What to shuffle.
        out: The file to write.
        seed: Every order is as likely as any other.
        memory: About so many bytes of memory are used beyond the program itself.
        listener: Told of the progress.
        scratch: The folder for bucket files, as large as the inputs and a third; beside `out` where it is None.

    Raises:
        ValueError: An input is not what it should be.
        OSError: Something cannot be read or written.
    """
    with Work("shuffle", inputs, [out], {"seed": seed}, listener, scratch, room_for(inputs)) as work:
        bits = work.memory.setdefault("bucket_bits", bucket_bits(inputs, memory))
        if not work.is_done("reading"):
            spread = _Spread(work, bits, seed, memory)
            work.stream("reading", spread.add, spread.remember)
        removed = 0
        for bucket in work.steps("writing", 1 << bits):
            data, items = _sorted_bucket(work, bucket)
            work.outputs[0].append(data.tobytes(), items)
            while removed < work.steps_saved("writing"):
                for kind in _KINDS:
                    work.folder.bucket_path(removed, kind).unlink(missing_ok=True)
                removed += 1
        return work.finish()


def room_for(inputs: Inputs) -> Room | None:
    """What is written: each item with its key and size, and then once more; None for records."""
    if (size := inputs.copied_bytes) is None:
        return None
    least = ROWS[inputs.kind].itemsize if inputs.kind in ROWS else LEAST_GAME_BYTES
    work = size + size // least * _ITEM_BYTES
    return Room(work, size, work + min(size, _MOST_UNSAVED))


def bucket_bits(inputs: Inputs, memory: int) -> int:
    """How many buckets it takes, as a power of two, so that one and its sorted copy fit into memory."""
    size = inputs.bytes * (_GROWTH_OF_RECORDS if inputs.kind is DataFormat.RECORDS else 1)
    wanted = -(-size * 4 // max(1, memory))
    return min(MOST_BUCKET_BITS, max(0, wanted - 1).bit_length())


class _Spread:
    """Spreads items over the bucket files, many at a time."""

    def __init__(self, work: Work, bits: int, seed: int, memory: int) -> None:
        self._work, self._bits, self._seed = work, bits, seed
        state = work.memory.get("files", {})
        self._files = {kind: BucketFiles(work.folder, kind, 1 << bits, state.get(kind)) for kind in _KINDS}
        self._waiting: list[tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.int64]]] = []
        self._most, self._bytes = memory // 16, 0

    def add(self, block: Block) -> None:
        data, starts = block.data()
        self._waiting.append((index_keys(block, self._seed), data, np.diff(starts)))
        self._bytes += len(data)
        if self._bytes >= self._most:
            self._flush()

    def remember(self) -> None:
        self._flush()
        self._work.memory["files"] = {kind: files.state() for kind, files in self._files.items()}

    def _flush(self) -> None:
        if not self._waiting:
            return
        keys, data, sizes = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        self._waiting, self._bytes = [], 0
        if self._bits == 0:
            buckets = np.zeros(len(keys), np.int64)
        else:
            buckets = (keys >> np.uint64(64 - self._bits)).astype(np.int64)
        order = np.argsort(buckets, kind="stable")
        counts = np.bincount(buckets, minlength=1 << self._bits)
        self._files["keys"].append(keys[order], counts)
        self._files["sizes"].append(sizes[order].astype(np.uint32), counts)
        in_bytes = np.bincount(buckets, weights=sizes, minlength=1 << self._bits).astype(np.int64)
        self._files["items"].append(_in_order(data, sizes, order), in_bytes)


def _in_order(data: NDArray[np.uint8], sizes: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Items, one after the other in `data`, in another order."""
    if len(sizes) and (sizes == sizes[0]).all():
        return data.reshape(len(sizes), -1)[order].reshape(-1)
    ends = np.cumsum(sizes)
    whole = flat_bytes(data)
    parts = [whole[end - size : end] for end, size in zip(ends[order].tolist(), sizes[order].tolist(), strict=True)]
    return np.frombuffer(b"".join(parts), np.uint8)


def _sorted_bucket(work: Work, bucket: int) -> tuple[NDArray[np.uint8], int]:
    """The bytes of a bucket's items in the order of their keys, and how many there are."""
    keys = np.frombuffer(_read(work, "keys", bucket), "<u8")
    sizes = np.frombuffer(_read(work, "sizes", bucket), "<u4").astype(np.int64)
    data = np.frombuffer(_read(work, "items", bucket), np.uint8)
    return _in_order(data, sizes, np.argsort(keys)), len(keys)


def _read(work: Work, kind: str, bucket: int) -> bytes:
    files = work.memory["files"][kind]
    path = work.folder.bucket_path(bucket, kind)
    data = path.read_bytes() if path.exists() else b""
    if len(data) != files["sizes"][bucket] or zlib.crc32(data) != files["checksums"][bucket]:
        raise work.folder.damaged(path)
    return data
