"""Analysis of a game (棋譜解析): every position searched once, and what each move gave away.

The loss of a move is the win rate of its player before the move less the win rate after it, each from the search of
that position; it is never negative, and nothing is lost by the move that the search prefers. All scores are from
Black's side, as in game records, unless a name says otherwise.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

from fukayomi.engine.usi_output import centipawns
from fukayomi.shogi import BLACK, WHITE, Color, DeclarationRule, Position, Repetition
from fukayomi.shogi.formats.notation import japanese_moves
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

if TYPE_CHECKING:
    from fukayomi.engine import search

    Search = Callable[[Position], search.SearchResult]
    """What thinks about a position that has legal moves; the answer has at least one line."""

CP_MATE = 30_000  # how records write a mate, and what else is certain
EVAL_COEF = 756  # dlshogi's: a win rate p is worth 756 ln(p / (1 - p)) centipawns; the default of Eval_Coef
CP_LOSS_CAP = 3_000  # beyond this both sides know who wins: scores are cut to it before they are compared


class Mistake(Enum):
    """The four classes of bad moves, by their loss of win rate: names and thresholds as ShogiHome has them."""

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
        """The class of a move that loses so much win rate (0 to 1), or None for a good one."""
        return next((kind for kind in reversed(cls) if loss >= kind.threshold), None)


@dataclass(frozen=True, slots=True)
class Score:
    """An evaluation from Black's side."""

    win_rate: float
    """Black's, from 0 to 1."""
    cp: int
    """Centipawns; a mate is ±30000."""
    mate: int | None = None
    """Plies to a proven mate: positive when Black mates, negative when White does; 0: it is on the board."""

    def win_rate_of(self, color: Color) -> float:
        """Win rate of one side, from 0 to 1."""
        return self.win_rate if color == BLACK else 1.0 - self.win_rate

    def cp_of(self, color: Color) -> int:
        """Centipawns from one side."""
        return self.cp if color == BLACK else -self.cp

    def is_mate_for(self, color: Color) -> bool:
        """Whether this side has a proven mate."""
        return self.mate is not None and self.cp_of(color) > 0


@dataclass(frozen=True, slots=True)
class Line:
    """One candidate of a search, with what follows."""

    score: Score
    usi: tuple[str, ...]
    """The moves in USI form, the candidate first."""
    japanese: tuple[str, ...]
    """The same moves as records print them."""


@dataclass(frozen=True, slots=True)
class PositionAnalysis:
    """What the search says of one position of the game."""

    ply: int
    """Moves played before it: 0 at the start."""
    sfen: str
    turn: Color
    score: Score
    lines: tuple[Line, ...]
    """The best candidate first; empty where the game is over."""
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class MoveAnalysis:
    """A move of the game, judged by the positions before and after it."""

    ply: int
    """From 1."""
    color: Color
    usi: str
    japanese: str
    before: PositionAnalysis
    after: PositionAnalysis
    loss: float
    """Win rate that the player gave away, from 0 to 1."""
    loss_cp: int
    """The same in centipawns, scores cut to ±3000."""
    recorded_cp: int | None
    """The score that the record itself gives to the move."""

    @property
    def mistake(self) -> Mistake | None:
        """Its class, if it is a bad move."""
        return Mistake.from_loss(self.loss)

    @property
    def best(self) -> Line:
        """What the search would have played."""
        return self.before.lines[0]

    @property
    def is_best(self) -> bool:
        """Whether the player and the search agree."""
        return bool(self.before.lines) and self.best.usi[0] == self.usi

    @property
    def has_missed_mate(self) -> bool:
        """Whether there was a mate, and no longer is (詰み逃し)."""
        return self.before.score.is_mate_for(self.color) and not self.after.score.is_mate_for(self.color)

    @property
    def has_allowed_mate(self) -> bool:
        """Whether the move lets the opponent mate, who could not before (頓死)."""
        opponent = self.color.opponent
        return self.after.score.is_mate_for(opponent) and not self.before.score.is_mate_for(opponent)


@dataclass(frozen=True, slots=True)
class SideSummary:
    """How one player did."""

    moves: int
    average_loss: float
    """Win rate a move, from 0 to 1."""
    agreement: float
    """Share of the moves that the search would have played, from 0 to 1."""
    mistakes: dict[Mistake, int]


@dataclass(frozen=True, slots=True)
class GameAnalysis:
    """A game, or a range of its plies, judged."""

    black: str
    white: str
    event: str
    date: str
    result: str
    """How the game ended, in words: `投了 White wins`."""
    total_moves: int
    """Moves of the record, analysed or not."""
    engine: str
    """Which network judged it."""
    limits: str
    """How long each position was searched, in words."""
    positions: tuple[PositionAnalysis, ...]
    moves: tuple[MoveAnalysis, ...]
    """One for each pair of successive positions."""

    @property
    def is_complete(self) -> bool:
        """Whether every move of the record was analysed."""
        return len(self.moves) == self.total_moves

    def side(self, color: Color) -> SideSummary:
        """How one player did in the analysed moves."""
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
        """The bad move by which the loser's win rate fell below one half for good; None if the end is not clear."""
        if not self.moves or 0.2 < self.moves[-1].after.score.win_rate < 0.8:
            return None
        loser = WHITE if self.moves[-1].after.score.win_rate > 0.5 else BLACK
        for move in reversed(self.moves):
            if move.before.score.win_rate_of(loser) >= 0.5:
                return move if move.color == loser and move.mistake else None
        return None


def analyse_record(record: Record, search: "Search", *, engine: str = "", limits: str = "") -> GameAnalysis:
    """Judge every move of a game: one search for each position that arose."""
    return assemble(record, analyse_positions(record, search), engine=engine, limits=limits)


def analyse_positions(
    record: Record, search: "Search", first: int = 1, last: int | None = None
) -> Iterator[PositionAnalysis]:
    """Search the positions before the plies `first` to `last` (to the end, if None) and the one after them.

    Each is yielded as soon as it is searched, so that a caller can show progress, or stop and keep what it has.
    """
    last = len(record) if last is None else min(last, len(record))
    position = Position.from_sfen(record.initial_sfen)
    previous: tuple[str, str] | None = None  # the position before the last move, and that move
    for ply in range(last + 1):
        if ply >= first - 1:
            yield _analyse(record, position, ply, previous, search)
        if ply < last:
            move = record.moves[ply].move
            previous = (position.sfen(), move.usi())
            position.push(move)


def assemble(
    record: Record, positions: Iterable[PositionAnalysis], *, engine: str = "", limits: str = ""
) -> GameAnalysis:
    """Judge the moves between successive positions of a game."""
    positions = tuple(positions)
    names = japanese_moves(record.initial_sfen, record.usi_moves())
    moves = [judge(before, after, record.moves[before.ply], names[before.ply]) for before, after in pairwise(positions)]
    return GameAnalysis(
        black=_printable(record.black_name),
        white=_printable(record.white_name),
        event=_printable(record.event),
        date=_printable(record.start_time),
        result=_ending(record),
        total_moves=len(record),
        engine=engine,
        limits=limits,
        positions=positions,
        moves=tuple(moves),
    )


def judge(before: PositionAnalysis, after: PositionAnalysis, played: RecordedMove, japanese: str) -> MoveAnalysis:
    """What a move gave away, from the searches before and after it."""
    color, usi = before.turn, played.move.usi()
    is_best = bool(before.lines) and before.lines[0].usi[0] == usi
    loss = before.score.win_rate_of(color) - after.score.win_rate_of(color)
    loss_cp = _cut(before.score.cp_of(color)) - _cut(after.score.cp_of(color))
    return MoveAnalysis(
        ply=after.ply,
        color=color,
        usi=usi,
        japanese=japanese,
        before=before,
        after=after,
        loss=0.0 if is_best else max(0.0, loss),
        loss_cp=0 if is_best else max(0, loss_cp),
        recorded_cp=_recorded_cp(played),
    )


def _analyse(
    record: Record, position: Position, ply: int, previous: tuple[str, str] | None, search: "Search"
) -> PositionAnalysis:
    sfen, turn = position.sfen(), position.turn
    decided = _final_score(record, position) if ply == len(record) else None
    if decided is not None:
        return PositionAnalysis(ply, sfen, turn, decided, lines=())
    if position.can_declare_win(DeclarationRule.POINTS_27):
        line = Line(_won_by(turn), ("win",), tuple(japanese_moves(sfen, ["win"])))
        return PositionAnalysis(ply, sfen, turn, line.score, (line,))
    result = search(position)
    lines = tuple(_line(line, sfen, turn, previous) for line in result.lines)
    return PositionAnalysis(ply, sfen, turn, lines[0].score, lines, result.progress.nodes)


def _line(line: "search.Line", sfen: str, turn: Color, previous: tuple[str, str] | None) -> Line:
    """A line of the search, seen from Black and named; the move before it matters for 同."""
    usi = tuple(move.usi() for move in line.pv)
    names = japanese_moves(previous[0], [previous[1], *usi])[1:] if previous else japanese_moves(sfen, usi)
    return Line(_score(line.winrate, line.mate, turn), usi, tuple(names))


def _score(win_rate: float, mate: int | None, turn: Color) -> Score:
    """A score of the side to move, seen from Black."""
    sign = 1 if turn == BLACK else -1
    if mate is not None:
        won = (mate > 0) == (turn == BLACK)
        return Score(float(won), CP_MATE if won else -CP_MATE, sign * mate)
    return Score(win_rate if turn == BLACK else 1.0 - win_rate, sign * centipawns(win_rate, EVAL_COEF))


def _final_score(record: Record, position: Position) -> Score | None:
    """The score of the last position where the rules have decided it; None where a search must say.

    A player who resigns, oversteps the time or plays an illegal move may stand well: that is no evaluation.
    """
    if position.is_mated():
        return _won_by(position.turn.opponent)
    if record.termination is Termination.DECLARATION and record.result is not Result.UNKNOWN:
        return _won_by(position.turn)
    match position.repetition():
        case Repetition.DRAW:
            return Score(0.5, 0)
        case Repetition.WIN:
            return _won_by(position.turn)
        case Repetition.LOSE:
            return _won_by(position.turn.opponent)
        case _:
            return None


def _won_by(color: Color) -> Score:
    return Score(1.0, CP_MATE, 0) if color == BLACK else Score(0.0, -CP_MATE, 0)


def _cut(cp: int) -> int:
    return max(-CP_LOSS_CAP, min(CP_LOSS_CAP, cp))


def _recorded_cp(played: RecordedMove) -> int | None:
    if played.score_cp is None and played.mate is not None:
        return CP_MATE if played.mate > 0 else -CP_MATE
    return played.score_cp


_ENDINGS = {
    Termination.RESIGN: ("投了", "resignation"),
    Termination.DECLARATION: ("入玉宣言", "declaration"),
    Termination.REPETITION: ("千日手", "repetition"),
    Termination.PERPETUAL_CHECK: ("連続王手の千日手", "perpetual check"),
    Termination.IMPASSE: ("持将棋", "impasse"),
    Termination.MAX_PLIES: ("最大手数", "limit of plies"),
    Termination.MATE: ("詰み", "mate"),
    Termination.TIME_UP: ("時間切れ", "time"),
    Termination.ILLEGAL_MOVE: ("反則", "illegal move"),
    Termination.CRASH: ("エンジン停止", "crash"),
    Termination.STALL: ("応答なし", "no answer"),
    Termination.PROTOCOL: ("通信異常", "protocol"),
    Termination.ADJUDICATION: ("裁定", "adjudication"),
    Termination.INTERRUPTED: ("中断", "interrupted"),
}
_WINNERS = {
    Result.BLACK_WIN: ("先手の勝ち", "Black wins"),
    Result.WHITE_WIN: ("後手の勝ち", "White wins"),
    Result.DRAW: ("引き分け", "draw"),
    Result.UNKNOWN: ("", ""),
}


def _ending(record: Record) -> str:
    how = _ENDINGS.get(record.termination, ("", ""))
    who = _WINNERS[record.result]
    foul = f"：{_printable(record.illegal_move)}" if record.illegal_move else ""
    japanese = f"{len(record)}手で{who[0]}（{how[0]}{foul}）" if how[0] else f"{len(record)}手{who[0]}"
    return f"{japanese} {', '.join(filter(None, (who[1], how[1])))}".rstrip()


def _printable(text: str) -> str:
    """What a record says, without characters that would steer a terminal or turn the direction of writing."""
    return "".join(character if character.isprintable() else " " for character in text).strip()
