"""The scores of a book's moves, where moves that repeat positions (千日手) have a score of their own."""

from collections.abc import Callable, Sequence

from fukayomi.book.moves import BookMove
from fukayomi.shogi import Move, Position, Repetition

WON_CP = 30_000
MOST_LOOK_UPS = 1000
"""Positions looked up for one move of a game: some hundredths of a second with a book in memory."""
UNBOUNDED_CP = 1 << 30


class DrawSearch:
    """Scores moves by what a book leads to: an alpha-beta search of the book's lines.

    A line ends with the score of a repetition at the fourth occurrence of a position, and where it leads back to one of
    its own positions; positions of the game before it matter for the fourth occurrence alone. It also ends where the
    book has no moves, or after some moves. There the score of its last move counts.

    Args:
        look_up: The legal moves that the book has for a position.
        position: The position with its past.
        draw_cp: Score of a draw for its side to move; the other side scores it as minus that.
    """

    def __init__(self, look_up: Callable[[Position], Sequence[BookMove]], position: Position, draw_cp: int) -> None:
        self._look_up = look_up
        self._position = position.copy()
        self._draw_cp = draw_cp
        self._game_plies = len(position.moves)
        self._look_ups_left = MOST_LOOK_UPS
        self._goes_on = False

    def scores(self, moves: Sequence[BookMove], depth: int) -> dict[Move, int]:
        """The scores of the moves of the position.

        Args:
            moves: The moves.
            depth: Moves of the book to follow after each, at most; 0: only the move itself is looked at. Where the
                book is too wide for `MOST_LOOK_UPS`, fewer.
        """
        found: dict[Move, int] = {}
        try:
            for further in range(depth + 1):
                self._goes_on = further == 0
                found = {
                    move.move: self._score(move, further, -UNBOUNDED_CP, UNBOUNDED_CP, self._draw_cp) for move in moves
                }
                if not self._goes_on:
                    break
        except _TooWideError:
            pass
        return found

    def _score(self, move: BookMove, further: int, alpha: int, beta: int, draw_cp: int) -> int:
        """The score of a move for the side that plays it, to whom a draw is worth `draw_cp`."""
        self._position.push(move.move)
        try:
            repetition = self._repetition()  # as the side to move sees it, which is the opponent
            known = {Repetition.DRAW: draw_cp, Repetition.WIN: -WON_CP, Repetition.LOSE: WON_CP}.get(repetition)
            if known is not None:
                return known
            answer = self._best(further - 1, -beta, -alpha, -draw_cp) if further > 0 else None
            return (move.score_cp or 0) if answer is None else -answer
        finally:
            self._position.pop()

    def _repetition(self) -> Repetition:
        fourth = self._position.repetition()
        if fourth is not Repetition.NONE:
            return fourth
        return self._position.first_recurrence(len(self._position.moves) - self._game_plies)

    def _best(self, further: int, alpha: int, beta: int, draw_cp: int) -> int | None:
        """The best score that the side to move has in the book; None if the book does not have the position."""
        if self._look_ups_left == 0:
            raise _TooWideError
        self._look_ups_left -= 1
        moves = sorted(self._look_up(self._position), key=lambda move: move.score_cp or 0, reverse=True)
        if not moves:
            return None
        self._goes_on |= further == 0
        best = -UNBOUNDED_CP
        for move in moves:
            best = max(best, self._score(move, further, max(alpha, best), beta, draw_cp))
            if best >= beta:
                break
        return best


class _TooWideError(Exception):
    """More positions than `MOST_LOOK_UPS`."""
