"""Conditions for a game to give a balanced line (互角局面): even openings, or even middle games.

The conditions are those that the author of dlshogi published for his two sets (docs/positions.md has them in a table).
A ply is a number of moves: the position after ply 24 is the one before move 25. A missing evaluation, for example of a
book move, violates no condition, but each side must have some.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from fukayomi.errors import InvalidValueError
from fukayomi.settings import Settings
from fukayomi.shogi import START_SFEN, Position
from fukayomi.shogi.record import Record, Termination

ENDINGS = frozenset({Termination.RESIGN, Termination.DECLARATION, Termination.REPETITION, Termination.IMPASSE})


class EvalOf(StrEnum):
    """The move whose evaluation is that of the position after ply N."""

    NEXT_MOVE = "next-move"
    """Move N + 1: the engine to move searched this position."""
    LAST_MOVE = "last-move"
    """Move N: the opponent searched the position before."""


class Exclusion(StrEnum):
    """Reasons why a game gives no line, in the order in which they are checked."""

    UNREADABLE = "unreadable"
    """The file or archive member cannot be read."""
    NO_RECORD = "no_record"
    """The file has an unknown format."""
    COPY = "copy"
    """The game was given before, in another file."""
    DAMAGED = "damaged"
    """The record is truncated or has an invalid or illegal move."""
    START = "start"
    """The game does not start from the usual start position."""
    ENDING = "ending"
    """The game does not end by resignation, declaration, repetition or impasse."""
    PLIES = "plies"
    """The game is too short."""
    RATING = "rating"
    """A player is unrated or rated too low."""
    NO_EVALS = "no_evals"
    """One side has no evaluations."""
    EVAL = "eval"
    """An evaluation exceeds `eval`."""
    EVAL_MOVES1 = "eval_moves1"
    """The evaluation at ply moves1 exceeds `eval2`; for middle games, it has done so by then."""
    EVAL_MOVES2 = "eval_moves2"
    """The evaluation at ply moves2 exceeds `eval2`; for middle games, none does so in time."""
    DUPLICATE = "duplicate"
    """Another game has the same position, whatever the order of moves."""


Limit = Annotated[int, Field(ge=0)]


class BalanceConditions(Settings):
    """The conditions for a line. Evaluations are absolute values in centipawns.

    Raises:
        ValueError: moves1 is not within 1..moves2, or a limit is negative.
    """

    moves1: Annotated[int, Field(ge=1)] = 24
    """First ply at which `eval2` applies; with --middle-game 32, the first ply at which a line may end."""
    moves2: int = 36
    """Second ply at which `eval2` applies and the line ends; with --middle-game 80, the last ply at which a line may
    end."""
    eval: Limit = 170
    """Limit of all evaluations up to the end of the line, centipawns."""
    eval2: Limit = 100
    """Limit at plies `moves1` and `moves2`, centipawns; with --middle-game 150, the value first exceeded right after
    the line."""
    filter_moves: Limit = 50
    """Plies that a game needs."""
    filter_rating: Annotated[float, Field(ge=0)] = 3800
    """Rating that both players need; 0 accepts all games, rated or not."""
    middle_game: bool = False
    """End the line just before an evaluation first exceeds eval2, at a ply within moves1..moves2."""
    eval_of: EvalOf = EvalOf.NEXT_MOVE
    """Move that holds the evaluation after ply N: move N + 1 (next) or N (last)."""

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.moves1 > self.moves2:
            raise InvalidValueError(f"moves1 must be within 1..moves2 ({self.moves2}), not {self.moves1}")
        return self


EVEN_OPENINGS = BalanceConditions()
"""Conditions of dlshogi's author for even openings."""
EVEN_MIDDLE_GAMES = BalanceConditions(moves1=32, moves2=80, eval2=150, middle_game=True)
"""Conditions of dlshogi's author for even middle games."""


def find_line(record: Record, conditions: BalanceConditions) -> int | Exclusion:
    """The number of moves of a game's line, or why it gives none."""
    excluded = _exclude(record, conditions)
    if excluded is not None:
        return excluded
    evals = evaluations(record, conditions.eval_of)
    return (_find_middle_game if conditions.middle_game else _find_balanced)(evals, conditions)


def evaluations(record: Record, eval_of: EvalOf) -> list[int | None]:
    """Absolute evaluations after ply 0, 1, ... in centipawns; None if the record has none."""
    noted = [None if played.score_cp is None else abs(played.score_cp) for played in record.moves]
    return [*noted, None] if eval_of is EvalOf.NEXT_MOVE else [None, *noted]


def _exclude(record: Record, conditions: BalanceConditions) -> Exclusion | None:
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
    for ply, value in enumerate(evals[: conditions.moves2 + 2]):  # the line ends one ply before the large evaluation
        if value is None:
            continue
        if ply >= conditions.moves1 and value > conditions.eval2:
            return ply - 1 if ply > conditions.moves1 else Exclusion.EVAL_MOVES1
        if value > conditions.eval:
            return Exclusion.EVAL
    return Exclusion.EVAL_MOVES2


def position_key(position: Position) -> str:
    """Board, side to move and hands: equal for the same position, whatever the order of moves."""
    return position.sfen().rpartition(" ")[0]
