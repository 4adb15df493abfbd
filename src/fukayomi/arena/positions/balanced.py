"""Which games give a balanced line (互角局面): even openings, and the middle-game kind.

The conditions are those that dlshogi's author published for his two sets (docs/positions.md has them in a table). A ply
is a number of moves: the position after ply 24 is the one before move 25. An evaluation that a record does not have,
as a book move's, breaks no condition; but each side has to have some.
"""

from dataclasses import dataclass
from enum import StrEnum

from fukayomi.shogi import START_SFEN, Position
from fukayomi.shogi.record import Record, Termination

ENDINGS = frozenset({Termination.RESIGN, Termination.DECLARATION, Termination.REPETITION, Termination.IMPASSE})


class EvalOf(StrEnum):
    """Which move's evaluation is that of the position after ply N."""

    NEXT_MOVE = "next-move"
    """That of move N + 1: the engine to move looked at this position."""
    LAST_MOVE = "last-move"
    """That of move N: the other engine looked at the position before."""


class Exclusion(StrEnum):
    """Why a game gives no line, in the order in which the reasons are asked after."""

    UNREADABLE = "unreadable"
    """Its file or archive member cannot be read."""
    NO_RECORD = "no_record"
    """The file is in no format that we know."""
    DAMAGED = "damaged"
    """The record breaks off or has a move that is none, or is not legal."""
    START = "start"
    """It begins from another position than that of an even game."""
    ENDING = "ending"
    """It does not end by resignation, declaration, repetition or impasse."""
    PLIES = "plies"
    RATING = "rating"
    NO_EVALS = "no_evals"
    """One side has no evaluation at all."""
    EVAL = "eval"
    """An evaluation is too far from zero."""
    EVAL_MOVES1 = "eval_moves1"
    """The one at ply moves1 is; of the middle-game kind, it has passed eval2 there already."""
    EVAL_MOVES2 = "eval_moves2"
    """The one at ply moves2 is; of the middle-game kind, none passes eval2 in time."""
    DUPLICATE = "duplicate"
    """Another game has the position, by whatever order of moves."""


@dataclass(frozen=True, slots=True)
class BalanceConditions:
    """What a game must be like to give a line. Evaluations are in centipawns, without their sign.

    Raises:
        ValueError: moves1 is not from 1 to moves2, or a limit is negative.
    """

    moves1: int = 24
    moves2: int = 36
    eval: int = 170
    """The limit of every evaluation up to ply moves2; of the middle-game kind, up to the position."""
    eval2: int = 100
    """The limit at plies moves1 and moves2; of the middle-game kind, what is first passed just after the position."""
    filter_moves: int = 50
    """The fewest plies of a game."""
    filter_rating: float = 3800
    """Both players are rated at least so; 0: whatever their rating, or without one."""
    middle_game: bool = False
    """Take, of plies moves1 to moves2, the position just before the evaluation first passes eval2."""
    eval_of: EvalOf = EvalOf.NEXT_MOVE

    def __post_init__(self) -> None:
        if not 1 <= self.moves1 <= self.moves2:
            raise ValueError(f"moves1 {self.moves1} is not from 1 to moves2, {self.moves2}")
        for name in ("eval", "eval2", "filter_moves", "filter_rating"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} {getattr(self, name)} is negative")


def find_line(record: Record, conditions: BalanceConditions) -> int | Exclusion:
    """How many moves of a game its line has, or why it has none."""
    refusal = _refuse(record, conditions)
    if refusal is not None:
        return refusal
    evals = evaluations(record, conditions.eval_of)
    return (_find_middle_game if conditions.middle_game else _find_balanced)(evals, conditions)


def evaluations(record: Record, eval_of: EvalOf) -> list[int | None]:
    """The evaluations after ply 0, 1, ... without their sign; None where the record has none."""
    noted = [None if played.score_cp is None else abs(played.score_cp) for played in record.moves]
    return [*noted, None] if eval_of is EvalOf.NEXT_MOVE else [None, *noted]


def _refuse(record: Record, conditions: BalanceConditions) -> Exclusion | None:
    if record.initial_sfen != START_SFEN:
        return Exclusion.START
    if record.termination not in ENDINGS:
        return Exclusion.ENDING
    if len(record) < max(conditions.filter_moves, conditions.moves1 if conditions.middle_game else conditions.moves2):
        return Exclusion.PLIES
    ratings = (record.black_rating, record.white_rating)
    if conditions.filter_rating and any(rating is None or rating < conditions.filter_rating for rating in ratings):
        return Exclusion.RATING
    for side in (record.moves[::2], record.moves[1::2]):
        if all(played.score_cp is None for played in side):
            return Exclusion.NO_EVALS
    return None


def _find_balanced(evals: list[int | None], conditions: BalanceConditions) -> int | Exclusion:
    if any(value is not None and value > conditions.eval for value in evals[: conditions.moves2 + 1]):
        return Exclusion.EVAL
    if (evals[conditions.moves1] or 0) > conditions.eval2:
        return Exclusion.EVAL_MOVES1
    if (evals[conditions.moves2] or 0) > conditions.eval2:
        return Exclusion.EVAL_MOVES2
    return conditions.moves2


def _find_middle_game(evals: list[int | None], conditions: BalanceConditions) -> int | Exclusion:
    for ply, value in enumerate(evals[: conditions.moves2 + 2]):  # the position is before the one that passes
        if value is None:
            continue
        if ply >= conditions.moves1 and value > conditions.eval2:
            return ply - 1 if ply > conditions.moves1 else Exclusion.EVAL_MOVES1
        if value > conditions.eval:
            return Exclusion.EVAL
    return Exclusion.EVAL_MOVES2


def position_key(position: Position) -> str:
    """Board, side to move and hands: the same for the same position, however it was reached."""
    return position.sfen().rpartition(" ")[0]
