"""The folder of an analysis: the page, the graph, records with scores in their comments, and the document.

The index of several analyses: a table with links to their pages.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fukayomi.engine.analysis.game_analysis import GameAnalysis, Mistake, SideSummary
from fukayomi.engine.report.annotation import annotated, annotated_csa
from fukayomi.engine.report.document import DOCUMENT, document_text, read_analysis
from fukayomi.engine.report.graph import graph_png
from fukayomi.engine.report.page import analysis_page
from fukayomi.engine.report.rendering import render
from fukayomi.engine.report.shapes import graph_svg
from fukayomi.engine.report.words import Words, ending, printable
from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.shogi import BLACK, WHITE
from fukayomi.shogi.formats import write_csa, write_kif
from fukayomi.shogi.record import Record
from fukayomi.tabular import Tabular

PAGE, GRAPH, KIF, CSA = "analysis.html", "analysis.svg", "analysis.kifu", "analysis.csa"
PICTURE = "analysis.png"
INDEX = "index.html"
"""Name of the list of several analyses, in the folder above theirs."""
LOCK = "analysis.lock"
"""Name of the lock's file: one process at a time works in a folder."""
SAVE_SECONDS = 2.0
"""Time between two saves of an analysis that goes on."""


class ReportFolderError(InvalidValueError):
    """A folder holds something else than the analysis that is to be written."""


class OtherGameError(ReportFolderError):
    """A folder holds the analysis of another game."""


class ReportFolder:
    """The folder of an analysis that goes on: what it has, and what is saved of it on the way.

    >>> from tempfile import mkdtemp
    >>> from fukayomi import analyse, read_record
    >>> record = read_record(b"position startpos moves 7g7f 3c3d")
    >>> analysis = analyse(record, nodes=10)
    >>> folder = ReportFolder(Path(mkdtemp()), record, analysis.engine)
    >>> folder.known is None
    True
    >>> folder.keep(lambda: analysis)               # while it goes on; saved every two seconds
    >>> paths = folder.finish(analysis)
    >>> ReportFolder(folder.path, record, analysis.engine).known == analysis
    True
    """

    known: GameAnalysis | None
    """The analysis that the folder has."""

    def __init__(self, path: Path, record: Record, engine: str) -> None:
        """Look into the folder, which is made if it does not exist.

        Args:
            path: The folder.
            record: The game.
            engine: Name and identity of the network.

        Raises:
            ReportFolderError: It has the analysis of another game or by another network, or other files of a report.
            AnalysisFileError: Its analysis is damaged.
            OSError: It cannot be made or read.
        """
        self.path = path
        self.known = None
        self._next_save = time.monotonic() + SAVE_SECONDS
        path.mkdir(parents=True, exist_ok=True)
        if (path / DOCUMENT).exists():
            self.known = read_analysis(path)
            if not self.known.is_of_game(record):
                players = f"{self.known.black or 'no name'} - {self.known.white or 'no name'}"
                held = f"the analysis of another game ({players})"
                raise OtherGameError(f"{path} holds {held}: choose another folder")
            if self.known.engine != engine:
                held = f"an analysis by another network, {self.known.engine}"
                raise ReportFolderError(f"{path} holds {held}: choose another folder")
        elif found := [name for name in (PAGE, GRAPH, KIF, CSA, PICTURE) if (path / name).exists()]:
            raise ReportFolderError(f"{path} holds {found[0]} without {DOCUMENT}: choose another folder")

    def keep(self, so_far: Callable[[], GameAnalysis]) -> None:
        """Save the document if it is time: a kill loses two seconds, or ten times as long as saving takes.

        Args:
            so_far: Makes the analysis that goes on, called only if it is saved.

        Raises:
            OSError: It cannot be written.
        """
        start = time.monotonic()
        if start >= self._next_save:
            self.save(so_far())
            end = time.monotonic()
            self._next_save = end + max(SAVE_SECONDS, 10 * (end - start))

    def save(self, analysis: GameAnalysis) -> None:
        """Save the document of an analysis that goes on.

        Raises:
            OSError: It cannot be written.
        """
        replace_file(self.path / DOCUMENT, document_text(analysis).encode())

    def finish(self, analysis: GameAnalysis, *, png: bool = False) -> list[Path]:
        """Write all files, unless they are there and nothing is new.

        Returns:
            The paths, the page first.

        Raises:
            OSError: A file cannot be written.
        """
        names = (PAGE, GRAPH, KIF, CSA, *([PICTURE] if png else []), DOCUMENT)
        paths = [self.path / name for name in names]
        is_new = self.known is None or analysis.to_dict() != self.known.to_dict()
        if not is_new and all(path.exists() for path in paths):
            return paths
        return write_report(analysis, self.path, png=png)


def write_report(analysis: GameAnalysis, folder: Path, *, png: bool = False) -> list[Path]:
    """Write the page, the graph, the records, if asked for the graph as PNG, and the document.

    The document comes last: where it has the whole analysis, the other files have it too.

    Returns:
        The paths, the page first.

    Raises:
        OSError: The folder or a file cannot be written.
    """
    contents: dict[str, bytes] = {
        PAGE: analysis_page(analysis).encode(),
        GRAPH: graph_svg(analysis, PAGE).encode(),
        KIF: write_kif(annotated(analysis)).encode(),
        CSA: write_csa(annotated_csa(analysis)).encode(),
    }
    if png:
        contents[PICTURE] = graph_png(analysis)
    contents[DOCUMENT] = document_text(analysis).encode()
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for name, content in contents.items():
        paths.append(folder / name)
        replace_file(paths[-1], content)
    return paths


def is_report(path: Path) -> bool:
    """True if a file belongs to a report, so that it is no game to be analysed."""
    names = (PAGE, GRAPH, KIF, CSA, PICTURE, DOCUMENT, LOCK, INDEX)
    return path.name in names and any(path.with_name(name).exists() for name in (DOCUMENT, LOCK))


@dataclass(frozen=True, slots=True)
class IndexedGame:
    """An analysed game as a line of the index."""

    name: str
    """Place where the game was found."""
    folder: str
    """Folder of its report; empty if there is none."""
    black: str
    white: str
    date: str
    result: str
    sides: tuple[str, str]
    """Names of Black and White in Japanese."""
    ending: Words
    """The result in Japanese and in English."""
    moves: int
    """Judged moves."""
    total_moves: int
    black_loss: float
    """Win rate that Black lost per move, 0 to 1."""
    white_loss: float
    black_mistakes: int
    """Black's 悪手 and 大悪手."""
    white_mistakes: int

    @property
    def is_complete(self) -> bool:
        """True if every move of the game was judged."""
        return self.moves == self.total_moves

    @property
    def page(self) -> str:
        """Address of its page from the index."""
        return f"{quote(self.folder)}/{PAGE}"


class AnalysisIndex(Tabular):
    """Several analyses, one line for each."""

    def __init__(self) -> None:
        self.games: list[IndexedGame] = []

    def add(self, analysis: GameAnalysis, name: str, folder: str = "") -> None:
        """Add a line.

        Args:
            analysis: The analysis.
            name: Where the game was found.
            folder: Name of the report's folder, beside the index.
        """
        black, white = analysis.side(BLACK), analysis.side(WHITE)
        self.games.append(
            IndexedGame(
                name=printable(name),
                folder=folder,
                black=analysis.black,
                white=analysis.white,
                date=analysis.date,
                result=analysis.result,
                ending=ending(analysis.record),
                sides=analysis.record.side_names,
                moves=len(analysis.moves),
                total_moves=analysis.total_moves,
                black_loss=black.average_loss,
                white_loss=white.average_loss,
                black_mistakes=_mistakes(black),
                white_mistakes=_mistakes(white),
            )
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per game: where it is, players, result, judged moves, average losses, mistakes."""
        return [
            {name: value for name, value in asdict(game).items() if name not in ("ending", "sides")}
            for game in self.games
        ]

    def to_html(self) -> str:
        """The index as a web page; text from the records is escaped."""
        return render("index", games=self.games)

    def write(self, folder: Path) -> Path:
        """Write the page to the folder with the reports.

        Raises:
            OSError: It cannot be written.
        """
        path = folder / INDEX
        replace_file(path, self.to_html().encode())
        return path


def _mistakes(side: SideSummary) -> int:
    return side.mistakes[Mistake.MISTAKE] + side.mistakes[Mistake.BLUNDER]
