"""A player that thinks in a thread, for programs with an event loop."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from fukayomi.arena.game.player import Answer, Player, PlayerFailedError
from fukayomi.arena.game.rules import EngineSettings, GameTerms, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.listener import Listener
from fukayomi.shogi import Position
from fukayomi.usi.text import Go

T = TypeVar("T")
ATTEMPTS = 3
"""Starts, and answers to one position, before a player that breaks down is given up."""


class ThinkingPlayer:
    """A player of `fukayomi.arena.game` whose answers are awaited.

    Args:
        player: The player; `close` closes it.
        rules: Its time limits.
        listener: Gets its warnings as notes.
    """

    def __init__(self, player: Player, rules: Rules, listener: Listener) -> None:
        self.player = player
        self._rules, self._listener = rules, listener
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=player.name)
        self._stop = threading.Event()

    async def _call(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def prepare(self, terms: GameTerms | None, attempts: int = ATTEMPTS) -> None:
        """Get ready for a game; starts the player if it does not run, and again if it breaks down.

        Raises:
            PlayerFailedError, OptionError, EngineInterruptedError: See `Player.prepare`.
        """
        for attempt in range(1, attempts + 1):
            try:
                await self._call(lambda: self.player.prepare(self._rules, self._stop, terms))
            except PlayerFailedError as error:
                if attempt == attempts:
                    raise
                self._listener.note(f"{error}; attempt {attempt} of {attempts}")
            else:
                break
        self._report()

    async def think(self, position: Position, go: Go, limit_ms: float) -> Answer:
        """Search a position.

        Raises:
            PlayerFailedError: The player broke down.
            EngineInterruptedError: `stop` was called.
        """
        own = position.copy()
        answer = await self._call(lambda: self.player.think(own, go, limit_ms, self._stop))
        self._report()
        return answer

    async def ponder(self, position: Position, go: Go) -> None:
        """Begin to think in the opponent's time."""
        own = position.copy()
        await self._call(lambda: self.player.ponder(own, go))

    async def game_over(self, outcome: str) -> None:
        """Report the result. A player that has broken down starts again with the next game.

        Args:
            outcome: ``win``, ``loss``, or anything else: USI has a word for draws, and none for broken games.
        """
        self.allow()

        def tell() -> None:
            self.player.game_over({"win": "win", "loss": "lose"}.get(outcome, "draw"))
            if failure := self.player.take_failure():
                self._listener.note(f"{failure.engine}: {failure.detail}")

        await self._call(tell)
        self._report()

    def stop(self) -> None:
        """End the search that runs; its answer is not needed."""
        self._stop.set()

    def allow(self) -> None:
        """Searches go on from here."""
        self._stop.clear()

    async def refuse(self, detail: str) -> PlayerFailedError:
        """End a player that broke the protocol; returns the error to raise."""
        return await self._call(lambda: self.player.refused(detail))

    async def close(self) -> None:
        """End the player, and the thread."""
        self.stop()
        await self._call(self.player.close)
        self._thread.shutdown()

    def _report(self) -> None:
        for warning in self.player.take_warnings():
            self._listener.note(warning)


def usi_player(
    name: str,
    command: Sequence[str],
    options: Mapping[str, str] | None = None,
    *,
    directory: Path | None = None,
    undeclared_options: bool = False,
    log: Callable[[str], None] | None = None,
) -> UsiPlayer:
    """A USI engine as a player. Its process starts when it is needed.

    Args:
        name: Its name in messages.
        command: Program and arguments.
        options: USI options.
        directory: Working directory; None: the current one.
        undeclared_options: Send options all the same that the engine does not declare.
        log: Called with "> line" and "< line" of the protocol, from several threads.
    """
    settings = EngineSettings(
        name=name,
        command=tuple(command),
        directory=directory,
        options=dict(options or {}),
        undeclared_options=undeclared_options,
    )
    return UsiPlayer(settings, TimeControl(movetime_ms=1), log)  # each search gets the clocks of its game
