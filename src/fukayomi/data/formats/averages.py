"""avg: each position once, with the sums over all its searches and games.

All sums are whole numbers, so the bytes do not depend on the order of the inputs, nor on whether they were averaged in
parts. Positions are sorted by their hash, which scatters those of one game.

A file is a header of 64 bytes, all positions, and all moves:

| part | offset | type | field | meaning |
|---|---|---|---|---|
| header | 0 | char[8] | magic | `fukayavg` |
| | 8 | uint32 | version | 2 |
| | 12 | uint32 | crc32 | of everything after the header |
| | 16 | uint64 | positions | number of positions |
| | 24 | uint64 | moves | number of moves |
| | 32 | uint32 | weighing | 1 evenly, 0 by visits |
| position | 0 | uint8[32] | hcp | position |
| | 32 | uint32[3] | draws, black_wins, white_wins | times seen in such games |
| | 44 | uint32 | moves | number of its moves |
| | 48 | uint64 | value | sum of win probabilities by evaluation, from the side to move; 2^32 is 1 |
| | 56 | uint64 | first_move | index of its first move |
| move | 0 | uint16 | move | as in hcpe |
| | 4 | uint32 | played | times played |
| | 8 | uint64 | visits | sum of its shares, 2^32 for each search; weighed by visits, sum of its visits |
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi._native import EVAL_SCALE, MATE_CP, MAX_MOVES
from fukayomi.data.formats.cache import CANDIDATE, CachedPositions
from fukayomi.data.formats.cache import POSITION as CACHED
from fukayomi.data.formats.format import START, Advance, DataFileError, Format, Part, Place, ignore
from fukayomi.data.formats.hcpe import HCPE, LAST_MOVE
from fukayomi.data.formats.kinds import DataFormat, Weighing
from fukayomi.errors import InvalidValueError
from fukayomi.shogi.record import Result
from fukayomi.tabular import counted

POSITION = np.dtype(
    [
        ("hcp", "u1", (32,)),
        ("draws", "<u4"),
        ("black_wins", "<u4"),
        ("white_wins", "<u4"),
        ("moves", "<u4"),
        ("value", "<u8"),
        ("first_move", "<u8"),
    ]
)
MOVE = np.dtype([("move", "<u2"), ("unused", "<u2"), ("played", "<u4"), ("visits", "<u8")])
HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("crc32", "<u4"),
        ("positions", "<u8"),
        ("moves", "<u8"),
        ("weighing", "<u4"),
        ("unused", "u1", (28,)),
    ]
)
MAGIC = b"fukayavg"
VERSION = 2
VALUE_ONE = 1 << 32
"""Unit of values, which are added up as whole numbers."""
_CHECKED_AT_ONCE = 1 << 24  # bytes
_READ_AT_ONCE = 1 << 16  # positions


class AveragesError(DataFileError):
    """A file of averaged positions is damaged or of another kind; the message names the file and what is wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """P averaged positions with M moves in all; both arrays may be memory maps."""

    positions: NDArray[np.void]
    """POSITION [P], sorted by hash, then hcp."""
    moves: NDArray[np.void]
    """MOVE [M]; the moves of a position are adjacent and sorted by number."""

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.positions)

    def part(self, begin: int, end: int) -> "Averages":
        """Positions `begin` to `end` with their moves, renumbered from 0."""
        positions = np.array(self.positions[begin:end])
        if len(positions) == 0:
            return Averages(positions, self.moves[:0])
        first = positions["first_move"][0]
        last = positions["first_move"][-1] + positions["moves"][-1]
        positions["first_move"] -= first
        return Averages(positions, self.moves[int(first) : int(last)])

    def take(self, indices: NDArray[np.int64]) -> "Averages":
        """The positions with these numbers (int64 [N]), in this order, with their moves, renumbered from 0.

        Raises:
            AveragesError: The moves of a position are missing.
        """
        positions = np.array(self.positions[indices])
        firsts: NDArray[np.uint64] = positions["first_move"]
        counts: NDArray[np.int64] = positions["moves"].astype(np.int64)
        there = len(self.moves)
        if (counts > MAX_MOVES).any() or (firsts > there).any() or (firsts + counts.astype(np.uint64) > there).any():
            raise AveragesError("its moves are missing")
        starts = np.cumsum(counts) - counts
        rows = np.repeat(firsts.astype(np.int64) - starts, counts) + np.arange(int(counts.sum()))
        positions["first_move"] = starts
        return Averages(positions, np.array(self.moves[rows]))

    def counts(self) -> NDArray[np.int64]:
        """Number of times each position was seen: int64 [P]."""
        games = self.positions
        return games["draws"].astype(np.int64) + games["black_wins"] + games["white_wins"]

    def values(self) -> NDArray[np.float64]:
        """Mean win probability by evaluation, for the side to move, 0 to 1: float64 [P]."""
        return self.positions["value"] / VALUE_ONE / self.counts()

    def evals(self) -> NDArray[np.int16]:
        """The evaluations that mean these values, centipawns from the side to move: int16 [P]; 0 and 1 are mates."""
        values = self.values()
        with np.errstate(divide="ignore"):
            evals = np.rint(EVAL_SCALE * (np.log(values) - np.log1p(-values)))
        return np.clip(evals, -MATE_CP, MATE_CP).astype(np.int16)

    def results(self) -> NDArray[np.float64]:
        """Mean result for the side to move, 0 to 1, a draw as 0.5: float64 [P]."""
        white_moves = (self.positions["hcp"][:, 0] & 1) != 0
        won = np.where(white_moves, self.positions["white_wins"], self.positions["black_wins"])
        return (won + self.positions["draws"] * 0.5) / self.counts()

    def shares(self, temperature: float = 1.0) -> NDArray[np.float64]:
        """The share of each move in its position: float64 [M]; the shares of a position add up to 1.

        Shares are proportional to visits, or to how often the moves were played in positions without visits.

        Args:
            temperature: Shares are raised to 1 / temperature and normalized; 0 gives all to the largest, the first of
                equal ones.

        Raises:
            ValueError: The temperature is negative, or the moves include those of other positions.
        """
        if temperature < 0:
            raise InvalidValueError(f"the temperature must be 0 or more, not {temperature}")
        counts = self.positions["moves"].astype(np.int64)
        if counts.sum() != len(self.moves):
            raise InvalidValueError(
                "the moves include those of other positions; use `part` or `take` to select positions"
            )
        if len(counts) == 0:
            return np.zeros(0)
        starts = self.positions["first_move"].astype(np.int64)
        visits = self.moves["visits"].astype(np.float64)
        unsearched = np.repeat(np.add.reduceat(visits, starts) == 0, counts)
        weights = np.where(unsearched, self.moves["played"], visits)
        greatest = np.repeat(np.maximum.reduceat(weights, starts), counts)
        if temperature == 0:
            shares = np.zeros(len(weights))
            candidates = np.flatnonzero(weights == greatest)
            owner = np.repeat(np.arange(len(counts)), counts)[candidates]
            shares[candidates[np.unique(owner, return_index=True)[1]]] = 1
            return shares
        powers = (weights / greatest) ** (1 / temperature)
        return powers / np.repeat(np.add.reduceat(powers, starts), counts)


def read_averages(path: Path | str) -> Averages:
    """Map a file into memory, read-only. Only header and size are checked; `check_averages` checks the rest.

    Raises:
        AveragesError: The file does not hold averaged positions.
        OSError: The file cannot be read.
    """
    path = Path(path)
    header = _read_header(path)
    positions, moves = int(header["positions"]), int(header["moves"])
    expected = HEADER.itemsize + positions * POSITION.itemsize + moves * MOVE.itemsize
    if (size := path.stat().st_size) != expected:
        raise AveragesError(
            f"{path}: {counted(positions, 'position')} and {counted(moves, 'move')} make {expected} bytes, not {size}"
        )
    return Averages(
        _mapped(path, POSITION, HEADER.itemsize, positions),
        _mapped(path, MOVE, HEADER.itemsize + positions * POSITION.itemsize, moves),
    )


def read_weighing(path: Path | str) -> Weighing:
    """Weighing of the visits in a file. Files of different weighings cannot be averaged together.

    Raises:
        AveragesError: The file does not hold averaged positions.
        OSError: The file cannot be read.
    """
    return Weighing.EVENLY if _read_header(Path(path))["weighing"] else Weighing.BY_VISITS


def _read_header(path: Path) -> np.void:
    with path.open("rb") as file:
        head = file.read(HEADER.itemsize)
    if len(head) < HEADER.itemsize or not head.startswith(MAGIC):
        raise AveragesError(f"{path} is not a file of averaged positions: it does not begin with {MAGIC.decode()!r}")
    header = np.frombuffer(head, HEADER)[0]
    if header["version"] != VERSION:
        raise AveragesError(f"{path} has version {header['version']} of the format; this program reads {VERSION}")
    if header["weighing"] not in {weighing.number for weighing in Weighing}:
        raise AveragesError(f"{path} has the unknown weighing {header['weighing']}")
    return header


def check_averages(path: Path | str, *, hash_bits: int = 64, advance: Advance = ignore) -> None:
    """Read a whole file; compare its checksum, and check its order and every field.

    Whether positions are possible and moves legal is not checked; reading the format does that.

    Args:
        path: The file.
        hash_bits: Bits of the hash by which it is sorted; less than 64 only in tests.
        advance: Called with the number of bytes read since the last call.

    Raises:
        AveragesError: The file does not hold averaged positions, or is damaged; the message names it and the position.
        OSError: The file cannot be read.
    """
    path = Path(path)
    whole = read_averages(path)
    crc = 0
    with path.open("rb") as file:
        header = np.frombuffer(file.read(HEADER.itemsize), HEADER)[0]
        while part := file.read(_CHECKED_AT_ONCE):
            crc = zlib.crc32(part, crc)
            advance(len(part))
    if crc != header["crc32"]:
        raise AveragesError(f"{path} is damaged: its checksum is {crc:08x} instead of {header['crc32']:08x}")
    move = 0
    for first in range(0, len(whole), _READ_AT_ONCE):
        positions = np.array(whole.positions[max(0, first - 1) : first + _READ_AT_ONCE])
        _check_order(path, max(0, first - 1), positions, hash_bits)
        positions = positions[min(1, first) :]
        move = _check_links(path, first, positions, move, len(whole.moves))
        _check_sums(path, first, whole.part(first, first + _READ_AT_ONCE))
        whole = read_averages(path)  # the pages of the old map would count as memory of this process
    if move != len(whole.moves):
        raise AveragesError(f"{path}: its positions have {counted(move, 'move')}, and the file has {len(whole.moves)}")


def _check_order(path: Path, begin: int, positions: NDArray[np.void], hash_bits: int) -> None:
    """Check that positions [P], from number `begin` of the file on, are sorted and different."""
    packed = np.ascontiguousarray(positions["hcp"])
    keys = _native.hash_keys(packed, hash_bits)
    is_wrong = keys[1:] < keys[:-1]
    for at in np.flatnonzero(keys[1:] == keys[:-1]).tolist():
        is_wrong[at] = packed[at + 1].tobytes() <= packed[at].tobytes()
    _raise_first(path, begin + 1, is_wrong, "it is not sorted behind the position before it")


def _check_links(path: Path, begin: int, positions: NDArray[np.void], move: int, moves: int) -> int:
    """Check that the moves of positions [P] follow each other from `move` on; returns where the next ones begin."""
    counts = positions["moves"].astype(np.uint64)
    ends = move + np.cumsum(counts)
    is_wrong = (counts == 0) | (counts > MAX_MOVES) | (positions["first_move"] != ends - counts) | (ends > moves)
    _raise_first(path, begin, is_wrong, "no moves, too many, or those of another one")
    return int(ends[-1])


def _check_sums(path: Path, begin: int, part: Averages) -> None:
    """Check that the sums of positions with their moves are possible."""
    counts = part.counts().astype(np.uint64)
    is_wrong = (counts == 0) | (counts > np.iinfo(np.uint32).max)
    _raise_first(path, begin, is_wrong, "never seen, or more often than 32 bits can count")
    is_wrong = part.positions["value"] > counts * VALUE_ONE
    _raise_first(path, begin, is_wrong, "the sum of its values is more than 1 for each time it was seen")
    starts = part.positions["first_move"].astype(np.int64)
    moves = part.moves["move"]
    bad = (moves == 0) | (moves > LAST_MOVE)
    bad[1:] |= moves[1:] <= moves[:-1]
    bad[starts] = (moves[starts] == 0) | (moves[starts] > LAST_MOVE)
    _raise_first(path, begin, np.logical_or.reduceat(bad, starts), "its moves are impossible or not sorted")
    played = np.add.reduceat(part.moves["played"].astype(np.uint64), starts)
    _raise_first(path, begin, played != counts, "its moves were not played as often as it was seen")
    visits = np.add.reduceat(part.moves["visits"].astype(np.float64), starts)  # whole numbers could overflow
    is_wrong = visits > counts.astype(np.float64) * VALUE_ONE
    _raise_first(path, begin, is_wrong, "the visits of its moves are more than 2^32 for each time it was seen")


def _raise_first(path: Path, begin: int, is_wrong: NDArray[np.bool_], reason: str) -> None:
    """Raise the first of the errors ([P]) in positions from number `begin` of the file on."""
    if is_wrong.any():
        number = begin + int(np.argmax(is_wrong))
        offset = HEADER.itemsize + number * POSITION.itemsize
        raise AveragesError(f"{path}, position {number} (offset {offset}): {reason}")


def header_bytes(positions: int, moves: int, crc32: int, weighing: Weighing = Weighing.EVENLY) -> bytes:
    """The 64 bytes at the beginning of a file."""
    header = np.zeros(1, HEADER)
    header["magic"], header["version"], header["crc32"] = MAGIC, VERSION, crc32
    header["positions"], header["moves"], header["weighing"] = positions, moves, weighing.number
    return header.tobytes()


def _mapped(path: Path, dtype: np.dtype[np.void], offset: int, count: int) -> NDArray[np.void]:
    if count == 0:
        return np.empty(0, dtype)  # mmap refuses an empty map
    return np.memmap(path, dtype, "r", offset, (count,))


def check_part(path: Path, begin: int, part: Averages) -> None:
    """Check everything but checksum and order: all sums, that positions are possible, and most visited moves legal.

    Args:
        path: The file, for the message.
        begin: Number of the first position in the file.
        part: One position or more, with moves that are numbered from 0.

    Raises:
        AveragesError: A position is impossible, its most visited move is illegal, or its sums or moves are.
    """
    _check_links(path, begin, part.positions, 0, len(part.moves))
    _check_sums(path, begin, part)
    moves = np.ascontiguousarray(part.moves["move"][_most_visited(part)])
    for index, reason in _native.find_bad_records(np.ascontiguousarray(part.positions["hcp"]), moves)[:1]:
        offset = HEADER.itemsize + (begin + index) * POSITION.itemsize
        raise AveragesError(f"{path}, position {begin + index} (offset {offset}): {reason}")


def averages_to_records(averages: Averages) -> NDArray[np.void]:
    """Convert averaged positions to rows of hcpe.

    The evaluation is the one that means the mean value. The move is the most visited one (without visits, the one
    played most often; of equal ones, the lowest number). The result is the most frequent one, a draw if two are equally
    frequent, as with `fukayomi data uniq --mode mode`.

    Args:
        averages: P positions with all their moves.

    Returns:
        HCPE [P].
    """
    positions = averages.positions
    records = np.zeros(len(positions), HCPE)
    records["hcp"], records["eval"] = positions["hcp"], averages.evals()
    records["bestMove16"] = averages.moves["move"][_most_visited(averages)]
    draws, black, white = (positions[name] for name in ("draws", "black_wins", "white_wins"))
    black_won, white_won = (black > draws) & (black > white), (white > draws) & (white > black)
    records["gameResult"] = np.where(white_won, Result.WHITE_WIN, np.where(black_won, Result.BLACK_WIN, Result.DRAW))
    return records


def averages_to_cache(averages: Averages, temperature: float = 1.0) -> CachedPositions:
    """Convert averaged positions to those of an hcpe3 cache.

    A cache has sums of values, of results, and of each move's share times the count, each rounded once to float32; an
    .avg has them exactly.

    Args:
        averages: P positions with all their moves.
        temperature: See `Averages.shares`.

    Raises:
        AveragesError: A position was seen more often than the cache can count.
    """
    counts = averages.counts()
    if len(counts) and counts.max() > np.iinfo(np.int32).max:
        raise AveragesError(f"a position was seen more often ({counts.max()} times) than an hcpe3 cache can count")
    positions = np.zeros(len(averages), CACHED)
    positions["hcp"], positions["count"] = averages.positions["hcp"], counts
    positions["value"] = averages.positions["value"] / VALUE_ONE
    positions["result"] = counts * averages.results()
    owners = averages.positions["moves"].astype(np.int64)
    candidates = np.zeros(len(averages.moves), CANDIDATE)
    candidates["move16"] = averages.moves["move"]
    candidates["prob"] = averages.shares(temperature) * np.repeat(counts, owners)
    return CachedPositions(positions, np.concatenate([[0], np.cumsum(owners)]), candidates)


def _most_visited(averages: Averages) -> NDArray[np.intp]:
    """Index of each position's most visited move, the first of equal ones: [P]."""
    return np.flatnonzero(averages.shares(temperature=0))


@dataclass(frozen=True, kw_only=True, eq=False)
class AveragesFormat(Format):
    """Averaged positions."""

    def likeness(self, path: Path, head: bytes) -> float:
        """2 for the mark of the format, which no other format has."""
        del path
        return 2.0 * head.startswith(MAGIC)

    def read(self, path: Path, begin: Place = START, advance: Advance = ignore) -> Iterator[Part]:
        """Yield `Averages`, checked, after comparing the checksum; `Place` counts positions."""
        check_averages(path)
        whole = read_averages(path)
        for first in range(begin.outer, len(whole), _READ_AT_ONCE):
            part = whole.part(first, first + _READ_AT_ONCE)
            check_part(path, first, part)
            yield Part(part, Place(first + len(part)))
            advance(part.positions.nbytes + part.moves.nbytes)


FORMAT = AveragesFormat(
    kind=DataFormat.AVERAGES,
    suffixes=(".avg",),
    contents="averaged positions (avg)",
    used_by="fukayomi data average merges such files, data convert makes hcpe of them, "
    "train, data check and data print read them",
)
