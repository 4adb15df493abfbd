"""The inputs of a deduplication: rows of hcpe, searched positions of hcpe3, averaged positions."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from io import FileIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.averages import read_averages
from fukayomi.data.formats.hcpe import HCPE, RESULT_BITS, check_hcpe, read_hcpe
from fukayomi.data.formats.hcpe3 import read_hcpe3
from fukayomi.data.formats.table import UnknownDataError, detect_data, refusal
from fukayomi.data.jobs.buckets import flat_bytes
from fukayomi.errors import InvalidValueError

SEARCHED = np.dtype([*HCPE.descr, ("candidates", "<u2")])
"""A searched position: an hcpe record and the number of its candidates."""
CANDIDATE = np.dtype([("move", "<u2"), ("visits", "<u2")])

ROWS_AT_ONCE = 1 << 20
_LEAST_MOVE_BYTES = 10  # a move of hcpe3 with one candidate


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Consecutive rows of an input."""

    rows: NDArray[np.void]
    """HCPE [N] or SEARCHED [N]."""
    candidates: NDArray[np.void] | None
    """CANDIDATE [M], those of all rows; None for HCPE."""
    cursor: int
    """Start of the next chunk; an argument of `iter_chunks`."""


class InputError(InvalidValueError):
    """An input has a format that cannot be deduplicated."""


class Kind(StrEnum):
    """The formats of inputs."""

    RECORDS = "hcpe"
    FLAGGED = "hcpe2"
    GAMES = "hcpe3"
    AVERAGES = "avg"


def kind_of(path: Path, taken: tuple[Kind, ...] = tuple(Kind)) -> Kind:
    """The format of an input, by its content; one of `taken`.

    Raises:
        InputError: The input has another format.
        OSError: The input cannot be read.
    """
    size = path.stat().st_size
    if size == 0:
        return Kind.RECORDS
    try:
        found = detect_data(path)
    except UnknownDataError:
        if size % HCPE.itemsize:
            raise
        return Kind.RECORDS  # records are checked when they are read; positions need not be legal
    if found not in taken:
        raise InputError(refusal(path, found, ", ".join(taken)))
    return Kind(found)


def most_rows(path: Path, kind: Kind) -> int:
    """The number of rows of an input; for hcpe3 an upper bound.

    Raises:
        ValueError: The input is damaged.
        OSError: The input cannot be read.
    """
    if kind is Kind.AVERAGES:
        return len(read_averages(path))
    return path.stat().st_size // _LEAST_MOVE_BYTES if kind is Kind.GAMES else len(read_hcpe(path))


def iter_chunks(path: Path, kind: Kind, cursor: int = 0) -> Iterator[Chunk]:
    """The rows of hcpe, or the searched positions of hcpe3, from a cursor on; results have no flags.

    The arrays are valid until the next chunk is read.

    Raises:
        ValueError: A row is invalid; the message names the file, the row and the offset.
        OSError: The file cannot be read.
    """
    if kind is Kind.GAMES:
        return _game_chunks(path, cursor)
    return _record_chunks(path, cursor, flagged=kind is Kind.FLAGGED)


def _record_chunks(path: Path, cursor: int, *, flagged: bool) -> Iterator[Chunk]:
    # Files are read, not mapped: the pages of a map would count as memory of this process.
    buffer = np.empty(ROWS_AT_ONCE, HCPE)
    with path.open("rb", buffering=0) as file:
        file.seek(cursor * HCPE.itemsize)
        while (size := _fill(file, flat_bytes(buffer))) > 0:
            rows = buffer[: size // HCPE.itemsize]
            if flagged:
                rows["gameResult"] &= RESULT_BITS
            if not _native.are_possible(rows.view(np.uint8).reshape(-1, HCPE.itemsize)):
                check_hcpe(rows, str(path), cursor)  # slower, but it names the row
            cursor += len(rows)
            yield Chunk(rows, None, cursor)


def _game_chunks(path: Path, cursor: int) -> Iterator[Chunk]:
    """The cursor counts games. Those before it are read again, as nothing else tells where a game begins."""
    done = 0
    for games in read_hcpe3(path):
        done += len(games)
        if done <= cursor:
            continue
        counts = games.candidate_counts()
        searched = counts > 0  # other moves were played without a search
        rows = np.zeros(int(searched.sum()), SEARCHED)
        rows["hcp"], rows["eval"], rows["bestMove16"] = (
            games.hcps[searched], games.evals[searched], games.moves[searched],
        )  # fmt: skip
        rows["gameResult"] = games.results[games.game_of_ply()[searched]] & RESULT_BITS
        rows["candidates"] = counts[searched]
        candidates = np.empty(len(games.candidate_moves), CANDIDATE)
        candidates["move"], candidates["visits"] = games.candidate_moves, games.candidate_visits
        yield Chunk(rows, candidates, done)


def _fill(file: FileIO, view: memoryview) -> int:
    """Fill the memory from a file; returns the number of bytes, fewer at the end of the file."""
    done = 0
    while done < len(view) and (count := file.readinto(view[done:])):
        done += count
    return done
