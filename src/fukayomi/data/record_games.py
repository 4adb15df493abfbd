"""Game records (CSA, KIF, KI2, JKF, USI lines) as games of hcpe3, and back.

What a move learns from is its candidates: the visits that the record tells (AobaZero writes them), else the move itself
with one visit where the record has a score, else nothing.
"""

import math
import re
from dataclasses import dataclass

import numpy as np

from fukayomi import _native
from fukayomi.data.convert import USEFUL_ENDINGS, Drop
from fukayomi.data.evalfix import EVAL_SCALE
from fukayomi.data.hcpe import EVAL_LIMIT, MATE_EVAL, ResultFlag
from fukayomi.data.hcpe3 import MOST_MOVES, MOST_VISITS, Game
from fukayomi.shogi import BLACK, Color, Move, Position, Repetition, ShogiError
from fukayomi.shogi.formats import csa_moves, move_from_csa
from fukayomi.shogi.record import Record, RecordedMove, RecordError, Result, Termination, result_of, winner_is

_VISITS = re.compile(r"v=|\d{1,9},\d{4}[A-Z]{2},\d")
_VALUE = "v="
_RAW_VALUE = "r="
_AOBAZERO_PLIES = 513  # at which it stops a game, which is drawn
_FLAGS = {
    Termination.REPETITION: ResultFlag.REPETITION,
    Termination.PERPETUAL_CHECK: ResultFlag.REPETITION,
    Termination.DECLARATION: ResultFlag.DECLARATION,
    Termination.MAX_PLIES: ResultFlag.MAX_PLIES,
}


@dataclass(frozen=True, slots=True)
class Targets:
    """What the moves of a record become."""

    one_hot: bool = False
    """Every move is its own only candidate, also those without a score; visits are not looked at."""
    random_plies: int = 0
    """Engines that play on purpose what is not best at first: up to the last move among so many plies that did not have
    the most visits, no move gets candidates. AobaZero: 30."""
    unfinished_as_draws: bool = False
    """Games without an end (USI lines have none) count as drawn, unless their last position decides them."""


TARGETS = Targets()


def game_from_record(record: Record, targets: Targets = TARGETS) -> Game | Drop:
    """A record as a game, or why it is none.

    Raises:
        RecordError: Its visits are damaged.
    """
    termination, result = _ending(record, targets)
    if termination not in USEFUL_ENDINGS or result is Result.UNKNOWN:
        return Drop.ENDING
    if len(record) > MOST_MOVES:
        return Drop.DAMAGED
    moves = np.array([played.move.raw for played in record.moves], np.uint16)
    try:
        hcps = _native.encode_game_hcps(Position.from_sfen(record.initial_sfen, allow_missing_king=True), moves)
    except ShogiError:
        return Drop.NO_HCP
    evals = np.zeros(len(moves), np.int16)
    searched: list[list[tuple[Move, int]]] = []
    for ply, (position, played) in enumerate(record.replay()):
        evaluation, candidates = _targets_of(record, ply, position, played, targets)
        if evaluation is None and candidates:
            evaluation = _evaluation_of_result(result, position.turn)
        evals[ply] = _cut(evaluation or 0)
        searched.append(candidates)
    _forget_random_moves(searched, record, targets.random_plies)
    pairs = [pair for candidates in searched for pair in candidates]
    return Game(
        hcps[0].tobytes(),
        result | _FLAGS.get(termination, ResultFlag(0)),
        0,
        hcps[:-1],
        moves,
        evals,
        np.cumsum([0, *(len(candidates) for candidates in searched)]).astype(np.uint64),
        np.array([move.raw for move, _ in pairs], np.uint16),
        np.array([visits for _, visits in pairs], np.uint16),
    )


def _ending(record: Record, targets: Targets) -> tuple[Termination, Result]:
    """How it ended; where the record does not say it, what the last position says."""
    said = record.termination, record.result
    match record.termination:
        case Termination.NONE:
            unfinished = (Termination.DRAW, Result.DRAW) if targets.unfinished_as_draws else said
            return _ending_by_rules(record) or unfinished
        case Termination.INTERRUPTED if len(record) == _AOBAZERO_PLIES and _VISITS.match(record.moves[-1].comment):
            return Termination.MAX_PLIES, Result.DRAW
        case Termination.ILLEGAL_MOVE:  # so AobaZero calls perpetual check
            perpetual = (Termination.PERPETUAL_CHECK, record.result)
            return perpetual if not record.illegal_move and _ending_by_rules(record) == perpetual else said
        case _:
            return said


def _ending_by_rules(record: Record) -> tuple[Termination, Result] | None:
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    for played in record.moves:
        position.push(played.move)
    if position.is_mated():
        return Termination.MATE, result_of(Termination.MATE, position.turn)
    match position.repetition():
        case Repetition.DRAW:
            return Termination.REPETITION, Result.DRAW
        case Repetition.WIN:
            return Termination.PERPETUAL_CHECK, winner_is(position.turn)
        case Repetition.LOSE:
            return Termination.PERPETUAL_CHECK, winner_is(position.turn.opponent)
        case _:
            return None


def _targets_of(
    record: Record, ply: int, position: Position, played: RecordedMove, targets: Targets
) -> tuple[int | None, list[tuple[Move, int]]]:
    """The evaluation from the side to move, None where the record has none; and the candidates."""
    score = played.score_cp
    evaluation = score if score is None or position.turn == BLACK else -score
    if targets.one_hot or not _VISITS.match(played.comment):
        return evaluation, [(played.move, 1)] if targets.one_hot or score is not None else []
    try:
        value, candidates = read_visits(played.comment, position)
    except ValueError as error:
        raise RecordError(record.name, None, f"ply {ply + 1}: visits {played.comment[:80]!r}: {error}") from error
    if evaluation is None and value is not None:
        evaluation = evaluation_of(value)
    return evaluation, candidates


def _evaluation_of_result(result: Result, turn: Color) -> int:
    """What stands for an evaluation that nobody noted, so that the value is learnt from the result alone."""
    if result is Result.DRAW:
        return 0
    return MATE_EVAL if result == winner_is(turn) else -MATE_EVAL


def _cut(evaluation: int) -> int:
    return max(-EVAL_LIMIT, min(EVAL_LIMIT, evaluation))


def _forget_random_moves(searched: list[list[tuple[Move, int]]], record: Record, random_plies: int) -> None:
    last = -1
    for ply, candidates in enumerate(searched[:random_plies]):
        if candidates and dict(candidates).get(record.moves[ply].move, 0) < max(visits for _, visits in candidates):
            last = ply
    for ply in range(last + 1):
        searched[ply] = []


def evaluation_of(value: float) -> int:
    """Centipawns of a chance of winning (0 to 1) on dlshogi's scale; 0 and 1 are mates."""
    if value <= 0 or value >= 1:
        return MATE_EVAL if value >= 1 else -MATE_EVAL
    return round(-math.log(1 / value - 1) * EVAL_SCALE)


def read_visits(text: str, position: Position) -> tuple[float | None, list[tuple[Move, int]]]:
    """AobaZero's note on a move: ``v=0.543,r=0.612,782,7776FU,430m,2726FU,352l``.

    That is the value after and before the search, from the side to move, the visits in all, and the candidates with
    their visits and a letter for their probability before the search. Older games lack the letters and ``r=``, the
    oldest ``v=`` too: their value is None. Too large numbers are scaled down.

    Raises:
        ValueError: It is nothing of the kind.
    """
    fields = text.split("\n")[0].split(",")
    value: float | None = None
    if fields[0].startswith(_VALUE):
        value = float(fields.pop(0).removeprefix(_VALUE))
        if not 0 <= value <= 1:
            raise ValueError(f"the value {value} is not within 0 to 1")
    if fields and fields[0].startswith(_RAW_VALUE):
        del fields[0]
    if len(fields) % 2 == 0:
        raise ValueError("not a number and then pairs of a move and its visits")
    candidates: dict[Move, int] = {}
    for csa, visits in zip(fields[1::2], fields[2::2], strict=True):
        move = move_from_csa(csa, position)
        if not position.is_legal(move):
            raise ValueError(f"{csa} is not legal")
        digits = visits.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        if not digits.isascii() or not digits.isdigit():
            raise ValueError(f"{visits!r} is no number of visits")
        candidates[move] = candidates.get(move, 0) + int(digits)
    most = max(candidates.values(), default=0)
    if most > MOST_VISITS:
        candidates = {move: visits * MOST_VISITS // most for move, visits in candidates.items()}
    return value, list(candidates.items())


def record_from_game(game: Game, name: str = "") -> Record:
    """A game as a record: scores where a move has candidates, visits in its comment where they say more than the move.

    Reading such a record gives the same game, but for evaluations of moves without candidates and the opponent.
    """
    position = _native.position_from_hcp(game.start)
    record = Record(name=name, initial_sfen=position.sfen(), result=game.result)
    for ply, raw in enumerate(game.moves.tolist()):
        move = Move.from_raw(raw)
        first, last = int(game.candidates[ply]), int(game.candidates[ply + 1])
        played = RecordedMove(move)
        if last > first:
            evaluation = int(game.evals[ply])
            played.score_cp = evaluation if position.turn == BLACK else -evaluation
            moves, visits = game.candidate_moves[first:last].tolist(), game.candidate_visits[first:last].tolist()
            if (moves, visits) != ([raw], [1]):
                played.comment = _write_visits(position, evaluation, moves, visits)
        record.moves.append(played)
        position.push(move)
    record.termination = _termination(game, position)
    return record


def _write_visits(position: Position, evaluation: int, moves: list[int], visits: list[int]) -> str:
    value = 1 / (1 + math.exp(-evaluation / EVAL_SCALE))
    sfen = position.sfen()
    fields = [f"{_VALUE}{value:.3f}", str(sum(visits))]
    for raw, count in zip(moves, visits, strict=True):
        fields += [csa_moves(sfen, [Move.from_raw(raw).usi()])[0][1:], str(count)]
    return ",".join(fields)


def _termination(game: Game, last: Position) -> Termination:
    if game.flags & ResultFlag.REPETITION:
        return Termination.REPETITION if game.result is Result.DRAW else Termination.PERPETUAL_CHECK
    if game.flags & ResultFlag.DECLARATION and game.result == winner_is(last.turn):
        return Termination.DECLARATION
    if game.flags & ResultFlag.MAX_PLIES and game.result is Result.DRAW:
        return Termination.MAX_PLIES
    if game.result is Result.DRAW:
        return Termination.IMPASSE  # the draw that has no flag
    if last.is_mated() and game.result == winner_is(last.turn.opponent):
        return Termination.MATE
    return Termination.RESIGN if result_of(Termination.RESIGN, last.turn) == game.result else Termination.ADJUDICATION
