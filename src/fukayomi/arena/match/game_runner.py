"""A table of a match: two engines that stay seated from one game to the next, and a log of what is said."""

import threading
import time
from functools import partial
from pathlib import Path
from typing import TextIO

from fukayomi.arena.game.player import Player
from fukayomi.arena.game.referee import PlayedGame, play_game
from fukayomi.arena.match.schedule import ScheduledGame
from fukayomi.arena.match.settings import MatchSettings


class Table:
    """Plays games one after another. Use it as a context manager, from one thread: it leaves no engine behind."""

    def __init__(self, settings: MatchSettings, logs: Path | None) -> None:
        """Open a table with nobody at it.

        Args:
            settings: Of the match.
            logs: Folder for a log of each game; None: nothing is kept.
        """
        self._settings = settings
        self._engines = {engine.name: engine for engine in settings.engines}
        self._players: dict[str, Player] = {}
        self._log = _Log()
        self._logs = logs

    def __enter__(self) -> "Table":
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._players):
            self._stand_up(name)

    @property
    def seated(self) -> frozenset[str]:
        """The engines of the last game."""
        return frozenset(self._players)

    def play(self, game: ScheduledGame, stop: threading.Event | None) -> PlayedGame | None:
        """Play a game; None if `stop` was set before its end."""
        for name in self.seated - {game.black, game.white}:
            self._stand_up(name)
        try:
            if self._logs is not None:
                self._log.open(self._logs / f"{game.number:06}.log")
            black, white = (self._sit_down(name) for name in (game.black, game.white))
            played = play_game(black, white, game.opening, self._settings.rules, stop)
        finally:
            self._log.close()
        if played is not None:
            played.record.event = self._settings.event
        return played

    def _sit_down(self, name: str) -> Player:
        if name not in self._players:
            listener = None if self._logs is None else partial(self._log.write, name)
            self._players[name] = Player(self._engines[name], self._settings.clock, listener)
        return self._players[name]

    def _stand_up(self, name: str) -> None:
        self._players.pop(name).close()


class _Log:
    """The log of the game in play, if any; engines write to it from threads of their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: TextIO | None = None
        self._began_s = 0.0

    def open(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock:
            self._file = path.open("w", encoding="utf-8", newline="\n")
            self._began_s = time.monotonic()

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None

    def write(self, name: str, line: str) -> None:
        """``12.345 NAME < bestmove 7g7f``: seconds since the game began, who, and whether it said or heard it."""
        with self._lock:
            if self._file is not None:
                self._file.write(f"{time.monotonic() - self._began_s:.3f} {name} {line}\n")
