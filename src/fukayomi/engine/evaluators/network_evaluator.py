"""A network behind the evaluators' protocol, whatever backend runs it."""

from fukayomi._native import CoreEvaluator
from fukayomi.engine.evaluators.backends.backend import Model, Plan
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.protocol import Slot


class NetworkEvaluator:
    """A network that a backend has opened.

    Args:
        network: Its file.
        model: The network in the backend.
        plan: How the backend runs it; nothing in it is left open.
        description: The plan and why it was chosen, for an ``info string``.
    """

    def __init__(self, network: NetworkFile, model: Model, plan: Plan, description: str) -> None:
        self.plan = plan
        """Plan by which it is run."""
        self.batch_size = plan.batch_size
        self.slots = plan.slots
        self.identity = f"{network.of(plan.precision).digest}-{plan.precision}-{plan.backend}"
        self._model = model
        self._description = description

    def allocate(self, capacity: int) -> Slot:
        """Memory for a batch of up to ``capacity`` positions."""
        return self._model.allocate(capacity)

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot."""
        self._model.run(slot, n)

    def core(self, slot: Slot) -> CoreEvaluator | None:
        """Runner of a slot's batches in the native core; None: the backend is another library."""
        core = getattr(self._model, "core", None)
        return None if core is None else core(slot)

    def close(self) -> None:
        """Free the network."""
        self._model.close()

    def describe(self) -> str:
        """The chosen configuration, for an ``info string``."""
        return self._description
