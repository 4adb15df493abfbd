"""The moves of a record as columns: what positions and games are made of.

Of a CSA record they are there already, as the reader found them; the objects of the moves are then never made.
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi._native import NO_SCORE
from fukayomi.shogi import Position
from fukayomi.shogi.formats.csa_columns import CsaMoves
from fukayomi.shogi.record import Record

_LARGEST_SCORE = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """N moves."""

    black_starts: bool
    moves: NDArray[np.uint16]
    """[N]: as `Move.raw`."""
    scores: NDArray[np.int32]
    """[N]: centipawns from Black's side; NO_SCORE where there is none."""
    game: _native.CsaGame | None
    """Of a CSA record that nobody looked at yet."""

    @classmethod
    def of(cls, record: Record) -> "RecordColumns":
        """The columns of a record."""
        black_starts = " b " in record.initial_sfen
        game = record.moves.game if isinstance(record.moves, CsaMoves) else None
        if game is not None:
            return cls(black_starts, game.moves, game.scores, game)
        moves = np.array([played.move.raw for played in record.moves], np.uint16)
        noted = [NO_SCORE if played.score_cp is None else played.score_cp for played in record.moves]
        scores = np.clip(np.array(noted, np.int64), NO_SCORE, _LARGEST_SCORE).astype(np.int32)
        return cls(black_starts, moves, scores, None)

    def hcps(self, initial_sfen: str) -> NDArray[np.uint8]:
        """The positions before each move, and the last: [N + 1, 32].

        Raises:
            ShogiError: The first position, that of a mate problem, lacks a king.
        """
        if self.game is not None:
            return self.game.hcps()
        return _native.encode_game_hcps(Position.from_sfen(initial_sfen, allow_missing_king=True), self.moves)

    def has_comment(self, pattern: re.Pattern[str], record: Record) -> bool:
        """Whether something noted on a move of the record begins as the pattern says."""
        if self.game is not None:
            return any(pattern.match(comment) for _, comment in self.game.comments)
        return any(pattern.match(played.comment) for played in record.moves)
