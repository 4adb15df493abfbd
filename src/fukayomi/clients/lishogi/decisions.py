"""When a bot resigns, accepts a draw or offers one: by the scores of its engine."""

from collections.abc import Sequence

from fukayomi.clients.lishogi.settings import BotSettings
from fukayomi.shogi import BLACK, Color
from fukayomi.shogi.record import RecordedMove


def own_scores(moves: Sequence[RecordedMove], first: Color, own: Color) -> list[int | None]:
    """The scores of one side's moves, from its own point of view; None where the engine told none.

    Args:
        moves: The moves of a game.
        first: The side that moved first.
        own: The side.
    """
    sign = 1 if own == BLACK else -1
    found = [move.score_cp for index, move in enumerate(moves) if (index % 2 == 0) == (first == own)]
    return [None if score is None else sign * score for score in found]


def is_lost(scores: Sequence[int | None], settings: BotSettings) -> bool:
    """True if the last scores, from our point of view, say that it is time to resign."""
    limit = settings.resign_cp
    last = _last(scores, settings.resign_moves)
    return limit is not None and bool(last) and max(last) <= -limit


def is_level(scores: Sequence[int | None], plies: int, settings: BotSettings) -> bool:
    """True if the last scores and the length of the game allow a draw."""
    limit = settings.draw_cp
    last = _last(scores, settings.draw_moves)
    return limit is not None and plies >= settings.draw_ply and bool(last) and max(map(abs, last)) <= limit


def _last(scores: Sequence[int | None], count: int) -> list[int]:
    """The last scores; none if some of them are not known."""
    last = [score for score in scores[-count:] if score is not None]
    return last if len(last) == count else []
