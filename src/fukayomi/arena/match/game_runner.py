"""The runner of a match's games, and a check of the engines before the first one.

The runner keeps the engines from one game to the next. The check starts each USI engine, to see whether it takes its
options and knows the rules.
"""

import threading
import time
from collections.abc import Container, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

from fukayomi.arena.game.player import InProcessPlayer, MovePlayer, Player, PlayerFailedError
from fukayomi.arena.game.referee import PlayedGame, play_game
from fukayomi.arena.game.rules import ConfigurationError, Declaration, EngineSettings, GameTerms, tell
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.arena.match.settings import MatchSettings, ScheduledGame
from fukayomi.usi.options import Option, OptionError, fitting

NO_PLAYERS: Mapping[str, MovePlayer] = MappingProxyType({})


class GameRunner:
    """Plays one game at a time. Use it as a context manager, from one thread: it leaves no engine behind."""

    def __init__(
        self, settings: MatchSettings, logs: Path | None, players: Mapping[str, MovePlayer] = NO_PLAYERS
    ) -> None:
        """Start no engine yet.

        Args:
            settings: The match.
            logs: Folder for a log of each game; None: no logs.
            players: The engines that play in this process, by name.
        """
        self._settings = settings
        self._engines = {engine.name: engine for engine in settings.engines}
        self._own = players
        self._players: dict[str, Player] = {}
        self._log = _Log()
        self._logs = logs

    def __enter__(self) -> "GameRunner":
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._players):
            self._close(name)

    @property
    def running(self) -> frozenset[str]:
        """The engines of the last game, which still run."""
        return frozenset(self._players)

    def play(self, game: ScheduledGame, stop: threading.Event | None) -> PlayedGame | None:
        """Play a game; None if `stop` was set before its end."""
        for name in self.running - {game.black, game.white}:
            self._close(name)
        try:
            if self._logs is not None:
                self._log.open(self._logs / f"{game.number:06}.log")
            black, white = (self._player(name) for name in (game.black, game.white))
            settings = self._settings
            played = play_game(black, white, game.opening, settings.rules, stop, ponder=settings.ponder)
        finally:
            self._log.close()
        if played is not None:
            played.record.event = self._settings.event
        return played

    def _player(self, name: str) -> Player:
        if name not in self._players:
            settings, clock = self._engines[name], self._settings.clock
            log = None if self._logs is None else partial(self._log.write, name)
            if name in self._own:
                self._players[name] = InProcessPlayer(self._own[name], settings, clock, log)
            else:
                self._players[name] = UsiPlayer(settings, clock, log)
        return self._players[name]

    def _close(self, name: str) -> None:
        self._players.pop(name).close()


class _Log:
    """The log of the current game, if any; engines write to it from threads of their own."""

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
        """``12.345 NAME < bestmove 7g7f``: seconds since the game began, the engine, and received (<) or sent (>)."""
        with self._lock:
            if self._file is not None:
                self._file.write(f"{time.monotonic() - self._began_s:.3f} {name} {line}\n")


def check_engines(
    settings: MatchSettings, stop: threading.Event | None = None, players: Container[str] = ()
) -> tuple[str, ...]:
    """Start each USI engine once, without a network, and end it again.

    An engine that does not start is left to its first game, which it loses. Engines that are the same program with
    other options are not started again if it has declared all of these.

    Args:
        settings: The match.
        stop: Ends the wait for an engine when set.
        players: Names of the engines that play in this process.

    Returns:
        What the match depends on and an engine is not told, as ``NAME: text``.

    Raises:
        ConfigurationError: An engine does not declare an option that it is given, or a value of it.
        EngineInterruptedError: `stop` was set.
    """
    terms = GameTerms.of(settings.rules, ponder=settings.ponder)
    warnings: list[str] = []
    declared: dict[tuple[object, ...], Mapping[str, Option]] = {}
    for engine in settings.engines:
        if not engine.command or engine.name in players:
            warnings += _of_own_player(engine.name, terms)
            continue
        program = (engine.command, engine.directory)
        if (known := declared.get(program)) is not None and _declares(known, engine):
            warnings += [f"{engine.name}: {text}" for text in tell(known, engine.options, terms).warnings]
            continue
        with UsiPlayer(engine, settings.clock) as player:
            try:
                warnings += player.check_options(settings.rules, terms, stop)
            except OptionError as error:
                raise ConfigurationError(str(error)) from error
            except PlayerFailedError:
                continue
            declared[program] = player.declared_options
    return tuple(warnings)


def _declares(known: Mapping[str, Option], engine: EngineSettings) -> bool:
    """True if the options and their values are among those declared."""
    try:
        for name, text in engine.options.items():
            fitting(known, name, text)
    except OptionError:
        return False
    return True


def _of_own_player(name: str, terms: GameTerms) -> list[str]:
    """Terms that a player in this process is not told; only those that somebody chose."""
    found: list[str] = []
    if terms.declaration is not Declaration.POINTS_27:
        rule = f"the rule for declarations is {terms.declaration}"
        found.append(f"{name}: a player in this process is not told that {rule}")
    if terms.ponder:
        found.append(f"{name}: a player in this process does not ponder")
    return found
