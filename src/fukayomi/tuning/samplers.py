"""Optuna's samplers on results of games: each trial plays against the start. Knows no engines."""

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Literal

from fukayomi.tuning.parameters import Dimension, Estimate, Proposal

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

GOOD = 1 / 4
"""Share of the trials whose mean is the result: the best one alone was lucky above all."""


class Sampler:
    """Trials that a sampler of Optuna proposes, the first at the start.

    Args:
        dimensions: The lines.
        kind: "tpe", for which choices have no order, or "cma-es", which begins in the middle of the lines.
        seed: Of what the sampler draws.
    """

    SIDES = ("", " start")

    def __init__(self, dimensions: Sequence[Dimension], kind: Literal["tpe", "cma-es"], *, seed: int = 0) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._dimensions, self._kind, self._seed = tuple(dimensions), kind, seed
        self._start = tuple(round(each.start) for each in dimensions)
        self._study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed))
        names = [f"{number:04}" for number in range(len(dimensions))]
        self._study.enqueue_trial(dict(zip(names, self._start, strict=True)))
        self._distributions: dict[str, BaseDistribution] = {
            name: self._distribution(each) for name, each in zip(names, dimensions, strict=True)
        }
        self._asked: list[tuple[optuna.Trial, tuple[int, ...]]] = []
        self._told: list[tuple[float, tuple[int, ...]]] = []
        self._number = 0

    def _distribution(self, each: Dimension) -> "BaseDistribution":
        from optuna.distributions import CategoricalDistribution, IntDistribution

        if each.is_choice and self._kind == "tpe":
            return CategoricalDistribution(range(round(each.high) + 1))
        return IntDistribution(round(each.low), round(each.high))

    def _sampler(self) -> "optuna.samplers.BaseSampler":
        """The sampler with a seed for the next trial, so that a trial depends on the results before it alone."""
        from optuna.samplers import CmaEsSampler, TPESampler

        seed = int.from_bytes(sha256(f"{self._seed} {self._number}".encode()).digest()[:4], "big")
        if self._kind == "tpe":
            return TPESampler(seed=seed, n_startup_trials=max(10, 2 * len(self._dimensions)))
        return CmaEsSampler(seed=seed, warn_independent_sampling=False)

    def propose(self, count: int) -> list[Proposal]:
        """See `Tuner`."""
        self._asked = []
        for _ in range(count):
            self._study.sampler = self._sampler()
            self._number += 1
            trial = self._study.ask(self._distributions)
            self._asked.append((trial, tuple(int(trial.params[name]) for name in self._distributions)))
        return [Proposal(points, self._start) for _, points in self._asked]

    def tell(self, results: Sequence[float | None]) -> None:
        """See `Tuner`."""
        from optuna.trial import TrialState

        for (trial, points), result in zip(self._asked, results, strict=True):
            if result is None:
                self._study.tell(trial, state=TrialState.FAIL)
            else:
                self._study.tell(trial, result)
                self._told.append((result, points))
        self._asked = []

    def estimates(self) -> list[Estimate]:
        """The mean of the best quarter of the trials (the most frequent choice), and the range of 95 % of them."""
        ranked = [points for _, points in sorted(self._told, key=lambda told: -told[0])]
        good = ranked[: max(1, round(GOOD * len(ranked)))] or [self._start]
        found: list[Estimate] = []
        for place, dimension in enumerate(self._dimensions):
            values = [points[place] for points in good]
            cuts = quantiles(values, n=40, method="inclusive") if len(values) > 1 else values
            middle = Counter(values).most_common(1)[0][0] if dimension.is_choice else fmean(values)
            found.append(Estimate(middle, min(cuts[0], middle), max(cuts[-1], middle)))
        return found
