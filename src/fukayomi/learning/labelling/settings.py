"""What decides the labels, besides the engine. The module is light, so that a command can show the defaults at once."""

import operator
from dataclasses import dataclass
from enum import StrEnum

from fukayomi._native import EVAL_SCALE

MULTIPV = 4
"""Lines that a USI engine is asked for."""
TEMPERATURE = 0.06
"""Temperature of the shares of lines, as a difference of win rates. studies/label_ablation.py fits it to an engine."""
WORKERS = 1
"""USI engines at once."""


class LabelError(ValueError):
    """Positions cannot be labelled: bad settings, or an engine that does not work."""

    __module__ = "fukayomi.learning"


class Plies(StrEnum):
    """Which positions of games are labelled."""

    SEARCHED = "searched"
    """Those before the moves that have a score or visits: no book moves, no random moves."""
    ALL = "all"
    """Those before all moves."""
    LAST = "last"
    """The one after the last move of each record, as in lists of openings (``startpos moves 7g7f 3c3d``)."""


@dataclass(frozen=True, slots=True)
class LabelSettings:
    """How positions are searched, and how scores become a policy. One limit is needed: nodes, time or byoyomi.

    Raises:
        LabelError: There is no limit, or a number is out of range.
    """

    nodes: int | None = None
    """Nodes of each search."""
    time_ms: int | None = None
    """Time of each search (ms): of a USI engine ``go movetime``."""
    byoyomi_ms: int | None = None
    """Byoyomi of each search (ms), for USI engines that know neither ``go movetime`` nor ``go nodes``; they take it as
    in a game, and may use less."""
    multipv: int | None = None
    """Most moves of a policy. None: MULTIPV of a USI engine, all visited ones of a network."""
    temperature: float = TEMPERATURE
    """T in the shares of an engine's lines, exp(w / T) / sum of exp(w / T), with w the win rate of a line, 0 to 1."""
    eval_scale: float = EVAL_SCALE
    """Centipawns in the win rate of a line, 1 / (1 + exp(-score / eval_scale))."""
    plies: Plies = Plies.SEARCHED
    """Which positions of games are labelled."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "plies", Plies(self.plies))
        if self.nodes is None and self.time_ms is None and self.byoyomi_ms is None:
            raise LabelError("a search needs a limit: nodes, time or byoyomi")
        if self.byoyomi_ms is not None and (self.nodes is not None or self.time_ms is not None):
            raise LabelError("byoyomi is a limit of its own: give neither nodes nor time beside it")
        for name in ("nodes", "time_ms", "byoyomi_ms", "multipv"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise LabelError(f"{name} must be 1 or more, not {value}")
            # Plain numbers, for the job's file cannot hold NumPy's.
            object.__setattr__(self, name, None if value is None else operator.index(value))
        for name in ("temperature", "eval_scale"):
            if not 0 < (value := getattr(self, name)) < float("inf"):
                raise LabelError(f"{name} must be positive, not {value}")
            object.__setattr__(self, name, float(value))
