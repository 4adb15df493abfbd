"""The moves of a CSA record: the columns that were read, made into `RecordedMove` objects on first use."""

from collections.abc import Iterable, Iterator, MutableSequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, overload

from fukayomi._native import NO_SCORE, CsaGame
from fukayomi.shogi import Move
from fukayomi.shogi.record import RecordedMove

_move_from_raw = lru_cache(maxsize=1 << 15)(Move.from_raw)  # more than all possible moves


class CsaMoves(MutableSequence[RecordedMove]):
    """A list of moves that is built on first use; a copy is a plain list.

    Conversions of millions of games need only the columns, and making the objects takes longer than reading.
    """

    def __init__(self, game: CsaGame) -> None:
        self._game: CsaGame | None = game
        self._made: list[RecordedMove] = []

    @property
    def game(self) -> CsaGame | None:
        """The columns; None once the list was built, because it may have been changed."""
        return self._game

    def _list(self) -> list[RecordedMove]:
        if self._game is not None:
            self._made = _recorded_moves(self._game)
            self._game = None
        return self._made

    def __len__(self) -> int:
        return len(self._made if self._game is None else self._game)

    def __iter__(self) -> Iterator[RecordedMove]:
        return iter(self._list())

    @overload
    def __getitem__(self, index: int) -> RecordedMove: ...
    @overload
    def __getitem__(self, index: slice) -> list[RecordedMove]: ...
    def __getitem__(self, index: int | slice) -> RecordedMove | list[RecordedMove]:
        return self._list()[index]

    @overload
    def __setitem__(self, index: int, value: RecordedMove) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[RecordedMove]) -> None: ...
    def __setitem__(self, index: Any, value: Any) -> None:
        self._list()[index] = value

    def __delitem__(self, index: int | slice) -> None:
        del self._list()[index]

    def insert(self, index: int, value: RecordedMove) -> None:
        """Insert a move before an index, like `list.insert`."""
        self._list().insert(index, value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CsaMoves):
            return self._list() == other._list()
        return self._list() == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # mutable, like a list

    def __repr__(self) -> str:
        return repr(self._list())

    def __reduce__(self) -> tuple[type[list[RecordedMove]], tuple[list[RecordedMove]]]:
        return list, (self._list(),)


def _recorded_moves(game: CsaGame) -> list[RecordedMove]:
    columns = (game.moves.tolist(), game.scores.tolist(), game.pvs, game.times_ms.tolist())
    moves = [
        RecordedMove(
            _move_from_raw(raw), None if score == NO_SCORE else score, None, pv, "", None if time < 0 else time
        )
        for raw, score, pv, time in zip(*columns, strict=True)
    ]
    for count, comments in groupby(game.comments, key=itemgetter(0)):
        if count > 0:
            moves[count - 1].comment = "\n".join(comment for _, comment in comments)
    return moves
