"""The index of several analyses: a table with links to their pages."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fukayomi.engine.analysis.game_analysis import GameAnalysis, Mistake, SideSummary
from fukayomi.engine.report.files import INDEX, PAGE
from fukayomi.engine.report.rendering import render
from fukayomi.engine.report.words import Words, ending, printable
from fukayomi.files.atomic import replace_file
from fukayomi.shogi import BLACK, WHITE
from fukayomi.tabular import Tabular


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
