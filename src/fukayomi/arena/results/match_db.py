"""The database of a match: its format, and reading it. ``match/store.py`` writes it.

A match is one SQLite file. It may be read while the match is being played.
"""

import json
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from fukayomi.arena.results.game import Game
from fukayomi.arena.statistics.move_times import AnswerTime
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import Move
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

DATABASE = "match.db"
"""Name of the file in the folder of a match."""
APPLICATION_ID = 0x66756B61  # "fuka"
FORMAT = 1

SCHEMA = f"""
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE match (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    program TEXT NOT NULL,           -- the version that began the match
    began TEXT NOT NULL,
    settings TEXT NOT NULL,          -- JSON
    openings TEXT NOT NULL           -- digest of the openings
) STRICT;
CREATE TABLE games (
    number INTEGER PRIMARY KEY,
    pair INTEGER NOT NULL,           -- the same for both games of an opening with swapped colours
    opening INTEGER NOT NULL,        -- place in the file of openings, from 0
    black TEXT NOT NULL,
    white TEXT NOT NULL,
    result INTEGER NOT NULL CHECK (result IN (0, 1, 2)),  -- draw, Black won, White won
    termination TEXT NOT NULL,
    start_time TEXT NOT NULL,
    end_time TEXT NOT NULL,
    initial_sfen TEXT NOT NULL,
    moves TEXT NOT NULL,             -- USI, the opening's included
    notes TEXT NOT NULL,             -- JSON: for each move cp, mate (from Black's side), ms, pv, comment, where known
    head TEXT NOT NULL               -- JSON: what else the record says
) STRICT;
CREATE TABLE failures (
    game INTEGER PRIMARY KEY,
    engine TEXT NOT NULL,
    kind TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE TABLE warnings (
    text TEXT PRIMARY KEY            -- what the match depends on and an engine was not told
) STRICT;
CREATE TABLE times (                 -- of all answers, also of those that lost the game
    game INTEGER PRIMARY KEY,
    answers TEXT NOT NULL            -- JSON: [engine, milliseconds measured, milliseconds it reported or null], ...
) STRICT;
"""
HEAD_FIELDS = ("event", "site", "time_limit", "opening", "comment", "illegal_move", "summary", "headers")
NOTE_FIELDS = {"score_cp": "cp", "mate": "mate", "time_ms": "ms", "pv": "pv", "comment": "comment"}
"""Fields of a `RecordedMove` and their keys in the column ``notes``."""

_RESULT_COLUMNS = "number, pair, black, white, result, termination, start_time"


class StoreError(InvalidValueError):
    """A match on disk that cannot be used. The message names the file and says what to do."""


def read_games(path: Path) -> Iterator[Game]:
    """Read every game of a match, in the order of the numbers; the match may be in progress.

    Args:
        path: A match's database, or its folder.

    Raises:
        StoreError: There is no match, or its database is damaged.
    """
    with open_match(path) as (database, found):
        yield from select_games(database, found)


def read_records(path: Path) -> Iterator[Record]:
    """Read the complete record of every game of a match, in the order of the numbers.

    Args:
        path: A match's database, or its folder.

    Raises:
        StoreError: There is no match, or its database is damaged.
    """
    with open_match(path) as (database, found):
        yield from select_records(database, found)


@contextmanager
def open_match(path: Path) -> Generator[tuple[sqlite3.Connection, Path]]:
    """Open a match for reading.

    Raises:
        StoreError: There is no match, or its database is damaged.
    """
    path = path / DATABASE if path.is_dir() else path
    if not path.is_file():
        raise StoreError(f"there is no match at {path}")
    with closing(connect_read_only(path)) as database:
        with explaining(path):
            check_format(database, path)
        yield database, path


# ---------------------------------------------------------------------------------------------------- opening the file


@contextmanager
def explaining(path: Path) -> Generator[None]:
    """Turn errors of SQLite into a `StoreError`."""
    try:
        yield
    except sqlite3.OperationalError as error:  # the disk is full, the file is locked, ...
        raise StoreError(f"{path}: {error}") from error
    except StoreError:
        raise
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is damaged: {error}. Move it away to start over, or restore a copy") from error


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a database that may lie on a disk where nothing can be written: then nobody else writes to it either."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with explaining(path):
        database = sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None)
    try:
        database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        database.close()
        with explaining(path):
            return sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
    except sqlite3.DatabaseError:
        pass  # check_format has the better message
    return database


def is_empty(database: sqlite3.Connection) -> bool:
    """True if nothing was ever written: the file is new, or its creation was cut off."""
    ((tables,),) = database.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    ((application,),) = database.execute("PRAGMA application_id").fetchall()
    return tables == 0 and application == 0


def check_format(database: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError if this is not the database of a match, or one of another version."""
    ((application,),) = database.execute("PRAGMA application_id").fetchall()
    ((version,),) = database.execute("PRAGMA user_version").fetchall()
    if application != APPLICATION_ID:
        raise StoreError(f"{path} is not the database of a match")
    if version != FORMAT:
        raise StoreError(f"{path} has format {version}; this version of fukayomi reads format {FORMAT}")


# ---------------------------------------------------------------------------------------------------------------- rows


def select_results(database: sqlite3.Connection, path: Path) -> Iterator[Game]:
    """Every game, in the order of the numbers, without its moves."""
    with explaining(path):
        for row in database.execute(f"SELECT {_RESULT_COLUMNS} FROM games ORDER BY number"):
            yield _game_of(row)


def select_games(database: sqlite3.Connection, path: Path) -> Iterator[Game]:
    """Every game, in the order of the numbers."""
    with explaining(path):
        for row in database.execute(f"SELECT {_RESULT_COLUMNS}, initial_sfen, moves FROM games ORDER BY number"):
            yield _game_of(row)


def list_games(
    database: sqlite3.Connection, path: Path, most: int, before: int | None = None
) -> Iterator[tuple[Game, int]]:
    """The games with the highest numbers first, without their moves, and how many moves each has.

    Args:
        database: The database.
        path: Its file, for messages.
        most: Games at most.
        before: Only games with smaller numbers.
    """
    plies = "CASE moves WHEN '' THEN 0 ELSE length(moves) - length(replace(moves, ' ', '')) + 1 END"
    where = "" if before is None else " WHERE number < ?"
    query = f"SELECT {plies}, {_RESULT_COLUMNS} FROM games{where} ORDER BY number DESC LIMIT ?"
    with explaining(path):
        for count, *row in database.execute(query, (most,) if before is None else (before, most)):
            yield _game_of(row), count


def select_records(database: sqlite3.Connection, path: Path, number: int | None = None) -> Iterator[Record]:
    """The records of all games in the order of their numbers, or of one."""
    where = "" if number is None else " WHERE number = ?"
    with explaining(path):
        cursor = database.execute(f"SELECT * FROM games{where} ORDER BY number", () if number is None else (number,))
        names = [name for name, *_ in cursor.description]
        for row in cursor:
            yield _record_of(dict(zip(names, row, strict=True)))


def select_times(database: sqlite3.Connection, path: Path) -> Iterator[AnswerTime]:
    """The times of all answers, game by game."""
    with explaining(path):
        for (answers,) in database.execute("SELECT answers FROM times ORDER BY game"):
            for engine, used_ms, reported_ms in json.loads(answers):
                yield AnswerTime(str(engine), float(used_ms), None if reported_ms is None else int(reported_ms))


def _game_of(row: Sequence[Any]) -> Game:
    number, pair, black, white, result, termination, start_time, *start = row
    game = Game(
        black=black,
        white=white,
        result=Result(result),
        termination=Termination(termination),
        name=str(number),
        date=start_time[:10].replace("/", "-"),
        pair=pair,
    )
    if not start:
        return game
    initial_sfen, moves = start
    return replace(game, initial_sfen=initial_sfen, moves=tuple(map(Move.from_usi, moves.split())))


def _record_of(row: Mapping[str, Any]) -> Record:
    record = Record(
        name=str(row["number"]),
        initial_sfen=row["initial_sfen"],
        black_name=row["black"],
        white_name=row["white"],
        start_time=row["start_time"],
        end_time=row["end_time"],
        termination=Termination(row["termination"]),
        result=Result(row["result"]),
        **json.loads(row["head"]),
    )
    for usi, notes in zip_longest(row["moves"].split(), json.loads(row["notes"])):
        fields = {name: notes[short] for name, short in NOTE_FIELDS.items() if short in notes}
        record.moves.append(RecordedMove(Move.from_usi(usi), **fields))
    return record
