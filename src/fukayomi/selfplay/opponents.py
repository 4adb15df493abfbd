"""Interface of opponents other than the newest network in self-play."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from fukayomi._native import SelfplayPlayer, SelfplayPool, WaitingGame
from fukayomi.engine.network import Network
from fukayomi.selfplay.journal import GameSummary


class Opponents(Protocol):
    """Players besides the newest network."""

    @property
    def networks(self) -> Sequence[Network]:
        """Networks of the numbers 1, 2, ...; each runs on as many devices as the newest."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Plain values that tell these opponents from others; they go into the sidecars."""
        ...

    @property
    def has_own_files(self) -> bool:
        """True if games that have an opponent go to chunks of their own."""
        ...

    def players(self, number: int) -> tuple[SelfplayPlayer, SelfplayPlayer]:
        """Black and White of a game, by its number."""
        ...

    def name(self, number: int) -> str:
        """Name of the opponent of that game; empty without one."""
        ...

    def think(self, pool: SelfplayPool, game: WaitingGame) -> None:
        """Find a move for a game in which another program is to move, and call `SelfplayPool.answer` from any thread.

        It returns at once. A game that cannot be played on begins again by `SelfplayPool.restart`.
        """
        ...

    def over(self, game: GameSummary) -> None:
        """Called after each game."""
        ...

    def notes(self) -> Iterable[str]:
        """Notes for the user since the last call. An error that ends the run is raised here."""
        ...
