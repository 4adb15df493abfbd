"""What becomes of positions that were seen more than once."""

from enum import StrEnum

from fukayomi.data.formats.kinds import Weighing

__all__ = ["Mode", "Weighing"]


class Mode(StrEnum):
    """Which rows are duplicates, and what is kept of them."""

    FIRST_MOVE = "first-move"
    """Each position and move once: the record that was read first."""
    ALL_FIELDS = "all-fields"
    """Records with the same values in all fields once."""
    MEAN = "mean"
    """Each position and move once: the mean evaluation, cut to whole centipawns, and the mean of the results as numbers
    (0 draw, 1 Black, 2 White): 1.5 and more is White, above 0 is Black."""
    MODE = "mode"
    """Each position and move once: the mean evaluation, cut to whole centipawns, and the most frequent result, a draw
    if two are equally frequent."""
    SHARES = "shares"
    """Each position once (avg): sums of results and of values (win probabilities by evaluation), and how often each
    move was played and visited."""

    @property
    def writes_averages(self) -> bool:
        """Whether the output is avg; in other modes it is hcpe."""
        return self is Mode.SHARES
