"""How positions are searched for a book, and along which moves it grows."""

from typing import Annotated

from pydantic import Field

from fukayomi._native import MAX_MOVES
from fukayomi.settings import Settings

Share = Annotated[float, Field(ge=0, le=1)]


class BookSearchSettings(Settings):
    """How positions are searched, which moves the book has of each, and along which moves it grows."""

    nodes: Annotated[int, Field(ge=1, le=1_000_000_000)] = 800
    """Nodes of each position."""
    moves: Annotated[int, Field(ge=1, le=MAX_MOVES)] = 8
    """Most moves of a position that the book has."""
    least_visits: Share = 0.01
    """Least share of the visits of a position that a move of the book has; the best move always stays."""
    positions: Annotated[int, Field(ge=1)] | None = None
    """Grow the book along good moves until it has so many positions; None: the given positions alone."""
    loss: Share = 0.05
    """Grow along moves that lose at most this win rate beside the best one."""
    decided: Annotated[float, Field(gt=0.5, le=1)] = 0.9
    """Do not grow on where one side's win rate is higher than this."""
    refresh: bool = False
    """Search what an older network has found again, or a search with fewer nodes."""
