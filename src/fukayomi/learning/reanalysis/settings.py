"""Settings of a layer, besides the games and the network. The module is light, so that a command can show defaults."""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from fukayomi._native import MAX_MOVES, RootRule
from fukayomi.errors import InvalidValueError
from fukayomi.settings import Settings


class ReanalysisError(InvalidValueError):
    """Positions cannot be reanalysed: bad settings, or nothing to do."""

    __module__ = "fukayomi.learning"


class Selection(StrEnum):
    """Rule by which positions are chosen."""

    RANDOM = "random"
    """Any, each with the same chance."""
    AGE = "age"
    """The first ones of the first files: give the oldest file first."""
    SURPRISE = "surprise"
    """Rather those whose policy target is far from the network's policy; the weights of the choice are kept."""


class Root(StrEnum):
    """Rule of the search at the root, and the targets that it gives."""

    PUCT = "puct"
    """As the engine plays; the targets are the visits."""
    GUMBEL = "gumbel"
    """Sequential halving, for 4 to 64 nodes; the targets are the improved policy (completed Q)."""

    @property
    def rule(self) -> RootRule:
        """The search's."""
        return RootRule.GUMBEL if self is Root.GUMBEL else RootRule.PUCT


class NewTargets(Settings):
    """Way in which positions get new targets, and their share."""

    nodes: Annotated[int, Field(ge=0, lt=1 << 31)] = 100
    """Nodes of each search; 0: policy and value of the network alone, without a search."""
    root: Root = Root.PUCT
    """Search at the root. puct: as the engine plays, the targets are visits; gumbel: sequential halving, for 4 to
    64 nodes, the targets are its improved policy."""
    gumbel_moves: Annotated[int, Field(ge=1, le=MAX_MOVES)] = 16
    """Most moves that `root` gumbel begins with, those of the greatest priors; one for every 4 nodes."""
    multipv: Annotated[int | None, Field(ge=1)] = None
    """Most moves of a policy; None: all visited ones, or those that get 1 / 65535 or more of the network's policy."""
    share: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Share of the positions that get new targets, above 0 and at most 1. MuZero Reanalyze renews 80 %."""


class ReanalysisSettings(NewTargets):
    """Positions that get new targets, and the way in which they do.

    Raises:
        ReanalysisError: A number is out of range.
    """

    ERROR: ClassVar = ReanalysisError

    selection: Selection = Selection.RANDOM
    """Positions to choose. random: any; age: the first of the first files, so give the oldest first; surprise:
    rather those whose target is far from the network's policy."""
    seed: Annotated[int, Field(ge=0, lt=1 << 64)] = 0
    """Random seed of the choice."""
