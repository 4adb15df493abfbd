"""Choice of a book move, as the options of YaneuraOu and dlshogi say."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fukayomi.book.moves import BookMove
from fukayomi.shogi import BLACK, Move, Position


@dataclass(frozen=True, slots=True)
class BookLimits:
    """Limits on the book moves to play, as YaneuraOu means them: the first move is the one with the highest count, of
    several the one with the best score. A move without a score counts as 0, one without a depth as depth 0."""

    last_ply: int | None = None
    """Last move that is played from the book; None: any."""
    least_score_black_cp: int | None = None
    """Least score of a move of Black, from Black's side."""
    least_score_white_cp: int | None = None
    """Least score of a move of White, from White's side."""
    most_loss_cp: int | None = None
    """Largest difference by which a move's score may be below that of the first move, even if that is not played."""
    least_depth: int = 0
    """Least depth of the first move; if it is lower, none is played."""
    least_share: float = 0.0
    """Least share of a move in the counts of all."""


def choose(
    moves: Sequence[BookMove],
    position: Position,
    limits: BookLimits,
    by: str,
    scores: Mapping[Move, int],
    source: random.Random,
) -> BookMove | None:
    """Choose one of the legal moves that a book has for a position, by these scores; see `BookReader.choose`."""
    allowed = _allowed(moves, scores, position, limits)
    if not allowed:
        return None
    if by == "count":
        return max(allowed, key=lambda move: (move.count, scores[move.move]))
    if by == "score":
        return max(allowed, key=lambda move: (scores[move.move], move.count))
    weights = [max(0, move.count) if by == "random" else 1 for move in allowed]
    return source.choices(allowed, weights if any(weights) else None)[0]


def _allowed(
    moves: Sequence[BookMove], scores: Mapping[Move, int], position: Position, limits: BookLimits
) -> list[BookMove]:
    if limits.last_ply is not None and position.ply > limits.last_ply:
        return []
    first = max(moves, key=lambda move: (move.count, move.score_cp or 0), default=None)
    if first is None or (first.depth or 0) < limits.least_depth:
        return []
    least = limits.least_score_black_cp if position.turn == BLACK else limits.least_score_white_cp
    allowed = [move for move in moves if least is None or scores[move.move] >= least]
    if limits.most_loss_cp is not None:
        allowed = [move for move in allowed if scores[move.move] >= scores[first.move] - limits.most_loss_cp]
    total = sum(move.count for move in allowed)
    return [move for move in allowed if move.count >= limits.least_share * total]
