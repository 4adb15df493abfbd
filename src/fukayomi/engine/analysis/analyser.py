"""Analysing a game: search each position, then judge each move beside the best one."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from fukayomi._native import MATE_CP
from fukayomi.engine.analysis.game_analysis import (
    Candidate,
    GameAnalysis,
    MoveAnalysis,
    PositionAnalysis,
    Score,
    SearchLimits,
    reached_score,
)
from fukayomi.engine.analysis.game_search import GameSearch, Search
from fukayomi.engine.analysis.mate_length import MateLengths
from fukayomi.engine.search import has_score
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import BLACK, Color, DeclarationRule, Position, Repetition
from fukayomi.shogi.formats.notation import japanese_moves
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

if TYPE_CHECKING:
    from fukayomi._native import SearchLine

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
