"""Counts over files of training data: games, positions, different positions, results, plies, evaluations, ratings."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import EVAL_SCALE, MATE_CP
from fukayomi.data.convert.blocks import Block, position_hashes, read_blocks, rows_of
from fukayomi.data.formats.evaluations import Calibration, EvalTally, calibrate
from fukayomi.data.formats.games import PlayedGame, make_games, read_played
from fukayomi.data.formats.hcp import HCP
from fukayomi.data.formats.hcpe import HCPE, RESULT_BITS, ResultFlag
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.kinds import UNIQUE_MEMORY
from fukayomi.data.formats.psv import PSV
from fukayomi.data.jobs.job import Files, flat_bytes, opened
from fukayomi.data.records.reading import Dropped, Skipped
from fukayomi.files.disk import Room, raise_if_full
from fukayomi.listener import SILENT, Listener, counter
from fukayomi.shogi.record import Record, Result
from fukayomi.tabular import Tabular

_BUCKETS = 256
_BUCKET_BITS = 8
_POSITION_BYTES = 32
_REMEDY = "choose another folder for the positions (scratch), or do not count different positions (unique)"


class UniqueCounter:
    """Counts different positions. Use it as a context manager, which removes the file.

    The number is exact, and memory is bounded. Positions are kept whole, 32 bytes each: in memory and, if there are too
    many, in a file without a name, which vanishes with the process, however it ends. Whenever memory is full its
    positions go to the file, sorted into 256 buckets by a hash. At the end one bucket after the other is collected and
    sorted by the hash, and positions with the same hash are compared byte by byte.
    """

    def __init__(self, memory: int = UNIQUE_MEMORY, scratch: Path | None = None, hash_bits: int = 64) -> None:
        """Begin without positions.

        Args:
            memory: Bytes of positions to keep in memory before they go to the file. Sorting takes about 3/256 of the
                bytes of all positions.
            scratch: Folder for the file; None: the system's folder for temporary files.
            hash_bits: Bits of the hash that count; less than 64 only in tests.
        """
        self._memory, self._scratch = memory, scratch or Path(tempfile.gettempdir())
        self._mask = np.uint64((1 << hash_bits) - 1 << (64 - hash_bits))
        self._parts: list[NDArray[np.uint8]] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._ends: list[NDArray[np.int64]] = []  # of each write: positions up to the end of each bucket

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def check_room(self, positions: int) -> None:
        """Check that the disk has room for a number of positions.

        Raises:
            DiskError: There may be too little room.
        """
        if (size := positions * _POSITION_BYTES) >= self._memory:
            Room(size, 0, size).check(self._scratch, self._scratch, _REMEDY)

    def add(self, positions: NDArray[np.uint8]) -> None:
        """Add positions, uint8 [N, 32].

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written.
        """
        self._parts.append(np.array(positions))
        self._bytes += positions.nbytes
        if self._bytes >= self._memory:
            self._spill()

    def _spill(self) -> None:
        positions = np.concatenate(self._parts)
        self._parts, self._bytes = [], 0
        buckets = (self._hashes(positions) >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
        counts = np.bincount(buckets, minlength=_BUCKETS)
        try:
            if self._file is None:
                # Without a buffer: writes are large, and closing must not repeat what a full disk refused.
                self._file = tempfile.TemporaryFile(buffering=0, dir=self._scratch)  # noqa: SIM115  # see __exit__
            data = flat_bytes(positions[np.argsort(buckets, kind="stable")])
            while len(data):
                data = data[self._file.write(data) :]
        except OSError as error:
            raise_if_full(error, _REMEDY, self._scratch)
            raise
        self._ends.append(np.cumsum(counts))

    def _buckets(self) -> Iterator[NDArray[np.uint8]]:
        """The positions of each bucket, from the file."""
        assert self._file is not None
        before = np.cumsum([0, *(ends[-1] for ends in self._ends)])
        for bucket in range(_BUCKETS):
            parts: list[bytes] = []
            for ends, first in zip(self._ends, before.tolist(), strict=False):
                begin = int(ends[bucket - 1]) if bucket else 0
                self._file.seek((first + begin) * _POSITION_BYTES)
                parts.append(self._file.read((int(ends[bucket]) - begin) * _POSITION_BYTES))
            yield np.frombuffer(b"".join(parts), np.uint8).reshape(-1, _POSITION_BYTES)

    def _hashes(self, positions: NDArray[np.uint8]) -> NDArray[np.uint64]:
        return position_hashes(positions) & self._mask

    def count(self) -> int:
        """The number of different positions that were added.

        Raises:
            DiskError: The disk is full.
            OSError: The file cannot be written or read.
        """
        if self._file is None:
            return self._count(np.concatenate([np.zeros((0, _POSITION_BYTES), np.uint8), *self._parts]))
        if self._parts:
            self._spill()
        return sum(map(self._count, self._buckets()))

    def _count(self, positions: NDArray[np.uint8]) -> int:
        if not len(positions):
            return 0
        hashes = self._hashes(positions)
        order = np.argsort(hashes)
        hashes, positions = hashes[order], positions[order]
        same_hash = hashes[1:] == hashes[:-1]
        collided = same_hash & (positions[1:] != positions[:-1]).any(axis=1)
        count = len(hashes) - int(same_hash.sum())
        for value in np.unique(hashes[1:][collided]).tolist():
            first, last = (int(np.searchsorted(hashes, np.uint64(value), side)) for side in ("left", "right"))
            count += len({position.tobytes() for position in positions[first:last]}) - 1
        return count


PLY_BIN = 10
RATING_BIN = 100
NO_PLY = 0  # the ply of a psv record if it is not known

_RESULTS = {Result.BLACK_WIN: "black", Result.WHITE_WIN: "white", Result.DRAW: "draw", Result.UNKNOWN: "unknown"}


@dataclass(slots=True, repr=False)
class Statistics(Tabular):
    """Counts over files of one format. A histogram maps the lowest value of a bin to a count.

    As a table it has a row for each count; histograms and the calibration are attributes.
    """

    kind: str
    """Format of the files."""
    files: int
    games: int | None = None
    """None if the format has no games."""
    games_without_positions: int = 0
    """Games and records without positions to train on: no candidates, no scores, or no usable end."""
    moves: int | None = None
    """Moves of all games; None if the format has no games."""
    positions: int = 0
    """Positions with an evaluation and a result; in hcp files all positions."""
    unique: int | None = None
    """Different positions; None if they were not counted."""
    game_results: Counter[str] = field(default_factory=Counter[str])
    """Games by winner: black, white, draw, unknown."""
    game_ends: Counter[str] = field(default_factory=Counter[str])
    """Games by how they ended, if the format tells."""
    results: Counter[str] = field(default_factory=Counter[str])
    """Positions by the result of their game."""
    lengths: Counter[int] = field(default_factory=Counter[int])
    """Games by number of moves, in bins of 10."""
    plies: Counter[int] = field(default_factory=Counter[int])
    """Positions by move number, in bins of 10."""
    ratings: Counter[int] = field(default_factory=Counter[int])
    """Players of records by rating, in bins of 100."""
    mates: int = 0
    """Positions in which the side to move mates; not in the calibration."""
    mated: int = 0
    """Positions in which the side to move is mated; not in the calibration."""
    calibration: Calibration | None = None
    """Results by evaluation; None if there are no evaluations."""
    scale: float | None = None
    """The a for which 1 / (1 + exp(-eval / a)) is closest to the results; None if nothing fits."""
    skipped: Skipped = field(default_factory=Skipped)
    """Records that cannot be read."""

    def rows(self) -> Sequence[dict[str, Any]]:
        """The counts, by name."""
        counts = {
            "files": self.files, "games": self.games, "games without positions": self.games_without_positions,
            "moves": self.moves, "positions": self.positions, "different positions": self.unique,
            "mates": self.mates, "mated": self.mated, "scale": self.scale, "unreadable records": self.skipped.count,
            "copies of games": self.skipped.copies,
        }  # fmt: skip
        return [{"count": name, self.kind: value} for name, value in counts.items()]

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        found: dict[str, Any] = {
            "format": self.kind, "files": self.files, "games": self.games, "moves": self.moves,
            "games_without_positions": self.games_without_positions, "positions": self.positions,
            "unique_positions": self.unique, "unique_share": self.unique_share,
            "results": dict(self.results), "game_results": dict(self.game_results), "game_ends": dict(self.game_ends),
            "game_lengths": _sorted(self.lengths), "plies": _sorted(self.plies), "ratings": _sorted(self.ratings),
            "mates": self.mates, "mated": self.mated, "unreadable": self.skipped.count,
            "problems": self.skipped.messages, "copies": self.skipped.copies,
        }  # fmt: skip
        if self.calibration is not None:
            table = self.calibration
            columns = (table.centers, table.counts, table.win_rates, table.mean_evals)
            found["evaluations"] = [
                {"center": center, "positions": count, "win_rate": round(rate, 6), "mean": round(mean, 2)}
                for center, count, rate, mean in zip(*(column.tolist() for column in columns), strict=True)
            ]
            found["scale"] = self.scale
            found["calibration_error"] = {
                "dlshogi": round(table.error(EVAL_SCALE), 6),
                "fitted": round(table.error(self.scale), 6) if self.scale else None,
            }
        return found

    @property
    def unique_share(self) -> float | None:
        """Different positions divided by all; None if they were not counted."""
        return None if self.unique is None or not self.positions else round(self.unique / self.positions, 6)


def _sorted(counts: Counter[int]) -> dict[str, int]:
    return {str(low): counts[low] for low in sorted(counts)}


def measure(
    inputs: Files,
    *,
    unique: bool = True,
    memory: int = UNIQUE_MEMORY,
    scratch: Path | str | None = None,
    listener: Listener = SILENT,
) -> Statistics:
    """Read files once and count what is in them.

    Args:
        inputs: hcp, hcpe, psv, hcpe3 or records, all of one format.
        unique: Count different positions, exactly.
        memory: Bytes of positions to keep in memory before they go to a temporary file.
        scratch: Folder for that file; None: the system's folder for temporary files.
        listener: Hears of the progress.

    Raises:
        ValueError: An input is damaged or has another format.
        DiskError: There is no room for the temporary file.
        OSError: A file cannot be read or written.
    """
    inputs = opened(inputs)
    statistics, tally = Statistics(str(inputs.kind), len(inputs.paths)), EvalTally()
    advance = counter(listener, "counting", inputs.bytes)
    with UniqueCounter(memory, None if scratch is None else Path(scratch)) as positions:
        if unique and inputs.rows is not None:
            positions.check_room(inputs.bytes // inputs.rows.least_bytes)
        for block in read_blocks(inputs, skipped=statistics.skipped, advance=advance):
            _add(statistics, block, tally, positions if unique else None)
        if unique:
            listener.progress("comparing positions", 0, 1)
            statistics.unique = positions.count()
    if tally.counts.any():
        statistics.calibration, statistics.scale = calibrate(tally), tally.fit()
    return statistics


def _add(statistics: Statistics, block: Block, tally: EvalTally, unique: UniqueCounter | None) -> None:
    content = block.content
    if isinstance(content, list):
        content = _add_records(statistics, content)
        block = Block(content, block.first, block.after, block.path)
    elif isinstance(content, Games):
        statistics.games = (statistics.games or 0) + len(content)
        statistics.game_results.update(_named(content.results & np.uint8(RESULT_BITS)))
        for game in content:
            names = [flag.name.lower() for flag in ResultFlag if flag in game.flags and flag.name]
            statistics.game_ends["+".join(names) or "no flag"] += 1
    if isinstance(content, Games):
        _add_games(statistics, content)
    elif content.dtype == HCP:
        statistics.positions += len(content)
        if unique is not None:
            unique.add(content["hcp"])
        return
    elif content.dtype == PSV:
        known = content["gamePly"][content["gamePly"] != NO_PLY].astype(np.int64)
        _add_bins(statistics.plies, known, PLY_BIN)
    _add_rows(statistics, rows_of(block), tally, unique)


def _add_rows(statistics: Statistics, rows: NDArray[np.void], tally: EvalTally, unique: UniqueCounter | None) -> None:
    assert rows.dtype == HCPE
    statistics.positions += len(rows)
    statistics.results.update(_named(rows["gameResult"]))
    evals = rows["eval"].astype(np.int64)
    statistics.mates += int((evals >= MATE_CP).sum())
    statistics.mated += int((evals <= -MATE_CP).sum())
    tally.add(rows)
    if unique is not None:
        unique.add(rows["hcp"])


def _add_games(statistics: Statistics, games: Games) -> None:
    lengths = np.diff(games.plies.astype(np.int64))
    statistics.moves = (statistics.moves or 0) + int(lengths.sum())
    _add_bins(statistics.lengths, lengths, PLY_BIN)
    learnt = games.candidate_counts() > 0
    _add_bins(statistics.plies, games.ply_in_game()[learnt] + 1, PLY_BIN)
    used = np.bincount(games.game_of_ply()[learnt], minlength=len(games)) > 0
    statistics.games_without_positions += int((~used).sum())


def _add_records(statistics: Statistics, records: list[Record]) -> Games:
    """Count what only records tell; returns the games with positions to train on."""
    played: list[PlayedGame] = []
    statistics.games = (statistics.games or 0) + len(records)
    for record in records:
        statistics.game_results[_RESULTS[record.result]] += 1
        statistics.game_ends[str(record.termination)] += 1
        for rating in (record.black_rating, record.white_rating):
            if rating is not None and isfinite(rating):
                statistics.ratings[int(rating // RATING_BIN) * RATING_BIN] += 1
        game = read_played(record)
        if isinstance(game, Dropped) and game.is_problem:
            statistics.skipped.add_problem(game.message)
        elif isinstance(game, Dropped):
            statistics.games_without_positions += 1
            statistics.moves = (statistics.moves or 0) + len(record)
            _add_bins(statistics.lengths, np.array([len(record)]), PLY_BIN)
        else:
            played.append(game)
    return make_games(played, path="records")


def _named(results: NDArray[np.uint8]) -> Counter[str]:
    counts = np.bincount(results, minlength=3).tolist()
    return Counter({_RESULTS[Result(value)]: count for value, count in enumerate(counts) if count})


def _add_bins(counts: Counter[int], values: NDArray[np.int64], width: int) -> None:
    numbers, found = np.unique(values // width * width, return_counts=True)
    counts.update(dict(zip(numbers.tolist(), found.tolist(), strict=True)))
