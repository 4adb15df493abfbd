"""Conditions on the games and positions to keep. Without NumPy: commands import it at start-up."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from fukayomi.errors import InvalidValueError
from fukayomi.settings import Settings
from fukayomi.shogi.record import Result

RESULTS = {"black": Result.BLACK_WIN, "white": Result.WHITE_WIN, "draw": Result.DRAW}


def _read_results(value: Any) -> Any:
    """The results; the command line gives their names, with commas."""
    if not isinstance(value, str):
        return value
    if unknown := [name for name in value.split(",") if name not in RESULTS]:
        raise InvalidValueError(f"{unknown[0]!r} is not one of {', '.join(RESULTS)}")
    return [RESULTS[name] for name in value.split(",")]


def _in_order(values: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(set(values)))


NotNegative = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class Filters(Settings):
    """Conditions on games and positions that become training data; the defaults keep all."""

    min_rating: Annotated[float, Field(ge=0)] | None = None
    """Keep games whose players are both rated this high or higher; players without a rating do not pass."""
    min_plies: NotNegative = 0
    """Keep games with at least this many moves."""
    max_eval: NotNegative | None = None
    """Cut a game at the first position whose evaluation is further from zero, in centipawns."""
    draws: bool = True
    """Keep drawn games."""
    mates: bool = True
    """Keep positions evaluated as a mate."""


class FilterConditions(Settings):
    """Conditions of ``fukayomi data filter``. None and an empty tuple are no condition."""

    results: Annotated[tuple[Result, ...], BeforeValidator(_read_results), AfterValidator(_in_order)] = ()
    """Keep games with these results, of black,white,draw. None: all."""
    min_eval: NotNegative | None = None
    """Keep positions with |evaluation| >= this, centipawns."""
    max_eval: NotNegative | None = None
    """Keep positions with |evaluation| <= this, centipawns."""
    mates: bool = True
    """Keep positions evaluated as a mate (30000 or more)."""
    min_ply: Positive | None = None
    """Keep positions from this move of the game on; the first move is 1."""
    max_ply: Positive | None = None
    """Keep positions up to this move of the game."""
    min_plies: NotNegative | None = None
    """Keep games with at least this many moves."""
    opponents: Annotated[tuple[Annotated[int, Field(ge=0, le=255)], ...], AfterValidator(_in_order)] = ()
    """Keep games with this opponent byte: 0 self-play, 1 Black was another program, 2 White was. May be repeated.
    None: all."""
    min_rating: Annotated[float, Field(ge=0)] | None = None
    """Keep records with both players rated this high or higher."""

    def given(self) -> set[str]:
        """The names of the conditions that differ from their defaults."""
        return set(self.model_dump(exclude_defaults=True))

    @property
    def drops_positions(self) -> bool:
        """True if single positions of a game may be dropped."""
        return bool(self.given() & {"min_eval", "max_eval", "mates", "min_ply", "max_ply"})
