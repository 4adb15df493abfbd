"""The moves of a record as columns, from which positions and games are made.

The CSA reader returns columns already; then no Python object is made for a move.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi._native import NO_SCORE
from fukayomi.shogi import Position, ShogiError
from fukayomi.shogi.formats.csa.reader import CsaMoves
from fukayomi.shogi.record import Record

_LARGEST_SCORE = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """The N moves of a record."""

    black_starts: bool
    moves: NDArray[np.uint16]
    """As `Move.raw`: uint16 [N]."""
    scores: NDArray[np.int32]
    """Centipawns from Black's side, NO_SCORE where the record has none: int32 [N]."""
    game: _native.CsaGame | None
    """The columns of the native reader, for a CSA record whose moves were not changed."""

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
        """The position before each move, and the last one: uint8 [N + 1, 32].

        Raises:
            ShogiError: The first position lacks a king, as in a mate problem.
        """
        if self.game is not None:
            return self.game.hcps()
        return _native.encode_game_hcps(Position.from_sfen(initial_sfen, allow_missing_king=True), self.moves)

    def has_comment(self, pattern: re.Pattern[str], record: Record) -> bool:
        """True if the comment on any move begins with the pattern."""
        if self.game is not None:
            return any(pattern.match(comment) for _, comment in self.game.comments)
        return any(pattern.match(played.comment) for played in record.moves)


@lru_cache(maxsize=1024)
def start_key(initial_sfen: str) -> bytes:
    """The position from which a game starts as bytes, equal in all formats: its hcp, or its SFEN if it lacks a king."""
    position = Position.from_sfen(initial_sfen, allow_missing_king=True)
    try:
        return _native.encode_hcp(position)
    except ShogiError:
        return " ".join(position.sfen().split()[:3]).encode()
