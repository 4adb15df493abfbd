"""Analysing a game for `fukayomi analyse`: the search, its progress, and the files."""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fukayomi.cli.common.progress import progress_bar

if TYPE_CHECKING:
    from fukayomi.cli.common.progress import Bar
    from fukayomi.engine.analysis.game_analysis import GameAnalysis, PositionAnalysis, SearchLimits
    from fukayomi.engine.engine import Engine
    from fukayomi.engine.network import Network
    from fukayomi.engine.report.files import ReportFolder
    from fukayomi.engine.search import SearchResult
    from fukayomi.shogi import Move, Position
    from fukayomi.shogi.record import Record

LEAST_MEMORY_MB = 16
"""For the tree of each game."""


def open_network(model: Path | None, evaluator: str, *, caches: bool = True) -> "Network":
    """The network, or what evaluates in its place; with a cache of evaluations or without."""
    from fukayomi.engine.network import Network

    wanted = f"<{evaluator}>" if evaluator else model
    network = Network(wanted) if caches else Network(wanted, cache_mb=0)
    for problem in network.problems:
        typer.echo(problem, err=True)
    return network


@contextmanager
def locked(folder: Path | None) -> Generator[None]:
    """Keep other processes out of the folder of a report, which is made if it does not exist."""
    from fukayomi.engine.report.files import LOCK
    from fukayomi.files.lock import FolderLock

    if folder is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with FolderLock(folder, LOCK):
        yield


class StoppedError(Exception):
    """The search was stopped; what it found is worth nothing."""


@dataclass(slots=True)
class AnalysisRun:
    """Analysis of games: one after the other, or several at once, each by a thread."""

    network: "Network"
    limits: "SearchLimits"
    first: int
    """First ply to judge."""
    last: int | None
    """Last ply to judge; None: the last of each game."""
    png: bool
    is_interrupted: bool = False
    """True if Ctrl-C ended it early."""
    _engines: "list[Engine]" = field(default_factory=list["Engine"])
    """Those at work."""
    _searched: int = 0
    """Positions searched so far."""
    _nodes: int = 0
    """Nodes that these took."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def positions_of(self, record: "Record") -> int:
        """Number of positions of a game that are analysed; 0 if it ends before the first ply."""
        if self.first > max(1, len(record)):
            return 0
        last = len(record) if self.last is None else min(self.last, len(record))
        return last - self.first + 2

    @property
    def games_at_once(self) -> int:
        """Number of games that fill the network's batches together, as far as memory for their trees suffices."""
        return max(1, min(self.network.pool.searches_at_once, self.network.settings.hash_mb // LEAST_MEMORY_MB))

    @contextmanager
    def progress(self, positions: int) -> "Generator[Bar]":
        """Show a bar for so many positions, of one game or more."""
        columns = "{task.fields[game]}{task.completed}/{task.total} positions, {task.fields[rate]}"
        with progress_bar(positions, columns, game="", rate="") as bar:
            yield bar

    def analyse(self, record: "Record", folder: "ReportFolder | None", bar: "Bar", at_once: int = 1) -> "GameAnalysis":
        """Analyse a game, or go on with the analysis in the folder; Ctrl-C or `stop` ends it early.

        Args:
            record: The game.
            folder: Where the analysis is saved on the way; None: nowhere.
            bar: Advanced by one with each position.
            at_once: Number of games that are analysed at once, each by a call of this.

        Raises:
            EvaluatorError: The network failed; what was searched is saved.
        """
        from fukayomi.engine.analysis.analyser import analyse_positions, assemble
        from fukayomi.engine.engine import Engine
        from fukayomi.engine.evaluators import EvaluatorError

        known = folder.known if folder else None
        kept = {position.ply: position for position in known.positions} if known else {}
        positions: list[PositionAnalysis] = []

        def so_far() -> "GameAnalysis":
            return assemble(record, positions, engine=str(self.network), known=known)

        memory_mb = max(LEAST_MEMORY_MB, self.network.settings.hash_mb // at_once)
        with Engine(self.network, memory_mb=memory_mb, shares_batches=at_once > 1) as engine, self._at_work(engine):
            search = partial(self._search, engine)
            try:
                for position in analyse_positions(
                    record, search, self.first, self.last, limits=self.limits, known=known
                ):
                    positions.append(position)
                    self._count(bar, None if kept.get(position.ply) is position else position)
                    if folder is not None:
                        folder.keep(so_far)
            except KeyboardInterrupt:
                self.stop()
            except StoppedError:
                pass
            except EvaluatorError:
                if folder is not None:
                    folder.save(so_far())
                raise
        return so_far()

    def finish(self, analysis: "GameAnalysis", folder: "ReportFolder | None") -> list[str]:
        """Write the files of a game; returns their paths."""
        return [str(path) for path in folder.finish(analysis, png=self.png)] if folder else []

    def stop(self) -> None:
        """End all searches. What was searched until then is kept."""
        self.is_interrupted = True
        for engine in tuple(self._engines):
            engine.stop()

    @contextmanager
    def _at_work(self, engine: "Engine") -> Generator[None]:
        with self._lock:
            self._engines.append(engine)
        try:
            yield
        finally:
            with self._lock:
                self._engines.remove(engine)

    def _search(
        self,
        engine: "Engine",
        position: "Position",
        *,
        nodes: int | None = None,
        time_ms: int | None = None,
        multipv: int = 1,
        compare: "Sequence[Move]" = (),
    ) -> "SearchResult":
        """Search with limits as if the other games were not there: several share the computer, and have more time."""
        if self.is_interrupted:
            raise StoppedError
        time_ms = None if time_ms is None else time_ms * len(self._engines)
        result = engine.search(position, nodes=nodes, time_ms=time_ms, multipv=multipv, compare=compare)
        if self.is_interrupted:
            raise StoppedError
        return result

    def _count(self, bar: "Bar", searched: "PositionAnalysis | None") -> None:
        """Move the bar by a position; None: it was not searched now."""
        with self._lock:
            if searched is not None:
                self._searched += 1
                self._nodes += searched.nodes
            bar.advance()
            bar.show(rate=f"{self._searched / bar.seconds:.1f}/s ({self._nodes / bar.seconds:.0f} nodes/s),")
