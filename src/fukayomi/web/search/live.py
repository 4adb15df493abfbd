"""The live analysis (検討): one search for all pages, of the position that was asked for last.

One thread has the search tree, which stays from position to position of a game. Its mailbox holds one request: a newer
one replaces it and stops the search that runs. Whoever asks for what is searched already takes part in that search.
Results are kept by position, network and options, and shown at once when somebody returns to a position.

Games are answered first: while their engine thinks, the searches here and those of jobs pause.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fukayomi.engine.search import has_score
from fukayomi.shogi import BLACK, Move, Position
from fukayomi.shogi.formats.notation import english_moves, japanese_moves
from fukayomi.web.hub import Message, Outbox
from fukayomi.web.search.network_loader import NetworkLoader

if TYPE_CHECKING:
    from fukayomi.engine.search import Progress, Searcher, SearchResult

FIRST_REPORT_S = 0.1
REPORT_INTERVAL_S = 0.2
"""Time from the beginning of a search to the first report, and between the others."""
MOST_RESULTS = 1000
"""Positions whose results are kept."""
LONGEST_PV = 30
"""Moves of a line that are sent."""


@dataclass(frozen=True, slots=True)
class Query:
    """Position to search, and the limits; equal queries share a search."""

    sfen: str
    """First position of the game."""
    moves: tuple[str, ...]
    multipv: int
    nodes: int | None
    """Positions to evaluate; None: no limit."""
    time_ms: int | None
    """Time; None: no limit."""

    @property
    def has_limit(self) -> bool:
        """True if the search ends by itself."""
        return self.nodes is not None or self.time_ms is not None

    def position(self) -> Position:
        """The position to search.

        Raises:
            ShogiError: It is impossible, lacks a king, or a move is not legal.
        """
        position = Position.from_sfen(self.sfen)
        for usi in self.moves:
            position.push_usi(usi)
        return position


@dataclass(slots=True, eq=False)
class _Search:
    """A search, or what will be one, and who listens."""

    query: Query
    listeners: dict[Outbox, int] = field(default_factory=dict[Outbox, int])
    """The pages, each with the number of its request."""
    stop: Callable[[], None] | None = None
    """Stops it, once it runs."""
    is_unwanted: bool = False
    """True if nobody listens any more."""
    latest: Message | None = None
    """The latest report, without its id."""


@dataclass(slots=True, eq=False)
class Pause:
    """A search that pauses while a game is answered."""

    stop: Callable[[], None]
    """Ends the search."""
    is_asked: bool = False
    """True if it was ended for a game; then it begins again, with the tree that it has."""


class LiveAnalysis:
    """Searches for all pages.

    Args:
        network: The network, which may still be loading.
    """

    def __init__(self, network: NetworkLoader) -> None:
        self._network = network
        self._condition = threading.Condition()
        self._running: _Search | None = None
        self._next: _Search | None = None
        self._closed = False
        self._games = 0
        self._pauses: set[Pause] = set()
        self._results: OrderedDict[tuple[str, tuple[str, ...]], Message] = OrderedDict()
        self._thread: threading.Thread | None = None
        self.searches = 0
        """Number of searches that began."""

    # -------------------------------------------------------------------------------------- asking, from any thread

    def analyse(self, outbox: Outbox, number: int, query: Query) -> None:
        """Search a position for a page; it gets reports, and one end.

        Args:
            outbox: The page. What it asked before ends as stopped.
            number: Its number for this request.
            query: What to search. It has been checked.
        """
        with self._condition:
            if self._closed:
                return
            self._leave(outbox)
            for search in (self._next, self._running):
                if search is not None and search.query == query and not search.is_unwanted:
                    search.listeners[outbox] = number
                    if search.latest is not None:
                        outbox.send(search.latest | {"id": number}, ("report", number))
                    return
            for search in (self._next, self._running):
                if search is not None:
                    self._end(search, "taken")
            self._next = _Search(query, {outbox: number})
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="fukayomi-web-live", daemon=True)
                self._thread.start()
            self._condition.notify_all()

    def stop(self, outbox: Outbox, number: int | None = None) -> None:
        """End the search for a page; others that listen keep it.

        Args:
            outbox: The page.
            number: Number of the request; another one than the latest has ended already. None: any.
        """
        with self._condition:
            self._leave(outbox, number)

    @contextmanager
    def game_first(self) -> Generator[None]:
        """The engine of a game thinks: searches pause meanwhile."""
        with self._condition:
            self._games += 1
            for pause in self._pauses:
                pause.is_asked = True
                pause.stop()
        try:
            yield
        finally:
            with self._condition:
                self._games -= 1
                self._condition.notify_all()

    @contextmanager
    def pausing(self, stop: Callable[[], None]) -> Generator[Pause]:
        """A search runs, which games may pause.

        Args:
            stop: Ends the search.
        """
        pause = Pause(stop)
        with self._condition:
            self._pauses.add(pause)
        try:
            yield pause
        finally:
            with self._condition:
                self._pauses.discard(pause)

    def let_go_first(self, given_up: threading.Event) -> None:
        """Wait, in the thread of a job, while a game is answered, or a search with a limit is asked for or runs.

        Args:
            given_up: Ends the waiting when it is set and something changes here.
        """
        with self._condition:
            while not self._closed and not given_up.is_set() and (self._games or self._is_busy()):
                self._condition.wait(0.5)

    def close(self) -> None:
        """End the search and the thread."""
        with self._condition:
            self._closed = True
            for search in (self._next, self._running):
                if search is not None:
                    self._end(search, "stopped")
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join()

    # -------------------------------------------------------------------------------------- with the lock

    def _is_busy(self) -> bool:
        return any(
            search is not None and not search.is_unwanted and search.query.has_limit
            for search in (self._next, self._running)
        )

    def _leave(self, outbox: Outbox, number: int | None = None) -> None:
        """End what a page has asked for."""
        for search in (self._next, self._running):
            if search is None or outbox not in search.listeners or number not in (None, search.listeners[outbox]):
                continue
            outbox.send(_end_message(search.listeners.pop(outbox), "stopped", ""))
            if not search.listeners:
                self._end(search, "stopped")

    def _end(self, search: _Search, reason: str, text: str = "") -> None:
        """Tell everybody who listens that a search has ended, and stop it if it runs."""
        for outbox, number in search.listeners.items():
            outbox.send(_end_message(number, reason, text))
        search.listeners.clear()
        search.is_unwanted = True
        if search is self._next:
            self._next = None
        if search.stop is not None:
            search.stop()
        self._condition.notify_all()

    # -------------------------------------------------------------------------------------- the thread

    def _serve(self) -> None:
        """Take one request after the other."""
        from fukayomi.engine.evaluators import EvaluatorError

        searcher: Searcher | None = None
        try:
            while (search := self._take()) is not None:
                try:
                    if searcher is None:
                        searcher = self._searcher()
                    reason, text = self._run(searcher, search)
                except EvaluatorError as error:
                    reason, text = "error", str(error)
                except Exception as error:  # one request must not end all others
                    reason, text = "error", f"internal error: {type(error).__name__}"
                with self._condition:
                    self._running = None
                    self._end(search, reason, text)
        finally:
            if searcher is not None:
                searcher.close()

    def _take(self) -> _Search | None:
        with self._condition:
            while self._next is None and not self._closed:
                self._condition.wait()
            self._running, self._next = self._next, None
            return None if self._closed else self._running

    def _searcher(self) -> "Searcher":
        from fukayomi.engine.search import Searcher

        network = self._network.wait()
        usi = self._network.usi
        return Searcher(
            network.pool,
            usi.search_params(),
            memory_mb=usi.hash_mb,
            node_limit=usi.node_limit,
            reuse=usi.reuse_subtree,
            batch_visits=usi.batch_visits,
        )

    def _run(self, searcher: "Searcher", search: _Search) -> tuple[str, str]:
        """Search; returns the reason of the end and its text."""
        from fukayomi.engine.control import Control, Limits
        from fukayomi.engine.search import Reason

        query = search.query
        position = query.position()
        key = (query.sfen, query.moves)
        stored = self._results.get(key)
        if stored is not None:
            self._results.move_to_end(key)
            stored = stored | {"lines": stored["lines"][: query.multipv]}
            is_enough = len(stored["lines"]) >= min(query.multipv, position.legal_move_count)
            self._report(search, stored | {"stored": True})
            if is_enough and _satisfies(stored, query):
                return "limit", ""
        writer = _Writer(position, query.multipv)
        next_report = 0.0
        with self._condition:
            self.searches += 1

        def report(progress: "Progress") -> None:
            nonlocal next_report
            now = time.monotonic()
            if now >= next_report and progress.lines:
                next_report = now + REPORT_INTERVAL_S - FIRST_REPORT_S / 2
                self._report(search, _better(stored, writer.report(progress)))

        result: SearchResult
        while True:
            left_ms = None if query.time_ms is None else query.time_ms - round(1000 * writer.seconds)
            left = None if query.nodes is None else query.nodes - writer.nodes
            with self._condition:
                while self._games and not search.is_unwanted and not self._closed:
                    self._condition.wait()
                if search.is_unwanted or self._closed:
                    return "stopped", ""
                control = Control(Limits(nodes=left, time_ms=left_ms))
                search.stop = control.stop
            with self.pausing(control.stop) as pause:
                result = searcher.search(
                    position,
                    control,
                    multipv=query.multipv,
                    mates=self._network.usi.mate_options(),
                    report=report,
                    report_interval_s=FIRST_REPORT_S,
                )
            if not pause.is_asked or search.is_unwanted or result.reason is not Reason.STOPPED:
                break
            writer.pause(result.progress)
        if result.lines:
            final = writer.report(result.progress)
            final["decided"] = result.reason is Reason.DECIDED
            self._keep(key, final)
            self._report(search, _better(stored, final))
        if result.error is not None:
            return "error", f"the network failed: {result.error}"
        if result.best is None:
            return "limit", "mate"
        return ("stopped" if result.reason is Reason.STOPPED else "limit"), result.reason.value

    def _report(self, search: _Search, message: Message) -> None:
        with self._condition:
            search.latest = message
            for outbox, number in search.listeners.items():
                outbox.send(message | {"id": number}, ("report", number))

    def _keep(self, key: tuple[str, tuple[str, ...]], report: Message) -> None:
        """Keep a result, unless one with more visits is there."""
        kept = self._results.get(key)
        if kept is None or _weight(report) >= _weight(kept):
            self._results[key] = report
        self._results.move_to_end(key)
        while len(self._results) > MOST_RESULTS:
            self._results.popitem(last=False)


class _Writer:
    """Makes messages of the progress of a search; names of lines that come again are remembered."""

    def __init__(self, position: Position, multipv: int) -> None:
        self._sfen = position.sfen()
        self._is_black = position.turn == BLACK
        self._last: tuple[str, Move] | None = None
        if position.moves:
            move = position.pop()
            self._last = (position.sfen(), move)
            position.push(move)
        self._multipv = multipv
        self._names: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
        self.nodes = 0
        self.seconds = 0.0
        """What was searched before the last pause."""

    def pause(self, progress: "Progress") -> None:
        """The search pauses, and begins to count anew."""
        self.nodes += progress.nodes
        self.seconds += progress.seconds

    def report(self, progress: "Progress") -> Message:
        """The report of a search, from Black's side."""
        lines: list[dict[str, Any]] = []
        names: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
        for line in progress.lines[: self._multipv]:
            is_known = has_score(line)
            win_rate = line.winrate if self._is_black else 1 - line.winrate
            if 0 < win_rate < 1:  # what is not proven must not be rounded to 0 or 1
                win_rate = min(max(round(win_rate, 5), 1e-5), 1 - 1e-5)
            pv = tuple(move.usi() for move in line.pv[:LONGEST_PV])
            names[pv] = self._names.get(pv) or self._named(pv)
            japanese, english = names[pv]
            lines.append(
                {
                    "move": pv[0],
                    "visits": line.visits,
                    "prior": round(line.prior, 5),
                    "win_rate": win_rate if is_known else None,
                    "cp": (line.cp if self._is_black else -line.cp) if is_known else None,
                    "mate": line.mate if line.mate is None or self._is_black else -line.mate,
                    "depth": line.depth,
                    "pv": list(pv),
                    "japanese": japanese,
                    "english": english,
                }
            )
        self._names = names
        return {
            "type": "report",
            "nodes": self.nodes + progress.nodes,
            "nps": progress.nodes_per_s,
            "time_ms": round(1000 * (self.seconds + progress.seconds)),
            "hashfull": progress.hashfull,
            "visits": progress.root_visits,
            "depth": progress.seldepth,
            "lines": lines,
        }

    def _named(self, pv: tuple[str, ...]) -> tuple[list[str], list[str]]:
        """The moves of a line in both notations; the move before it matters for 同."""
        if self._last is None:
            return japanese_moves(self._sfen, pv), english_moves(self._sfen, pv)
        sfen, move = self._last
        return japanese_moves(sfen, (move.usi(), *pv))[1:], english_moves(self._sfen, pv)


def _end_message(number: int, reason: str, text: str) -> Message:
    return {"type": "end", "id": number, "reason": reason, "text": text}


def _weight(report: Message) -> int:
    return report["visits"]


def _better(stored: Message | None, report: Message) -> Message:
    """A report, with the lines of the stored result as long as that has more visits."""
    if stored is None or _weight(report) >= _weight(stored):
        return report
    return report | {"lines": stored["lines"], "visits": stored["visits"], "stored": True}


def _satisfies(stored: Message, query: Query) -> bool:
    """True if a stored result is all that a query can ask for."""
    if stored.get("decided"):
        return True
    if not query.has_limit:
        return False
    has_nodes = query.nodes is not None and stored["visits"] >= query.nodes
    return has_nodes or (query.time_ms is not None and stored["time_ms"] >= query.time_ms)
