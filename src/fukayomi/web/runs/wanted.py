"""Questions that may be asked of runs. The module imports nothing heavy, so that the server starts at once."""

from dataclasses import dataclass

from fukayomi.errors import FukayomiError


class UnknownRunError(FukayomiError, LookupError):
    """Nothing has this id, or it is of another kind."""


@dataclass(frozen=True)
class CurveView:
    """View of the curves of a training run."""

    smooth: float | None = None
    """Width of the running mean in steps; 0: none; None: a fiftieth of the run."""
    log_x: bool = False
    """True if the axis is logarithmic."""
