"""Adjudication: ending games that the engines' scores have decided.

A move without a score (a book move, for example) breaks a series. A side whose first score is lost already, as in a
handicap game, plays on to the end: such a game was given away by its start, not by an engine.
"""

from fukayomi.arena.game.rules import Rules
from fukayomi.shogi import BLACK, WHITE, Color
from fukayomi.shogi.record import Result, winner_is


class Adjudicator:
    """Counts how many moves in a row each side has scored as won, lost or level."""

    def __init__(self, rules: Rules) -> None:
        """Start a game."""
        self._rules = rules
        self._winning = {BLACK: 0, WHITE: 0}
        self._losing = {BLACK: 0, WHITE: 0}
        self._level = {BLACK: 0, WHITE: 0}
        self._first: dict[Color, int] = {}

    def add(self, color: Color, score_cp: int | None) -> None:
        """Count a move.

        Args:
            color: The side that played it.
            score_cp: Its score from that side's point of view, in centipawns; None: no score.
        """
        resign, draw = self._rules.resign, self._rules.draw
        if score_cp is not None:
            self._first.setdefault(color, score_cp)
        rows = (
            (self._winning, resign is not None and score_cp is not None and score_cp >= resign.score_cp),
            (self._losing, resign is not None and score_cp is not None and score_cp <= -resign.score_cp),
            (self._level, draw is not None and score_cp is not None and abs(score_cp) <= draw.score_cp),
        )
        for row, goes_on in rows:
            row[color] = row[color] + 1 if goes_on else 0

    def verdict(self, turn: Color, plies: int) -> Result | None:
        """The result, if the game is decided.

        Args:
            turn: The side to move.
            plies: Plies played so far.
        """
        resign, draw = self._rules.resign, self._rules.draw
        if resign is not None and self._losing[turn] >= resign.moves and self._first[turn] > -resign.score_cp:
            agrees = self._winning[turn.opponent] >= resign.moves
            if agrees or not resign.both_sides:
                return winner_is(turn.opponent)
        if draw is not None and plies >= draw.ply and min(self._level.values()) >= draw.moves:
            return Result.DRAW
        return None
