"""The analysis of a game (棋譜解析): an evaluation of every position, and what every move lost.

The loss of a move is the win rate of the best move minus that of the move played, both from one tree, the search of the
position before them. It is never negative, and the move that the search prefers loses nothing. Scores are from Black's
side, as in game records, unless the name says otherwise.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fukayomi._native import MATE_CP, centipawns
from fukayomi.shogi import BLACK, WHITE, Color
from fukayomi.shogi.formats.notation import japanese_moves
from fukayomi.shogi.record import Record
from fukayomi.tabular import Tabular, counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Mistake(Enum):
    """The four classes of bad moves by lost win rate, with ShogiHome's names and thresholds."""

    INACCURACY = ("inaccuracy", "緩手", 0.05)
    DUBIOUS = ("dubious", "疑問手", 0.10)
    MISTAKE = ("mistake", "悪手", 0.20)
    BLUNDER = ("blunder", "大悪手", 0.50)

    def __init__(self, english: str, japanese: str, threshold: float) -> None:
        self.english = english
        self.japanese = japanese
        self.threshold = threshold

    @classmethod
    def from_loss(cls, loss: float) -> "Mistake | None":
        """The class of a move that loses this much win rate (0 to 1); None if it is not a mistake."""
        return next((kind for kind in reversed(cls) if loss >= kind.threshold), None)


@dataclass(frozen=True, slots=True)
class Score:
    """An evaluation from Black's side."""

    winrate: float
    """Black's win rate, 0 to 1."""
    cp: int
    """Centipawns; ±30000 for a mate."""
    mate: int | None = None
    """Plies to a proven mate, the shortest that is known: positive if Black mates, negative if White does; 0 if it is
    on the board. Their number is even where the side to move is mated. None with a win rate of 0 or 1: a win is proven,
    and its length is not known."""

    @classmethod
    def seen_by(cls, color: Color, winrate: float, mate: int | None) -> "Score":
        """The score that one side sees.

        Args:
            color: The side.
            winrate: Its win rate, 0 to 1.
            mate: Plies to a proven mate, positive if this side mates; None if there is none.
        """
        sign = 1 if color == BLACK else -1
        if mate is not None:
            won = (mate > 0) == (color == BLACK)
            return cls(float(won), MATE_CP if won else -MATE_CP, sign * mate)
        return cls(winrate if color == BLACK else 1.0 - winrate, sign * centipawns(winrate))

    def winrate_of(self, color: Color) -> float:
        """Win rate of one side, 0 to 1."""
        return self.winrate if color == BLACK else 1.0 - self.winrate

    def cp_of(self, color: Color) -> int:
        """Centipawns from one side."""
        return self.cp if color == BLACK else -self.cp

    def is_mate_for(self, color: Color) -> bool:
        """True if this side has a proven mate."""
        return self.mate is not None and self.cp_of(color) > 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A move that the search considered, with the expected continuation (読み筋)."""

    score: Score
    usi: tuple[str, ...]
    """The moves in USI form, the candidate first."""
    japanese: tuple[str, ...]
    """The same moves in Japanese notation."""
    visits: int = 0
    """Visits of the candidate in the search; 0 for a declaration, which is not searched."""

    @classmethod
    def named(
        cls, score: Score, usi: Sequence[str], sfen: str, previous: tuple[str, str] | None, visits: int = 0
    ) -> "Candidate":
        """A candidate with the Japanese names of its moves.

        Args:
            score: Its score.
            usi: The moves in USI form.
            sfen: The position before them.
            previous: The position before the last move of the game, and that move, which matters for 同; None if the
                game has no move yet.
            visits: Visits of the candidate.

        Raises:
            IllegalMoveError: A move is not legal.
        """
        names = japanese_moves(previous[0], [previous[1], *usi])[1:] if previous else japanese_moves(sfen, usi)
        return cls(score, tuple(usi), tuple(names), visits)


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits of the search of one position.

    >>> str(SearchLimits(nodes=800, time_ms=350))
    '800 nodes or 350 ms per position, whichever comes first'
    """

    nodes: int | None = None
    """Maximum number of positions to evaluate."""
    time_ms: int | None = None
    """Maximum search time (ms)."""
    multipv: int = 1
    """Number of candidates to keep."""

    def __str__(self) -> str:
        """The limits in words."""
        limits = [] if self.nodes is None else [counted(self.nodes, "node")]
        limits += [] if self.time_ms is None else [f"{self.time_ms} ms"]
        if not limits:
            return "no limits"
        return f"{' or '.join(limits)} per position{', whichever comes first' if len(limits) == 2 else ''}"


@dataclass(frozen=True, slots=True)
class PositionAnalysis:
    """Result of the search of one position of the game."""

    ply: int
    """Number of moves played before it; 0 at the start."""
    sfen: str
    turn: Color
    score: Score
    lines: tuple[Candidate, ...]
    """The best candidate first; empty where the game is over."""
    played: Candidate | None = None
    """The move that was played, by the same search; None at the end of the game, and where it was not searched."""
    is_certain: bool = True
    """True if the loss of the move played was small, or stayed in its class when the search went on."""
    nodes: int = 0
    """Positions that the search evaluated."""
    limits: SearchLimits | None = None
    """Limits of its search; None where the rules decide and nothing was searched."""

    @property
    def is_decided(self) -> bool:
        """True if the rules or a mate decide the game."""
        return not self.lines or self.score.mate is not None

    def satisfies(self, limits: SearchLimits) -> bool:
        """True if a search with these limits would find no more: it was searched with as much, or needs no search."""
        if self.limits is None:
            return True
        if self.limits.multipv < limits.multipv:
            return False
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return True
        return _reaches(self.limits.nodes, limits.nodes) and _reaches(self.limits.time_ms, limits.time_ms)


def reached_score(before: PositionAnalysis, after: PositionAnalysis) -> Score:
    """The score that the move between two positions reached: by the search before it, unless the result is proven."""
    return after.score if after.is_decided or before.played is None else before.played.score


def _reaches(limit: int | None, wanted: int | None) -> bool:
    return limit is None or (wanted is not None and limit >= wanted)


@dataclass(frozen=True, slots=True)
class MoveAnalysis:
    """A move of the game, judged by the search of the position before it."""

    ply: int
    """Number of the move, from 1."""
    color: Color
    usi: str
    japanese: str
    before: PositionAnalysis
    after: PositionAnalysis
    loss: float
    """Win rate that the player lost, 0 to 1."""
    loss_cp: int
    """The same in centipawns, with scores cut to ±3000."""
    is_certain: bool
    """True if the class of the mistake is certain: it stayed the same when the position was searched deeper."""
    recorded_cp: int | None
    """The record's own score after the move."""

    @property
    def mistake(self) -> Mistake | None:
        """Class of the mistake; None if it is not a mistake."""
        return Mistake.from_loss(self.loss)

    @property
    def reached(self) -> Score:
        """The score after the move as `loss` counts it: by the search that found the best move, or proven."""
        return reached_score(self.before, self.after)

    @property
    def best(self) -> Candidate:
        """Move that the search would have played."""
        return self.before.lines[0]

    @property
    def is_best(self) -> bool:
        """True if it is the move that the search prefers."""
        return bool(self.before.lines) and self.best.usi[0] == self.usi

    @property
    def has_missed_mate(self) -> bool:
        """True if the player had a mate and no longer has one (詰み逃し)."""
        return self.before.score.is_mate_for(self.color) and not self.after.score.is_mate_for(self.color)

    @property
    def has_allowed_mate(self) -> bool:
        """True if the move gives the opponent a mate in a position that could be held (頓死).

        Who was lost before, or had no better move, has thrown nothing away.
        """
        return self.after.score.is_mate_for(self.color.opponent) and self.loss >= Mistake.MISTAKE.threshold


@dataclass(frozen=True, slots=True)
class SideSummary:
    """The moves of one player, summed up."""

    moves: int
    average_loss: float
    """Win rate lost per move, 0 to 1."""
    agreement: float
    """Share of the moves that the search prefers, too, 0 to 1."""
    mistakes: dict[Mistake, int]


@dataclass(frozen=True, repr=False)
class GameAnalysis(Tabular):
    """An analysed game, or a range of its moves; `fukayomi.analyse` makes it.

        >>> from fukayomi import analyse, Position
        >>> analysis = analyse(Position.from_usi("startpos moves 7g7f 3c3d"), nodes=10)
        >>> [(move.ply, move.usi) for move in analysis.moves]
        [(1, '7g7f'), (2, '3c3d')]
        >>> analysis.to_polars().columns[:6]
        ['ply', 'color', 'move', 'japanese', 'winrate', 'cp']

    It prints as a table with one row per move, and a notebook shows the graph and the table. `moves` has the judged
    moves, `positions` the searched positions with their candidates, `mistakes()` the bad moves, `side(BLACK)` the
    figures of a player. `plot()` draws the evaluation graph, `save(folder)` writes the whole report.
    """

    record: Record
    """The game."""
    engine: str
    """Name and identity of the network."""
    positions: tuple[PositionAnalysis, ...]
    """By ply. Plies are missing where only ranges of the game were analysed."""
    moves: tuple[MoveAnalysis, ...]
    """One for each pair of successive positions."""

    @property
    def black(self) -> str:
        """Name of the player with Black."""
        return _printable(self.record.black_name)

    @property
    def white(self) -> str:
        """Name of the player with White."""
        return _printable(self.record.white_name)

    @property
    def players(self) -> tuple[str, str]:
        """Names of both players; of one without a name, what the side is called (先手, in a handicap game 下手)."""
        black, white = self.record.side_names
        return self.black or black, self.white or white

    @property
    def event(self) -> str:
        """Name of the event."""
        return _printable(self.record.event)

    @property
    def date(self) -> str:
        """Date when the game began, as the record writes it."""
        return _printable(self.record.start_time)

    @property
    def result(self) -> str:
        """Result of the game, in words: `120手で先手の勝ち（投了） Black wins, resignation`."""
        from fukayomi.engine.report.words import ending

        return " ".join(filter(None, ending(self.record)))

    @property
    def limits(self) -> str:
        """Limits of the search of one position, in words; several if parts of the game were searched differently."""
        counts = Counter(str(position.limits) for position in self.positions if position.limits is not None)
        return "; ".join(words for words, _ in counts.most_common())

    @property
    def searched_by(self) -> str:
        """The network and the limits, in words; the network alone if no position needed a search."""
        return ", ".join(filter(None, (self.engine, self.limits)))

    def is_of_game(self, record: Record) -> bool:
        """True if this is an analysis of the same moves; names and comments may differ."""
        same_start = self.record.initial_sfen == record.initial_sfen
        return same_start and self.record.usi_moves() == record.usi_moves()

    @property
    def total_moves(self) -> int:
        """Number of moves of the record, analysed or not."""
        return len(self.record)

    @property
    def is_complete(self) -> bool:
        """True if every move of the record was analysed."""
        return len(self.moves) == self.total_moves

    def side(self, color: Color) -> SideSummary:
        """Sum up the analysed moves of one player."""
        own = [move for move in self.moves if move.color == color]
        counts = Counter(move.mistake for move in own)
        return SideSummary(
            moves=len(own),
            average_loss=sum(move.loss for move in own) / len(own) if own else 0.0,
            agreement=sum(move.is_best for move in own) / len(own) if own else 0.0,
            mistakes={kind: counts[kind] for kind in Mistake},
        )

    def mistakes(self) -> list[MoveAnalysis]:
        """All bad moves, the worst first."""
        bad = [move for move in self.moves if move.mistake is not None]
        return sorted(bad, key=lambda move: (-move.loss, move.ply))

    def turning_point(self) -> MoveAnalysis | None:
        """The mistake that took the loser's win rate below 50 % for good; None if the last position is not decided."""
        if not self.moves or 0.2 < self.moves[-1].after.score.winrate < 0.8:
            return None
        loser = WHITE if self.moves[-1].after.score.winrate > 0.5 else BLACK
        for move in reversed(self.moves):
            if move.before.score.winrate_of(loser) >= 0.5:
                return move if move.color == loser and move.mistake else None
        return None

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per move: the scores after it from Black's side, what it lost, and the best move."""
        return [
            {
                "ply": move.ply,
                "color": move.color.name.lower(),
                "move": move.usi,
                "japanese": move.japanese,
                "winrate": move.after.score.winrate,
                "cp": move.after.score.cp,
                "mate": move.after.score.mate,
                "loss": move.loss,
                "mistake": move.mistake.english if move.mistake else None,
                "certain": move.is_certain,
                "best": move.best.usi[0],
                "best_japanese": move.best.japanese[0],
            }
            for move in self.moves
        ]

    def plot(self, language: Literal["ja", "en"] | None = None) -> "Figure":
        """Draw the evaluation graph: win rate and centipawns over the plies, mistakes marked.

        Args:
            language: Language of the labels. None: Japanese where the locale is Japanese and a Japanese font is
                installed, otherwise English.

        Returns:
            A matplotlib figure; write it with ``analysis.plot().savefig("evaluation.png")``.

        Raises:
            ValueError: `language` is "ja" and no Japanese font is installed.
        """
        from fukayomi.engine.report.graph import draw

        return draw(self, language=language)

    def to_html(self) -> str:
        """The analysis as a web page: one HTML document with everything in it."""
        from fukayomi.engine.report.page import analysis_page

        return analysis_page(self)

    def to_dict(self) -> dict[str, Any]:
        """The analysis as dictionaries and lists, the document that ``fukayomi analyse --json`` prints."""
        from fukayomi.engine.report.document import analysis_document

        return analysis_document(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "GameAnalysis":
        """The analysis that `to_dict` wrote.

        Raises:
            AnalysisFileError: The document is damaged, or was written by something else; everything in it is checked.
        """
        from fukayomi.engine.report.document import analysis_from_document

        return analysis_from_document(document)

    @classmethod
    def load(cls, folder: str | Path) -> "GameAnalysis":
        """The analysis that `save` wrote to a folder; of an interrupted run, what it finished.

            >>> from tempfile import mkdtemp
            >>> from fukayomi import analyse, Position
            >>> analysis, folder = analyse(Position.from_usi("startpos moves 7g7f"), nodes=10), mkdtemp()
            >>> paths = analysis.save(folder)
            >>> GameAnalysis.load(folder) == analysis
            True

        Raises:
            AnalysisFileError: ``analysis.json`` in the folder is damaged.
            OSError: It cannot be read.
        """
        from fukayomi.engine.report.document import read_analysis

        return read_analysis(Path(folder))

    def save(self, folder: str | Path, *, png: bool = False) -> list[Path]:
        """Write the page, the graph, the record with scores in its comments, and the document to a folder.

        Args:
            folder: Made if it does not exist; older reports in it are replaced.
            png: Also write the graph as PNG.

        Returns:
            The paths: ``analysis.html``, ``analysis.svg``, ``analysis.kifu``, ``analysis.csa``, ``analysis.png`` if
            asked for, and ``analysis.json``, from which `load` restores the analysis.

        Raises:
            OSError: The folder or a file cannot be written.
        """
        from fukayomi.engine.report.files import write_report

        return write_report(self, Path(folder), png=png)

    def __str__(self) -> str:
        """The game and the table as text."""
        black, white = self.players
        players = f"☗ {black}  ☖ {white}  {self.date}".rstrip()
        return f"{players}\n{self.result}\n{self.searched_by}\n\n{super().__str__()}"

    def __repr__(self) -> str:
        return f"<GameAnalysis: {len(self.moves)} of {counted(self.total_moves, 'move')}>"

    def _repr_html_(self) -> str:
        from fukayomi.engine.report.shapes import graph_image

        return graph_image(self) + super()._repr_html_()


def _printable(text: str) -> str:
    from fukayomi.engine.report.words import printable

    return printable(text)
