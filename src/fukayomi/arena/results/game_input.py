"""Games in any form that users have them: paths, records, results as tuples, DataFrames."""

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from fukayomi.arena.results.game import Game
from fukayomi.arena.results.sources import read_games
from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi.record import Record, Result

Games = Any
"""Games as the functions of `fukayomi.arena` accept them: the result of a match, or several; a path or several (match
folders, match.db, PGN, records, folders, zip, tar); `Game` or `Record` objects; tuples (black, white, result); or a
DataFrame with the columns black, white and result.

A result is a `Result`; Black's points 1, 0.5 or 0; or "1-0", "1/2-1/2", "0-1", "*" from Black's view.
"""


@runtime_checkable
class HasGames(Protocol):
    """The result of a match (`fukayomi.arena.MatchResult`)."""

    @property
    def games(self) -> Sequence[Game]:
        """All games."""
        ...


_RESULTS: dict[Any, Result] = {
    1: Result.BLACK_WIN, 0.5: Result.DRAW, 0: Result.WHITE_WIN, None: Result.UNKNOWN,
    "1-0": Result.BLACK_WIN, "1/2-1/2": Result.DRAW, "0-1": Result.WHITE_WIN, "*": Result.UNKNOWN,
    **{result.name.lower(): result for result in Result},
}  # fmt: skip


def iterate_games(games: Games, *, listener: Listener = SILENT) -> Iterator[Game]:
    """All games, one at a time.

    Args:
        games: See `Games`.
        listener: Gets a note for each file or game that cannot be read.

    Raises:
        SourceError: A path does not exist, or no game could be read from the paths.
        ValueError: An item is not a game, or has an invalid result.
    """
    if isinstance(games, str | PathLike | Record | Game):
        games = [games]
    elif hasattr(games, "columns"):  # a DataFrame of pandas or polars
        games = zip(games["black"], games["white"], games["result"], strict=True)
    elif isinstance(games, HasGames):
        games = games.games
    paths: list[Path] = []
    for item in games:
        if isinstance(item, str | PathLike):
            paths.append(Path(item))  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(item, HasGames):
            yield from item.games
        else:
            yield _game(item)
    if paths:
        yield from read_games(paths, listener=listener)


def _game(item: Any) -> Game:
    if isinstance(item, Game):
        return item
    if isinstance(item, Record):
        return Game.from_record(item)
    try:
        black, white, result = item
    except (TypeError, ValueError):
        raise InvalidValueError(
            f"{item!r} is not a game: expected a path, a match, a record or (black, white, result)"
        ) from None
    if not isinstance(result, Result):
        if result not in _RESULTS:
            raise InvalidValueError(
                f"invalid result {result!r} (expected 1, 0.5 or 0 points of Black, or 1-0, 1/2-1/2, 0-1)"
            )
        result = _RESULTS[result]
    return Game(str(black), str(white), result)
