"""Comparing the speed of networks and engines over many positions: mean, median and extremes of each, and ratios.

Engines count different things: a network's evaluations, the playouts of a tree search, the moves that an alpha-beta
search makes. So each rate has a name, and a ratio of two says which it compares.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types are incomplete.)

import random
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fukayomi.engine.engine import Engine
from fukayomi.engine.network import Network
from fukayomi.errors import InvalidValueError
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import InvalidSfenError, Position
from fukayomi.shogi.record import Record
from fukayomi.tabular import Tabular, counted
from fukayomi.usi.engine import UsiEngine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVALUATIONS, PLAYOUTS, VISITS, NODES = "evaluations", "playouts", "visits", "nodes"
DEFINITIONS = {
    EVALUATIONS: "positions that the network evaluated",
    PLAYOUTS: "walks from the root of the tree to a leaf; one that ends where the result is known needs no evaluation",
    VISITS: "visits of the root at the end, with those of a tree that was kept; here each tree begins empty",
    NODES: "what the engine counts as nodes in its last info line: moves made, as a rule",
}
"""Counted quantities, per second of elapsed time."""
LEAST_SHARE = 0.5
"""A search that ended before this share of its limit, as the result was proven, tells nothing of speed."""
STATISTICS = ("mean", "median", "minimum", "maximum")


class Subject(Protocol):
    """Something whose speed is measured."""

    name: str

    def measure(self, position: Position, *, nodes: int | None, time_ms: int | None) -> tuple[float, dict[str, int]]:
        """Search a position with an empty memory; returns the seconds of the search, and the counts by their names."""
        ...


class NetworkSubject:
    """The search of this package with a network.

    Args:
        name: Its name in the tables.
        network: The network; it stays open. With a cache, positions that come again cost it nothing (`Network`).
    """

    def __init__(self, name: str, network: Network) -> None:
        self.name = name
        self._network = network

    def measure(self, position: Position, *, nodes: int | None, time_ms: int | None) -> tuple[float, dict[str, int]]:
        """As `Subject`."""
        with Engine(self._network) as engine:
            progress = engine.search(position, nodes=nodes, time_ms=time_ms).progress
        counts = {EVALUATIONS: progress.evaluations, PLAYOUTS: progress.playouts, VISITS: progress.root_visits}
        return progress.seconds, counts


def device_subjects(name: str, network: Network) -> list[NetworkSubject]:
    """The same search on one, two, ... and all devices of a network, to see what each further device adds.

    They share the network's evaluators, so none is loaded twice. On a CPU, devices are equal parts of it.

        >>> with Network(["<hash>", "<uniform>"], cache_mb=0) as network:
        ...     [subject.name for subject in device_subjects("stubs", network)]
        ['stubs, 1 device', 'stubs, 2 devices']

    Args:
        name: What the subjects' names begin with.
        network: Several networks, one for each device, each of which evaluates its part of the positions (`Network`
            without weights). It stays open, and must be open while the subjects are measured.
    """
    subjects: list[NetworkSubject] = []
    for count in range(1, len(network.evaluators) + 1):
        part = Network(network.evaluators[:count], cache_mb=0)
        part.settings = network.settings
        subjects.append(NetworkSubject(f"{name}, {counted(count, 'device')}", part))
    return subjects


class UsiSubject:
    """A USI engine.

    Args:
        name: Its name in the tables.
        engine: The engine. Each search has a process of its own: engines may keep evaluations from game to game.
    """

    def __init__(self, name: str, engine: UsiEngine) -> None:
        self.name = name
        self._engine = engine

    def measure(self, position: Position, *, nodes: int | None, time_ms: int | None) -> tuple[float, dict[str, int]]:
        """As `Subject`."""
        with self._engine as engine:
            result = engine.search(position, nodes=nodes, time_ms=time_ms)
        return result.seconds, {NODES: max((line.nodes or 0 for line in result.lines), default=0)}


@dataclass(frozen=True, slots=True)
class Rate:
    """Amount of something that a subject did per second, in each search."""

    name: str
    """The subject."""
    counted: str
    """Counted quantity, a key of `DEFINITIONS`."""
    values: tuple[float, ...]
    """One for each search that counts."""

    @property
    def mean(self) -> float:
        """Arithmetic mean of the searches."""
        return statistics.fmean(self.values)

    @property
    def median(self) -> float:
        """Median of the searches."""
        return statistics.median(self.values)

    @property
    def minimum(self) -> float:
        """The slowest search."""
        return min(self.values)

    @property
    def maximum(self) -> float:
        """The fastest search."""
        return max(self.values)


@dataclass(frozen=True, slots=True, repr=False)
class NpsComparison(Tabular):
    """The speed of some networks and engines on the same positions; `compare_nps` returns it.

    As a table it has one row per subject and counted thing.
    """

    rates: tuple[Rate, ...]
    """Those of the first subject first, and of a subject the most telling first."""
    positions: int
    repeats: int
    early: int
    """Searches that do not count, as they ended early."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per rate."""
        return [
            {"name": rate.name, "counted": rate.counted, "searches": len(rate.values)}
            | {name: getattr(rate, name) for name in STATISTICS}
            for rate in self.rates
        ]

    def ratios(self, of: Collection[str] | None = None) -> list[dict[str, Any]]:
        """One row per pair of subjects: for each statistic the later one's as a share of the earlier one's.

        Of a subject with several rates it is the first.

        Args:
            of: Names of the earlier ones; None: all.
        """
        main = list({rate.name: rate for rate in reversed(self.rates)}.values())[::-1]
        return [
            {"name": later.name, "counted": later.counted, "of": earlier.name, "of_counted": earlier.counted}
            | {name: getattr(later, name) / max(getattr(earlier, name), 1e-9) for name in STATISTICS}
            for n, earlier in enumerate(main)
            if of is None or earlier.name in of
            for later in main[n + 1 :]
        ]

    def plot(self) -> "Figure":
        """A picture: the mean of each rate, from the slowest to the fastest search."""
        from fukayomi.pictures import new_figure

        figure = new_figure(figsize=(8, 1.2 + 0.5 * len(self.rates)), layout="constrained")
        axes = figure.add_subplot()
        for row, rate in enumerate(reversed(self.rates)):
            axes.plot([rate.minimum, rate.maximum], [row, row], color="#727a86", linewidth=2, solid_capstyle="butt")
            axes.plot(rate.median, row, "|", color="#e07b1a", markersize=16, markeredgewidth=2.5)
            axes.plot(rate.mean, row, "o", color="#3d6fa8", markersize=8)
        axes.set_yticks(range(len(self.rates)), [f"{rate.name}: {rate.counted}" for rate in reversed(self.rates)])
        axes.set_ylim(-0.6, len(self.rates) - 0.4)
        axes.set_xscale("log")
        axes.set_xlabel("a second: mean (dot), median (stroke), slowest to fastest search (line)")
        axes.grid(axis="x", color="#dfe1e0", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        return figure

    def __repr__(self) -> str:
        return f"<NpsComparison: {', '.join(dict.fromkeys(rate.name for rate in self.rates))}>"


def ratio_text(ratio: float) -> str:
    """A ratio as it is written: a percentage, and below 1 also a fraction.

    >>> [ratio_text(ratio) for ratio in (0.2394, 0.0032, 1.5)]
    ['23.94 % (1/4.2)', '0.32 % (1/312)', '150.00 %']
    """
    percent = f"{100 * ratio:.2f} %"
    if not 0 < ratio < 1:
        return percent
    return f"{percent} (1/{1 / ratio:.{1 if ratio > 0.1 else 0}f})"


def compare_nps(
    subjects: Sequence[Subject],
    positions: Sequence[Position],
    *,
    repeats: int = 1,
    seconds: float | None = None,
    nodes: int | None = None,
    listener: Listener = SILENT,
) -> NpsComparison:
    """Measure how fast networks and engines search: each position by all of them in turn, and that several times.

    Args:
        subjects: What is compared; names must differ.
        positions: Positions with legal moves.
        repeats: How often each position is searched.
        seconds: Time of each search. One of the two limits is needed; with both, whichever comes first.
        nodes: Nodes of each search, as each counts them.
        listener: Told of the searches done so far.

    Raises:
        ValueError: A limit is missing, or there is nothing to measure: no search of a subject lasts long enough.
        EvaluatorError: A network failed.
        EngineError: An engine failed.
    """
    if not subjects or not positions or repeats < 1:
        raise InvalidValueError("a comparison needs a network or an engine, a position and a repeat")
    if len({subject.name for subject in subjects}) < len(subjects):
        raise InvalidValueError("two of the networks and engines have the same name")
    time_ms = None if seconds is None else max(1, round(1000 * seconds))
    values: dict[tuple[str, str], list[float]] = {}
    total, done, early = repeats * len(positions) * len(subjects), 0, 0
    for _ in range(repeats):
        for position in positions:
            for subject in subjects:
                listener.progress("searches", done, total)
                elapsed, counts = subject.measure(position, nodes=nodes, time_ms=time_ms)
                done += 1
                if _is_early(elapsed, max(counts.values()), seconds, nodes):
                    early += 1
                    continue
                for quantity, count in counts.items():
                    values.setdefault((subject.name, quantity), []).append(count / max(elapsed, 1e-9))
    for subject in subjects:
        if not any(name == subject.name for name, _ in values):
            raise InvalidValueError(f"{subject.name}: no search lasted long enough, or reported its nodes")
    order = [subject.name for subject in subjects]
    rates = [Rate(name, quantity, tuple(found)) for (name, quantity), found in values.items()]
    return NpsComparison(tuple(sorted(rates, key=lambda rate: order.index(rate.name))), len(positions), repeats, early)


def _is_early(elapsed: float, count: int, seconds: float | None, nodes: int | None) -> bool:
    """True if a search ended long before its limits."""
    spent = [] if seconds is None else [elapsed / seconds]
    spent += [] if nodes is None else [count / nodes]
    return count == 0 or max(spent, default=1.0) < LEAST_SHARE


def sample_records(records: Iterable[Record], count: int, seed: int = 0) -> list[Position]:
    """Positions of games, drawn at random: each position of all games is as likely as any other.

    Args:
        records: The games; those from positions without both kings are left out, and so are positions without a move.
        count: Number of positions; fewer if the games have no more.
        seed: Random seed; with the same games it gives the same positions.
    """
    chance = random.Random(seed)
    drawn: list[Position] = []
    for seen, position in enumerate(_positions(records)):
        if seen < count:
            drawn.append(position.copy())
        elif (place := chance.randrange(seen + 1)) < count:
            drawn[place] = position.copy()
    return drawn


def _positions(records: Iterable[Record]) -> Iterator[Position]:
    for record in records:
        try:
            position = Position.from_sfen(record.initial_sfen)
        except InvalidSfenError:
            continue
        for played in record.moves:
            yield position  # which has a legal move: the next one
            position.push(played.move)
