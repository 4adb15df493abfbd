"""Workers of one generation compared with each other. A worker whose games differ is reported, not removed.

Workers with the same network and the same settings draw their games from one distribution. Each is compared with all
others together in eight numbers (`METRICS`), and the smallest p-value is looked at. If it is significant, the worker
farthest from the median of all in that number is flagged and leaves the comparison, and the rest are compared again. So
odd workers do not make honest ones look odd, as long as most are honest.

All tests of the first round share the alarm rate (Bonferroni): when all workers are alike, the probability that any of
them is flagged is at most `alarm_rate` each time they are compared, as far as the tests hold at their sample sizes; see
`studies/canaries.py`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fukayomi.loop.ingest.manifest import Manifest
from fukayomi.loop.ingest.statistics import ChunkStatistics, Moments, total
from fukayomi.tabular import Tabular

METRICS = {
    "length": "moves of a game with a winner (Welch's t-test)",
    "draws": "share of draws (Fisher's exact test)",
    "first_moves": "how often games begin with each move (chi-squared test)",
    "calibration": "Brier score of the values, mean of a game with a winner (Welch's t-test)",
    "entropy": "entropy of the policy targets in nats, mean of a game (Welch's t-test)",
    "visits": "logarithm of a position's visits, mean of a game (Welch's t-test)",
    "played": "share of the visits that the move played has, mean of a game (Welch's t-test)",
    "unique": "share of different positions in 16 games (Welch's t-test)",
}
"""Metrics that are compared."""
_MOMENTS = {
    "length": "length",
    "calibration": "brier",
    "entropy": "entropy",
    "visits": "visits",
    "played": "played",
    "unique": "unique",
}
_LEAST_GROUPS = 8  # groups of games for "unique"
_LEAST_EXPECTED = 5.0  # of a cell of the chi-squared test
_SMALLEST_P = 1e-300


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number of a worker, beside that of the others."""

    worker: str
    metric: str
    """One of `METRICS`."""
    games: int
    """Games of the worker."""
    value: float | None
    """Mean of the worker; None for first moves."""
    others: float | None
    """Mean of the other workers, those flagged earlier left out."""
    z: float
    """Standard deviations of a normal distribution with the same p-value; negative where the worker's mean is lower."""
    p: float
    """Probability of such a difference between workers that are alike."""
    generation: int | None = None
    """Number of the network that played; None: unknown."""

    def __str__(self) -> str:
        means = "" if self.value is None else f" ({self.value:.4g}, others {self.others:.4g})"
        network = "" if self.generation is None else f" with network {self.generation}"
        return f"worker {self.worker} differs in {self.metric}{means}{network}: z = {self.z:.1f}"


@dataclass(frozen=True)
class Tripwires(Tabular):
    """The comparisons of one generation, or of several; as a table, one row for each."""

    generation: int | None
    """The newest of them; None: unknown, or none."""
    comparisons: tuple[Comparison, ...]
    """Of all workers, flagged ones included."""
    flags: tuple[Comparison, ...]
    """The comparison that gave each flagged worker away, in the order in which they were found."""
    threshold: float
    """The absolute z from which on a worker is flagged; infinite without comparisons."""

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row per comparison."""
        flagged = {(flag.generation, flag.worker) for flag in self.flags}
        return [
            {
                "generation": row.generation, "worker": row.worker, "metric": row.metric, "games": row.games,
                "value": row.value, "others": row.others, "z": row.z, "p": row.p,
                "flagged": "yes" if (row.generation, row.worker) in flagged else "",
            }
            for row in self.comparisons
        ]  # fmt: skip


def check_workers(
    manifest: Manifest, generation: int | None, alarm_rate: float = 0.01, least_games: int = 32
) -> Tripwires:
    """Compare the workers of a generation, excluded ones left out.

    Args:
        manifest: The accepted chunks.
        generation: Number of the network; None compares nothing.
        alarm_rate: As for `compare_workers`, for all settings of the generation together.
        least_games: As for `compare_workers`.
    """
    groups: dict[str, dict[str, list[ChunkStatistics]]] = defaultdict(lambda: defaultdict(list))
    for chunk in manifest.chunks():
        if chunk.generation == generation:
            groups[f"{chunk.network} {chunk.settings_sha256}"][chunk.worker].append(chunk.statistics)
    parts = [
        compare_workers(
            {worker: total(chunks) for worker, chunks in workers.items()}, alarm_rate / len(groups), least_games
        )
        for workers in groups.values()
    ]
    whole = joined(parts)
    return Tripwires(
        generation,
        tuple(replace(row, generation=generation) for row in whole.comparisons),
        tuple(replace(flag, generation=generation) for flag in whole.flags),
        whole.threshold,
    )


def joined(parts: Sequence[Tripwires]) -> Tripwires:
    """Several comparisons as one, in order; its threshold is the largest of theirs."""
    return Tripwires(
        max((part.generation for part in parts if part.generation is not None), default=None),
        tuple(row for part in parts for row in part.comparisons),
        tuple(flag for part in parts for flag in part.flags),
        max((part.threshold for part in parts if part.comparisons), default=float("inf")),
    )


def compare_workers(
    workers: Mapping[str, ChunkStatistics], alarm_rate: float = 0.01, least_games: int = 32
) -> Tripwires:
    """Compare workers that should be alike.

    Args:
        workers: The numbers of each worker's games.
        alarm_rate: Probability that any of them is flagged when all are alike.
        least_games: Workers with fewer games are not compared, nor are others compared with fewer.
    """
    remaining = {name: numbers for name, numbers in sorted(workers.items()) if numbers.games >= least_games}
    judged = dict(remaining)
    rows = _compare_all(remaining)
    if not rows:
        return Tripwires(None, (), (), float("inf"))
    level = alarm_rate / len(rows)
    odd: dict[str, str] = {}  # with the metric that gave a worker away
    while rows and (worst := min(rows, key=lambda row: row.p)).p < level:
        if len(remaining) == 2:  # one of them is odd, and nothing says which
            odd |= dict.fromkeys(remaining, worst.metric)
            break
        worker = _farthest(worst.metric, remaining)
        odd[worker] = worst.metric
        del remaining[worker]
        rows = _compare_all(remaining)
    final = tuple(row for name, numbers in judged.items() for row in _compare(name, remaining | {name: numbers}))
    flags = tuple(
        row for worker, metric in odd.items() for row in final if (row.worker, row.metric) == (worker, metric)
    )
    return Tripwires(None, final, flags, float(_scipy_stats().norm.isf(level / 2)))


def _farthest(metric: str, workers: Mapping[str, ChunkStatistics]) -> str:
    """The worker that is farthest from the median of all, in standard errors."""
    moves = sorted({move for numbers in workers.values() for move in numbers.first_moves})
    values: list[list[float]] = []
    counts: list[int] = []
    for numbers in workers.values():
        if metric in _MOMENTS:
            moments: Moments = getattr(numbers, _MOMENTS[metric])
            values.append([moments.mean])
            counts.append(moments.count)
        else:
            begun = [numbers.draws] if metric == "draws" else [numbers.first_moves.get(move, 0) for move in moves]
            values.append([count / numbers.games for count in begun])
            counts.append(numbers.games)
    table = np.array(values)
    distances = np.abs(table - np.nanmedian(table, axis=0)).sum(axis=1) * np.sqrt(counts)
    return list(workers)[int(np.argmax(np.nan_to_num(distances)))]


def _compare_all(workers: Mapping[str, ChunkStatistics]) -> list[Comparison]:
    return [row for name in workers for row in _compare(name, workers)]


def _compare(name: str, workers: Mapping[str, ChunkStatistics]) -> list[Comparison]:
    """A worker beside all others together, in every number that both have."""
    own = workers[name]
    others = total(numbers for other, numbers in workers.items() if other != name)
    rows: list[Comparison] = []
    for metric in METRICS:
        if metric in _MOMENTS:
            compared = _compare_means(metric, own, others)
        elif metric == "draws":
            compared = _compare_draws(own, others)
        else:
            compared = _compare_first_moves(own, others)
        if compared is not None:
            rows.append(_comparison(name, metric, own.games, *compared))
    return rows


def _comparison(name: str, metric: str, games: int, value: float | None, others: float | None, p: float) -> Comparison:
    p = max(p, _SMALLEST_P)
    z = float(_scipy_stats().norm.isf(p / 2))
    if value is not None and others is not None and value < others:
        z = -z
    return Comparison(name, metric, games, value, others, z, p)


def _scipy_stats() -> Any:
    import scipy.stats  # pyright: ignore[reportMissingTypeStubs]  # here: it takes long to import

    return scipy.stats


_Found = tuple[float | None, float | None, float]


def _compare_means(metric: str, own: ChunkStatistics, others: ChunkStatistics) -> _Found | None:
    one, two = getattr(own, _MOMENTS[metric]), getattr(others, _MOMENTS[metric])
    if min(one.count, two.count) < (_LEAST_GROUPS if metric == "unique" else 2):
        return None
    if one.variance == 0 and two.variance == 0:
        return one.mean, two.mean, 1.0 if one.mean == two.mean else 0.0
    test = _scipy_stats().ttest_ind_from_stats(
        one.mean, one.variance**0.5, one.count, two.mean, two.variance**0.5, two.count, equal_var=False
    )
    return one.mean, two.mean, float(test.pvalue)


def _compare_draws(own: ChunkStatistics, others: ChunkStatistics) -> _Found | None:
    if not own.games or not others.games:
        return None
    table = [[own.draws, own.games - own.draws], [others.draws, others.games - others.draws]]
    return own.draws / own.games, others.draws / others.games, float(_scipy_stats().fisher_exact(table).pvalue)


def _compare_first_moves(own: ChunkStatistics, others: ChunkStatistics) -> _Found | None:
    """Rare moves are counted together, so that the test holds."""
    ours, theirs = sum(own.first_moves.values()), sum(others.first_moves.values())
    if not ours or not theirs:
        return None
    smaller_share = min(ours, theirs) / (ours + theirs)
    cells: list[tuple[int, int]] = []
    rest = (0, 0)
    for move in sorted(own.first_moves.keys() | others.first_moves.keys()):
        cell = own.first_moves.get(move, 0), others.first_moves.get(move, 0)
        if sum(cell) * smaller_share >= _LEAST_EXPECTED:
            cells.append(cell)
        else:
            rest = rest[0] + cell[0], rest[1] + cell[1]
    cells.sort(key=sum)
    if sum(rest) * smaller_share >= _LEAST_EXPECTED or not cells:
        cells.append(rest)
    else:
        cells[0] = cells[0][0] + rest[0], cells[0][1] + rest[1]
    if len(cells) < 2:
        return None
    return None, None, float(_scipy_stats().chi2_contingency(list(zip(*cells, strict=True))).pvalue)
