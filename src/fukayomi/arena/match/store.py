"""A match on disk, open for playing: one SQLite database, one transaction per game.

The database is the match; all other files are made from it. It is flushed with every game, so that a kill or a power
failure costs only the games in progress. ``results/match_db.py`` has the format.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fukayomi import __version__
from fukayomi.arena.game.openings import Opening
from fukayomi.arena.game.player import Failure
from fukayomi.arena.game.referee import PlayedGame
from fukayomi.arena.match.settings import MatchSettings, ScheduledGame
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_db import (
    DATABASE,
    HEAD_FIELDS,
    NOTE_FIELDS,
    SCHEMA,
    StoreError,
    check_format,
    connect_read_only,
    explaining,
    is_empty,
    select_games,
    select_records,
    select_results,
    select_times,
)
from fukayomi.arena.statistics.move_times import AnswerTime
from fukayomi.files.lock import FolderLock
from fukayomi.settings.problems import first_problem
from fukayomi.shogi.record import Record, Termination, now

LOCK = "match.lock"
FREE_SETTINGS = frozenset({"games", "concurrency", "cores_per_game", "restart", "log"})
"""Settings that may change between two runs of a match."""


class MatchStore:
    """A match that is being played. Use it as a context manager, from one thread."""

    def __init__(self, folder: Path, settings: MatchSettings, openings: Sequence[Opening]) -> None:
        """Begin the match in `folder`, or resume it.

        Raises:
            StoreError: The folder holds a match with other settings, or its database is damaged or of another program.
            OSError: The folder cannot be created, or another process plays this match (LockedError).
        """
        self.folder = folder
        self.path = folder / DATABASE
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as opened:
            opened.enter_context(FolderLock(folder, LOCK))
            with explaining(self.path):
                self._database = sqlite3.connect(self.path, timeout=10, isolation_level=None)
                opened.callback(self._database.close)
                self._begin(settings, openings)
            self._opened = opened.pop_all()

    def __enter__(self) -> "MatchStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database and release the lock."""
        self._opened.close()

    def _begin(self, settings: MatchSettings, openings: Sequence[Opening]) -> None:
        if is_empty(self._database):
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.executescript(SCHEMA)
            self._database.execute(
                "INSERT INTO match VALUES (1, ?, ?, ?, ?)",
                (__version__, now(), _to_json(settings), digest(openings)),
            )
            self._database.execute("COMMIT")
        check_format(self._database, self.path)
        ((finding,),) = self._database.execute("PRAGMA quick_check(1)").fetchall()
        if finding != "ok":
            raise sqlite3.DatabaseError(finding)
        self._database.execute("PRAGMA synchronous = FULL")
        ((settings_text, digest_text),) = self._database.execute("SELECT settings, openings FROM match").fetchall()
        differences = _differences(self.path, settings_text, settings)
        if digest_text != digest(openings):
            differences.append("the openings are not the same")
        if differences and not self.numbers():  # it was refused or stopped before its first game
            self._database.execute("UPDATE match SET openings = ?", (digest(openings),))
            self._database.execute("DELETE FROM warnings")
        elif differences:
            raise StoreError(
                f"{self.folder} holds a match with other settings: {'; '.join(differences)}. "
                "Give the settings it began with to resume it, or choose another folder for a new match"
            )
        self._database.execute("UPDATE match SET settings = ?", (_to_json(settings),))

    def add(self, game: ScheduledGame, played: PlayedGame) -> None:
        """Store a game. When this returns, the game survives a kill or a power failure.

        Raises:
            StoreError: The game cannot be written, or is stored already.
        """
        record, failure = played.record, played.failure
        head = {name: value for name in HEAD_FIELDS if (value := getattr(record, name))}
        notes = [
            {short: value for name, short in NOTE_FIELDS.items() if (value := getattr(move, name)) not in (None, "")}
            for move in record.moves
        ]
        row = (
            game.number, game.pair, game.opening.number, game.black, game.white, int(record.result),
            str(record.termination), record.start_time, record.end_time, record.initial_sfen,
            " ".join(record.usi_moves()), _dump(notes), _dump(head),
        )  # fmt: skip
        with explaining(self.path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.execute(f"INSERT INTO games VALUES ({', '.join('?' * len(row))})", row)
                if played.answers:
                    times = [(one.engine, one.used_ms, one.reported_ms) for one in played.answers]
                    self._database.execute("INSERT INTO times VALUES (?, ?)", (game.number, _dump(times)))
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
        """The scheduled games that are not stored yet.

        Raises:
            StoreError: A stored game differs from the scheduled game of its number.
        """
        with explaining(self.path):
            rows = self._database.execute("SELECT number, pair, opening, black, white FROM games")
            played = {number: tuple(rest) for number, *rest in rows}
        missing: list[ScheduledGame] = []
        for game in games:
            expected = (game.pair, game.opening.number, game.black, game.white)
            if game.number not in played:
                missing.append(game)
            elif played[game.number] != expected:
                raise StoreError(f"{self.path}: game {game.number} is not the scheduled one; begin a new match")
        return missing

    def results(self) -> Iterator[Game]:
        """Every game, in the order of the numbers, without its moves."""
        return select_results(self._database, self.path)

    def games(self) -> Iterator[Game]:
        """Every game, in the order of the numbers."""
        return select_games(self._database, self.path)

    def numbers(self) -> list[int]:
        """The numbers of the stored games, in order."""
        with explaining(self.path):
            return [number for (number,) in self._database.execute("SELECT number FROM games ORDER BY number")]

    def record(self, number: int) -> Record:
        """The complete record of a stored game."""
        (record,) = select_records(self._database, self.path, number)
        return record

    def add_warnings(self, texts: Sequence[str]) -> None:
        """Store what engines are not told."""
        with explaining(self.path):
            self._database.executemany("INSERT OR IGNORE INTO warnings VALUES (?)", [(text,) for text in texts])

    def warnings(self) -> list[str]:
        """Warnings about what engines were not told, in the order in which it was found."""
        return select_warnings(self._database, self.path)

    def times(self) -> Iterator[AnswerTime]:
        """The times of all answers."""
        return select_times(self._database, self.path)

    def failures(self) -> list[tuple[int, Failure]]:
        """All failures of engines with the numbers of their games, in the order of the numbers."""
        return select_failures(self._database, self.path)


def select_failures(database: sqlite3.Connection, path: Path) -> list[tuple[int, Failure]]:
    """All failures of engines with the numbers of their games, in the order of the numbers."""
    with explaining(path):
        rows = database.execute("SELECT game, engine, kind, detail FROM failures ORDER BY game").fetchall()
        return [(number, Failure(engine, Termination(kind), detail)) for number, engine, kind, detail in rows]


def select_warnings(database: sqlite3.Connection, path: Path) -> list[str]:
    """Warnings about what engines were not told, in the order in which it was found."""
    with explaining(path):
        return [text for (text,) in database.execute("SELECT text FROM warnings ORDER BY rowid")]


def read_settings(folder: Path) -> MatchSettings | None:
    """The settings of the match in a folder; None if no match has begun there.

    Raises:
        StoreError: The database is damaged, or belongs to another program.
    """
    path = folder / DATABASE
    if not path.is_file():
        return None
    with closing(connect_read_only(path)) as database, explaining(path):
        if is_empty(database):
            return None
        check_format(database, path)
        ((text,),) = database.execute("SELECT settings FROM match").fetchall()
        return _settings_of(path, text)


def digest(openings: Sequence[Opening]) -> str:
    """A hash of the openings' positions and moves; names and spelling do not matter."""
    sha = hashlib.sha256()
    for opening in openings:
        sha.update(f"{opening.initial_sfen} {' '.join(move.usi() for move in opening.moves)}\n".encode())
    return sha.hexdigest()


# ------------------------------------------------------------------------------------------------------------- settings


def _to_json(settings: MatchSettings) -> str:
    return settings.model_dump_json(by_alias=True)


def _settings_of(path: Path, stored: str) -> MatchSettings:
    try:
        return MatchSettings.model_validate_json(stored)
    except ValidationError as error:
        problem = first_problem(error)
        raise StoreError(f"{path}: the settings are of another version of fukayomi: {problem}") from error


def _differences(path: Path, stored: str, settings: MatchSettings) -> list[str]:
    """Differences between these settings and the stored ones, in words."""
    before, now = _flat(_settings_of(path, stored)), _flat(settings)
    names = list(dict.fromkeys([*before, *now]))
    return [
        f"{name} was {before.get(name, 'not set')} and is {now.get(name, 'not set')}"
        for name in names
        if before.get(name) != now.get(name)
    ]


def _flat(settings: MatchSettings) -> dict[str, str]:
    """All settings that must not change, as text; those of an engine under its name."""
    dumped: dict[str, Any] = settings.model_dump(mode="json", exclude={*FREE_SETTINGS, "openings", "engines"})
    flat = {"engines": ", ".join(engine.name for engine in settings.engines), **_flatten(dumped)}
    for engine in settings.engines:
        flat |= _flatten(engine.model_dump(mode="json", exclude={"name"}), f"{engine.name}'s ")
    return flat


def _flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{name} ")  # pyright: ignore[reportUnknownArgumentType]
        else:
            flat[f"{prefix}{name}"] = json.dumps(value, ensure_ascii=False)
    return flat


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
