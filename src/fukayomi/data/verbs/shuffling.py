"""``fukayomi data shuffle``: files larger than memory in random order.

Each item has a 64-bit key, a function of the seed and its number in the inputs, and the output is sorted by the keys:
a permutation that does not depend on memory or buckets. The first pass writes the items to bucket files by the highest
bits of their keys, the second sorts one bucket after the other.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.convert.blocks import Block, Inputs, index_keys
from fukayomi.data.formats.kinds import SHUFFLE_MEMORY, DataFormat
from fukayomi.data.jobs.buckets import BucketFiles, flat_bytes
from fukayomi.data.jobs.job import Files, Job, Summary, opened
from fukayomi.data.verbs.job import finish, stream_blocks, verb_job
from fukayomi.files.disk import Room
from fukayomi.listener import SILENT, Listener

MOST_BUCKET_BITS = 12
_KINDS = ("keys", "sizes", "items")  # of each item: uint64, uint32, its bytes
_ITEM_BYTES = 12  # of its key and size
_GROWTH_OF_RECORDS = 16  # at most, from an archive to CSA
_MOST_UNSAVED = 4 << 30  # bytes written between two checkpoints, while the buckets they come from are still there


def shuffle(
    inputs: Files,
    out: Path | str,
    *,
    seed: int = 0,
    memory: int = SHUFFLE_MEMORY,
    scratch: Path | str | None = None,
    listener: Listener = SILENT,
) -> Summary:
    """Write all items in random order. The bytes depend only on the seed and the inputs in their order.

    After a kill the same call resumes the work and writes the same bytes.

        shuffle(["2024.hcpe", "2025.hcpe"], "shuffled.hcpe", seed=1, memory=4 << 30)

    Args:
        inputs: What to shuffle: hcp, hcpe, psv, hcpe3 or records, all of one format.
        out: The file to write.
        seed: Random seed; all orders are equally likely, and the same seed gives identical output.
        memory: Bytes of memory to use, approximately.
        scratch: Folder for the bucket files, which take the size of the inputs and 12 bytes per item; None: beside
            `out`.
        listener: Hears of the progress.

    Raises:
        ValueError: An input is damaged.
        OSError: A file cannot be read or written.
    """
    inputs = opened(inputs)
    remedy = "choose another folder for the work (scratch)"
    with verb_job(
        "shuffle", inputs, [out], {"seed": seed}, listener=listener, room=_room_for(inputs), scratch=scratch,
        remedy=remedy,
    ) as job:  # fmt: skip
        bits = job.memory.setdefault("bucket_bits", _bucket_bits(inputs, memory))
        if not job.is_done("reading"):
            spread = _Spread(job, bits, seed, memory)
            for block in stream_blocks(job, inputs, "reading", spread.flush):
                spread.add(block)
        removed = 0
        for bucket in _stream_buckets(job, 1 << bits):
            data, items = _sorted_bucket(job, bucket)
            job.outputs[0].append(flat_bytes(data), items)
            while removed < (job.place("writing") or 0):  # no kill can undo these any more
                for kind in _KINDS:
                    job.folder.bucket_path(removed, kind).unlink(missing_ok=True)
                removed += 1
        return finish(job)


def _stream_buckets(job: Job, buckets: int) -> Iterator[int]:
    """The buckets that no earlier run has written."""

    def read(place: int | None) -> Iterator[tuple[int, int]]:
        for bucket in range(place or 0, buckets):
            job.listener.progress("writing", bucket, buckets)
            yield bucket, bucket + 1

    return job.stream("writing", read)


def _room_for(inputs: Inputs) -> Room | None:
    """Room for what is written: each item with its key and size, and then the item again; None for records."""
    if (size := inputs.copied_bytes) is None:
        return None
    work = size + size // inputs.format.least_bytes * _ITEM_BYTES
    return Room(work, size, work + min(size, _MOST_UNSAVED))


def _bucket_bits(inputs: Inputs, memory: int) -> int:
    """log2 of the number of buckets, such that one bucket and its sorted copy fit into memory."""
    size = inputs.bytes * (_GROWTH_OF_RECORDS if inputs.kind is DataFormat.RECORDS else 1)
    wanted = -(-size * 4 // max(1, memory))
    return min(MOST_BUCKET_BITS, max(0, wanted - 1).bit_length())


class _Spread:
    """Distributes items over the bucket files, many at a time."""

    def __init__(self, job: Job, bits: int, seed: int, memory: int) -> None:
        self._bits, self._seed = bits, seed
        state = job.memory.get("files", {})
        self._files = {kind: BucketFiles(job.folder, kind, 1 << bits, state.get(kind)) for kind in _KINDS}
        job.memory["files"] = {kind: files.state for kind, files in self._files.items()}
        self._waiting: list[tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.int64]]] = []
        self._most, self._bytes = memory // 16, 0

    def add(self, block: Block) -> None:
        data, starts = block.data()
        self._waiting.append((index_keys(block, self._seed), data, np.diff(starts)))
        self._bytes += len(data)
        if self._bytes >= self._most:
            self.flush()

    def flush(self) -> None:
        """Write everything to the files."""
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
    """The items in `data`, one after the other, in another order."""
    if len(sizes) and (sizes == sizes[0]).all():
        return data.reshape(len(sizes), -1)[order].reshape(-1)
    ends = np.cumsum(sizes)
    whole = flat_bytes(data)
    parts = [whole[end - size : end] for end, size in zip(ends[order].tolist(), sizes[order].tolist(), strict=True)]
    return np.frombuffer(b"".join(parts), np.uint8)


def _sorted_bucket(job: Job, bucket: int) -> tuple[NDArray[np.uint8], int]:
    """The bytes of a bucket's items, sorted by their keys, and their number."""
    keys = np.frombuffer(_read(job, "keys", bucket), "<u8")
    sizes = np.frombuffer(_read(job, "sizes", bucket), "<u4").astype(np.int64)
    data = np.frombuffer(_read(job, "items", bucket), np.uint8)
    return _in_order(data, sizes, np.argsort(keys)), len(keys)


def _read(job: Job, kind: str, bucket: int) -> bytes:
    files = job.memory["files"][kind]
    path = job.folder.bucket_path(bucket, kind)
    data = path.read_bytes() if path.exists() else b""
    if len(data) != files["sizes"][bucket] or zlib.crc32(data) != files["checksums"][bucket]:
        raise job.folder.damaged(path)
    return data
