"""What is read: rows of hcpe, searched positions of hcpe3, averaged positions."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from io import FileIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.convert.detect import UnknownDataError, detect_data
from fukayomi.data.convert.refusals import refusal
from fukayomi.data.formats.averages import read_averages
from fukayomi.data.formats.hcpe import HCPE, RESULT_BITS, check_hcpe, read_hcpe
from fukayomi.data.formats.hcpe3 import read_hcpe3
from fukayomi.data.jobs.folder import flat_bytes

SIGHT = np.dtype([*HCPE.descr, ("candidates", "<u2")])
"""A position as one search saw it: an hcpe record, and the number of its candidates."""
CANDIDATE = np.dtype([("move", "<u2"), ("visits", "<u2")])

ROWS_AT_ONCE = 1 << 20
_LEAST_MOVE_BYTES = 10  # of hcpe3: a move with one candidate


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some rows of an input."""

    rows: NDArray[np.void]
    """HCPE [N] or SIGHT [N]."""
    candidates: NDArray[np.void] | None
    """CANDIDATE, those of all rows of SIGHT; None for HCPE."""
    cursor: int
    """Where the next chunk begins, for `iter_chunks`."""


class InputError(ValueError):
    """An input is of another kind than what can be read here."""


class Kind(StrEnum):
    """What an input may be."""

    RECORDS = "hcpe"
    FLAGGED = "hcpe2"
    GAMES = "hcpe3"
    AVERAGES = "avg"


def kind_of(path: Path, taken: tuple[Kind, ...] = tuple(Kind)) -> Kind:
    """What an input is, by its content; one of those that are taken.

    Raises:
        InputError: It is of another format.
        OSError: It cannot be read.
    """
    size = path.stat().st_size
    if size == 0:
        return Kind.RECORDS
    try:
        found = detect_data(path)
    except UnknownDataError:
        if size % HCPE.itemsize:
            raise
        return Kind.RECORDS  # each record is checked when it is read; that it is a real position matters nowhere
    if found not in taken:
        raise InputError(refusal(path, found, ", ".join(taken)))
    return Kind(found)


def most_rows(path: Path, kind: Kind) -> int:
    """How many rows an input has, or as what hcpe3 has at the most.

    Raises:
        ValueError: It is not what it should be.
        OSError: It cannot be read.
    """
    if kind is Kind.AVERAGES:
        return len(read_averages(path))
    return path.stat().st_size // _LEAST_MOVE_BYTES if kind is Kind.GAMES else len(read_hcpe(path))


def iter_chunks(path: Path, kind: Kind, cursor: int = 0) -> Iterator[Chunk]:
    """The rows of hcpe, or the searched positions of hcpe3, from a cursor on; results are without flags.

    Arrays are valid until the next chunk.

    Raises:
        ValueError: A row cannot be one; the message names the file, the row and the offset.
        OSError: The file cannot be read.
    """
    if kind is Kind.GAMES:
        return _game_chunks(path, cursor)
    return _record_chunks(path, cursor, flagged=kind is Kind.FLAGGED)


def _record_chunks(path: Path, cursor: int, *, flagged: bool) -> Iterator[Chunk]:
    # Files are read, not mapped: the pages of a map would count as this program's memory.
    buffer = np.empty(ROWS_AT_ONCE, HCPE)
    with path.open("rb", buffering=0) as file:
        file.seek(cursor * HCPE.itemsize)
        while (size := _fill(file, flat_bytes(buffer))) > 0:
            rows = buffer[: size // HCPE.itemsize]
            if flagged:
                rows["gameResult"] &= RESULT_BITS
            if not _native.are_possible(rows.view(np.uint8).reshape(-1, HCPE.itemsize)):
                check_hcpe(rows, str(path), cursor)  # slower, and says what is wrong
            cursor += len(rows)
            yield Chunk(rows, None, cursor)


def _game_chunks(path: Path, cursor: int) -> Iterator[Chunk]:
    """The cursor counts games: those before it are read once more, as nothing else finds where a game begins."""
    done = 0
    for games in read_hcpe3(path):
        done += len(games)
        if done <= cursor:
            continue
        counts = games.candidate_counts()
        searched = counts > 0  # other moves were played without a search worth learning from
        rows = np.zeros(int(searched.sum()), SIGHT)
        rows["hcp"], rows["eval"], rows["bestMove16"] = (
            games.hcps[searched], games.evals[searched], games.moves[searched],
        )  # fmt: skip
        rows["gameResult"] = games.results[games.game_of_ply()[searched]] & RESULT_BITS
        rows["candidates"] = counts[searched]
        candidates = np.empty(len(games.candidate_moves), CANDIDATE)
        candidates["move"], candidates["visits"] = games.candidate_moves, games.candidate_visits
        yield Chunk(rows, candidates, done)


def _fill(file: FileIO, view: memoryview) -> int:
    """Read until the memory is full or the file ends."""
    done = 0
    while done < len(view) and (count := file.readinto(view[done:])):
        done += count
    return done
