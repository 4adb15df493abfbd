"""A match on disk: one SQLite database, one transaction a game, and a lock that lets one run in at a time.

The database is the match; all other files are made from it. It is flushed with every game, so that a kill or a power
cut costs the games in play and nothing else.
"""

import hashlib
import json
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fukayomi import __version__
from fukayomi.arena.match.openings import Opening
from fukayomi.arena.match.player import Failure
from fukayomi.arena.match.referee import PlayedGame
from fukayomi.arena.match.schedule import ScheduledGame
from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.results.game import Game
from fukayomi.shogi import Move
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

DATABASE = "match.db"
LOCK = "match.lock"
APPLICATION_ID = 0x66756B61  # "fuka"
FORMAT = 1
FREE_SETTINGS = frozenset({"games", "concurrency", "cores_per_game", "restart", "log"})
"""What may change between two runs of a match."""

_SCHEMA = f"""
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
"""
_RESULT_COLUMNS = "number, pair, black, white, result, termination, start_time"
_HEAD_FIELDS = ("event", "site", "time_limit", "opening", "comment", "illegal_move", "summary", "headers")
_NOTE_FIELDS = {"score_cp": "cp", "mate": "mate", "time_ms": "ms", "pv": "pv", "comment": "comment"}


class StoreError(ValueError):
    """A match on disk that cannot be used. The message names the file, and says what to do."""


class MatchStore:
    """The match of a folder, open for playing. Use it as a context manager, from one thread."""

    def __init__(self, folder: Path, settings: MatchSettings, openings: Sequence[Opening]) -> None:
        """Begin the match of these settings in `folder`, or go on with it.

        Raises:
            StoreError: Another run plays it; it is another match; its database is damaged or is none of ours.
            OSError: The folder cannot be made.
        """
        self.folder = folder
        self.path = folder / DATABASE
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _take_lock(folder)
        try:
            self._database = _connect(self.path)
            try:
                with _explaining(self.path):
                    self._begin(settings, openings)
            except BaseException:
                self._database.close()
                raise
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> "MatchStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others in."""
        self._database.close()
        self._lock.close()

    def _begin(self, settings: MatchSettings, openings: Sequence[Opening]) -> None:
        if _is_empty(self._database):
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.executescript(_SCHEMA)
            self._database.execute(
                "INSERT INTO match VALUES (1, ?, ?, ?, ?)",
                (__version__, f"{datetime.now():%Y/%m/%d %H:%M:%S}", _to_json(settings), digest(openings)),
            )
            self._database.execute("COMMIT")
        _check_format(self._database, self.path)
        ((finding,),) = self._database.execute("PRAGMA quick_check(1)").fetchall()
        if finding != "ok":
            raise sqlite3.DatabaseError(finding)
        self._database.execute("PRAGMA synchronous = FULL")
        ((settings_text, digest_text),) = self._database.execute("SELECT settings, openings FROM match").fetchall()
        differences = _differences(self.path, settings_text, settings)
        if digest_text != digest(openings):
            differences.append("the openings are others than before")
        if differences:
            raise StoreError(
                f"{self.folder} holds a match with other settings: {'; '.join(differences)}. "
                "Give the settings it began with to go on, or another folder (--out) to begin anew"
            )
        self._database.execute("UPDATE match SET settings = ?", (_to_json(settings),))

    def add(self, game: ScheduledGame, played: PlayedGame) -> None:
        """Keep a game. Once this returns, no kill and no power cut can take it away.

        Raises:
            StoreError: It cannot be written, or is there already.
        """
        record, failure = played.record, played.failure
        head = {name: value for name in _HEAD_FIELDS if (value := getattr(record, name))}
        notes = [
            {short: value for name, short in _NOTE_FIELDS.items() if (value := getattr(move, name)) not in (None, "")}
            for move in record.moves
        ]
        row = (
            game.number, game.pair, game.opening.number, game.black, game.white, int(record.result),
            str(record.termination), record.start_time, record.end_time, record.initial_sfen,
            " ".join(record.usi_moves()), _dump(notes), _dump(head),
        )  # fmt: skip
        with _explaining(self.path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.execute(f"INSERT INTO games VALUES ({', '.join('?' * len(row))})", row)
                if failure is not None:
                    self._database.execute(
                        "INSERT INTO failures VALUES (?, ?, ?, ?)",
                        (game.number, failure.engine, str(failure.kind), failure.detail),
                    )
                self._database.execute("COMMIT")
            except BaseException:
                self._database.rollback()
                raise

    def check_schedule(self, games: Iterator[ScheduledGame]) -> list[ScheduledGame]:
        """The scheduled games that are not played yet.

        Raises:
            StoreError: A game in the database is not what the schedule has under its number.
        """
        with _explaining(self.path):
            rows = self._database.execute("SELECT number, pair, opening, black, white FROM games")
            played = {number: tuple(rest) for number, *rest in rows}
        missing: list[ScheduledGame] = []
        for game in games:
            expected = (game.pair, game.opening.number, game.black, game.white)
            if game.number not in played:
                missing.append(game)
            elif played[game.number] != expected:
                raise StoreError(f"{self.path}: game {game.number} is another than the schedule has; begin a new match")
        return missing

    def results(self) -> Iterator[Game]:
        """Every game, in the order of the numbers, without its moves."""
        with _explaining(self.path):
            for row in self._database.execute(f"SELECT {_RESULT_COLUMNS} FROM games ORDER BY number"):
                yield _game_of(row)

    def games(self) -> Iterator[Game]:
        """Every game, in the order of the numbers."""
        yield from _games_in(self._database, self.path)

    def numbers(self) -> list[int]:
        """The numbers of the games that are there, in order."""
        with _explaining(self.path):
            return [number for (number,) in self._database.execute("SELECT number FROM games ORDER BY number")]

    def record(self, number: int) -> Record:
        """The whole record of a game that is there."""
        with _explaining(self.path):
            cursor = self._database.execute("SELECT * FROM games WHERE number = ?", (number,))
            return _record_of(dict(zip((name for name, *_ in cursor.description), cursor.fetchone(), strict=True)))

    def failures(self) -> list[tuple[int, Failure]]:
        """Every failure of an engine with the number of its game, in the order of the numbers."""
        with _explaining(self.path):
            rows = self._database.execute("SELECT game, engine, kind, detail FROM failures ORDER BY game").fetchall()
        return [(number, Failure(engine, Termination(kind), detail)) for number, engine, kind, detail in rows]


def read_settings(folder: Path) -> MatchSettings | None:
    """The settings of the match in a folder; None if none has begun there.

    Raises:
        StoreError: Its database is damaged or is none of ours.
    """
    path = folder / DATABASE
    if not path.is_file():
        return None
    with closing(_connect_read_only(path)) as database, _explaining(path):
        if _is_empty(database):
            return None
        _check_format(database, path)
        ((text,),) = database.execute("SELECT settings FROM match").fetchall()
        return _settings_of(path, text)


def read_games(path: Path) -> Iterator[Game]:
    """Every game of a match, in the order of the numbers; the match may be under way.

    Args:
        path: A match's database, or its folder.

    Raises:
        StoreError: There is none, or it is damaged.
    """
    path = path / DATABASE if path.is_dir() else path
    if not path.is_file():
        raise StoreError(f"there is no match at {path}")
    with closing(_connect_read_only(path)) as database:
        with _explaining(path):
            _check_format(database, path)
        yield from _games_in(database, path)


def digest(openings: Sequence[Opening]) -> str:
    """Tells whether two files of openings mean the same, whatever their names and spelling."""
    found = hashlib.sha256()
    for opening in openings:
        found.update(f"{opening.initial_sfen} {' '.join(move.usi() for move in opening.moves)}\n".encode())
    return found.hexdigest()


# ---------------------------------------------------------------------------------------------------- opening the files


@contextmanager
def _explaining(path: Path) -> Generator[None]:
    """Errors of SQLite as ours."""
    try:
        yield
    except sqlite3.OperationalError as error:  # the disk is full, the file is locked, ...
        raise StoreError(f"{path}: {error}") from error
    except StoreError:
        raise
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is damaged: {error}. Move it away to begin anew, or restore a copy") from error


def _take_lock(folder: Path) -> sqlite3.Connection:
    """A lock that goes with this process, however it ends: SQLite has one on every system."""
    path = folder / LOCK
    with _explaining(path):
        lock = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise StoreError(f"another run is playing the match in {folder}") from None
        raise StoreError(f"{path}: {error}") from error
    except sqlite3.DatabaseError as error:
        lock.close()
        raise StoreError(f"{path} is no lock of ours ({error}); is {folder} the right folder?") from error
    return lock


def _connect(path: Path) -> sqlite3.Connection:
    with _explaining(path):
        return sqlite3.connect(path, timeout=10, isolation_level=None)


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """A database may lie where nothing can be written: then nobody else writes to it, either."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with _explaining(path):
        database = sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None)
    try:
        database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        database.close()
        with _explaining(path):
            return sqlite3.connect(f"{uri}&immutable=1", uri=True, isolation_level=None)
    except sqlite3.DatabaseError:
        pass  # the check of the format says it better
    return database


def _is_empty(database: sqlite3.Connection) -> bool:
    """Whether nothing was ever written to it: it is new, or its creation was cut off."""
    ((tables,),) = database.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    ((application,),) = database.execute("PRAGMA application_id").fetchall()
    return tables == 0 and application == 0


def _check_format(database: sqlite3.Connection, path: Path) -> None:
    ((application,),) = database.execute("PRAGMA application_id").fetchall()
    ((version,),) = database.execute("PRAGMA user_version").fetchall()
    if application != APPLICATION_ID:
        raise StoreError(f"{path} is not the database of a match")
    if version != FORMAT:
        raise StoreError(f"{path} has the format {version}; this version of fukayomi reads {FORMAT}")


# ------------------------------------------------------------------------------------------------------------- settings


def _to_json(settings: MatchSettings) -> str:
    return settings.model_dump_json(by_alias=True)


def _settings_of(path: Path, stored: str) -> MatchSettings:
    try:
        return MatchSettings.model_validate_json(stored)
    except ValidationError as error:
        raise StoreError(
            f"{path}: its settings are of another version of fukayomi: {error.errors()[0]['msg']}"
        ) from error


def _differences(path: Path, stored: str, settings: MatchSettings) -> list[str]:
    """What differs between the stored settings and these, in words."""
    before, now = _flat(_settings_of(path, stored)), _flat(settings)
    names = list(dict.fromkeys([*before, *now]))
    return [
        f"{name} was {before.get(name, 'not there')} and is {now.get(name, 'not there')}"
        for name in names
        if before.get(name) != now.get(name)
    ]


def _flat(settings: MatchSettings) -> dict[str, str]:
    """Every setting that must not change, as text; those of engines under their names."""
    dumped: dict[str, Any] = settings.model_dump(mode="json", exclude={*FREE_SETTINGS, "openings", "engines"})
    flat = {"engines": ", ".join(engine.name for engine in settings.engines), **_flatten(dumped)}
    for engine in settings.engines:
        flat |= _flatten(engine.model_dump(mode="json", exclude={"name"}), f"{engine.name}'s ")
    return flat


def _flatten(found: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{name} ")  # pyright: ignore[reportUnknownArgumentType]
        else:
            flat[f"{prefix}{name}"] = json.dumps(value, ensure_ascii=False)
    return flat


# ----------------------------------------------------------------------------------------------------------------- rows


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _games_in(database: sqlite3.Connection, path: Path) -> Iterator[Game]:
    with _explaining(path):
        for row in database.execute(f"SELECT {_RESULT_COLUMNS}, initial_sfen, moves FROM games ORDER BY number"):
            yield _game_of(row)


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
        fields = {name: notes[short] for name, short in _NOTE_FIELDS.items() if short in notes}
        record.moves.append(RecordedMove(Move.from_usi(usi), **fields))
    return record
