"""Verbs for files of training data: files in, files out, at any size.

Each verb reads hcp, hcpe, psv or hcpe3 files, or game records, all of one format, and writes the same format. After a
kill the same call resumes the work and writes the same bytes.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from fukayomi.data.convert.blocks import open_inputs
    >>> from fukayomi.data.formats.hcpe import HCPE
    >>> from fukayomi.data.formats.kinds import DataFormat
    >>> from fukayomi.data.verbs import split
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = np.zeros(1000, HCPE)
    >>> rows["bestMove16"] = 1
    >>> rows.tofile(folder / "rows.hcpe")
    >>> inputs = open_inputs([folder / "rows.hcpe"], DataFormat.HCPE)  # a path will do for files of real positions
    >>> summary = split(inputs, [folder / "train.hcpe", folder / "test.hcpe"], every=10, run=1)
    >>> list(summary.written.values())
    [900, 100]
"""

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import EVAL_SCALE, MATE_CP
from fukayomi.data.conditions import FilterConditions
from fukayomi.data.convert.blocks import (
    Block,
    Content,
    Cursor,
    Inputs,
    VerbError,
    game_hashes,
    hash_numbers,
    held_out,
    index_keys,
    packed_positions,
    position_hashes,
    read_blocks,
    rows_of,
    seeded_keys,
)
from fukayomi.data.formats.evaluations import EvalTally, calibrate, rescale_evals
from fukayomi.data.formats.format import map_rows
from fukayomi.data.formats.hcp import white_to_move
from fukayomi.data.formats.hcpe import RESULT_BITS
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.kinds import SHUFFLE_MEMORY, SPLIT_RUN, DataFormat, Unit
from fukayomi.data.formats.psv import PSV
from fukayomi.data.formats.table import refusal
from fukayomi.data.jobs.job import BucketFiles, Files, Job, Summary, flat_bytes, opened
from fukayomi.data.records.reading import Skipped
from fukayomi.files.disk import Room
from fukayomi.listener import SILENT, Listener, counter
from fukayomi.shogi.record import Record
from fukayomi.tabular import counted


def verb_job(
    name: str,
    inputs: Inputs,
    outs: Sequence[Path | str],
    options: Mapping[str, Any],
    *,
    listener: Listener,
    room: Room | None = None,
    scratch: Path | str | None = None,
    remedy: str = "choose another disk",
) -> Job:
    """The job of a verb.

    Args:
        name: Name of the verb.
        inputs: What it reads.
        outs: The files it writes.
        options: Everything else that its outputs depend on, as JSON values.
        listener: Hears of the progress.
        room: Disk space that must be free at the beginning.
        scratch: Where the folder of the job is; None: beside the first output.
        remedy: What helps against a lack of space.

    Raises:
        ValueError: The name of an output does not fit its format, or it is also an input.
    """
    paths = [Path(out) for out in outs]
    for path in paths:
        inputs.check_target(path)
    given = {"format": str(inputs.kind), "as_rows": inputs.as_rows, **options}
    folder = None if scratch is None else Path(scratch)
    return Job(name, inputs.paths, paths, given, scratch=folder, room=room, remedy=remedy, listener=listener)


def stream_blocks(job: Job, inputs: Inputs, stage: str, remember: Callable[[], None] = lambda: None) -> Iterator[Block]:
    """Run a stage that reads the inputs: the blocks that no earlier run has handled.

    Args:
        job: The job, whose `read` and `skipped` count along.
        inputs: Its inputs.
        stage: Name of the stage.
        remember: Called before a checkpoint; puts into the job's memory what a later run needs.
    """
    advance = counter(job.listener, stage, inputs.bytes)
    skipped = job.skipped if job.is_first_stage else Skipped()  # later stages skip the same records again

    def read(place: list[int] | None) -> Iterator[tuple[Block, list[int]]]:
        for block in read_blocks(inputs, Cursor(*(place or ())), skipped, advance):
            yield block, list(block.after)

    for block in job.stream(stage, read, remember):
        job.read = max(job.read, block.after.items)
        yield block


def finish(job: Job) -> Summary:
    """Finish the job of a verb.

    Raises:
        VerbError: All outputs are empty.
        OSError: A file cannot be renamed.
    """
    if job.outputs and not any(output.items for output in job.outputs):
        raise VerbError(f"nothing is left to write: {counted(job.read, 'item')} read, and none kept")
    return job.finish()


def room_for_copy(inputs: Inputs, outs: Sequence[Path | str]) -> Room | None:
    """Disk space of outputs that get all items; None if it is not known, or they are on several disks."""
    size = inputs.copied_bytes
    folders = {Path(out).absolute().parent for out in outs}
    disks = {folder.stat().st_dev for folder in folders if folder.is_dir()}
    return Room(0, size, size) if size is not None and len(disks) == 1 else None


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

    Each item has a 64-bit key, a function of the seed and its number in the inputs, and the output is sorted by the
    keys: a permutation that does not depend on memory or buckets. The first pass writes the items to bucket files by
    the highest bits of their keys, the second sorts one bucket after the other.

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


def filter(inputs: Files, out: Path | str, conditions: FilterConditions, *, listener: Listener = SILENT) -> Summary:
    """Write the items that meet all conditions.

    A game cannot lose moves: moves that do not meet the conditions lose their candidates, so that they are not trained
    on, and a game without candidates is dropped. After a kill the same call resumes the work and writes the same
    bytes.

        filter("rows.hcpe", "calm.hcpe", FilterConditions(max_eval=3000, mates=False))

    Args:
        inputs: hcpe, psv, hcpe3 or records, all of one format.
        out: The file to write.
        conditions: What to keep.
        listener: Hears of the progress.

    Raises:
        VerbError: The files do not hold what a condition needs, or no condition is given.
        ValueError: An input is damaged.
        OSError: A file cannot be read or written.
    """
    inputs = opened(inputs)
    _check_conditions(inputs, conditions)
    with verb_job("filter", inputs, [out], conditions.model_dump(mode="json"), listener=listener) as job:
        for block in stream_blocks(job, inputs, "filtering"):
            content = block.content
            if isinstance(content, Games):
                kept = _filter_games(content, conditions)
                job.outputs[0].append(kept.write() if len(kept) else b"", len(kept))
            else:
                is_records = isinstance(content, list)
                good = _good_records(content, conditions) if is_records else _good_rows(content, conditions)
                job.outputs[0].append(block.take(good), int(good.sum()))
        return finish(job)


def _filter_games(games: Games, conditions: FilterConditions) -> Games:
    """The games that meet the conditions; moves that do not meet them lose their candidates."""
    good = _is_in(games.results & RESULT_BITS, conditions.results) & _is_in(games.opponents, conditions.opponents)
    if conditions.min_plies is not None:
        good &= np.diff(games.plies.astype(np.int64)) >= conditions.min_plies
    if conditions.drops_positions:
        moves = _good_evals(games.evals, conditions) & _good_plies(games.ply_in_game() + 1, conditions)
        games = games.with_candidates(moves)
        left = np.bincount(games.game_of_ply()[games.candidate_counts() > 0], minlength=len(games))
        good &= left > 0
    return games.select(good)


def _good_rows(rows: NDArray[np.void], conditions: FilterConditions) -> NDArray[np.bool_]:
    if rows.dtype == PSV:
        results = _results_of_psv(rows) if conditions.results else rows["game_result"].astype(np.uint8)
        good = _good_plies(rows["gamePly"].astype(np.int64), conditions) & _good_evals(rows["score"], conditions)
    else:
        results = rows["gameResult"] & RESULT_BITS
        good = _good_evals(rows["eval"], conditions)
    return good & _is_in(results, conditions.results)


def _results_of_psv(rows: NDArray[np.void]) -> NDArray[np.uint8]:
    # The first bit is the side to move, in a packed sfen as in an hcp.
    black_won = (rows["game_result"] == 1) != white_to_move(rows["sfen"])
    return np.where(rows["game_result"] == 0, 0, np.where(black_won, 1, 2)).astype(np.uint8)


def _good_records(records: list[Record], conditions: FilterConditions) -> NDArray[np.bool_]:
    return np.array([_is_good(record, conditions) for record in records], np.bool_)


def _is_good(record: Record, conditions: FilterConditions) -> bool:
    if conditions.results and record.result not in conditions.results:
        return False
    if conditions.min_plies is not None and len(record) < conditions.min_plies:
        return False
    ratings = (record.black_rating, record.white_rating)
    least = conditions.min_rating
    return least is None or all(rating is not None and rating >= least for rating in ratings)


def _good_evals(evals: NDArray[np.int16], conditions: FilterConditions) -> NDArray[np.bool_]:
    sizes = np.abs(evals.astype(np.int32))
    good = np.ones(len(evals), np.bool_)
    if conditions.min_eval is not None:
        good &= sizes >= conditions.min_eval
    if conditions.max_eval is not None:
        good &= sizes <= conditions.max_eval
    return good if conditions.mates else good & (sizes < MATE_CP)


def _good_plies(plies: NDArray[np.int64], conditions: FilterConditions) -> NDArray[np.bool_]:
    good = np.ones(len(plies), np.bool_)
    if conditions.min_ply is not None:
        good &= plies >= conditions.min_ply
    return good if conditions.max_ply is None else good & (plies <= conditions.max_ply)


def _is_in(values: NDArray[np.integer], wanted: Collection[int]) -> NDArray[np.bool_]:
    return np.isin(values, list(wanted)) if wanted else np.ones(len(values), np.bool_)


def _check_conditions(inputs: Inputs, conditions: FilterConditions) -> None:
    given = conditions.given()
    if not given:
        raise VerbError("give at least one condition, such as --max-eval 3000")
    allowed = {
        DataFormat.HCPE: {"results", "min_eval", "max_eval", "mates"},
        DataFormat.PSV: {"results", "min_eval", "max_eval", "mates", "min_ply", "max_ply"},
        DataFormat.HCPE3: set(FilterConditions.model_fields) - {"min_rating"},
        DataFormat.RECORDS: {"results", "min_plies", "min_rating"},
    }
    if inputs.kind not in allowed:
        raise VerbError(refusal(inputs.paths[0], inputs.kind, "hcpe, hcpe2, psv, hcpe3 and records"))
    if refused := sorted(given - allowed[inputs.kind]):
        raise VerbError(
            f"{inputs.kind} files do not hold what {', '.join(refused)} needs; use files of a format that does"
        )


def fix_eval(inputs: Files, out: Path | str, *, scale: float | None = None, listener: Listener = SILENT) -> Summary:
    """Write the inputs with evaluations on dlshogi's scale, where they mean the same win rates as on their own.

    The summary's `found` has the scale, the number of evaluations it was fitted to, and the mean error of the win
    rates that the evaluations stand for, before and after. After a kill the same call resumes the work and writes the
    same bytes.

        fix_eval("engine.hcpe", "fixed.hcpe").found["scale"]

    Args:
        inputs: hcpe, hcpe3 or psv files, all of one format.
        out: The file to write.
        scale: Scale of the inputs in centipawns; None: fitted to the results of all inputs together.
        listener: Hears of the progress.

    Raises:
        VerbError: The files have no evaluations, or no scale can be fitted.
        ValueError: An input is damaged.
        OSError: A file cannot be read or written.
    """
    inputs = opened(inputs)
    if inputs.kind not in (DataFormat.HCPE, DataFormat.HCPE3, DataFormat.PSV):
        raise VerbError(refusal(inputs.paths[0], inputs.kind, "hcpe, hcpe2, hcpe3 and psv"))
    if scale is not None and not 0 < scale < float("inf"):
        raise VerbError(f"the scale must be above 0, not {scale}")
    room = room_for_copy(inputs, [out])
    with verb_job("fix-eval", inputs, [out], {"scale": scale}, listener=listener, room=room) as job:
        if not job.found:
            job.found |= _measure(job, inputs, scale)
        for block in stream_blocks(job, inputs, "rescaling"):
            data = _rescaled(block.content, job.found["scale"])
            job.outputs[0].append(data.write() if isinstance(data, Games) else data.tobytes(), len(block))
        return finish(job)


def _measure(job: Job, inputs: Inputs, scale: float | None) -> dict[str, float]:
    tally = EvalTally()
    for evaluation, count, half_points in job.memory.get("tally", ()):
        tally.counts[evaluation], tally.half_points[evaluation] = count, half_points

    def remember() -> None:
        seen = np.flatnonzero(tally.counts)
        job.memory["tally"] = np.stack([seen, tally.counts[seen], tally.half_points[seen]], axis=1).tolist()

    for block in stream_blocks(job, inputs, "fitting", remember):
        tally.add(rows_of(block))
    fitted = scale or tally.fit()
    if fitted is None:
        raise VerbError("no scale fits these evaluations and results; give the scale of the inputs")
    job.memory.pop("tally", None)
    before = calibrate(tally)
    return {
        "scale": fitted, "target_scale": round(EVAL_SCALE, 4), "evals": int(tally.counts.sum()),
        "error_before": round(before.error(EVAL_SCALE), 6), "error_after": round(before.error(fitted), 6),
    }  # fmt: skip


def _rescaled(content: Content, scale: float) -> NDArray[np.void] | Games:
    """A block with evaluations on dlshogi's scale, from those on `scale` (centipawns)."""
    if isinstance(content, Games):
        return replace(content, evals=rescale_evals(content.evals, scale))
    assert not isinstance(content, list)
    rows = content.copy()
    name = "score" if rows.dtype == PSV else "eval"
    rows[name] = rescale_evals(np.ascontiguousarray(rows[name]), scale)
    return rows
