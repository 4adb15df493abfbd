"""The moves of a CSA record: columns as they were read, and a list of RecordedMove as soon as somebody looks at one."""

from collections.abc import Iterable, Iterator, MutableSequence
from functools import lru_cache
from typing import Any, overload

from fukayomi._native import NO_SCORE, CsaGame
from fukayomi.shogi import Move
from fukayomi.shogi.record import RecordedMove

_move_from_raw = lru_cache(maxsize=1 << 15)(Move.from_raw)  # there are fewer moves


class CsaMoves(MutableSequence[RecordedMove]):
    """What a list of the moves would be; a copy is one.

    Conversions of millions of games need columns only, and the objects cost more than all the reading.
    """

    def __init__(self, game: CsaGame) -> None:
        self._game: CsaGame | None = game
        self._made: list[RecordedMove] = []

    @property
    def game(self) -> CsaGame | None:
        """The columns; None once there is a list, which may have been changed."""
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
        """As list.insert."""
        self._list().insert(index, value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CsaMoves):
            return self._list() == other._list()
        return self._list() == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # it can change, as a list can

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
    for count, comment in game.comments:
        if count > 0:
            played = moves[count - 1]
            played.comment = f"{played.comment}\n{comment}" if played.comment else comment
    return moves
