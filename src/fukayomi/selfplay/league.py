"""The league: a share of the games against itself is played against others, USI engines and earlier networks.

    league = League(LeagueSettings(engines=(LeagueEngine(name="gps", command=("gpsusi",)),)))
    generate(settings, "network.onnx", "games", games=1000, opponents=league)

The opponents' moves have no targets. Engines think in processes of their own while the batches of the networks go on:
a slow one delays its own games alone.
"""

import queue
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from fukayomi._native import OUTSIDE, SelfplayPlayer, SelfplayPool, WaitingGame
from fukayomi.arena.game.player import PlayerFailedError
from fukayomi.arena.game.rules import EngineSettings
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.game.usi_player import UsiSearcher
from fukayomi.engine.evaluators.backends.network_file import precision_for
from fukayomi.engine.network import Network, same_everywhere
from fukayomi.engine.settings import network_in_folder
from fukayomi.errors import InvalidValueError
from fukayomi.interruption import join_threads, start_threads
from fukayomi.selfplay.journal import GameSummary
from fukayomi.settings import FromFile, Settings, build, read
from fukayomi.usi.client import EngineInterruptedError
from fukayomi.usi.options import OptionError
from fukayomi.usi.process import find_program
from fukayomi.usi.text import RESIGN, Go

ATTEMPTS = 3
"""Times that an engine is asked for a move, started again after each failure. Then its game begins again."""
MOST_RESTARTS = 2
"""Times that a game begins again. Then the network plays it against itself."""
MOST_FAILURES = 5
"""Failures in a row, each after so many attempts. Then the run ends."""
STALL_MS = 60_000
Weight = Annotated[float, Field(ge=1e-6, le=1e6)]


class LeagueError(InvalidValueError):
    """The league cannot be played. The message names the opponent and the remedy."""


class LeagueEngine(EngineSettings):
    """A USI engine of the league."""

    weight: Weight = 1.0
    """Frequency with which it plays, relative to the weights of the other opponents."""
    processes: Annotated[int, Field(ge=1, le=256)] = 1
    """Processes, each of which thinks about one game at a time."""
    memory_mb: Annotated[int, Field(ge=1, le=1 << 20)] | None = None
    """Memory of each process, MiB, which it is told as USI_Hash; None: the engine's own default."""


class LeagueNetwork(Settings):
    """A network of the league: an earlier one, or the main network that an exploiter plays against."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    file: Annotated[Path, FromFile(network_in_folder)]
    """Its file; "embedded" or "<5x64>": the residual network that comes with the package, "<sparse>": the other one."""
    weight: Weight = 1.0
    """Frequency with which it plays, relative to the weights of the other opponents."""
    games: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    """Games that were played against it before; `hardness` goes by them."""
    wins: Annotated[float, Field(ge=0)] = 0.0
    """Wins of the network that learns in these, a draw as one half."""

    @model_validator(mode="after")
    def _wins_are_games(self) -> Self:
        if self.wins > self.games:
            raise InvalidValueError(f"{self.wins} wins in {self.games} games")
        return self


class LeagueRules(Settings):
    """Settings of games against others: how many are played, and which engines play."""

    ERROR: ClassVar = LeagueError

    share: Annotated[float, Field(gt=0, le=1)] = 0.125
    """Share of all games that have an opponent; 1: all of them."""
    clock: TimeControl = TimeControl(byoyomi_ms=500)
    """Time, nodes or depth of an engine's move; an engine may have a clock of its own."""
    split_opponent: bool = False
    """Write games that have an opponent to chunks of their own, `NAME-000001_opp.hcpe3`, as in dlshogi."""
    hardness: Annotated[float, Field(ge=0, le=10)] = 1.0
    """Networks are drawn in proportion to weight * (1 - win rate)^hardness, where the win rate is (wins + 1) / (games +
    2): prioritised fictitious self-play (Vinyals et al., 2019). 0: by weight alone."""
    memory_mb: Annotated[int, Field(ge=1)] | None = None
    """Memory of all processes of engines together, MiB; None: no limit."""
    stall_ms: Annotated[int, Field(ge=1, le=86_400_000)] = STALL_MS
    """Longest time that an engine whose clock is nodes or depth may think about a move; then it counts as hanging."""
    engines: Annotated[tuple[LeagueEngine, ...], Field(alias="engine")] = ()

    @property
    def names(self) -> list[str]:
        """Names of the opponents."""
        return [engine.name for engine in self.engines]

    def check_programs(self) -> None:
        """Look for the programs of the engines.

        Raises:
            LeagueError: One does not exist.
        """
        for engine in self.engines:
            if engine.command and find_program(engine.command[0]) is None and engine.directory is None:
                raise LeagueError(f"engine {engine.name}: program {engine.command[0]} not found")

    @model_validator(mode="after")
    def _engines_can_play(self) -> Self:
        if len(set(self.names)) < len(self.names):
            raise InvalidValueError(f"two opponents have the same name: {', '.join(self.names)}")
        for engine in self.engines:
            clock = engine.clock or self.clock
            if clock.main_ms or clock.increment_ms or len(clock.nodes) > 1:
                raise InvalidValueError(
                    f"{engine.name}: {clock.text()} is not the same for every move; use byoyomi= or nodes="
                )
            if self.memory_mb is not None and engine.memory_mb is None:
                raise InvalidValueError(
                    f"{engine.name}: with memory_mb for the league each engine needs its own memory_mb"
                )
        used = sum(engine.processes * (engine.memory_mb or 0) for engine in self.engines)
        if self.memory_mb is not None and used > self.memory_mb:
            raise InvalidValueError(f"the engines take {used} MiB, the league has {self.memory_mb} MiB (memory_mb)")
        return self


class LeagueSettings(LeagueRules):
    """Settings of a league: who plays how many games."""

    networks: Annotated[tuple[LeagueNetwork, ...], Field(alias="network")] = ()

    @property
    def names(self) -> list[str]:
        """Names of the opponents."""
        return [opponent.name for opponent in (*self.engines, *self.networks)]

    @model_validator(mode="after")
    def _has_opponents(self) -> Self:
        if not self.names:
            raise InvalidValueError("the league has no opponent: add an [[engine]] or a [[network]]")
        return self

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read the settings from a TOML file; paths in it are relative to its folder.

        Raises:
            LeagueError: The file cannot be read, is not valid TOML, or a setting is missing, unknown or out of range.
        """
        path = Path(path)
        values = read(cls, path)
        try:
            return build(cls, values)
        except LeagueError as error:
            raise LeagueError(f"{path}: {error}") from error

    def chances(self) -> dict[str, float]:
        """Probabilities of the opponents to be drawn for a game of the league, by name; they add up to 1."""
        weights = {engine.name: engine.weight for engine in self.engines}
        for network in self.networks:
            losses = 1 - (network.wins + 1) / (network.games + 2)
            weights[network.name] = network.weight * losses**self.hardness
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()}

    def recorded(self, sha256s: Sequence[str | None]) -> dict[str, Any]:
        """Description of the league for the sidecars of the games, as plain values.

        Args:
            sha256s: SHA-256 of the file of each network.
        """
        without = {"networks": True, "stall_ms": True, "engines": {"__all__": {"undeclared_options"}}}
        kept, chances = self.model_dump(mode="json", exclude=without), self.chances()
        networks = [
            {"name": network.name, "weight": chances[network.name], "sha256": sha256}
            for network, sha256 in zip(self.networks, sha256s, strict=True)
        ]
        return {**kept, "networks": networks}


class League(AbstractContextManager["League"]):
    """The opponents of `generate`. Use it as a context manager: it has processes and networks.

    Args:
        settings: Who plays.
        seed: Random seed: which games have which opponent depends on it and on a game's number alone.
        device: What runs the networks, as for `Network`.
        devices: Number of devices that run each network: as many as the newest network has.
        precision: As for `Network`, of residual networks.
        threads: As for `Network`.
        batch_size: As for `Network`.

    Raises:
        LeagueError: A program does not exist.
        EvaluatorError: A network cannot be loaded.
    """

    def __init__(
        self,
        settings: LeagueSettings,
        seed: int = 0,
        device: str = "auto",
        *,
        devices: int = 1,
        precision: str = "auto",
        threads: int = 0,
        batch_size: int = 0,
    ) -> None:
        self._settings, self._seed = settings, seed
        settings.check_programs()
        self._chances = settings.chances()
        self._numbers = {network.name: number for number, network in enumerate(settings.networks, 1)}
        self._networks: list[Network] = []
        self._desks = {engine.name: _EnginePool(engine, settings) for engine in settings.engines}
        self._restarts: Counter[int] = Counter()  # by game
        options: dict[str, Any] = {"device": device, "threads": threads, "batch_size": batch_size}
        try:
            for network in settings.networks:
                own = precision_for(network.file, precision)
                self._networks.append(Network([same_everywhere(str(network.file))] * devices, precision=own, **options))
        except BaseException:
            self.close()
            raise

    @property
    def networks(self) -> Sequence[Network]:
        """See `Opponents`."""
        return self._networks

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `Opponents`."""
        return self._settings.recorded([network.sha256 for network in self._networks])

    @property
    def has_own_files(self) -> bool:
        """See `Opponents`."""
        return self._settings.split_opponent

    def players(self, number: int) -> tuple[SelfplayPlayer, SelfplayPlayer]:
        """See `Opponents`."""
        name, is_black = self._draw(number)
        if not name:
            return SelfplayPlayer(), SelfplayPlayer()
        opponent = SelfplayPlayer(self._numbers.get(name, OUTSIDE), teaches=False)
        return (opponent, SelfplayPlayer()) if is_black else (SelfplayPlayer(), opponent)

    def name(self, number: int) -> str:
        """See `Opponents`."""
        return self._draw(number)[0]

    def think(self, pool: SelfplayPool, game: WaitingGame) -> None:
        """See `Opponents`."""
        self._desks[self.name(game.index)].add(pool, game, self._begin_again)

    def _begin_again(self, pool: SelfplayPool, number: int) -> str:
        """Begin a game again whose engine failed; what becomes of it, for the user."""
        self._restarts[number] += 1  # one desk has the game
        pool.restart(number, *self.players(number))
        return "the network plays it alone" if self._is_without_opponent(number) else "it begins again"

    def _is_without_opponent(self, number: int) -> bool:
        return self._restarts.get(number, 0) > MOST_RESTARTS

    def over(self, game: GameSummary) -> None:
        """See `Opponents`."""

    def notes(self) -> Iterator[str]:
        """See `Opponents`.

        Raises:
            LeagueError: An engine fails again and again.
        """
        for desk in self._desks.values():
            yield from desk.take_notes()

    def close(self) -> None:
        """End the engines and free the networks."""
        for desk in self._desks.values():
            desk.stop()
        for desk in self._desks.values():
            desk.close()
        for network in self._networks:
            network.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _draw(self, number: int) -> tuple[str, bool]:
        """The opponent of a game, empty for none, and whether it has Black."""
        if self._is_without_opponent(number):
            return "", False
        chooser = random.Random(f"league {self._seed} {number}")
        if chooser.random() >= self._settings.share:
            return "", False
        (name,) = chooser.choices(list(self._chances), list(self._chances.values()))
        return name, chooser.random() < 0.5


_BeginAgain = Callable[[SelfplayPool, int], str]


class _EnginePool:
    """An engine: the games that wait for it, and a thread for each of its processes."""

    def __init__(self, engine: LeagueEngine, rules: LeagueRules) -> None:
        self._engine = engine
        if engine.memory_mb is not None:
            engine = engine.model_copy(update={"options": {"USI_Hash": str(engine.memory_mb), **engine.options}})
        self._settings = engine
        self._clock = engine.clock or rules.clock
        self._stall_ms = rules.stall_ms
        self._games: queue.SimpleQueue[tuple[SelfplayPool, WaitingGame, _BeginAgain] | None] = queue.SimpleQueue()
        self._notes: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._failures = 0  # in a row
        self._has_started = False
        self._end = ""  # why the run ends
        self._threads: list[threading.Thread] = []

    def add(self, pool: SelfplayPool, game: WaitingGame, begin_again: _BeginAgain) -> None:
        """Have the engine find a move, soon; if it cannot, its game begins again."""
        if not self._threads:  # only engines that play are started
            self._threads = [
                threading.Thread(target=self._work, name=f"fukayomi-league-{self._engine.name}", daemon=True)
                for _ in range(self._engine.processes)
            ]
            start_threads(self._threads)
        self._games.put((pool, game, begin_again))

    def take_notes(self) -> Iterator[str]:
        end = self._end  # before the notes: those that explain it are among them
        while not self._notes.empty():
            yield self._notes.get()
        if end:
            raise LeagueError(
                f"engine {self._engine.name} {end}; the notes say why. Repair it and run the same command again"
            )

    def stop(self) -> None:
        self._stop.set()
        for _ in self._threads:
            self._games.put(None)

    def close(self) -> None:
        join_threads(self._threads)

    def _work(self) -> None:
        clock = self._clock
        main_ms = 0 if clock.byoyomi_ms else None
        go = Go(
            btime_ms=main_ms, wtime_ms=main_ms, byoyomi_ms=clock.byoyomi_ms or None, movetime_ms=clock.movetime_ms,
            nodes=clock.nodes[0] if clock.nodes else None, depth=clock.depth,
        )  # fmt: skip
        searcher = UsiSearcher(self._settings, go, self._stall_ms, ATTEMPTS, (RESIGN,), self._stop)
        try:
            while (task := self._games.get()) is not None and not self._stop.is_set() and not self._end:
                self._play(searcher, *task)
        except EngineInterruptedError:
            pass
        finally:
            searcher.player.close()

    def _play(self, searcher: UsiSearcher, pool: SelfplayPool, game: WaitingGame, begin_again: _BeginAgain) -> None:
        """Play a move."""

        def failed(problem: str) -> None:
            self._notes.put(f"engine {self._engine.name} is started again (game {game.index}): {problem}")

        try:
            answer = searcher.search(game.position, failed)
        except OptionError as error:  # another attempt would not change it
            self._end_with(str(error), "cannot be used")
        except PlayerFailedError as error:
            self._has_started |= searcher.has_started
            self._fail(pool, game.index, begin_again, error.failure.detail)
        else:
            self._has_started = True
            with self._lock:
                self._failures = 0
            score = next((line.eval_cp for line in answer.lines if line.move == answer.best), 0)
            pool.answer(game.index, answer.best, score)
        finally:
            for warning in searcher.player.take_warnings():
                self._notes.put(warning)

    def _fail(self, pool: SelfplayPool, number: int, begin_again: _BeginAgain, problem: str) -> None:
        """Begin a game again, or have the run end: at once if the engine never started."""
        with self._lock:
            self._failures += 1
            failures = self._failures
        if self._has_started and failures < MOST_FAILURES:
            outcome = begin_again(pool, number)
            self._notes.put(f"engine {self._engine.name} failed in game {number}; {outcome}: {problem}")
            return
        reason = f"failed {failures} times in a row" if self._has_started else "cannot be started"
        self._end_with(f"engine {self._engine.name} failed in game {number}: {problem}", reason)

    def _end_with(self, note: str, reason: str) -> None:
        """Have the run end."""
        self._notes.put(note)
        self._end = reason  # after the note
