"""Analysing one game for `fukayomi analyse`: the search, its progress, and the files."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fukayomi.cli.common.errors import fail
from fukayomi.cli.common.progress import progress_bar

if TYPE_CHECKING:
    from fukayomi.cli.common.progress import Bar
    from fukayomi.engine.analysis.game_analysis import GameAnalysis, PositionAnalysis, SearchLimits
    from fukayomi.engine.engine import Engine
    from fukayomi.engine.report.files import ReportFolder
    from fukayomi.shogi.record import Record


def open_engine(model: Path | None, evaluator: str) -> "Engine":
    """The engine with its network."""
    from fukayomi.engine.engine import Engine
    from fukayomi.engine.evaluators import EvaluatorError

    try:
        engine = Engine(f"<{evaluator}>" if evaluator else model)
    except EvaluatorError as error:
        fail(str(error))
    except OSError as error:
        fail(f"cannot read the network {model}: {error.strerror or error}")
    for problem in engine.network.problems:
        typer.echo(problem, err=True)
    return engine


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did with a game."""

    analysis: "GameAnalysis"
    files: list[str]
    is_interrupted: bool
    """Whether Ctrl-C ended it early."""


@dataclass(slots=True)
class AnalysisRun:
    """How games are analysed."""

    engine: "Engine"
    limits: "SearchLimits"
    first: int
    """First ply to judge."""
    last: int | None
    """Last ply to judge; None: the last of each game."""
    png: bool
    searched: int = 0
    """Positions searched so far."""
    nodes: int = 0
    """Nodes that these took."""

    def positions_of(self, record: "Record") -> int:
        """Number of positions of a game that are analysed; 0 if it ends before the first ply."""
        if self.first > max(1, len(record)):
            return 0
        last = len(record) if self.last is None else min(self.last, len(record))
        return last - self.first + 2

    @contextmanager
    def progress(self, positions: int) -> "Generator[Bar]":
        """Show a bar for so many positions, of one game or more."""
        columns = "{task.fields[game]}{task.completed}/{task.total} positions, {task.fields[rate]}"
        with progress_bar(positions, columns, game="", rate="") as bar:
            yield bar

    def analyse(self, record: "Record", folder: "ReportFolder | None", bar: "Bar") -> Outcome:
        """Analyse a game, or go on with the analysis in the folder, and write the files.

        Args:
            record: The game.
            folder: Where the analysis is saved on the way, and the report at the end; None: nowhere.
            bar: Advanced by one with each position.
        """
        from fukayomi.engine.analysis.analyser import assemble
        from fukayomi.engine.evaluators import EvaluatorError

        known = folder.known if folder else None
        positions: list[PositionAnalysis] = []
        is_interrupted = False

        def so_far() -> "GameAnalysis":
            return assemble(record, positions, engine=str(self.engine.network), known=known)

        try:
            for position in self._search(record, known):
                positions.append(position)
                bar.advance()
                bar.show(rate=f"{self.searched / bar.seconds:.1f}/s ({self.nodes / bar.seconds:.0f} nodes/s),")
                if folder is not None:
                    folder.keep(so_far)
        except KeyboardInterrupt:
            is_interrupted = True
        except EvaluatorError as error:
            if folder is not None:
                folder.save(so_far())
            fail(str(error))
        analysis = so_far()
        files = [str(path) for path in folder.finish(analysis, png=self.png)] if folder else []
        return Outcome(analysis, files, is_interrupted)

    def _search(self, record: "Record", known: "GameAnalysis | None") -> "Iterator[PositionAnalysis]":
        """The positions of the game, each when it has been searched."""
        from fukayomi.engine.analysis.analyser import analyse_positions

        self.engine.new_game()
        kept = {position.ply: position for position in known.positions} if known else {}
        search, first, last = self.engine.search, self.first, self.last
        for position in analyse_positions(record, search, first, last, limits=self.limits, known=known):
            if kept.get(position.ply) is not position:
                self.searched += 1
                self.nodes += position.nodes
            yield position
