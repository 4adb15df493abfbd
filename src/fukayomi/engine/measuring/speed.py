"""Speed of a network on this computer: alone, and in the search."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fukayomi.engine.engine import Engine
from fukayomi.engine.evaluators.timing import filled_slot, run_batches
from fukayomi.engine.network import Network
from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import Position
from fukayomi.tabular import Tabular

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.protocol import Evaluator

SECONDS = 5.0
"""Duration of each measurement."""
WARM_UP_BATCHES = 2


@dataclass(frozen=True)
class SearchSpeed:
    """Speed of the search of one position."""

    position: str
    """Name of the position."""
    nodes: int
    """Positions searched: evaluated by the network, or found in its cache."""
    evaluations: int
    """Positions that the network evaluated."""
    seconds: float
    """Duration."""
    nodes_per_s: float
    """Nodes per second."""


@dataclass(frozen=True, repr=False)
class NetworkSpeed(Tabular):
    """Speed of a network; `measure_speed` returns it. As a table it has one row per position searched."""

    network: str
    """Name of the network."""
    identity: str
    """Hash of the network with precision and device."""
    batch_size: int
    """Positions per batch."""
    slots: int
    """Batches in flight at once."""
    evaluations_per_s: float
    """Positions per second of the network alone, in full batches."""
    searches: tuple[SearchSpeed, ...]
    """The searches, in the order of the positions."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per position searched."""
        return [vars(search) for search in self.searches]

    def __repr__(self) -> str:
        return f"<NetworkSpeed: {self.network}, {self.evaluations_per_s:.0f} evaluations/s>"


def measure_speed(
    network: Network,
    positions: Mapping[str, Position] | None = None,
    *,
    nodes: int | None = None,
    seconds: float = SECONDS,
    listener: Listener = SILENT,
) -> NetworkSpeed:
    """Measure evaluations per second of a network alone, and nodes per second of the search with it.

        >>> from fukayomi import Network, Position
        >>> from fukayomi.engine import measure_speed
        >>> with Network("<uniform>") as network:
        ...     speed = measure_speed(network, {"start": Position()}, nodes=500, seconds=0.1)
        >>> speed.searches[0].nodes, speed.evaluations_per_s > 0
        (500, True)

    Args:
        network: The network, with its batch size and its batches in flight.
        positions: The positions to search, by name. Each is searched with an empty tree. None: the start position.
        nodes: Nodes of each search; None: as many as the time allows.
        seconds: Duration of each measurement without `nodes`.
        listener: Told of the measurements done so far.

    Raises:
        EvaluatorError: The network failed.
        ValueError: There is no position, or one is mated.
    """
    positions = {"start": Position()} if positions is None else positions
    if not positions or any(position.is_mated() for position in positions.values()):
        raise InvalidValueError("only positions with a legal move can be searched")
    total = 1 + len(positions)
    listener.progress("measuring", 0, total)
    evaluations_per_s = _evaluations_per_s(network.evaluator, tuple(positions.values()), seconds)
    searches: list[SearchSpeed] = []
    for name, position in positions.items():
        listener.progress("measuring", 1 + len(searches), total)
        with Engine(network) as engine:
            time_ms = max(1, round(1000 * seconds)) if nodes is None else None
            progress = engine.search(position, nodes=nodes, time_ms=time_ms).progress
        nodes_per_s = progress.nodes / max(progress.seconds, 1e-9)
        searches.append(SearchSpeed(name, progress.nodes, progress.evaluations, progress.seconds, nodes_per_s))
    evaluator = network.evaluator
    return NetworkSpeed(
        network.name, network.identity, evaluator.batch_size, evaluator.slots, evaluations_per_s, tuple(searches)
    )


def _evaluations_per_s(evaluator: "Evaluator", positions: Sequence[Position], seconds: float) -> float:
    """Positions per second in full batches, with as many in flight as the evaluator takes."""
    size = evaluator.batch_size
    slots = [filled_slot(evaluator, size, positions) for _ in range(evaluator.slots)]
    for _ in range(WARM_UP_BATCHES):
        evaluator.run(slots[0], size)
    start = time.perf_counter()
    return run_batches(evaluator, slots, size, seconds) * size / (time.perf_counter() - start)
