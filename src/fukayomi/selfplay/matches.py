"""Matches between networks whose games are played many at once in one pool, so that batches are full."""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fukayomi._native import FinishedGame as PoolGame
from fukayomi._native import GameReason, SelfplayPlayer, SelfplayPool, decode_hcpe3
from fukayomi.arena import MatchResult, MovePlayer, play_match
from fukayomi.arena.game.referee import PlayedGame
from fukayomi.arena.game.rules import Tournament
from fukayomi.arena.match.settings import MatchSettings, ScheduledGame
from fukayomi.arena.match.workers import FinishedGame, GameQueue, WorkerReport
from fukayomi.arena.statistics.sprt import SprtSettings
from fukayomi.engine.network import Network
from fukayomi.engine.settings import UsiSettings
from fukayomi.interruption import join_threads, start_threads
from fukayomi.listener import SILENT, Listener
from fukayomi.selfplay.pool_threads import PoolThreads, games_at_once, slots_of
from fukayomi.selfplay.settings import PoolSettings
from fukayomi.shogi import BLACK, Move, Position
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, now, winner_is
from fukayomi.usi.client import SearchAnswer
from fukayomi.usi.text import Go

WAIT_S = 0.1
"""Longest delay before an interrupt is noticed."""

_TERMINATIONS = {
    GameReason.MATE: Termination.MATE,
    GameReason.RESIGNATION: Termination.RESIGN,
    GameReason.DECLARATION: Termination.DECLARATION,
    GameReason.MAX_PLIES: Termination.MAX_PLIES,
}


def play_networks(
    networks: Mapping[str, Network],
    *,
    games: int,
    playouts: int,
    openings: str | Path | Sequence[str | Position] | None = None,
    folder: str | Path | None = None,
    sprt: SprtSettings | Mapping[str, Any] | None = None,
    seed: int | None = None,
    tournament: Tournament | str = Tournament.ROUND_ROBIN,
    max_plies: int = 256,
    parallel: int = 0,
    reproducible: bool = False,
    event: str = "",
    listener: Listener = SILENT,
) -> MatchResult:
    """Play a match between networks by the engine's search, many games at once: much faster than one after another.

    Other than in `fukayomi.arena.play_match` with a clock of nodes, each move has a new tree and ends early where the
    best move is clear, no side resigns, and the records have no times. A game depends on networks, playouts and its
    opening alone (with `reproducible`, if a network's answers depend on the size of its batches).

        >>> from fukayomi.engine import Network
        >>> from fukayomi.selfplay import play_networks
        >>> with Network("<hash>") as one, Network("<uniform>") as two:
        ...     result = play_networks({"hash": one, "uniform": two}, games=4, playouts=8, max_plies=20)
        >>> [row["games"] for row in result.rows()]
        [4, 4]

    Args:
        networks: Name and network. Each has as many devices as the first.
        games: Games in total.
        playouts: Visits of the root's moves, for each move of a game.
        openings: As in `play_match`.
        folder: As in `play_match`.
        sprt: As in `play_match`.
        seed: As in `play_match`.
        tournament: As in `play_match`.
        event: As in `play_match`.
        listener: As in `play_match`.
        max_plies: A game is a draw after this many plies, at most 512.
        parallel: Games at once at most; 0: enough to fill the batches.
        reproducible: Run full batches, whatever is in them: for networks whose answers depend on the size of a batch.

    Raises:
        ValueError: The settings are invalid, or do not fit the folder.
        EvaluatorError: A network failed.
        OSError: A file cannot be read or written, or another process plays this match.
    """
    settings = PoolSettings(playouts=playouts, max_plies=max_plies, parallel=parallel, reproducible=reproducible)
    return play_match(
        {name: _NetworkPlayer(network) for name, network in networks.items()},
        games=games,
        clock=f"nodes={playouts}",
        openings=openings,
        folder=folder,
        sprt=sprt,
        seed=seed,
        tournament=tournament,
        rules={"max_plies": max_plies},
        event=event,
        listener=listener,
        start_workers=partial(PoolWorkers, networks=networks, pool=settings),
    )


class _NetworkPlayer(MovePlayer):
    """A network that plays in a pool."""

    def __init__(self, network: Network) -> None:
        self._network = network

    @property
    def identity(self) -> str:
        """However many devices it has."""
        names = dict.fromkeys(evaluator.identity for evaluator in self._network.evaluators)
        return f"{', '.join(names)} in a pool"

    def choose(self, position: Position, go: Go) -> Move | SearchAnswer:
        raise AssertionError("the pool plays")


class PoolWorkers:
    """Plays the games of a match in one pool (`fukayomi.arena.match.workers.Workers`).

    Args:
        settings: The match.
        logs: Unused: there are no USI lines.
        stop: Drops the games in progress when set.
        networks: The networks by name.
        pool: How they play.
    """

    def __init__(
        self,
        settings: MatchSettings,
        logs: Path | None,
        stop: threading.Event,
        *,
        networks: Mapping[str, Network],
        pool: PoolSettings,
    ) -> None:
        self._event, self._stop, self._settings = settings.event, stop, pool
        self._numbers = {name: number for number, name in enumerate(networks)}
        self._networks = list(networks.values())
        self._parallel = max(slots_of(self._networks[0]), pool.parallel or games_at_once(self._networks[0]))
        self._games: dict[int, tuple[ScheduledGame, str]] = {}  # in play: the game, and when it began
        self._thread: threading.Thread | None = None

    def start(self, games: GameQueue, report: Callable[[WorkerReport], None]) -> int:
        """See `Workers`."""
        self._thread = threading.Thread(target=self._work, args=(games, report), name="match pool", daemon=True)
        start_threads([self._thread])
        return 1

    def join(self) -> None:
        """See `Workers`."""
        if self._thread is not None:
            join_threads([self._thread])

    def _work(self, games: GameQueue, report: Callable[[WorkerReport], None]) -> None:
        shares = slots_of(self._networks[0])
        try:
            pool = SelfplayPool(self._settings.params(), UsiSettings().search_params(), self._parallel, shares=shares)
            threads = PoolThreads(pool, self._networks, reproducible=self._settings.reproducible)
            threads.start()
            try:
                while not self._stop.is_set() and self._top_up(pool, games):
                    for finished in threads.reports(WAIT_S):
                        for game in finished:
                            assert isinstance(game, PoolGame)  # all players are networks
                            scheduled, began = self._games.pop(game.index)
                            report(FinishedGame(scheduled, _played(game, scheduled, began, self._event)))
            finally:
                threads.close()
        except Exception as error:  # any error must reach the match, or it would wait forever
            report(error)
        finally:
            report(None)

    def _top_up(self, pool: SelfplayPool, games: GameQueue) -> bool:
        """Begin games until there is no room, or none left; whether any is in play."""
        while len(self._games) < self._parallel and (game := games.take()) is not None:
            players = [SelfplayPlayer(self._numbers[name], teaches=False) for name in (game.black, game.white)]
            self._games[game.number] = game, now()
            pool.add(game.number, game.opening.position(), *players)
        return bool(self._games)


def _played(game: PoolGame, scheduled: ScheduledGame, began: str, event: str) -> PlayedGame:
    """The record of a game, with the value of each position that was searched."""
    opening = scheduled.opening
    evals = decode_hcpe3(np.frombuffer(game.data, np.uint8), True).evals.tolist()
    sign = 1 if Position.from_sfen(opening.initial_sfen).turn == BLACK else -1
    moves = [
        RecordedMove(move, score_cp=None if ply < game.opening_plies else sign * (-1) ** ply * evals[ply])
        for ply, move in enumerate(game.moves)
    ]
    repetition = Termination.REPETITION if game.winner is None else Termination.PERPETUAL_CHECK
    record = Record(
        initial_sfen=opening.initial_sfen,
        black_name=scheduled.black,
        white_name=scheduled.white,
        start_time=began,
        end_time=now(),
        event=event,
        moves=moves,
        termination=_TERMINATIONS.get(game.reason, repetition),
        result=Result.DRAW if game.winner is None else winner_is(game.winner),
    )
    return PlayedGame(record)
