"""Settings of the labels, besides the engine. The module is light, so that a command can show the defaults at once."""

from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from fukayomi._native import EVAL_SCALE
from fukayomi.errors import InvalidValueError
from fukayomi.settings import Settings

MULTIPV = 4
"""Lines that a USI engine is asked for."""
TEMPERATURE = 0.06
"""Temperature of the shares of lines, as a difference of win rates. studies/label_ablation.py fits it to an engine."""
WORKERS = 1
"""USI engines at once."""


class LabelError(InvalidValueError):
    """Positions cannot be labelled: bad settings, or an engine that does not work."""

    __module__ = "fukayomi.learning"


class Plies(StrEnum):
    """Positions of games that are labelled."""

    SEARCHED = "searched"
    """Those before the moves that have a score or visits: no book moves, no random moves."""
    ALL = "all"
    """Those before all moves."""
    LAST = "last"
    """The one after the last move of each record, as in lists of openings (``startpos moves 7g7f 3c3d``)."""


Positive = Annotated[int, Field(ge=1)]


class LabelSettings(Settings):
    """Settings of searches and of the policy made from scores. One limit is needed: nodes, time or byoyomi.

    Raises:
        LabelError: There is no limit, or a number is out of range.
    """

    ERROR: ClassVar = LabelError

    nodes: Positive | None = None
    """Nodes of each search."""
    time_ms: Positive | None = None
    """Time of each search (ms): of a USI engine ``go movetime``."""
    byoyomi_ms: Positive | None = None
    """Byoyomi of each search (ms), for USI engines that know neither ``go movetime`` nor ``go nodes``; they take it as
    in a game, and may use less."""
    multipv: Positive | None = None
    """Most moves of a policy; 1 for single moves. None: 4 of a USI engine, all visited ones of a network."""
    temperature: Annotated[float, Field(gt=0)] = TEMPERATURE
    """T in the policy of a USI engine, where the share of a line is proportional to exp(w / T), with w its win rate, 0
    to 1."""
    eval_scale: Annotated[float, Field(gt=0)] = EVAL_SCALE
    """Centipawns in the win rate of a line, 1 / (1 + exp(-score / eval_scale))."""
    plies: Plies = Plies.SEARCHED
    """Of games, label the moves with a score or visits, or all moves, or (for lists of openings) the position after the
    last move of each line."""

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if self.nodes is None and self.time_ms is None and self.byoyomi_ms is None:
            raise InvalidValueError("a search needs a limit: nodes, time or byoyomi")
        if self.byoyomi_ms is not None and (self.nodes is not None or self.time_ms is not None):
            raise InvalidValueError("byoyomi is a limit of its own: give neither nodes nor time beside it")
        return self
