"""Generating games: networks play many games at once against themselves, which become chunks.

    generate(SelfplaySettings(), "network.onnx", Path("games"), games=1000)

The threads of `fukayomi.selfplay.pool_threads` play them. The calling thread says what each game is, stores those that
are over, and reports.
"""

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fukayomi._native import FinishedGame, GameReason, SelfplayPlayer, SelfplayPool, decode_hcpe3, position_from_hcp
from fukayomi.book import BookReader
from fukayomi.engine.evaluators.protocol import NetworkEvaluator
from fukayomi.engine.network import STUBS, Network, same_everywhere
from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import file_sha256
from fukayomi.files.lock import FolderLock
from fukayomi.interruption import StopRequest
from fukayomi.listener import Listener
from fukayomi.selfplay.chunk import read_chunk, require_origin
from fukayomi.selfplay.journal import GameSummary, Opponents, StoredGame
from fukayomi.selfplay.listener import SILENT, PlainListener, SelfplayListener, SelfplayProgress, SelfplayRun
from fukayomi.selfplay.openings import BookOpenings, Openings
from fukayomi.selfplay.pool_threads import PoolThreads, Report, games_at_once, slots_of
from fukayomi.selfplay.settings import SelfplaySettings
from fukayomi.selfplay.store import ChunkStore, Worker
from fukayomi.shogi import Move, Position

MOST_GAMES = (1 << 53) - 1
"""Highest number of a game; larger ones would not be exact in every reader of JSON."""
CACHE_MB = 64
BOOK_PLIES = 24
REPORT_S = 0.5
"""Seconds between two reports of the state."""
FUTILE_GAMES = 500
"""Games in a row, at least, and two for each at once, without a position to keep: a run for positions then fails."""
NEWEST = SelfplayPlayer()


@dataclass(frozen=True, slots=True)
class SelfplayResult:
    """Result of a run."""

    progress: SelfplayProgress
    finished: bool
    """True if all games were played; otherwise it was stopped, and the same call goes on."""
    waiting: int
    """Games that are over and wait for the rest of their chunk."""
    stopped_by: int | None = None
    """Number of the signal that stopped it; None: there was none."""


def generate(
    settings: SelfplaySettings,
    network: str | Path | Network,
    out: Path | str,
    *,
    games: int | None = None,
    positions: int | None = None,
    until: threading.Event | None = None,
    name: str = "selfplay",
    seed: int = 0,
    first_game: int = 0,
    openings: Openings | None = None,
    book: Path | str | None = None,
    book_plies: int = BOOK_PLIES,
    opponents: Opponents | None = None,
    parallel: int = 0,
    devices: int = 1,
    device: str = "auto",
    precision: str = "auto",
    threads: int = 0,
    batch_size: int = 0,
    cache_mb: int = CACHE_MB,
    reproducible: bool = False,
    listener: Listener = SILENT,
) -> SelfplayResult:
    """Generate games into chunks (`fukayomi.selfplay.chunk`): as many games or positions as asked for, or until told.

    Call it again to go on after an interruption: games that are over are never lost, not even by a kill. A game depends
    on settings, network, openings, seed and its number. Ctrl-C or SIGTERM ends after the games in play, another Ctrl-C
    at once.

    Args:
        settings: How games are played.
        network: File of the network, "embedded" for the embedded residual one, or a `Network`.
        out: Folder of the chunks; it is made.
        games: Games to play, those included that are in the folder and those that are too short to be kept.
        positions: Positions with targets to make, with those in the folder. How many games that takes depends on which
            of those at once end first.
        until: Play until it is set; games in play are then ended, and the last chunks written, though they be short.
            One of the three is needed.
        name: Name of the worker, and beginning of the names of its files.
        seed: Random seed.
        first_game: Number of the first game. Chunks of earlier games are left alone.
        openings: Where games begin; None: at the start position.
        book: Opening book (`fukayomi.book`) in place of openings: a game begins with moves of the book, drawn with the
            network's probability among them.
        book_plies: Number of these moves at most.
        opponents: Who plays besides the newest network; None: nobody.
        parallel: Games at once at most; 0: 64 a device, or enough to fill two batches of each slot. Those that fill the
            batches are in play, the others take over where one waits or ends.
        devices: Number of devices that run the network.
        device: As for `Network`.
        precision: As for `Network`.
        threads: As for `Network`.
        batch_size: As for `Network`.
        cache_mb: Memory in MiB for what a network has said of positions; 0: none.
        reproducible: Run full batches, whatever is in them. A network then says the same of a position in each, and
            a game that is played again is the same game. The last games of a run take longer.
        listener: Follows the run; a `SelfplayListener` hears of games and chunks too.

    Raises:
        ValueError: Not one of games, positions and until is given, or a number is out of range; or positions are asked
            for, and game after game has none that are kept.
        EvaluatorError: The network cannot be loaded, or failed.
        ChunkError: The folder holds chunks of another run under this name, or all games asked for, of another network.
        LockedError: Another process generates games of this name there.
        KeyboardInterrupt: Ctrl-C came twice.
        OSError: A file cannot be written.
    """
    if sum(each is not None for each in (games, positions, until)) != 1:
        raise InvalidValueError("one of games, positions and until must be given")
    if openings is not None and book is not None:
        raise InvalidValueError("openings and book exclude each other")
    _require_ranges(
        ("first_game", first_game, 0, MOST_GAMES - 1), ("games", games, 1, MOST_GAMES - first_game),
        ("positions", positions, 1, MOST_GAMES), ("devices", devices, 1, 1024), ("parallel", parallel, 0, 65_536),
        ("cache_mb", cache_mb, 0, 65_536), ("book_plies", book_plies, 1, 512),
    )  # fmt: skip
    require_origin(name, seed)
    _require_moves_left(settings, openings, None if book is None else book_plies)
    folder = Path(out)
    follower = listener if isinstance(listener, SelfplayListener) else PlainListener(listener)
    with (
        StopRequest() as stop,
        _opened(network, devices, device, precision, threads, batch_size) as opened,
        nullcontext() if book is None else BookReader.open(book) as opened_book,
        _locked(folder, name),  # last: a network that cannot be loaded leaves no folder
    ):
        values = _values(settings, opponents, openings, None if book is None else (Path(book), book_plies))
        sha256 = _network_sha256(network, opened)
        worker = Worker(name, seed, sha256, values, settings.chunk_games, _is_split(opponents), *_computed(opened))
        store = ChunkStore(folder, worker, first_game, None if games is None else first_game + games)
        begins = openings or Openings()
        if opened_book is not None:
            begins = BookOpenings(opened_book, opened, book_plies)
        run = _Run(settings, opened, store, seed, begins, opponents, parallel, cache_mb, reproducible, follower)
        run.until = until
        follower.started(SelfplayRun(folder, games, positions, run.parallel, devices, opened.name))
        try:
            return run.play(games, positions, stop)
        finally:
            run.close()
            store.close()
            follower.ended()


def _is_split(opponents: Opponents | None) -> bool:
    return opponents is not None and opponents.has_own_files


def _require_ranges(*numbers: tuple[str, int | None, int, int]) -> None:
    """Raise ValueError if a number, given with its name and the smallest and largest value, is out of range."""
    for what, number, least, most in numbers:
        if number is not None and not least <= number <= most:
            raise InvalidValueError(f"{what} is {number}; it must be from {least} to {most}")


def _require_moves_left(settings: SelfplaySettings, openings: Openings | None, book_plies: int | None) -> None:
    """Raise ValueError if what games begin with may be as long as a game."""
    if book_plies is not None and book_plies >= settings.max_move:
        raise InvalidValueError(f"book_plies is {book_plies}; it must be below max_move, which is {settings.max_move}")
    plies = 0 if openings is None else openings.most_plies
    if plies >= settings.max_move:
        raise InvalidValueError(
            f"an opening of {plies} moves leaves none for the game: max_move is {settings.max_move}"
        )


def _values(
    settings: SelfplaySettings, opponents: Opponents | None, openings: Openings | None, book: tuple[Path, int] | None
) -> dict[str, Any]:
    """Settings that decide the games, as plain values for the sidecars; the book with its plies."""
    values = settings.model_dump(mode="json")
    if opponents is not None:
        values["league"] = dict(opponents.settings)
    if openings is not None and openings.sets:
        values["openings"] = openings.settings
    if book is not None:
        values["book"] = {"sha256": file_sha256(book[0]), "plies": book[1]}
    return values


def _network_sha256(network: str | Path | Network, opened: Network) -> str:
    """The SHA-256 of a network's file; of its name or identity if it has none."""
    if str(network) in STUBS:
        return hashlib.sha256(str(network).encode()).hexdigest()
    return opened.sha256 or hashlib.sha256(opened.identity.encode()).hexdigest()


def _computed(network: Network) -> tuple[str, str]:
    """Device and precision of a network; several by commas, none of other evaluators."""
    plans = [each.plan for each in network.evaluators if isinstance(each, NetworkEvaluator)]
    devices, precisions = sorted({plan.backend for plan in plans}), sorted({plan.precision for plan in plans})
    return ",".join(devices), ",".join(precisions)


@contextmanager
def _opened(
    network: str | Path | Network, devices: int, device: str, precision: str, threads: int, batch_size: int
) -> Generator[Network]:
    if isinstance(network, Network):
        yield network
        return
    models = [same_everywhere(str(network))] * devices
    with Network(models, device=device, precision=precision, threads=threads, batch_size=batch_size) as loaded:
        yield loaded


@contextmanager
def _locked(folder: Path, name: str) -> Generator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with FolderLock(folder, f"{name}.lock"):
        yield


class _Run:
    """One call of `generate`."""

    def __init__(
        self,
        settings: SelfplaySettings,
        network: Network,
        store: ChunkStore,
        seed: int,
        openings: Openings | BookOpenings,
        opponents: Opponents | None,
        parallel: int,
        cache_mb: int,
        reproducible: bool,
        listener: SelfplayListener,
    ) -> None:
        self.until: threading.Event | None = None
        self._settings, self._store, self._seed = settings, store, seed
        self._openings, self._opponents, self._listener = openings, opponents, listener
        self.parallel = max(slots_of(network), parallel or games_at_once(network))
        self._pool = SelfplayPool(
            settings.params(seed), settings.search_params(), self.parallel, shares=slots_of(network), cache_mb=cache_mb
        )
        networks = [network, *(opponents.networks if opponents else ())]
        self._threads = PoolThreads(self._pool, networks, reproducible=reproducible)
        self._progress = SelfplayProgress()
        self._added: list[int] = []  # numbers, in order
        self._began_s = time.monotonic()
        self._found: list[GameSummary] = []
        self._held: int | None = None  # the next number, if it waits for a chunk
        self._is_cut = False  # the user stopped it with games left
        self._futile: Counter[str] = Counter()  # why the last games have brought no position

    def play(self, games: int | None, positions: int | None, stop: StopRequest) -> SelfplayResult:
        """Play the games that are missing."""
        for info in self._store.written:
            self._progress.add_chunk(info)
        numbers = self._numbers()
        self._threads.start()
        is_ending = was_told = False
        reported = 0.0
        while True:
            if not is_ending:
                is_ending = stop.requested or self._has_enough(positions) or not self._top_up(numbers)
                if is_ending:
                    self._cut(stop, positions)
            if stop.requested and not was_told:
                was_told = True
                self._listener.note("stopping after the games in play; press Ctrl-C again to stop at once")
            if is_ending and self._pool.playing == 0:
                self._receive(self._pool.take_finished())
                break
            self._receive_all(REPORT_S / 2)
            if positions is not None:
                self._check_progress()
            for note in self._opponents.notes() if self._opponents else ():
                self._listener.note(note)
            if time.monotonic() - reported >= REPORT_S:
                reported = time.monotonic()
                self._report(games, positions)
        self.close()
        self._receive_all(0)
        if games is None and self._is_over(positions):
            self._write(max([self._store.highest_waiting, *self._added[-1:]]) + 1)
        if games is not None:
            finished = self._store.is_complete and not self._is_cut and next(numbers, None) is None
        else:
            finished = self._is_over(positions) and self._store.waiting == 0
        self._report(games, positions)
        is_old = self.until is None and finished and not self._progress.new_games
        if is_old and (note := self._store.check_players()):
            self._listener.note(note)
        return SelfplayResult(self._progress, finished, self._store.waiting, stop.signal)

    def close(self) -> None:
        """End the threads; games in play are lost."""
        self._threads.close()

    def _numbers(self) -> Iterator[int]:
        """The numbers of the games to play; once `until` is set, those that a chunk waits for."""
        for number in self._store.numbers(self._found):
            if self.until is not None and self.until.is_set() and number > self._store.highest_waiting:
                return
            yield number

    def _is_over(self, positions: int | None) -> bool:
        """True if there are enough positions, or it is time to end."""
        if self.until is not None:
            return self.until.is_set()
        return positions is not None and self._progress.positions >= positions

    def _has_enough(self, positions: int | None) -> bool:
        """True if no game need begin: it is over, and none is missing before those that are there already."""
        if not self._is_over(positions):
            return False
        begun = len(self._added) - self._pool.queued
        following = self._added[begun : begun + 1]
        return following[0] > self._store.highest_waiting if following else self.until is None

    def _top_up(self, numbers: Iterator[int]) -> bool:
        """Queue games, a few more than there will soon be places for. False if there are none left.

        Games may end as fast as they are queued, so there is a limit for each call.
        """
        most = self.parallel + max(2, self.parallel // 8)
        for _ in range(most):
            if self._pool.playing >= most:
                break
            number = next(numbers, None) if self._held is None else self._held
            for game in self._found:
                self._progress.add(game, is_new=False)
            if self._found:
                self._found.clear()
                self._write()
            if number is None:
                return False
            self._held = None if self._add(number) else number
            if self._held is not None:
                return True
            self._added.append(number)
        return True

    def _add(self, number: int) -> bool:
        """Queue a game. False if that must wait for the chunk that it is forked from."""
        opening = None
        source = number - 2 * self._settings.chunk_games
        if is_fork(self._settings.fork, self._seed, number):
            if self._store.is_missing(source):
                return False
            chunk = self._store.chunk_of(source)
            opening = None if chunk is None else fork(chunk, self._seed, number, self._settings.max_move)
        players = self._opponents.players(number) if self._opponents else (NEWEST, NEWEST)
        self._pool.add(number, self._openings.draw(self._seed, number) if opening is None else opening, *players)
        return True

    def _cut(self, stop: StopRequest, positions: int | None) -> None:
        """Begin no more games if the run ends before its last number."""
        if stop.requested or self._has_enough(positions):
            cut = self._pool.clear_queue()
            del self._added[len(self._added) - cut :]
            self._is_cut = stop.requested and (cut > 0 or self._held is not None)

    def _receive_all(self, timeout_s: float) -> None:
        """Wait for a report, and receive all that there are."""
        for report in self._threads.reports(timeout_s):
            self._receive(report)

    def _check_progress(self) -> None:
        """Fail if game after game is not kept, or has no position with targets."""
        if self._futile.total() >= max(FUTILE_GAMES, 2 * self.parallel):
            reasons = ", ".join(f"{count} {reason}" for reason, count in self._futile.most_common())
            raise InvalidValueError(
                f"the last {self._futile.total()} games brought no position: {reasons}; change the settings"
            )

    def _receive(self, report: Report) -> None:
        for game in report:
            if isinstance(game, FinishedGame):
                self._store_game(game)
            elif self._opponents is not None:
                self._opponents.think(self._pool, game)
        if report and isinstance(report[0], FinishedGame):
            self._write()

    def _store_game(self, game: FinishedGame) -> None:
        dropped = self._settings.why_dropped(game.plies, is_cut=game.reason == GameReason.MAX_PLIES)
        is_kept = not dropped
        name = self._opponents.name(game.index) if self._opponents else ""
        summary = GameSummary.of(game, is_kept=is_kept, opponent_name=name)
        weights = None if bool(np.all(game.weights == 1.0)) else game.weights
        self._store.add(StoredGame(summary, game.data if is_kept else b"", weights if is_kept else None))
        self._progress.add(summary, is_new=True)
        if is_kept and game.positions:
            self._futile.clear()
        else:
            self._futile[dropped or "without a move that has targets"] += 1
        self._listener.game(summary)
        if self._opponents is not None:
            self._opponents.over(summary)

    def _write(self, up_to: int | None = None) -> None:
        for path, info in self._store.write_complete(up_to=up_to):
            self._listener.chunk(path, info)

    def _report(self, games: int | None, positions: int | None) -> None:
        progress = self._progress
        progress.elapsed_s = time.monotonic() - self._began_s
        progress.playing = self._pool.playing - self._pool.queued
        all_games, all_positions = games or 0, positions or 1
        new = progress.new_games / all_games if games else progress.new_positions / all_positions
        progress.done = min(1.0, progress.games / all_games if games else progress.positions / all_positions)
        progress.begun = max(0.0, progress.done - new)
        self._listener.state(progress)


LEAST_PLIES_LEFT = 10
"""Moves of the earlier game that follow the fork, at least."""


def is_fork(share: float, seed: int, number: int) -> bool:
    """True if a game is forked; its number and the seed decide.

    A forked game begins at a position of an earlier one, so that there are more kinds of positions.
    """
    return _draw("fork", seed, number) < share


def fork(chunk: Path, seed: int, number: int, max_move: int) -> Position | None:
    """A position of a game of a chunk, with the moves that led there; the number and the seed decide which.

    Returns:
        None if the chunk has no game that is long enough, or if `max_move` plies leave the new game no move.

    Raises:
        ChunkError: The chunk is damaged.
        OSError: It cannot be read.
    """
    games = decode_hcpe3(np.frombuffer(read_chunk(chunk).data, np.uint8), True)
    lengths = np.diff(games.plies).astype(int) - LEAST_PLIES_LEFT
    places = np.cumsum(np.maximum(lengths, 0))
    if not len(places) or places[-1] == 0:
        return None
    place = int(_draw("place", seed, number) * places[-1])  # every position has the same chance
    game = int(np.searchsorted(places, place, "right"))
    first = int(games.plies[game])
    plies = place - (int(places[game - 1]) if game else 0) + 1
    if plies >= max_move:
        return None
    position = position_from_hcp(games.starts[game].tobytes())
    for raw in games.moves[first : first + plies]:
        position.push(Move.from_raw(int(raw)))
    return position


def _draw(what: str, seed: int, number: int) -> float:
    """At least 0, and below 1."""
    digest = hashlib.sha256(f"{what} {seed} {number}".encode()).digest()
    return int.from_bytes(digest[:6]) / (1 << 48)
