"""The check of files of training data and game records: what is wrong, and where.

Every game is replayed and every position decoded. Games and rows without errors may be written to another file; remarks
and duplicates do not exclude them, except for records that give no game for training.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats import games
from fukayomi.data.formats.averages import AveragesError
from fukayomi.data.formats.cache import CacheError
from fukayomi.data.formats.format import EVAL_LIMIT, Advance, DataFileError, RowFormat, position_keys
from fukayomi.data.formats.games import game_from_record
from fukayomi.data.formats.hcpe import RESULT_BITS, ResultFlag
from fukayomi.data.formats.hcpe3 import Game, Games, Hcpe3Error, join_games, scan_hcpe3
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.table import FORMATS, UnknownDataError, detect_data, refusal
from fukayomi.data.records.copies import SeenGames
from fukayomi.data.records.reading import Drop, Dropped, scan_source
from fukayomi.data.records.sources import COMPRESSED_SUFFIXES, SourceError, find_files, iter_sources
from fukayomi.data.records.text import Source
from fukayomi.files.atomic import AtomicFile
from fukayomi.listener import SILENT, Listener, counter
from fukayomi.shogi import Color, Repetition
from fukayomi.shogi.record import Record, Result, Termination
from fukayomi.tabular import Tabular, counted

MOST_FINDINGS = 10_000
"""Findings kept of each level; the others are only counted."""
SHOWN_FINDINGS = 40
"""Findings that a report prints."""


class Level(StrEnum):
    """Severity of a finding."""

    ERROR = "error"
    """The data is wrong."""
    REMARK = "remark"
    """The data is possible but unusual."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a game or a row."""

    level: Level
    path: Path
    index: int
    """Number of the game, row or position in its file, from 0."""
    ply: int | None
    """Move of the game, from 0; None if it is not about a move."""
    offset: int | None
    """Start of the game, row or position in the file, in bytes; None for game records, which are text."""
    reason: str
    line: int | None = None
    """Line of a game record, from 1; None if it is not known."""

    def __str__(self) -> str:
        place = f"{self.path}, record {self.index}"
        place += "" if self.ply is None else f", move {self.ply}"
        place += "" if self.line is None else f", line {self.line}"
        place += "" if self.offset is None else f" (offset {self.offset})"
        return f"{place}: {self.reason}"

    def as_json(self) -> dict[str, Any]:
        """The finding as a dictionary for JSON."""
        return {
            "level": str(self.level), "file": str(self.path), "record": self.index, "ply": self.ply,
            "line": self.line, "offset": self.offset, "reason": self.reason,
        }  # fmt: skip


@dataclass(slots=True, repr=False)
class Report(Tabular):
    """Result of a check; as a table, its findings."""

    files: dict[str, str] = field(default_factory=dict[str, str])
    """Format of each file."""
    records: int = 0
    """Games of hcpe3 and records, rows and positions of other files; damaged ones included."""
    moves: int = 0
    """Moves of the games."""
    good: int = 0
    """Records without an error; of game records, only those that give training data."""
    duplicates: int = 0
    """Records equal to an earlier one."""
    not_compared: int = 0
    """Records that were not compared with others, because enough were remembered."""
    errors: int = 0
    remarks: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])
    """The first 10 000 findings of each level, in the order of the files."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per finding: level, file, record, ply, line, offset and reason."""
        return [finding.as_json() for finding in self.findings]

    def __repr__(self) -> str:
        return f"<Report: {self._counts()}>"

    def __str__(self) -> str:
        """The counts, and the first findings, a line each: errors before remarks."""
        findings = sorted(self.findings, key=lambda finding: finding.level is Level.REMARK)
        more = len(self.findings) - SHOWN_FINDINGS
        rest = [f"... {counted(more, 'more finding')}"] if more > 0 else []
        return "\n".join([self._counts(), *map(str, findings[:SHOWN_FINDINGS]), *rest])

    def _counts(self) -> str:
        numbers = (self.records, "record"), (self.errors, "error"), (self.remarks, "remark")
        return ", ".join(counted(number, noun) for number, noun in numbers)

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it unless there are too many."""
        if finding.level is Level.ERROR:
            self.errors += 1
            number = self.errors
        else:
            self.remarks += 1
            number = self.remarks
        if number <= MOST_FINDINGS:
            self.findings.append(finding)

    def as_json(self) -> dict[str, Any]:
        """The report as a dictionary for JSON."""
        return {
            "files": self.files, "records": self.records, "moves": self.moves, "good": self.good,
            "duplicates": self.duplicates, "not_compared": self.not_compared, "errors": self.errors,
            "remarks": self.remarks, "not_listed": self.errors + self.remarks - len(self.findings),
            "findings": [finding.as_json() for finding in self.findings],
        }  # fmt: skip


MOST_ROWS = 1 << 27  # 8 bytes each, twice while they are sorted
MOST_GAMES = 1 << 24  # about 90 bytes each


class Duplicates:
    """Remembers a limited number of rows and games, and counts those equal to an earlier one.

    They are compared by hashes: 64 bits for a row, 96 for a game. With the largest number of rows, the probability of
    any false match is 1 in 2 000.
    """

    def __init__(self, most_rows: int = MOST_ROWS, most_games: int = MOST_GAMES) -> None:
        self._most_rows, self._most_games = most_rows, most_games
        self._rows: list[NDArray[np.uint64]] = []
        self._row_count = 0
        self._games: set[bytes] = set()
        self._game_count = 0
        self._equal_games = 0
        self.passed_over = 0
        """Rows and games not compared, because the limit was reached."""

    @property
    def compared(self) -> int:
        """Rows and games that were compared."""
        return self._row_count + self._game_count

    def add_rows(self, rows: NDArray[Any]) -> None:
        """Remember rows [N] of any type."""
        taken = rows[: self._most_rows - self._row_count]
        if len(taken):
            self._rows.append(_row_keys(taken))
        self._row_count += len(taken)
        self.passed_over += len(rows) - len(taken)

    def is_new_game(self, data: bytes) -> bool:
        """Remember a game; False if it occurred before."""
        key = hashlib.blake2b(data, digest_size=12).digest()
        if key in self._games:
            self._game_count += 1
            self._equal_games += 1
            return False
        if len(self._games) >= self._most_games:
            self.passed_over += 1
        else:
            self._game_count += 1
            self._games.add(key)
        return True

    def count(self) -> int:
        """Number of compared rows and games that are equal to an earlier one."""
        keys = np.concatenate([np.zeros(0, np.uint64), *self._rows])
        keys.sort()
        return self._equal_games + int((keys[1:] == keys[:-1]).sum())


def _row_keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    padded = np.zeros((len(rows), -(-rows.dtype.itemsize // 8) * 8), np.uint8)
    padded[:, : rows.dtype.itemsize] = rows.view(np.uint8).reshape(len(rows), -1)
    return position_keys(padded)


_OPPONENTS = 3
_PIECES = 40


class Judgement(NamedTuple):
    """A finding about one of several games."""

    level: Level
    game: int
    """Index of the game."""
    ply: int | None
    """Move of the game, from 0; None if it is not about a move."""
    reason: str


def judge_games(games: Games, terminations: Sequence[Termination] = ()) -> list[Judgement]:
    """Find errors and remarks, in the order of the games.

    Illegal moves and candidates are not looked for: the reader of hcpe3 refuses them.

    Args:
        games: The games.
        terminations: How each game ended, if that is known beyond results and flags.
    """
    found = [*_judge_moves(games), *_judge_heads(games)]
    endings = _native.judge_endings(games.starts, games.plies, games.moves)
    for index, ending in enumerate(endings):
        result = Result(int(games.results[index]) & RESULT_BITS)
        flags = ResultFlag(int(games.results[index]) & ~RESULT_BITS)
        found += [Judgement(Level.ERROR, index, None, reason) for reason in _contradictions(result, flags, ending)]
        found += _judge_declaration(games, index, ending)
        if terminations and terminations[index] is Termination.MATE and not ending.is_mated:
            found.append(
                Judgement(Level.ERROR, index, None, "the record ends by mate, but the last position is not mate")
            )
        if ending.fourfold_before >= 0:
            reason = "the position has occurred four times before this move, but the game goes on"
            found.append(Judgement(Level.ERROR, index, ending.fourfold_before, reason))
    return sorted(found, key=lambda judged: (judged.game, -1 if judged.ply is None else judged.ply))


def _contradictions(result: Result, flags: ResultFlag, ending: _native.GameEnding) -> Iterator[str]:
    """Contradictions between the result and the last position."""
    mover, other = Result.BLACK_WIN, Result.WHITE_WIN
    if not ending.black_to_move:
        mover, other = other, mover
    if ending.is_mated and result != other:
        yield f"the last move mates, but the result is {result.name}"
    fourfold = {Repetition.DRAW: Result.DRAW, Repetition.WIN: mover, Repetition.LOSE: other}.get(ending.repetition)
    if fourfold is not None and result != fourfold:
        yield f"fourfold repetition makes it {fourfold.name}, but the result is {result.name}"
    if flags & ResultFlag.REPETITION and ending.occurrences == 1:
        yield "flagged as a repetition, but the last position occurs once"
    if flags & ResultFlag.DECLARATION and result != mover:
        yield f"flagged as a declaration, but the side to move did not win: the result is {result.name}"
    if flags & ResultFlag.MAX_PLIES and result != Result.DRAW:
        yield f"flagged as stopped at the maximum of plies, but the result is {result.name}"


def _judge_declaration(games: Games, index: int, ending: _native.GameEnding) -> Iterator[Judgement]:
    result = int(games.results[index])
    mover = Result.BLACK_WIN if ending.black_to_move else Result.WHITE_WIN
    if not result & ResultFlag.DECLARATION or result & RESULT_BITS != mover or ending.can_declare:
        return
    reason = "flagged as a declaration, but the side to move lacks the points or the pieces"
    if _has_handicap(games.starts[index]):  # some rules count the pieces given as handicap
        yield Judgement(Level.REMARK, index, None, f"{reason}, unless those of the handicap count")
    else:
        yield Judgement(Level.ERROR, index, None, reason)


def _has_handicap(start: NDArray[np.uint8]) -> bool:
    position = _native.position_from_hcp(start.tobytes())
    on_board = sum(letter.isalpha() for letter in position.sfen().split()[0])
    return on_board + sum(sum(position.hand(color).values()) for color in Color) < _PIECES


def _judge_heads(games: Games) -> Iterator[Judgement]:
    for index in np.flatnonzero(np.diff(games.plies.astype(np.int64)) == 0):
        yield Judgement(Level.REMARK, int(index), None, "a game without moves")
    for index in np.flatnonzero(games.opponents >= _OPPONENTS):
        yield Judgement(Level.REMARK, int(index), None, f"opponent {games.opponents[index]} is not 0, 1 or 2")


def _judge_moves(games: Games) -> Iterator[Judgement]:
    """Findings that need no board."""
    counts = games.candidate_counts()
    owner = np.repeat(np.arange(len(games.moves)), counts)  # the move that each candidate belongs to
    sums = np.bincount(owner, games.candidate_visits, len(games.moves))
    same = np.unique(owner.astype(np.int64) << 16 | games.candidate_moves, return_counts=True)
    repeated = np.unique(same[0][same[1] > 1] >> 16)
    is_selected = games.candidate_moves == games.moves[owner]
    selected = np.bincount(owner[is_selected], minlength=len(games.moves)) > 0
    kinds: list[tuple[Level, NDArray[np.intp], str]] = [
        (Level.ERROR, np.flatnonzero((counts > 0) & (sums == 0)), "candidates without a single visit"),
        (Level.ERROR, repeated, "a move is among the candidates more than once"),
        (Level.REMARK, np.flatnonzero((counts > 0) & ~selected), "the move played is not a candidate"),
        (Level.REMARK, np.flatnonzero(games.evals < -EVAL_LIMIT), "evaluation -32768 has no opposite"),
    ]
    game_of, ply_of = games.game_of_ply(), games.ply_in_game()
    for level, moves, reason in kinds:
        for move in moves:
            yield Judgement(level, int(game_of[move]), int(ply_of[move]), reason)


_GAMES_AT_ONCE = 256
_DATA_SUFFIXES = (".hcp", ".hcpe", ".hcpe2", ".hcpe3", ".psv", ".avg", ".cache")  # .bin may be anything
_PLY = re.compile(r"ply (\d+): ")


@dataclass(slots=True)
class CheckedGames:
    """Some games of one source, with what the records say beyond hcpe3."""

    path: Path
    """The file or the member of an archive."""
    numbers: list[int] = field(default_factory=list[int])
    """Number of each game in the file, from 0."""
    terminations: list[Termination] = field(default_factory=list[Termination])
    games: list[Game] = field(default_factory=list[Game])

    def add(self, number: int, termination: Termination, game: Game) -> None:
        """Add a game."""
        self.numbers.append(number)
        self.terminations.append(termination)
        self.games.append(game)

    def joined(self) -> Games:
        """The games as columns."""
        return join_games(self.games, self.path)


def scan_for_check(path: Path, advance: Advance, seen: SeenGames) -> Iterator[CheckedGames | Finding]:
    """Read the games of a file or an archive, some at a time, with findings about the rest.

    A game that cannot be read is an error, and so is a file that is not a record though its suffix says so. Any other
    file (a README in an archive), a game that gives no training data, and a copy of a game, is a remark.
    """
    try:
        for source in iter_sources([path], advance):
            yield from _scan(source, seen)
    except SourceError as error:
        yield Finding(Level.ERROR, path, 0, None, None, str(error).removeprefix(f"{path}: "))


def level_of_unknown(path: Path) -> Level:
    """The level of a file in no format that is checked: an error if its name says that it is in one of them.

    Records may be compressed.
    """
    name = Path(path.stem) if path.suffix.lower() in COMPRESSED_SUFFIXES else path
    if name.suffix.lower() in games.FORMAT.suffixes:
        return Level.ERROR
    return Level.ERROR if path.suffix.lower() in _DATA_SUFFIXES else Level.REMARK


def _scan(source: Source, seen: SeenGames) -> Iterator[CheckedGames | Finding]:
    part = CheckedGames(Path(source.name))
    for number, record in enumerate(scan_source(source, seen), source.games_before):
        found = game_from_record(record) if isinstance(record, Record) else record
        if isinstance(found, Game) and isinstance(record, Record):
            part.add(number, record.termination, found)
        if part.games and (isinstance(found, Dropped) or len(part.games) >= _GAMES_AT_ONCE):
            yield part
            part = CheckedGames(part.path)
        if isinstance(found, Dropped):
            yield _finding(found, part.path, number)
        if isinstance(record, Record):
            for line, reason in record.left_out:
                yield Finding(Level.REMARK, part.path, number, None, None, f"left out: {reason}", line)
    if part.games:
        yield part


def _finding(dropped: Dropped, path: Path, number: int) -> Finding:
    level = Level.ERROR if dropped.is_problem else Level.REMARK
    if dropped.reason is Drop.NO_RECORD:
        level = level_of_unknown(path)
    ply = _PLY.match(dropped.detail)
    reason = dropped.detail[ply.end() :] if ply else dropped.detail
    return Finding(level, path, number, int(ply[1]) - 1 if ply else None, None, reason, dropped.line)


_WHOLE = (DataFormat.CACHE, DataFormat.AVERAGES)  # their good part is not written
_CHECKED = (
    DataFormat.HCP, DataFormat.HCPE, DataFormat.HCPE2, DataFormat.HCPE3, DataFormat.PSV, DataFormat.RECORDS, *_WHOLE
)  # fmt: skip
# The format of the good part, if it differs.
_GOOD_AS = {DataFormat.HCPE2: DataFormat.HCPE, DataFormat.RECORDS: DataFormat.HCPE3}


def check_data(
    inputs: Path | str | Sequence[Path | str],
    *,
    good: Path | str | None = None,
    source: DataFormat | str | None = None,
    listener: Listener = SILENT,
    duplicates: Duplicates | None = None,
) -> Report:
    """Check files of hcp, hcpe, hcpe2, hcpe3, psv, caches, averages and game records.

    Args:
        inputs: Files and folders; for records also archives.
        good: File for everything without an error; records are written as hcpe3. The inputs must then have one format
            (or be records and hcpe3), and not be caches or averages.
        source: Format of all inputs; found by their content if None.
        listener: Follows the bytes of the inputs.
        duplicates: Remembers rows and games; give one to change its limits.

    Raises:
        DataFileError: A file has another format, or the good parts do not fit into one file.
        SourceError: An input is missing, or a folder is empty.
        OSError: A file cannot be read or written.
    """
    paths = [Path(path) for path in ([inputs] if isinstance(inputs, Path | str) else inputs)]
    good = None if good is None else Path(good)
    given = None if source is None else DataFormat(source)
    files = [(path, _kind_of(path, given, must_be_data=path in paths)) for path in find_files(paths)]
    kinds = [(path, kind) for path, kind in files if isinstance(kind, DataFormat)]
    layouts = {_GOOD_AS.get(kind, kind) for _, kind in kinds}
    if good is not None and (len(layouts) > 1 or layouts & set(_WHOLE)):
        names = ", ".join(sorted({str(kind) for _, kind in kinds}))
        raise DataFileError(f"{good}: the good part of {names} files cannot be written to one file")
    if good is not None and good.absolute() in {path.absolute() for path, _ in kinds}:
        raise DataFileError(f"{good} is also an input; give the good part another name")
    total = sum(path.stat().st_size for path, _ in files)
    checked = _Check(counter(listener, "checking", total), duplicates or Duplicates())
    with AtomicFile(good) if good is not None else nullcontext() as out:
        for path, kind in files:
            if isinstance(kind, Finding):
                checked.add_one(kind)
            else:
                checked.report.files[str(path)] = str(kind)
                checked.run(path, kind, out)
    checked.count_duplicates()
    return checked.report


def _kind_of(path: Path, source: DataFormat | None, *, must_be_data: bool) -> DataFormat | Finding:
    """The format of a file, or a finding for another file in a folder."""
    try:
        kind = source or detect_data(path)
        if kind not in _CHECKED:
            raise UnknownDataError(refusal(path, kind, "all formats but books, SFEN lines and plain"))
    except UnknownDataError as error:
        if must_be_data:
            raise
        reason = str(error).removeprefix(f"{path}: ").removeprefix(f"{path} ")
        return Finding(level_of_unknown(path), path, 0, None, None, reason)
    return kind


class _Check:
    """The growing report, and the rows and games seen so far."""

    def __init__(self, advance: Advance, duplicates: Duplicates) -> None:
        self.report = Report()
        self._advance = advance
        self._duplicates = duplicates
        self._seen = SeenGames()

    def run(self, path: Path, kind: DataFormat, out: AtomicFile | None) -> None:
        description = FORMATS[kind]
        if kind is DataFormat.HCPE3:
            self._check_hcpe3(path, out)
        elif kind is DataFormat.RECORDS:
            self._check_records(path, out)
        elif isinstance(description, RowFormat):
            self._check_rows(path, description, out)
        else:
            self._check_averaged(path, kind)

    def add_one(self, finding: Finding) -> None:
        """Count a record that cannot be used, with the reason."""
        self.report.records += 1
        self.report.add(finding)

    def count_duplicates(self) -> None:
        """Count the duplicates among all files."""
        self.report.duplicates = self._duplicates.count() + self._seen.copies
        self.report.not_compared = self._duplicates.passed_over

    def _check_hcpe3(self, path: Path, out: AtomicFile | None) -> None:
        for found in scan_hcpe3(path, self._advance):
            if isinstance(found, Hcpe3Error):
                reason = f"{found.reason}; {counted(found.size, 'byte')} left out"
                self.add_one(Finding(Level.ERROR, path, found.game, found.ply, found.offset, reason))
                continue
            judged = self._judge(found, judge_games(found), out)
            for level, index, ply, reason in judged:
                self.report.add(Finding(level, path, found.first + index, ply, int(found.offsets[index]), reason))

    def _check_records(self, path: Path, out: AtomicFile | None) -> None:
        for found in scan_for_check(path, self._advance, self._seen):
            if isinstance(found, Finding):
                self.add_one(found)
                continue
            games = found.joined()
            for level, index, ply, reason in self._judge(games, judge_games(games, found.terminations), out):
                self.report.add(Finding(level, found.path, found.numbers[index], ply, None, reason))

    def _judge(self, games: Games, judged: list[Judgement], out: AtomicFile | None) -> list[Judgement]:
        """Count games, write the good ones, and add a remark for each duplicate."""
        data = games.write()
        sizes = games.sizes()
        for index, (end, size) in enumerate(zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True)):
            if not self._duplicates.is_new_game(data[end - size : end]):
                judged.append(Judgement(Level.REMARK, index, None, "a duplicate of an earlier game"))
        bad = {judgement.game for judgement in judged if judgement.level is Level.ERROR}
        good = [game for index, game in enumerate(games) if index not in bad]
        self.report.records += len(games)
        self.report.moves += len(games.moves)
        self.report.good += len(good)
        if out is not None and good:
            out.write(join_games(good).write())
        return sorted(judged, key=lambda judgement: judgement.game)

    def _check_rows(self, path: Path, rows: RowFormat, out: AtomicFile | None) -> None:
        size = rows.dtype.itemsize
        whole, rest = divmod(path.stat().st_size, size)
        self.report.records += whole
        for first, part in rows.scan(path, advance=self._advance, cut=True):
            faults = rows.faults(part)
            judged = [(Level.ERROR, index, reason) for index, reason in faults]
            judged += [(Level.REMARK, index, _NO_OPPOSITE) for index in _lowest_scores(rows, part)]
            for level, index, reason in sorted(judged, key=lambda found: found[1]):
                self.report.add(Finding(level, path, first + index, None, (first + index) * size, reason))
            is_good = np.ones(len(part), np.bool_)
            is_good[[index for index, _ in faults]] = False
            self.report.good += int(is_good.sum())
            self._duplicates.add_rows(part)
            if out is not None:
                out.write(part[is_good].tobytes())
        if rest:
            reason = f"{counted(rest, 'byte')} left over after the last whole record"
            self.report.add(Finding(Level.ERROR, path, whole, None, whole * size, reason))

    def _check_averaged(self, path: Path, kind: DataFormat) -> None:
        """Check averages or a cache, which are read up to the first damage."""
        first = self.report.records
        try:
            for content, _ in FORMATS[kind].read(path, advance=self._advance):
                faults = FORMATS[kind].faults(content)
                for index, reason in faults:
                    number = self.report.records - first + index
                    self.report.add(Finding(Level.ERROR, path, number, None, 0, reason))
                self.report.records += len(content)
                self.report.good += len(content) - len(faults)
                self.report.moves += len(content.moves) if kind is DataFormat.AVERAGES else 0
        except (AveragesError, CacheError) as error:
            reason = str(error).removeprefix(str(path)).lstrip(",: ")
            self.report.add(Finding(Level.ERROR, path, self.report.records - first, None, 0, reason))


_NO_OPPOSITE = "evaluation -32768 has no opposite"


def _lowest_scores(rows: RowFormat, part: NDArray[np.void]) -> list[int]:
    return np.flatnonzero(part[rows.score] < -EVAL_LIMIT).tolist() if rows.score else []
