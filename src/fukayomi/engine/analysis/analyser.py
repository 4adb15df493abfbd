"""The analysis of a game: a search of its positions in one tree, and the judgement of each move beside the best one.

Scores from different searches differ by more than an inaccuracy is worth, so a loss is never the difference of two of
them. Both moves are compared in the tree of the position before them, with the same number of visits; and where the
move played seems to lose something, the search goes on, each time twice as far, until the class of the mistake stays
the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from fukayomi._native import MATE_CP
from fukayomi.engine.analysis.game_analysis import (
    Candidate,
    GameAnalysis,
    Mistake,
    MoveAnalysis,
    PositionAnalysis,
    Score,
    SearchLimits,
    reached_score,
)
from fukayomi.engine.search import has_score
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import BLACK, Color, DeclarationRule, MateReason, MateSolver, Move, Position, Repetition
from fukayomi.shogi.formats.notation import japanese_moves
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

if TYPE_CHECKING:
    from fukayomi._native import SearchLine
    from fukayomi.engine.search import SearchResult


# Shares of the limits of one position. What the first look leaves is for suspicious moves later in the game.
FREE = 0.35
"""For a search of all moves. Where no move was played, all that is left, up to the whole limits."""
COMPARISON = 0.15
"""For visits of the best move and the one that was played."""
LARGEST = 8.0
"""The most for one position."""
SUSPICION = 0.025
"""From this loss on a move is searched deeper; the class of the smallest mistakes begins at 0.05."""
ALL_MOVES = 1_000


class Search(Protocol):
    """`Engine.search`, or what answers in its place. The result has at least one line."""

    def __call__(
        self,
        position: "Position",
        *,
        nodes: int | None = None,
        time_ms: int | None = None,
        multipv: int = 1,
        compare: Sequence["Move"] = (),
    ) -> "SearchResult":
        """Search a position that has legal moves."""
        ...


@dataclass(frozen=True, slots=True)
class Examination:
    """Result of the search of a position."""

    lines: "tuple[SearchLine, ...]"
    """All moves, the best first."""
    played: "SearchLine | None"
    """The move that was played; None if there was none, or the search has not visited it."""
    nodes: int
    """Positions that were evaluated."""
    is_certain: bool
    """True if the class of the move played stayed the same when the search went on, or it seems to lose nothing."""


class GameSearch:
    """Searches the positions of a game, in order, and on all of them spends no more than the limits allow.

    Args:
        search: Searches one position; the tree must stay from call to call.
        limits: Limits of one position. In a game they are the most that a position gets on average.
        positions: Number of positions that will be examined.
    """

    def __init__(self, search: Search, limits: SearchLimits, positions: int) -> None:
        self._search = search
        self._limits = limits
        self._left = positions
        self._budget = float(positions)  # in limits of one position

    def examine(self, position: "Position", played: "Move | None") -> Examination:
        """Search a position with legal moves.

        Args:
            position: The position with the moves that led to it.
            played: The move that was played in it; None at the end of the game.
        """
        self._left -= 1
        look = self._look(position, played, 1.0, None)
        is_certain = look.loss < SUSPICION or look.is_decided
        scale, spent = 1.0, FREE + COMPARISON
        while not is_certain:
            share = scale * (FREE + COMPARISON)
            spent += share
            if spent > LARGEST or share > self._budget - self._left * (FREE + COMPARISON):
                break
            deeper = self._look(position, played, scale, look)
            is_certain = deeper.is_decided or Mistake.from_loss(deeper.loss) is Mistake.from_loss(look.loss)
            look = deeper
            scale *= 2
        return Examination(look.lines, look.played, look.nodes, is_certain)

    def _look(self, position: "Position", played: "Move | None", scale: float, before: "_Look | None") -> "_Look":
        """Search all moves, then the best one and the one played."""
        share = scale * FREE if played is not None else min(1.0, self._budget)
        result = self._run(position, share)
        nodes = result.progress.nodes + (before.nodes if before else 0)
        given = before.given if before else 0
        look = _Look(result.lines, played, given, nodes)
        if played is None or look.lines[0].move == played or look.is_decided:
            return look
        result = self._run(position, scale * COMPARISON, (look.lines[0].move, played))
        nodes += result.progress.nodes
        given += _visits(result.lines, played) - _visits(look.lines, played)
        return _Look(result.lines, played, given, nodes)

    def _run(self, position: "Position", share: float, compare: Sequence["Move"] = ()) -> "SearchResult":
        self._budget -= share
        limits = self._limits
        return self._search(
            position,
            nodes=None if limits.nodes is None else max(1, round(share * limits.nodes)),
            time_ms=None if limits.time_ms is None else max(1, round(share * limits.time_ms)),
            multipv=ALL_MOVES,
            compare=compare,
        )


class _Look:
    """The tree of a position at some time.

    Args:
        lines: All moves of the root.
        played: The move that was played.
        given: The visits that it owes to comparisons alone; they do not count when moves are ranked.
        nodes: Positions evaluated so far.
    """

    def __init__(self, lines: "Sequence[SearchLine]", played: "Move | None", given: int, nodes: int) -> None:
        def rank(line: "SearchLine") -> tuple[int, int]:
            if line.winrate in (0.0, 1.0):  # proven; the search has put these in order
                return (1 if line.winrate == 1.0 else -1), 0
            return 0, line.visits - (given if line.move == played else 0)

        self.lines = tuple(sorted(lines, key=rank, reverse=True))
        self.given = given
        self.nodes = nodes
        self.played = next((line for line in lines if line.move == played and has_score(line)), None)

    @property
    def is_decided(self) -> bool:
        """True if the position is proven won or lost."""
        return self.lines[0].winrate in (0.0, 1.0)

    @property
    def loss(self) -> float:
        """Win rate that the move played loses; 0 if it was not searched."""
        return max(0.0, self.lines[0].winrate - self.played.winrate) if self.played else 0.0


def _visits(lines: "Sequence[SearchLine]", move: "Move") -> int:
    return next((line.visits for line in lines if line.move == move), 0)


OWN_NODES = 100_000
"""Positions that are searched for a shorter mate by the side to move: about a tenth of a second."""
DEFENCE_NODES = 20_000
"""The same for a mate after each move of the side that is mated."""
MOST_DEFENCES = 16
"""With more moves to try, a mate of the side to move keeps the length that the search found."""
MEMORY_MB = 32


@dataclass(frozen=True, slots=True)
class ShorterMate:
    """A mate that is shorter than the one that the search found."""

    plies: int
    """Plies to it: positive if the side to move mates, negative if it is mated."""
    moves: tuple[Move, ...]
    """The whole line."""


class MateLengths:
    """Looks for shorter mates by checks alone, with work that does not depend on the time.

    A search proves a mate by the first line that it finds, which may be far from the shortest.
    """

    def __init__(self) -> None:
        self._solver: MateSolver | None = None

    def shorter(self, position: Position, winrate: float, mate: int | None) -> ShorterMate | None:
        """A shorter mate than the proof of a search has; None: none was found, or nothing is proven.

        Args:
            position: The position with the moves that led to it.
            winrate: What the search says of the side to move; 0 or 1 if it is proven.
            mate: Plies to the mate, positive if the side to move mates; None if their number is not known.
        """
        if winrate not in (0.0, 1.0) or (mate is not None and abs(mate) <= 2):
            return None
        longest = None if mate is None else abs(mate) - 2  # the other side moves last in both
        if winrate == 1.0:
            moves = self._solve(position, OWN_NODES, longest)
            return None if moves is None else ShorterMate(len(moves), moves)
        return self._defended(position, None if longest is None else longest - 1)

    def _defended(self, position: Position, longest: int | None) -> ShorterMate | None:
        """The mate after the defence that lasts longest, if every defence ends in one."""
        defences = position.legal_moves
        if len(defences) > MOST_DEFENCES:
            return None
        found: tuple[Move, ...] = ()
        for defence in defences:
            after = position.copy()
            after.push(defence)
            moves = self._solve(after, DEFENCE_NODES, longest)
            if moves is None:
                return None
            if len(moves) >= len(found):
                found = (defence, *moves)
        return ShorterMate(-len(found), found) if found else None

    def _solve(self, position: Position, nodes: int, plies: int | None) -> tuple[Move, ...] | None:
        """The shortest mate by the side to move within so many plies."""
        if self._solver is None:
            self._solver = MateSolver(MEMORY_MB)
        result = self._solver.solve(position, nodes=nodes, plies=plies)
        if result.reason != MateReason.MATE:
            return None
        # The solver does not know the past. A mate that begins with a repetition might repeat itself for ever.
        after = position.copy()
        after.push(result.moves[0])
        return None if after.occurrences() > 1 else tuple(result.moves)


NO_LIMITS = SearchLimits()
CP_LOSS_CAP = 3_000
"""Beyond this the game is decided: scores are cut to it before they are compared."""


def analyse_positions(
    record: Record,
    search: Search,
    first: int = 1,
    last: int | None = None,
    *,
    limits: SearchLimits = NO_LIMITS,
    known: GameAnalysis | None = None,
) -> Iterator[PositionAnalysis]:
    """Search the positions before the plies `first` to `last` and the one after them, each when it is asked for.

    A caller can show progress, or stop and keep what it has.

    Args:
        record: The game.
        search: `Engine.search`, which keeps its tree from position to position.
        first: First ply to judge, from 1.
        last: Last ply to judge; None: the last of the game.
        limits: Limits of the search of one position. A position without a move played gets all of it; positions with
            suspicious moves get more, the others less, and all together at most the limits of each.
        known: An analysis of the same game by the same network. Its positions that were searched with these limits or
            higher ones are not searched again.

    Raises:
        InvalidSfenError: The game begins from a position without both kings, as mate problems do.
    """
    found = {position.ply: position for position in known.positions if position.satisfies(limits)} if known else {}
    last = len(record) if last is None else min(last, len(record))
    lengths = MateLengths()
    game_search = GameSearch(search, limits, sum(ply not in found for ply in range(first - 1, last + 1)))
    position = Position.from_sfen(record.initial_sfen)
    previous: tuple[str, str] | None = None  # the position before the last move, and the move
    for ply in range(last + 1):
        if ply >= first - 1:
            yield found.get(ply) or _analyse(record, position, ply, previous, game_search, lengths, limits)
        if ply < last:
            move = record.moves[ply].move
            previous = (position.sfen(), move.usi())
            position.push(move)


def analyse_record(
    record: Record,
    search: Search,
    first: int = 1,
    last: int | None = None,
    *,
    engine: str = "",
    limits: SearchLimits = NO_LIMITS,
    known: GameAnalysis | None = None,
    listener: Listener = SILENT,
) -> GameAnalysis:
    """Search the positions and judge the moves; the arguments are those of `analyse_positions` and `assemble`."""
    total = max(0, min(len(record), last or len(record)) - first + 1) + 1
    positions: list[PositionAnalysis] = []
    for position in analyse_positions(record, search, first, last, limits=limits, known=known):
        positions.append(position)
        listener.progress("positions", len(positions), total)
    return assemble(record, positions, engine=engine, known=known)


def assemble(
    record: Record, positions: Iterable[PositionAnalysis], *, engine: str = "", known: GameAnalysis | None = None
) -> GameAnalysis:
    """Judge the moves between successive positions of a game.

    Args:
        record: The game.
        positions: What `analyse_positions` gave, or the beginning of it.
        engine: Name and identity of the network.
        known: An analysis of the same game, whose other positions are kept.
    """
    by_ply = {position.ply: position for position in (*(known.positions if known else ()), *positions)}
    ordered = tuple(by_ply[ply] for ply in sorted(by_ply))
    names = japanese_moves(record.initial_sfen, record.usi_moves())
    moves = [
        judge(before, after, record.moves[before.ply], names[before.ply])
        for before, after in pairwise(ordered)
        if after.ply == before.ply + 1
    ]
    return GameAnalysis(record=record, engine=engine, positions=ordered, moves=tuple(moves))


def judge(before: PositionAnalysis, after: PositionAnalysis, played: RecordedMove, japanese: str) -> MoveAnalysis:
    """Analysis of a move: its loss by the search before it, unless the result after it is proven."""
    color, usi = before.turn, played.move.usi()
    is_best = bool(before.lines) and before.lines[0].usi[0] == usi
    reached = reached_score(before, after)
    loss = before.score.winrate_of(color) - reached.winrate_of(color)
    loss_cp = _cut(before.score.cp_of(color)) - _cut(reached.cp_of(color))
    return MoveAnalysis(
        ply=after.ply,
        color=color,
        usi=usi,
        japanese=japanese,
        before=before,
        after=after,
        loss=0.0 if is_best else max(0.0, loss),
        loss_cp=0 if is_best else max(0, loss_cp),
        is_certain=before.is_certain or after.is_decided,
        recorded_cp=_recorded_cp(played),
    )


def _analyse(
    record: Record,
    position: Position,
    ply: int,
    previous: tuple[str, str] | None,
    game_search: GameSearch,
    lengths: MateLengths,
    limits: SearchLimits,
) -> PositionAnalysis:
    sfen, turn = position.sfen(), position.turn
    decided = _final_score(record, position) if ply == len(record) else None
    if decided is not None:
        return PositionAnalysis(ply, sfen, turn, decided, lines=())
    if position.can_declare_win(DeclarationRule.POINTS_27):
        line = Candidate.named(_won_by(turn), ("win",), sfen, None)
        return PositionAnalysis(ply, sfen, turn, line.score, (line,))
    move = record.moves[ply].move if ply < len(record) else None
    found = game_search.examine(position, move)
    best, *others = found.lines
    # Of an unvisited move nothing is known. The first one stands for the position where no move was visited.
    shown = [best, *(line for line in others if has_score(line))][: limits.multipv]
    lines = tuple(_line(line, sfen, turn, previous) for line in shown)
    if (mate := lengths.shorter(position, best.winrate, best.mate)) is not None:
        score = Score.seen_by(turn, best.winrate, mate.plies)
        usi = [move.usi() for move in mate.moves]
        visits = next((line.visits for line in found.lines if line.move == mate.moves[0]), 0)
        shortest = Candidate.named(score, usi, sfen, previous, visits)
        lines = (shortest, *(line for line in lines if line.usi[0] != usi[0]))[: limits.multipv]
    played = _line(found.played, sfen, turn, previous) if found.played else None
    return PositionAnalysis(ply, sfen, turn, lines[0].score, lines, played, found.is_certain, found.nodes, limits)


def _line(line: "SearchLine", sfen: str, turn: Color, previous: tuple[str, str] | None) -> Candidate:
    """A line of the search from Black's side, with Japanese names; the move before it matters for 同."""
    score = Score.seen_by(turn, line.winrate, line.mate)
    return Candidate.named(score, [move.usi() for move in line.pv], sfen, previous, line.visits)


def _final_score(record: Record, position: Position) -> Score | None:
    """The score of the last position if the rules decide it, otherwise None: it must be searched.

    Resignation, time and illegal moves decide the game but not the position: the loser may stand well.
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
    return Score(1.0, MATE_CP, 0) if color == BLACK else Score(0.0, -MATE_CP, 0)


def _cut(cp: int) -> int:
    return max(-CP_LOSS_CAP, min(CP_LOSS_CAP, cp))


def _recorded_cp(played: RecordedMove) -> int | None:
    if played.score_cp is None and played.mate is not None:
        return MATE_CP if played.mate > 0 else -MATE_CP
    return played.score_cp
