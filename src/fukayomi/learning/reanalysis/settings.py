"""What decides a layer, besides the games and the network. The module is light, so that a command can show defaults."""

from dataclasses import dataclass
from enum import StrEnum

from fukayomi._native import MAX_MOVES, RootRule


class ReanalysisError(ValueError):
    """Positions cannot be reanalysed: bad settings, or nothing to do."""

    __module__ = "fukayomi.learning"


class Selection(StrEnum):
    """Which positions are chosen."""

    RANDOM = "random"
    """Any, each with the same chance."""
    AGE = "age"
    """The first ones of the first files: give the oldest file first."""
    SURPRISE = "surprise"
    """Rather those whose policy target is far from the network's policy; the weights of the choice are kept."""


class Root(StrEnum):
    """How the root of a search is searched, and what it teaches."""

    PUCT = "puct"
    """As the engine plays; the targets are the visits."""
    GUMBEL = "gumbel"
    """Sequential halving, for 4 to 64 nodes; the targets are the improved policy (completed Q)."""

    @property
    def rule(self) -> RootRule:
        """The search's."""
        return RootRule.GUMBEL if self is Root.GUMBEL else RootRule.PUCT


@dataclass(frozen=True, slots=True)
class ReanalysisSettings:
    """How many positions get new targets, and how.

    Raises:
        ReanalysisError: A number is out of range.
    """

    nodes: int = 100
    """Nodes of each search; 0: policy and value of the network alone, without a search."""
    share: float = 0.8
    """Share of the positions that get new targets, above 0 and at most 1. MuZero Reanalyze renews 80 %."""
    selection: Selection = Selection.RANDOM
    """Which positions are chosen."""
    multipv: int | None = None
    """Most moves of a policy; None: all that were visited, or that get 1 / 65535 or more of the network's policy."""
    seed: int = 0
    """Random seed of the choice."""
    root: Root = Root.PUCT
    """How the root is searched."""
    gumbel_moves: int = 16
    """With Root.GUMBEL: moves that halving begins with, those of the greatest priors."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "selection", Selection(self.selection))
        object.__setattr__(self, "root", Root(self.root))
        if self.nodes < 0:
            raise ReanalysisError(f"nodes must be 0 or more, not {self.nodes}")
        if not 0 < self.share <= 1:
            raise ReanalysisError(f"share must be above 0 and at most 1, not {self.share}")
        if self.multipv is not None and self.multipv < 1:
            raise ReanalysisError(f"multipv must be 1 or more, not {self.multipv}")
        if not 1 <= self.gumbel_moves <= MAX_MOVES:
            raise ReanalysisError(f"gumbel_moves must be 1 to {MAX_MOVES}, not {self.gumbel_moves}")
        if not 0 <= self.seed < 1 << 64:
            raise ReanalysisError(f"seed must be 0 to 2^64 - 1, not {self.seed}")
