"""What verbs work on: the rows, games or records of their inputs, a block at a time, from any place on.

Rows (hcp, hcpe, hcpe2, psv) are checked for results and moves that cannot be, but their positions are not decoded: that
is `fukayomi data check`. Games of hcpe3 are replayed. Records are read from any of their formats and written as CSA.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.convert.detect import DataFormat, UnknownDataError, detect_data
from fukayomi.data.convert.refusals import refusal
from fukayomi.data.convert.streams import as_rows
from fukayomi.data.formats.hcpe import HCPE, RESULT_BITS, HcpeError
from fukayomi.data.formats.hcpe3 import Games, read_hcpe3
from fukayomi.data.formats.psv import PSV, PsvError, psv_to_hcpe
from fukayomi.data.formats.rows import DataFileError, map_rows
from fukayomi.data.records.skipped import Skipped
from fukayomi.data.records.sources import find_files, iter_sources
from fukayomi.data.records.text import scan_source
from fukayomi.shogi.formats import write_csa
from fukayomi.shogi.record import Record, RecordError

HCP = np.dtype([("hcp", "u1", (32,))])
ROWS: dict[DataFormat, np.dtype[Any]] = {DataFormat.HCP: HCP, DataFormat.HCPE: HCPE, DataFormat.PSV: PSV}
"""The formats of rows."""
_SUFFIXES = {
    DataFormat.HCP: (".hcp",), DataFormat.HCPE: (".hcpe", ".hcpe2"), DataFormat.PSV: (".psv", ".bin"),
    DataFormat.HCPE3: (".hcpe3",), DataFormat.RECORDS: (".csa",),
}  # fmt: skip
ROWS_AT_ONCE = 1 << 16
RECORDS_AT_ONCE = 64
_KNOWN_FLAGS = 0x1F
LEAST_GAME_BYTES = 36  # of hcpe3: a header
_MOVE, _CANDIDATE = 6, 4  # bytes of hcpe3

Content: TypeAlias = NDArray[np.void] | Games | list[Record]


class VerbError(DataFileError):
    """What was asked for cannot be done with these files."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Files of one format."""

    paths: tuple[Path, ...]
    kind: DataFormat
    """HCP, HCPE (also for hcpe2), PSV, HCPE3 or RECORDS."""
    as_rows: bool = False
    """Whether the searched moves of games are read as rows, HCPE."""

    @property
    def written(self) -> DataFormat:
        """The format of what comes out."""
        return DataFormat.HCPE if self.as_rows else self.kind

    @property
    def bytes(self) -> int:
        """Their size."""
        return sum(path.stat().st_size for path in self.paths)

    @property
    def copied_bytes(self) -> int | None:
        """How many bytes all items are in a file; None for what becomes another format."""
        return None if self.kind is DataFormat.RECORDS or self.as_rows else self.bytes

    def check_target(self, out: Path) -> None:
        """Refuse a file to write whose name says another format, or that cannot be written.

        Raises:
            VerbError: Why.
        """
        if out.suffix.lower() not in _SUFFIXES[self.written]:
            raise VerbError(f"{out}: what is read is written as {self.written}; name it *{_SUFFIXES[self.written][0]}")
        if out.is_dir() or not out.absolute().parent.is_dir():
            raise VerbError(f"{out} cannot be written: it is a folder, or its folder is missing")
        if any(out.absolute() == path.absolute() for path in self.paths):
            raise VerbError(f"{out} is read and written; give the output a name of its own")


def open_inputs(paths: Sequence[Path], kind: DataFormat | None = None) -> Inputs:
    """Find out what the inputs are.

    Args:
        paths: Files and folders; of records, also archives.
        kind: The format of all, instead of what their content says.

    Raises:
        VerbError: They are of several formats, or of one that has no verbs.
        DataFileError: A file is of no known format.
        SourceError: One is missing.
        OSError: One cannot be read.
    """
    found: dict[Path, DataFormat] = {}
    for path in find_files(paths):
        try:
            found[path] = _layout(kind or detect_data(path))
        except UnknownDataError:
            if path in paths:
                raise  # whatever else lies in a folder is passed over
    kinds = sorted(set(found.values()))
    if len(kinds) != 1:
        first = {kind: next(path for path in found if found[path] is kind) for kind in kinds}
        named = ", ".join(f"{path} is {kind}" for kind, path in first.items())
        raise VerbError(f"inputs must be of one format: {named or 'there is no file of a known format'}")
    if kinds[0] not in (*ROWS, DataFormat.HCPE3, DataFormat.RECORDS):
        raise VerbError(refusal(next(iter(found)), kinds[0], "hcp, hcpe, hcpe2, psv, hcpe3 and records"))
    return Inputs(tuple(found), kinds[0])


def _layout(kind: DataFormat) -> DataFormat:
    return DataFormat.HCPE if kind is DataFormat.HCPE2 else kind


class Cursor(NamedTuple):
    """A place between two items of the inputs."""

    file: int = 0
    """Which of the inputs."""
    place: int = 0
    """In it: rows, the byte offset in hcpe3, sources (members of an archive) of records."""
    inner: int = 0
    """Games that stand before it in an hcpe3 file; records, in the source."""
    items: int = 0
    """Items before it in all inputs."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """N consecutive items of the inputs."""

    content: Content
    """Rows ([N] of HCP, HCPE or PSV), games, or records."""
    first: int
    """How many items stand before it."""
    after: Cursor
    """Where the next begins."""
    path: Path
    """Their file."""

    def __len__(self) -> int:
        """Number of items."""
        return len(self.content)

    @property
    def indices(self) -> NDArray[np.uint64]:
        """The number of each item in all inputs: uint64 [N]."""
        return np.arange(self.first, self.first + len(self), dtype=np.uint64)

    def data(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The items as a file has them, and where each begins: uint8 [B] and int64 [N + 1]."""
        content = self.content
        if isinstance(content, Games):
            sizes = game_sizes(content)
            return np.frombuffer(content.write(), np.uint8), _starts(sizes)
        if isinstance(content, list):
            texts = [(write_csa(record) + "/\n").encode() for record in content]
            sizes = np.array([len(text) for text in texts], np.int64)
            return np.frombuffer(b"".join(texts), np.uint8), _starts(sizes)
        data = np.ascontiguousarray(content).view(np.uint8).reshape(-1)
        return data, np.arange(len(content) + 1, dtype=np.int64) * content.dtype.itemsize

    def take(self, chosen: NDArray[np.bool_]) -> bytes:
        """The chosen items (bool [N]) as a file has them."""
        if not chosen.any():
            return b""
        if isinstance(self.content, np.ndarray):
            return self.content[chosen].tobytes()
        data, starts = self.data()
        whole = data.tobytes()
        return b"".join(whole[starts[index] : starts[index + 1]] for index in np.flatnonzero(chosen).tolist())


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def game_sizes(games: Games) -> NDArray[np.int64]:
    """How many bytes each game has in a file: int64 [G]."""
    plies = games.plies.astype(np.int64)
    candidates = games.candidates.astype(np.int64)[plies]
    return LEAST_GAME_BYTES + _MOVE * np.diff(plies) + _CANDIDATE * np.diff(candidates)


def read_blocks(
    inputs: Inputs,
    begin: Cursor = Cursor(),  # noqa: B008  # a NamedTuple never changes
    skipped: Skipped | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Block]:
    """All items of the inputs from some place on.

    Args:
        inputs: What to read.
        begin: Where to begin.
        skipped: Gets the records that cannot be read; of other formats the first damage is raised.
        advance: Called with the number of bytes that were read since the last call, those before `begin` included.

    Raises:
        DataFileError: A file is damaged; the message says where.
        SourceError: An archive is damaged.
        OSError: A file cannot be read.
    """
    advance(sum(path.stat().st_size for path in inputs.paths[: begin.file]))
    cursor = begin
    for file in range(begin.file, len(inputs.paths)):
        if file > begin.file:
            cursor = Cursor(file, items=cursor.items)
        path = inputs.paths[file]
        match inputs.kind:
            case DataFormat.HCPE3:
                blocks = _read_games(path, cursor, advance, as_hcpe=inputs.as_rows)
            case DataFormat.RECORDS:
                blocks = _read_records(path, cursor, skipped or Skipped(), advance)
            case kind:
                blocks = _read_rows(path, ROWS[kind], cursor, advance)
        for block in blocks:
            cursor = block.after
            yield block


def _read_rows(path: Path, dtype: np.dtype[Any], begin: Cursor, advance: Callable[[int], None]) -> Iterator[Block]:
    rows = map_rows(path, dtype)
    items = begin.items
    advance(begin.place * dtype.itemsize)
    for place in range(begin.place, len(rows), ROWS_AT_ONCE):
        part = np.array(rows[place : place + ROWS_AT_ONCE])
        check_rows(part, path, place)
        advance(part.nbytes)
        after = Cursor(begin.file, place + len(part), 0, items + len(part))
        yield Block(part, items, after, path)
        items += len(part)


def check_rows(rows: NDArray[np.void], path: Path, first: int) -> None:
    """Refuse rows with a result or a move that cannot be.

    Raises:
        DataFileError: One has; the message names it.
    """
    if rows.dtype == HCP:
        return
    if rows.dtype == PSV:
        bad = (np.abs(rows["game_result"].astype(np.int16)) > 1) | (rows["move"] == 0)
        kind, names = PsvError, ("game_result", "move")
    else:
        bad = (rows["gameResult"] & RESULT_BITS == RESULT_BITS) | (rows["gameResult"] > _KNOWN_FLAGS)
        bad |= rows["bestMove16"] == 0
        kind, names = HcpeError, ("gameResult", "bestMove16")
    if bad.any():
        at = int(np.argmax(bad))
        result, move = (rows[at][name] for name in names)
        place = f"{path}, record {first + at} (offset {(first + at) * rows.dtype.itemsize})"
        raise kind(f"{place}: result {result} and move {move} cannot be")


def rows_of(block: Block) -> NDArray[np.void]:
    """The searched positions of a block as HCPE [N], with plain results.

    Raises:
        PsvError: A row of psv has no position; the message names it.
        VerbError: Records, and positions alone, are no rows.
    """
    content = block.content
    if isinstance(content, Games):
        rows = as_rows(content).records
    elif isinstance(content, list) or content.dtype == HCP:
        raise VerbError(f"{block.path}: there are no positions with evaluations in it")
    elif content.dtype == PSV:
        packed, moves = np.ascontiguousarray(content["sfen"]), np.ascontiguousarray(content["move"])
        for index, reason in _native.find_bad_records(packed, moves, psv=True)[:1]:
            number = block.after.place - len(block) + index
            raise PsvError(f"{block.path}, record {number} (offset {number * PSV.itemsize}): {reason}")
        rows = psv_to_hcpe(content)
    else:
        rows = np.array(content, HCPE)
    rows["gameResult"] &= RESULT_BITS
    return rows


def _read_games(path: Path, begin: Cursor, advance: Callable[[int], None], *, as_hcpe: bool) -> Iterator[Block]:
    items = begin.items
    advance(begin.place)
    for games in read_hcpe3(path, advance, (begin.place, begin.inner)):
        place = int(games.offsets[-1]) + int(game_sizes(games)[-1])
        content = as_rows(games).records if as_hcpe else games
        after = Cursor(begin.file, place, games.first + len(games), items + len(content))
        if len(content):
            yield Block(content, items, after, path)
        items += len(content)


def _read_records(path: Path, begin: Cursor, skipped: Skipped, advance: Callable[[int], None]) -> Iterator[Block]:
    items = begin.items
    for number, source in enumerate(iter_sources([path], advance)):
        if number < begin.place:
            continue
        if source.problem:
            skipped.add(f"{source.name}: {source.problem}")
            continue
        inner = begin.inner if number == begin.place else 0
        scanned = islice(scan_source(source), inner, None)
        while part := list(islice(scanned, RECORDS_AT_ONCE)):
            inner += len(part)
            records = [record for record in part if isinstance(record, Record)]
            for error in part:
                if isinstance(error, RecordError):
                    skipped.add(str(error))
            after = Cursor(begin.file, number, inner, items + len(records))
            if records:
                yield Block(records, items, after, path)
            items += len(records)


def select_moves(games: Games, kept: NDArray[np.bool_]) -> Games:
    """Games whose other moves (bool [P]) have no candidates: played, but nothing to learn from."""
    counts = games.candidate_counts()
    of_kept = np.repeat(kept, counts)
    ends = np.concatenate([[0], np.cumsum(np.where(kept, counts, 0))]).astype(np.uint64)
    return replace(
        games, candidates=ends, candidate_moves=games.candidate_moves[of_kept],
        candidate_visits=games.candidate_visits[of_kept],
    )  # fmt: skip


def select_games(games: Games, kept: NDArray[np.bool_]) -> Games:
    """Some of the games (bool [G])."""
    lengths = np.diff(games.plies.astype(np.int64))
    moves = np.repeat(kept, lengths)
    counts = games.candidate_counts()
    of_kept = np.repeat(moves, counts)
    return Games(
        games.path, games.first, games.offsets[kept], games.starts[kept], games.results[kept], games.opponents[kept],
        _starts(lengths[kept]).astype(np.uint64), games.hcps[moves], games.moves[moves], games.evals[moves],
        _starts(counts[moves]).astype(np.uint64), games.candidate_moves[of_kept], games.candidate_visits[of_kept],
    )  # fmt: skip
