"""The folder of an analysis (page, graph, annotated records, document), and the index of several analyses.

Annotated records have the analysis in comments and variations, for GUIs: ShogiHome, ShogiGUI, Kifu for Windows. KIF has
variations, and its scores are words in comments; CSA has scores and lines of its own, as floodgate writes them.
"""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fukayomi.engine.analysis.game_analysis import GameAnalysis, Mistake, MoveAnalysis, Score, SideSummary
from fukayomi.engine.report.document import DOCUMENT, document_text, read_analysis
from fukayomi.engine.report.graph import graph_png
from fukayomi.engine.report.page import analysis_page
from fukayomi.engine.report.rendering import render
from fukayomi.engine.report.shapes import graph_svg
from fukayomi.engine.report.words import Words, ending, evaluation, percent, printable, verdict
from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.shogi import BLACK, WHITE, Move, Position
from fukayomi.shogi.formats import write_csa, write_kif
from fukayomi.shogi.formats.csa.writer import csa_moves
from fukayomi.shogi.formats.remarks import read_remarks
from fukayomi.shogi.record import Record, RecordedMove, Variation
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


NOTED_LOSS = 0.01
"""Win rate; where a move loses less, the best line is not worth a variation."""
_KIF_MARKS = str.maketrans("☗☖−", "▲△-")
"""Programs expect these marks in records, and Shift_JIS has no other minus."""


def annotated(analysis: GameAnalysis) -> Record:
    """A copy of the record with the analysis in it, for KIF.

    The comment on a move has its verdict, the best move, and score and line in the form that ShogiHome uses for its
    analyses. Where a move lost something, the best line is a variation.
    """
    record = _copy(analysis)
    for move in analysis.moves:
        _comment(record.moves[move.ply - 1], [*_verdict(move), *_score_and_line(move)])
        if variation := _variation(move):
            record.variations.append(variation)
    return record


def annotated_csa(analysis: GameAnalysis) -> Record:
    """A copy of the record with the analysis in it, for CSA.

    Each move has its score, from Black's side, and the line that was expected after it, in CSA's notation; its comment
    has the verdict and the best move.
    """
    record = _copy(analysis)
    position = Position.from_sfen(record.initial_sfen)
    judged = {move.ply: move for move in analysis.moves}
    for ply, played in enumerate(record.moves, 1):
        position.push(played.move)
        if move := judged.get(ply):
            _comment(played, _verdict(move))
            line = move.after.lines[0].usi if move.after.lines else ()
            played.score_cp = move.after.score.cp
            played.pv = " ".join(csa_moves(position.sfen(), _moves_of(line)))
    return record


def _copy(analysis: GameAnalysis) -> Record:
    record = copy.deepcopy(analysis.record)
    record.black_name, record.white_name, record.event = analysis.black, analysis.white, analysis.event
    return record


def _comment(played: RecordedMove, notes: list[str]) -> None:
    """Add notes to the comment. Score and line of the record itself give way, or writers would add them again."""
    played.comment = "\n".join(filter(None, (played.comment, *notes))).translate(_KIF_MARKS)
    played.score_cp, played.mate, played.pv = None, None, ""
    read_remarks(played.comment, played)


def _verdict(move: MoveAnalysis) -> list[str]:
    notes: list[str] = []
    if move.mistake is not None:
        before, after = (percent(score.winrate_of(move.color)) for score in (move.before.score, move.reached))
        notes.append(f"【{verdict(move)[0]}】勝率 {before} → {after} %、最善は{move.best.japanese[0]}")
    if not move.is_best:
        notes.append(f"最善の読み筋 {''.join(move.best.japanese)}（{evaluation(move.best.score)}）")
    return notes


def _score_and_line(move: MoveAnalysis) -> list[str]:
    line = [f"#読み筋={''.join(move.after.lines[0].japanese)}"] if move.after.lines else []
    return _score_notes(move.after.score) + line


def _score_notes(score: Score) -> list[str]:
    notes = [f"#評価値={score.cp}"]
    if score.mate:
        notes.append(f"#詰み={'先手' if score.mate > 0 else '後手'}勝ち:{abs(score.mate)}手")
    return notes


def _variation(move: MoveAnalysis) -> Variation | None:
    """The best line, if the move played was another one and lost something."""
    if move.is_best or move.loss < NOTED_LOSS:
        return None
    moves = [RecordedMove(Move.from_usi(usi)) for usi in _moves_of(move.best.usi)]
    if not moves:
        return None
    score = move.best.score
    heading = f"最善手（勝率 {percent(score.winrate_of(move.color))} %、評価値 {evaluation(score)}）"
    _comment(moves[0], [heading, *_score_notes(score)])
    return Variation(move.ply, moves)


def _moves_of(line: Sequence[str]) -> list[str]:
    """The moves of a line, which may end with a declaration or a resignation."""
    return [usi for usi in line if usi not in ("win", "resign")]
