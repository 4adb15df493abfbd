"""Game records (CSA, KIF, KI2, JKF, USI lines, in archives too) for a check: games, and findings about the rest."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fukayomi.data.check.findings import Finding, Level
from fukayomi.data.formats import games
from fukayomi.data.formats.format import Advance
from fukayomi.data.formats.games import game_from_record
from fukayomi.data.formats.hcpe3 import Game, Games, join_games
from fukayomi.data.records.copies import SeenGames
from fukayomi.data.records.reading import Drop, Dropped, scan_source
from fukayomi.data.records.sources import COMPRESSED_SUFFIXES, SourceError, iter_sources
from fukayomi.data.records.text import Source
from fukayomi.shogi.record import Record, Termination

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
