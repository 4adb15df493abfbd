"""Game records (CSA, KIF, KI2, JKF, USI lines, in archives too) for a check: games, and what is no game."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fukayomi.data.check.findings import Finding, Level
from fukayomi.data.convert.positions import Drop
from fukayomi.data.formats.hcpe3 import MOST_MOVES, Game, Games, join_games
from fukayomi.data.records.games import game_from_record
from fukayomi.data.records.sources import SourceError, iter_sources
from fukayomi.data.records.text import Source, scan_source
from fukayomi.shogi.record import Record, RecordError, Termination, UnknownFormatError

RECORD_SUFFIXES = {".csa", ".kif", ".kifu", ".ki2", ".ki2u", ".jkf", ".usi"}
_GAMES_AT_ONCE = 256
_PLY = re.compile(r"ply (\d+): ")


@dataclass(slots=True)
class CheckedGames:
    """Games of one source, or some of them, and what the records say of them beyond that."""

    path: Path
    """The file or the member of an archive."""
    numbers: list[int] = field(default_factory=list[int])
    """Of each game in the file, from 0."""
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


def scan_for_check(path: Path, advance: Callable[[int], None]) -> Iterator[CheckedGames | Finding]:
    """The games of a file or an archive, some at a time, and findings about what gives none.

    What cannot be read is an error, and so is a file that is no record though its name says so; another file that is no
    record (a README in an archive), and a game from which no training data can be made, are remarks.
    """
    try:
        for source in iter_sources([path], advance):
            if source.problem:
                yield Finding(Level.ERROR, Path(source.name), source.games_before, None, None, source.problem)
            else:
                yield from _scan(source)
    except SourceError as error:
        yield Finding(Level.ERROR, path, 0, None, None, str(error).removeprefix(f"{path}: "))


def level_of_unknown(path: Path) -> Level:
    """How bad it is that a file is of no known format."""
    return Level.ERROR if path.suffix.lower() in RECORD_SUFFIXES else Level.REMARK


def _scan(source: Source) -> Iterator[CheckedGames | Finding]:
    part = CheckedGames(Path(source.name))
    for number, record in enumerate(scan_source(source), source.games_before):
        found = _read(record, part.path, number)
        if isinstance(found, Game) and isinstance(record, Record):
            part.add(number, record.termination, found)
        if part.games and (isinstance(found, Finding) or len(part.games) >= _GAMES_AT_ONCE):
            yield part
            part = CheckedGames(part.path)
        if isinstance(found, Finding):
            yield found
    if part.games:
        yield part


def _read(record: Record | RecordError, path: Path, number: int) -> Game | Finding:
    try:
        if isinstance(record, RecordError):
            raise record
        game = game_from_record(record)
    except RecordError as error:
        level = level_of_unknown(path) if isinstance(error, UnknownFormatError) else Level.ERROR
        ply = _PLY.match(error.reason)
        reason = error.reason[ply.end() :] if ply else error.reason
        return Finding(level, path, number, int(ply[1]) - 1 if ply else None, None, reason, error.line)
    if isinstance(game, Drop):
        return Finding(Level.REMARK, path, number, None, None, _why_left_out(game, record))
    return game


def _why_left_out(drop: Drop, record: Record) -> str:
    match drop:
        case Drop.ENDING:
            if record.termination is Termination.NONE:
                return "it does not say how it ended: not for training"
            return f"how it ended ({record.termination}) says nothing about the play: not for training"
        case Drop.NO_HCP:
            return "the start lacks a king: not for training"
        case _:
            return f"it has {len(record)} moves, more than {MOST_MOVES}: not for training"
