"""The base class of evaluators of one's own: what it takes to play with a network of any library, or with none."""

from abc import ABC, abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fukayomi._native import FEATURES2
from fukayomi.engine.evaluators.float_model import INPUTS, INPUTS_WITH_COLOUR, FloatModel, Floats
from fukayomi.engine.evaluators.protocol import Slot


class PlaneEvaluator(ABC):
    """An evaluator of your own: a subclass turns dlshogi's input planes into a policy and values.

    An instance takes the place of a file in `Network`: it is searched with, analyses, plays in matches and against
    itself. This one counts material, and thinks the same of every move:

        >>> import numpy as np
        >>> from fukayomi import Network, PlaneEvaluator, Position
        >>> class Material(PlaneEvaluator):
        ...     WORTH = np.array([1, 3, 4, 5, 8, 9, 6, 0, 5, 5, 6, 6, 11, 13])     # pawn to king, then promoted ones
        ...
        ...     def evaluate(self, features1, features2):
        ...         counts = features1.sum(axis=(2, 3))                            # [N, 62]
        ...         ahead = (counts[:, :14] - counts[:, 31:45]) @ self.WORTH       # own pieces, the opponent's
        ...         return np.zeros((len(ahead), 2187)), 1 / (1 + np.exp(-ahead / 10))
        >>> with Network(Material()) as network:
        ...     evaluation = network.evaluate([Position(), Position("4k4/9/9/9/9/9/9/7R1/4K4 b - 1")])
        >>> [round(float(winrate), 2) for winrate in evaluation.winrates]
        [0.5, 0.71]

    Attributes of the class, or of the instance before it is used:
    """

    identity: str
    """What evaluates, for the records of matches; another one whenever the evaluations change. By default the name of
    the class."""
    batch_size: int = 16
    """Positions per batch, at most."""
    slots: int = 1
    """Calls of `evaluate` at once, each in a thread of its own."""
    constants: int = FEATURES2
    """Constant planes that it reads: 57, or 58 with the plane of the colour to move."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "identity" not in vars(cls):
            cls.identity = cls.__name__

    @abstractmethod
    def evaluate(self, features1: Floats, features2: Floats) -> tuple[ArrayLike, ArrayLike]:
        """Evaluate N positions.

        Args:
            features1: float32 [N, 62, 9, 9]: pieces and attacks, by file and rank, as the side to move sees the board
                (`Position.planes`). Valid until it returns.
            features2: float32 [N, 57, 9, 9]: what is the same on all squares, pieces in hand above all.

        Returns:
            The policy's logits [N, 2187], by `Position.policy_label`, of which those of legal moves count; and the win
            probabilities [N] of the side to move, 0 to 1.
        """

    def allocate(self, capacity: int) -> Slot:
        """Memory for a batch of up to ``capacity`` positions."""
        return self._model.allocate(capacity)

    def run(self, slot: Slot, n: int) -> None:
        """Evaluate the first n positions of a slot.

        Raises:
            EvaluatorError: `evaluate` has failed, or has not returned logits and probabilities.
        """
        self._model.run(slot, n)

    def close(self) -> None:  # noqa: B027  # most have nothing to do
        """Free what it holds; by default there is nothing."""

    @cached_property
    def _model(self) -> "_Planes":
        return _Planes(self)


class _Planes(FloatModel):
    """Memory for planes, and the check of what `evaluate` returns."""

    library = "evaluate"

    def __init__(self, evaluator: PlaneEvaluator) -> None:
        super().__init__(Path(evaluator.identity))
        self._evaluator = evaluator
        self.shapes = INPUTS if evaluator.constants == FEATURES2 else INPUTS_WITH_COLOUR

    def forward(self, inputs: dict[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        policy, values = self._evaluator.evaluate(inputs["input1"], inputs["input2"])
        return np.asarray(policy), np.asarray(values)
