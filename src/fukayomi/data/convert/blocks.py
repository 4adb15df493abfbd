"""Inputs of the verbs (split, shuffle, filter and so on): items of files of one format, in blocks, and their keys.

Reading can begin at any place. Rows (hcp, hcpe, hcpe2, psv) are checked for invalid results and moves; their positions
are not decoded (`fukayomi data check` does that). Games of hcpe3 are replayed. Records of any format are read, and
written as CSA.

Keys are random numbers without state: 64 bits that depend only on a seed and on an item. A job that resumes in the
middle, or reads in larger parts, gets the same keys.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.formats import games, psv
from fukayomi.data.formats.format import Advance, DataFileError, Format, Place, RowFormat, ignore, position_keys
from fukayomi.data.formats.hcpe import without_flags
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.table import FORMATS, UnknownDataError, as_rows, detect_data, refusal, split_dropped
from fukayomi.data.records.copies import RecordColumns, SeenGames, start_key
from fukayomi.data.records.reading import Skipped
from fukayomi.data.records.sources import find_files
from fukayomi.shogi.formats import write_csa
from fukayomi.shogi.record import Record

VERB_KINDS = (DataFormat.HCP, DataFormat.HCPE, DataFormat.PSV, DataFormat.HCPE3, DataFormat.RECORDS)
"""The formats that the verbs read; hcpe is also hcpe2."""

Content: TypeAlias = NDArray[np.void] | Games | list[Record]


class VerbError(DataFileError):
    """A verb cannot do what was asked with these files."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Files of one format."""

    paths: tuple[Path, ...]
    kind: DataFormat
    """HCP, HCPE (also for hcpe2), PSV, HCPE3 or RECORDS."""
    passed_over: tuple[str, ...] = ()
    """Files of other formats in the folders, with the reasons."""
    as_rows: bool = False
    """True if games are read as rows, HCPE, of their searched moves, and averages as rows of their positions."""

    @property
    def format(self) -> Format:
        """Description of the format."""
        return FORMATS[self.kind]

    @property
    def rows(self) -> RowFormat | None:
        """Description of the format if its files are rows of a fixed size, else None."""
        found = self.format
        return found if isinstance(found, RowFormat) else None

    @property
    def written(self) -> DataFormat:
        """Format of the output."""
        return DataFormat.HCPE if self.as_rows else self.kind

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(path.stat().st_size for path in self.paths)

    @property
    def copied_bytes(self) -> int | None:
        """Size of all items in an output; None if they are converted."""
        return None if self.kind is DataFormat.RECORDS or self.as_rows else self.bytes

    def check_target(self, out: Path) -> None:
        """Check that an output can be written and that its suffix fits the format.

        Raises:
            VerbError: It cannot, or does not.
        """
        suffixes = (".csa",) if self.written is DataFormat.RECORDS else FORMATS[self.written].suffixes
        if out.suffix.lower() not in suffixes:
            raise VerbError(f"{out}: the output is {self.written}; name it *{suffixes[0]}")
        if out.is_dir() or not out.absolute().parent.is_dir():
            raise VerbError(f"{out} cannot be written: it is a folder, or its folder is missing")
        if any(out.absolute() == path.absolute() for path in self.paths):
            raise VerbError(f"{out} is also an input; give the output another name")


def open_inputs(
    paths: Sequence[Path], kind: DataFormat | None = None, taken: Sequence[DataFormat] = VERB_KINDS
) -> Inputs:
    """Find the files among the inputs, and their format.

    Args:
        paths: Files and folders; for records also archives.
        kind: Format of all files; found by their content if None.
        taken: The formats that the caller reads; hcpe is also hcpe2.

    Raises:
        VerbError: The files have several formats, or one that is not taken. Files in folders that hold no such data
            (SFEN lines, books) are passed over.
        DataFileError: A file has no known format.
        SourceError: A file is missing.
        OSError: A file cannot be read.
    """
    found: dict[Path, DataFormat] = {}
    others: dict[Path, DataFormat] = {}
    for path in find_files(paths):
        try:
            found[path] = _layout(kind or detect_data(path))
        except UnknownDataError:
            if path in paths:
                raise  # other files in a folder are skipped
    names = [name for each in taken for name in ((each, "hcpe2") if each is DataFormat.HCPE else (each,))]
    expected = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    if any(each in taken for each in found.values()):
        others = {path: each for path, each in found.items() if each not in taken and path not in paths}
        found = {path: each for path, each in found.items() if path not in others}
    kinds = sorted(set(found.values()))
    if len(kinds) != 1:
        first = {kind: next(path for path in found if found[path] is kind) for kind in kinds}
        named = ", ".join(f"{path} is {kind}" for kind, path in first.items())
        raise VerbError(f"inputs must have one format: {named or 'no file has a known format'}")
    if kinds[0] not in taken:
        raise VerbError(refusal(next(iter(found)), kinds[0], expected))
    return Inputs(tuple(found), kinds[0], tuple(refusal(path, each, expected) for path, each in others.items()))


def _layout(kind: DataFormat) -> DataFormat:
    return DataFormat.HCPE if kind is DataFormat.HCPE2 else kind


class Cursor(NamedTuple):
    """A point between two items of the inputs."""

    file: int = 0
    """Index of the file."""
    outer: int = 0
    """`Place.outer` in the file."""
    inner: int = 0
    """`Place.inner` in the file."""
    items: int = 0
    """Items before it in all files."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """N consecutive items of the inputs."""

    content: Content
    """Rows (HCP, HCPE or PSV [N]), games, or records."""
    first: int
    """Number of items before it."""
    after: Cursor
    """Start of the next block."""
    path: Path
    """File of the items."""

    def __len__(self) -> int:
        """Number of items."""
        return len(self.content)

    @property
    def indices(self) -> NDArray[np.uint64]:
        """Number of each item in all inputs: uint64 [N]."""
        return np.arange(self.first, self.first + len(self), dtype=np.uint64)

    def data(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The bytes of the items in a file, and where each begins: uint8 [B] and int64 [N + 1]."""
        content = self.content
        if isinstance(content, Games):
            return np.frombuffer(content.write(), np.uint8), _starts(content.sizes())
        if isinstance(content, list):
            texts = [(write_csa(record) + "/\n").encode() for record in content]
            sizes = np.array([len(text) for text in texts], np.int64)
            return np.frombuffer(b"".join(texts), np.uint8), _starts(sizes)
        data = np.ascontiguousarray(content).view(np.uint8).reshape(-1)
        return data, np.arange(len(content) + 1, dtype=np.int64) * content.dtype.itemsize

    def take(self, chosen: NDArray[np.bool_]) -> bytes:
        """The bytes of the chosen items (bool [N]) in a file."""
        if not chosen.any():
            return b""
        if isinstance(self.content, np.ndarray):
            return self.content[chosen].tobytes()
        data, starts = self.data()
        whole = data.tobytes()
        return b"".join(whole[starts[index] : starts[index + 1]] for index in np.flatnonzero(chosen).tolist())


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def read_blocks(
    inputs: Inputs,
    begin: Cursor = Cursor(),  # noqa: B008  # a NamedTuple never changes
    skipped: Skipped | None = None,
    advance: Advance = ignore,
) -> Iterator[Block]:
    """Read the items of all inputs from some place on.

    Args:
        inputs: The files.
        begin: Where to begin.
        skipped: Receives the records that cannot be read, copies of games, and files that were passed over; damage in
            other formats is raised.
        advance: Called with the number of bytes read since the last call, those before `begin` included.

    Raises:
        DataFileError: A file is damaged, or no record can be read; the message says where.
        SourceError: An archive is damaged.
        OSError: A file cannot be read.
    """
    skipped = Skipped() if skipped is None else skipped
    for message in inputs.passed_over if begin == Cursor() else ():
        skipped.add_problem(message)
    if inputs.kind is DataFormat.RECORDS:
        yield from _read_records(inputs, begin, skipped, advance)
        return
    advance(sum(path.stat().st_size for path in inputs.paths[: begin.file]))
    place, items = Place(begin.outer, begin.inner), begin.items
    for file, path in list(enumerate(inputs.paths))[begin.file :]:
        for content, after in inputs.format.read(path, place, advance):
            if inputs.as_rows:
                content = without_flags(as_rows(content).records)
            if len(content):
                yield Block(content, items, Cursor(file, *after, items + len(content)), path)
            items += len(content)
        place = Place()


def _read_records(inputs: Inputs, begin: Cursor, skipped: Skipped, advance: Advance) -> Iterator[Block]:
    """The records of all inputs, each game once. What is before `begin` is read again: it may have copies later on."""
    seen, items = SeenGames(), 0
    for file, path in enumerate(inputs.paths):
        for content, after in games.FORMAT.scan(path, seen, advance):
            records, dropped = split_dropped(content)
            items += len(records)
            here = Cursor(file, *after, items)
            if here[:3] <= begin[:3]:
                continue
            for each in dropped:
                skipped.add(each)
            if records:
                yield Block(records, items - len(records), here, path)
    if items == 0 and skipped.count:
        raise VerbError(f"no record can be read: {skipped.messages[0]}")


def rows_of(block: Block) -> NDArray[np.void]:
    """The positions of a block with their targets, HCPE [N], without flags in the results; bestMove16 0 is no move.

    Raises:
        DataFileError: A position of psv is impossible, or there are only positions; the message names the place.
    """
    content = block.content
    if isinstance(content, np.ndarray) and content.dtype == psv.PSV:
        psv.FORMAT.raise_first_fault(block.path, block.after.outer - len(block), psv.FORMAT.faults(content))
    try:
        return without_flags(as_rows(content, moveless=True).records)
    except DataFileError as error:
        raise VerbError(f"{block.path}: {error}") from error


_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd, so multiplication maps no two 64-bit numbers to one


def seeded_keys(numbers: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """A key for each number: uint64 [N]; distinct numbers have distinct keys.

    Args:
        numbers: uint64 [N].
        seed: Any integer; its lowest 64 bits count.
    """
    start = _mix(np.array([seed & 0xFFFF_FFFF_FFFF_FFFF], np.uint64) + _STEP)
    return _mix(_mix(numbers * _STEP + start) ^ start)


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    # splitmix64's finaliser (Steele, Lea, Flood, 2014); it maps no two numbers to one
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def index_keys(block: Block, seed: int) -> NDArray[np.uint64]:
    """A key for each item of a block, by its number in all inputs: uint64 [N]."""
    return seeded_keys(block.indices, seed)


def packed_positions(content: Content) -> NDArray[np.uint8] | None:
    """The positions of rows, uint8 [N, 32], packed as in their format; None for games and records."""
    if not isinstance(content, np.ndarray):
        return None
    names = content.dtype.names or ()
    return np.ascontiguousarray(content["hcp" if "hcp" in names else "sfen"])


def position_hashes(positions: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A 64-bit hash of each position: uint8 [N, 32] to uint64 [N]."""
    return position_keys(positions)


def game_hashes(content: Games | list[Record]) -> list[bytes]:
    """A 16-byte hash of the start and the moves of each game; evaluations and comments do not count.

    It is the same for a game in any format.
    """
    if isinstance(content, Games):
        return [game_hash(game.start, game.moves) for game in content]
    return [game_hash(start_key(record.initial_sfen), RecordColumns.of(record).moves) for record in content]


def game_hash(start: bytes, moves: NDArray[np.uint16]) -> bytes:
    """The hash of a game: the hcp of its first position, and its moves as `Move.raw`, uint16 [N]."""
    return hashlib.blake2b(start + moves.astype("<u2").tobytes(), digest_size=16).digest()


def hash_numbers(hashes: list[bytes]) -> NDArray[np.uint64]:
    """Hashes of games as numbers: uint64 [N]."""
    return np.array([int.from_bytes(key[:8], "little") for key in hashes], np.uint64)


def held_out(hashes: list[bytes], one_in: int) -> NDArray[np.bool_]:
    """Mask of the games that are held out: about one in `one_in`, a function of start and moves alone; bool [N]."""
    return hash_numbers(hashes) % np.uint64(one_in) == 0
