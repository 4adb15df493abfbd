"""Every format as a stream: a file in, batches of games, rows or positions out, and each of these as the others.

Records and hcpe3 hold games; hcpe, hcpe2, psv, plain and avg rows (positions with targets); hcp and SFEN lines
positions. A game gives a row for each move with candidates and a position for each move; a row is also a game of one
move; from positions nothing else can be made.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.convert.averages import averages_to_records, iter_averages
from fukayomi.data.convert.detect import DataFormat
from fukayomi.data.convert.positions import Drop
from fukayomi.data.convert.refusals import refusal
from fukayomi.data.formats.hcp import hcps_from_sfens, read_hcp
from fukayomi.data.formats.hcpe import HCPE, RESULT_BITS, read_hcpe
from fukayomi.data.formats.hcpe3 import Games, read_hcpe3
from fukayomi.data.formats.plain import read_plain
from fukayomi.data.formats.psv import psv_to_hcpe, read_psv
from fukayomi.data.formats.rows import DataFileError
from fukayomi.data.records.games import PlayedGame, Targets, make_games, read_played
from fukayomi.data.records.sources import FileHead, iter_sources
from fukayomi.data.records.text import Source, scan_source
from fukayomi.shogi import ShogiError
from fukayomi.shogi.record import IllegalMoveInRecordError, Record, RecordError, UnknownFormatError

_ROWS_AT_ONCE = 1 << 16
_GAMES_AT_ONCE = 256


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """N positions with targets."""

    records: NDArray[np.void]
    """HCPE [N]; results may have flags."""
    plies: NDArray[np.uint16]
    """[N]: the number of each move in its game; 0 where it is not known."""


Batch: TypeAlias = Games | Rows | NDArray[np.uint8]
"""Games, rows, or positions (hcp, [N, 32])."""


@dataclass(slots=True)
class Tally:
    """What was read, and which records were left out and why."""

    games: int = 0
    positions: int = 0
    dropped: Counter[Drop] = field(default_factory=Counter[Drop])
    problems: list[str] = field(default_factory=list[str])

    def leave_out(self, reason: Drop, message: str = "") -> None:
        """Count a record that is not used; a message says what is wrong with it."""
        self.dropped[reason] += 1
        self.problems += [message] if message else []


def read_data(
    path: Path,
    kind: DataFormat,
    targets: Targets,
    tally: Tally,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Batch]:
    """The content of a file, a batch at a time.

    Records that cannot be used are left out and counted; in any other format the first thing that is wrong is raised.

    Args:
        path: A file; of records, also an archive.
        kind: Its format.
        targets: What the moves of records become.
        tally: Counts games and positions.
        advance: Called with the number of bytes that were read since the last call.

    Raises:
        DataFileError: The file is damaged; the message says where.
        SourceError: An archive is damaged.
        OSError: The file cannot be read.
    """
    match kind:
        case DataFormat.RECORDS:
            yield from read_games([path], targets, tally, advance)
            return
        case DataFormat.HCPE3:
            batches = read_hcpe3(path, advance)
        case DataFormat.HCPE | DataFormat.HCPE2:
            batches = _read_hcpe(path, advance)
        case DataFormat.AVERAGES:
            batches = (_rows_of(averages_to_records(part)) for part in iter_averages(path, advance))
        case DataFormat.PSV:
            batches = _read_psv(path, advance)
        case DataFormat.PLAIN:
            batches = (_rows_of_psv(part) for part in read_plain(path, advance))
        case DataFormat.HCP:
            batches = _read_hcp(path, advance)
        case DataFormat.SFEN:
            batches = _read_sfens(path, advance)
        case _:
            raise DataFileError(refusal(path, kind, "all formats but books and caches"))
    for batch in batches:
        tally.games += len(batch) if isinstance(batch, Games) else 0
        tally.positions += _positions_in(batch)
        yield batch


def read_games(
    files: Iterable[Path | FileHead], targets: Targets, tally: Tally, advance: Callable[[int], None] = lambda _: None
) -> Iterator[Games]:
    """As read_data, for the records of many files, whose games come in common batches."""
    for games in _read_records(iter_sources(files, advance), targets, tally):
        tally.games += len(games)
        tally.positions += _positions_in(games)
        yield games


def _positions_in(batch: Batch) -> int:
    match batch:
        case Games():
            return int((batch.candidate_counts() > 0).sum())
        case Rows():
            return len(batch.records)
        case _:
            return len(batch)


def _read_records(sources: Iterable[Source], targets: Targets, tally: Tally) -> Iterator[Games]:
    played: list[PlayedGame] = []
    for source in sources:
        if source.problem:
            tally.leave_out(Drop.UNREADABLE, f"{source.name}: {source.problem}")
            continue
        for record in scan_source(source):
            game = _read_record(record, targets, tally)
            played += [game] if game is not None else []
            if len(played) >= _GAMES_AT_ONCE:
                yield make_games(played, targets, source.name)
                played = []
    if played:
        yield make_games(played, targets)


def _read_record(record: Record | RecordError, targets: Targets, tally: Tally) -> PlayedGame | None:
    try:
        if isinstance(record, RecordError):
            raise record
        game = read_played(record, targets)
    except UnknownFormatError as error:
        tally.leave_out(Drop.NO_RECORD, str(error))
        return None
    except IllegalMoveInRecordError as error:
        tally.leave_out(Drop.ILLEGAL_MOVE, str(error))
        return None
    except RecordError as error:
        tally.leave_out(Drop.DAMAGED, str(error))
        return None
    if isinstance(game, Drop):
        tally.leave_out(game)
        return None
    return game


def _parts(rows: NDArray[np.void], advance: Callable[[int], None]) -> Iterator[tuple[int, NDArray[np.void]]]:
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        part = np.array(rows[first : first + _ROWS_AT_ONCE])
        yield first, part
        advance(part.nbytes)


def _refuse_bad(path: Path, first: int, size: int, found: list[tuple[int, str]]) -> None:
    if found:
        index, reason = found[0]
        raise DataFileError(f"{path}, record {first + index} (offset {(first + index) * size}): {reason}")


def _read_hcpe(path: Path, advance: Callable[[int], None]) -> Iterator[Rows]:
    for first, records in _parts(read_hcpe(path), advance):
        bad = np.flatnonzero(records["gameResult"] & RESULT_BITS == RESULT_BITS)[:1]
        found = [(int(index), f"result {records['gameResult'][index]} is none") for index in bad]
        moves = np.ascontiguousarray(records["bestMove16"])
        found += _native.find_bad_records(np.ascontiguousarray(records["hcp"]), moves)[:1]
        _refuse_bad(path, first, HCPE.itemsize, sorted(found))
        yield _rows_of(records)


def _rows_of(records: NDArray[np.void]) -> Rows:
    return Rows(records, np.zeros(len(records), np.uint16))


def _read_psv(path: Path, advance: Callable[[int], None]) -> Iterator[Rows]:
    for first, records in _parts(read_psv(path), advance):
        bad = np.flatnonzero(np.abs(records["game_result"].astype(np.int16)) > 1)[:1]
        found = [(int(index), f"result {records['game_result'][index]} is none") for index in bad]
        moves = np.ascontiguousarray(records["move"])
        found += _native.find_bad_records(np.ascontiguousarray(records["sfen"]), moves, psv=True)[:1]
        _refuse_bad(path, first, records.dtype.itemsize, sorted(found))
        yield _rows_of_psv(records)


def _rows_of_psv(records: NDArray[np.void]) -> Rows:
    return Rows(psv_to_hcpe(records), np.array(records["gamePly"]))


def _read_hcp(path: Path, advance: Callable[[int], None]) -> Iterator[NDArray[np.uint8]]:
    rows = read_hcp(path)
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        part = np.array(rows[first : first + _ROWS_AT_ONCE])
        _refuse_bad(path, first, part.shape[1], _native.find_bad_records(part, None)[:1])
        yield part
        advance(part.nbytes)


def _read_sfens(path: Path, advance: Callable[[int], None]) -> Iterator[NDArray[np.uint8]]:
    hcps: list[NDArray[np.uint8]] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            advance(len(line))
            try:
                text = line.decode("utf-8-sig").strip().removeprefix("sfen ")
                hcps += [hcps_from_sfens([text])] if text and not text.startswith("#") else []
            except (ShogiError, UnicodeDecodeError) as error:
                raise DataFileError(f"{path}, line {number}: {error}") from error
            if len(hcps) >= _ROWS_AT_ONCE:
                yield np.concatenate(hcps)
                hcps = []
    if hcps:
        yield np.concatenate(hcps)


def as_games(batch: Batch) -> Games:
    """A batch as games.

    Raises:
        DataFileError: It has only positions.
    """
    if isinstance(batch, Games):
        return batch
    if not isinstance(batch, Rows):
        raise DataFileError("positions alone, without moves, make no games")
    count = len(batch.records)
    hcps = np.ascontiguousarray(batch.records["hcp"])
    moves = np.ascontiguousarray(batch.records["bestMove16"])
    each = np.arange(count + 1, dtype=np.uint64)
    return Games(
        Path("rows"), 0, np.zeros(count, np.uint64), hcps, np.array(batch.records["gameResult"]),
        np.zeros(count, np.uint8), each, hcps, moves, np.array(batch.records["eval"]), each, moves,
        np.ones(count, np.uint16),
    )  # fmt: skip


def as_rows(batch: Batch) -> Rows:
    """A batch as rows; of games, the moves that have candidates.

    Raises:
        DataFileError: It has only positions.
    """
    if isinstance(batch, Rows):
        return batch
    if not isinstance(batch, Games):
        raise DataFileError("positions alone, without evaluations and results, make no training data")
    chosen = batch.candidate_counts() > 0
    records = np.zeros(int(chosen.sum()), HCPE)
    records["hcp"], records["bestMove16"] = batch.hcps[chosen], batch.moves[chosen]
    records["eval"] = batch.evals[chosen]
    records["gameResult"] = batch.results[batch.game_of_ply()[chosen]]
    return Rows(records, (batch.ply_in_game()[chosen] + 1).astype(np.uint16))


def as_positions(batch: Batch) -> NDArray[np.uint8]:
    """The positions of a batch: uint8 [N, 32]. Of games, those before each move."""
    match batch:
        case Games():
            return batch.hcps
        case Rows():
            return np.ascontiguousarray(batch.records["hcp"])
        case _:
            return batch
