"""What becomes of positions that were seen more than once, and how much each time weighs."""

from enum import StrEnum

from fukayomi.data.formats.kinds import Weighing

__all__ = ["Mode", "Weighing"]


class Mode(StrEnum):
    """Which rows are the same, and what is kept of them."""

    FIRST_MOVE = "first-move"
    """A position and move once: the record that was read first."""
    ALL_FIELDS = "all-fields"
    """A record once, if all of its fields are the same."""
    MEAN = "mean"
    """A position and move once: the mean evaluation, cut to whole centipawns, and the mean of the result's numbers
    (0 draw, 1 Black, 2 White): 1.5 and more is White, above 0 is Black."""
    MODE = "mode"
    """A position and move once: the mean evaluation, cut to whole centipawns, and the most frequent result. Where two
    are equally frequent it is a draw."""
    SHARES = "shares"
    """A position once: sums of results and of values (chances of winning by evaluation), and how often each move was
    played and visited (.avg)."""

    @property
    def writes_averages(self) -> bool:
        """Whether it makes a file of averaged positions; the others make hcpe."""
        return self is Mode.SHARES

    @property
    def depends_on_order(self) -> bool:
        """Whether rows that come first go before others."""
        return self is Mode.FIRST_MOVE
