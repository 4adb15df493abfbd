"""Searches of stored positions, whose targets are those of games against itself (`Search.teaching`)."""

from fukayomi.engine.control import Control, Limits
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.network import Network
from fukayomi.engine.search import Searcher
from fukayomi.learning.labelling.labellers import Labeller, StoppedError, tree_memory_mb
from fukayomi.learning.labelling.labels import Label
from fukayomi.learning.reanalysis.settings import ReanalysisSettings, Root
from fukayomi.shogi import Position


class TeachingLabeller(Labeller):
    """A tree of our own search, which shares the batches of a network with the trees of the other labellers."""

    def __init__(self, network: Network, settings: ReanalysisSettings, at_once: int) -> None:
        """Create the tree.

        Args:
            network: The network; it stays open.
            settings: How to search.
            at_once: Number of labellers, which share the memory of the network's option USI_Hash.
        """
        self._settings = settings
        params = network.settings.search_params()
        params.root_rule = settings.root.rule
        if settings.root is Root.GUMBEL:
            params.gumbel_moves = settings.gumbel_moves
            params.gumbel_scale = 0.0  # the moves of the greatest priors: nothing is left to chance
            params.softmax_temperature_root = 1.0  # the target is made of the divided logits
        memory_mb = tree_memory_mb(network, settings.nodes, at_once)
        self._searcher = Searcher(network.pool, params, memory_mb=memory_mb, reuse=False, shares_batches=True)
        self._control: Control | None = None
        self._is_stopped = False

    def label(self, position: Position) -> Label:
        """See `Labeller.label`.

        Raises:
            EvaluatorError: The network failed.
        """
        self._control = control = Control(Limits(nodes=self._settings.nodes))
        if self._is_stopped:
            raise StoppedError
        found = self._searcher.search(position, control)
        if self._is_stopped:
            raise StoppedError
        if found.error is not None:
            raise EvaluatorError(f"the network failed: {found.error}") from found.error
        taught = self._searcher.teaching()[: self._settings.multipv]
        return Label(taught[0][0], found.lines[0].cp, tuple(taught)) if taught else Label()

    def stop(self) -> None:
        """See `Labeller.stop`."""
        self._is_stopped = True
        if self._control is not None:
            self._control.stop()

    def close(self) -> None:
        """See `Labeller.close`."""
        self._searcher.close()
