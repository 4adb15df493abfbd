"""The sequential probability ratio test: after every pair of games, is there proof enough to stop the match?

The test weighs two hypotheses, that the first player is stronger by `elo0` or by `elo1`. Its log-likelihood ratio
(LLR) is the generalised one: of all distributions of results with the strength of a hypothesis the most likely one is
taken, for both. It is computed exactly, from nothing but the counts of results; so a match that was stopped and goes on
comes to the same decision.

Counts are of `fukayomi.arena.intervals`: losses, draws, wins, or five of pairs. Results of two games with the same
opening belong together, and games counted singly (three counts) take them for independent: then the errors stay below
alpha and beta, and the match lasts longer than it must.

The bounds are Wald's. They hold for an LLR that moves without jumps; ours jumps with each result, and passes the bound
a little before it stops. No correction is made for this: it makes the true errors smaller than alpha and beta, by a
tenth or so, and never larger (``benchmarks/sprt.py`` measures it), while a correction would have to know the order
of the results. For the same reason the first crossing decides: who runs a test stops there.

Sources: M. Van den Bergh, "A practical introduction to the GSPRT", "The generalized maximum likelihood ratio for the
expectation value of a distribution" (the exact likelihood, proposition 1.1), "Normalized Elo" and "Comments on
normalized Elo" (section 4.1); A. Wald, "Sequential tests of statistical hypotheses" (1945).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite, log, sqrt

import numpy as np
import numpy.typing as npt

from fukayomi.arena.intervals import ABSENT, NELO_PER_UNIT, check_counts, elo_to_score

Floats = npt.NDArray[np.float64]

LARGEST_ELO = {"logistic": 1000.0, "normalized": 200.0}
"""Hypotheses beyond these are no test of engines, and the solution by steps need not settle."""

ROUNDS = 100  # of tangents: a few are enough, save for results that hardly ever differ
ROOT_STEPS = 100  # likewise: mostly four or five


class SprtError(ValueError):
    """Settings that describe no test."""


class SprtModel(StrEnum):
    """On which scale the hypotheses are given."""

    LOGISTIC = "logistic"
    """Elo, by the mean score alone. The same bounds take more games the more games are drawn."""
    NORMALIZED = "normalized"
    """Normalised Elo, the mean over the standard deviation: the same bounds always take about the same games."""


class SprtDecision(StrEnum):
    """What a test says."""

    CONTINUE = "continue"
    H0 = "H0"
    """The difference is rather `elo0`: the first player is not as much better as hoped."""
    H1 = "H1"
    """It is rather `elo1`."""


@dataclass(frozen=True, slots=True)
class SprtResult:
    """Where a test stands.

    Attributes:
        llr: The log-likelihood ratio; 0 without games.
        lower: H0 is accepted at this LLR or below.
        upper: H1 is accepted at this LLR or above.
    """

    llr: float
    lower: float
    upper: float
    decision: SprtDecision


@dataclass(frozen=True, slots=True)
class SprtSettings:
    """A test of two hypotheses.

    Attributes:
        elo0: The first player's advantage by H0.
        elo1: By H1; larger than `elo0`.
        alpha: How often H1 may be accepted where H0 is true.
        beta: How often H0 may be accepted where H1 is true.

    Raises:
        SprtError: There is no such test.
    """

    elo0: float = 0.0
    elo1: float = 10.0
    alpha: float = 0.05
    beta: float = 0.05
    model: SprtModel = SprtModel.NORMALIZED

    def __post_init__(self) -> None:
        largest = LARGEST_ELO[self.model]
        for name, elo in (("elo0", self.elo0), ("elo1", self.elo1)):
            if not isfinite(elo) or abs(elo) > largest:
                raise SprtError(f"{name} must be within ±{largest:g} ({self.model.value} Elo), not {elo}")
        if self.elo0 >= self.elo1:
            raise SprtError(f"elo0 must be less than elo1, not {self.elo0} and {self.elo1}")
        for name, share in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < share < 0.5:
                raise SprtError(f"{name} must be between 0 and 0.5, not {share}")

    @property
    def lower(self) -> float:
        """The LLR at which H0 is accepted."""
        return log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """The LLR at which H1 is accepted."""
        return log((1 - self.beta) / self.alpha)

    def evaluate(self, counts: Sequence[int]) -> SprtResult:
        """The test after results with these counts: three (losses, draws, wins), or five of pairs.

        Raises:
            CountsError: There are not three or five counts, or one is negative.
        """
        checked = check_counts(counts)
        llr = float(log_likelihood_ratios(np.array([checked], np.float64), self)[0])
        decision = SprtDecision.CONTINUE
        if llr >= self.upper:
            decision = SprtDecision.H1
        elif llr <= self.lower:
            decision = SprtDecision.H0
        return SprtResult(llr, self.lower, self.upper, decision)


def log_likelihood_ratios(counts: Floats, settings: SprtSettings) -> Floats:
    """The LLR of each of many matches.

    Args:
        counts: [matches, 3 or 5], from 0. An outcome that never came counts as 1/1000.
        settings: The hypotheses.

    Returns:
        [matches]; 0 for a match without results.
    """
    weights = np.where(counts > 0, counts, ABSENT)
    total = weights.sum(1)
    shares = weights / total[:, None]
    likely0, likely1 = (_most_likely(shares, elo, settings.model) for elo in (settings.elo0, settings.elo1))
    ratios = total * (shares * np.log(likely1 / likely0)).sum(1)
    return np.where(counts.any(1), ratios, 0.0)


def _most_likely(shares: Floats, elo: float, model: SprtModel) -> Floats:
    """The distributions of results with this strength that make the observed shares most likely; [matches, 3 or 5]."""
    outcomes = shares.shape[1]
    scores = np.linspace(0.0, 1.0, outcomes)
    if model is SprtModel.LOGISTIC:
        return _tilted(shares, np.broadcast_to(scores - elo_to_score(elo), shares.shape))
    # The normalised mean of a pair is that of a game times the root of two.
    unit = elo / NELO_PER_UNIT * (sqrt(2) if outcomes == 5 else 1)
    return _most_likely_normalized(shares, scores, unit)


def _most_likely_normalized(shares: Floats, scores: Floats, unit: float) -> Floats:
    """The most likely distributions whose mean is 1/2 and `unit` standard deviations.

    The condition is not linear in the probabilities. Its tangent at the last solution is, and gives the next one.
    """
    found = np.full_like(shares, 1 / shares.shape[1])
    for _ in range(ROUNDS):
        mean = (found * scores).sum(1, keepdims=True)
        deviations = scores - mean
        sigma = np.sqrt((found * deviations**2).sum(1, keepdims=True))
        tangent = scores - 0.5 - unit * (sigma + deviations**2 / sigma) / 2
        last, found = found, _tilted(shares, tangent)
        if np.abs(found - last).max() < 1e-9:
            break
    return found


def _tilted(shares: Floats, values: Floats) -> Floats:
    """The distributions p that make the shares most likely under the condition that sum(p * values) is 0.

    They are shares / (1 + theta * values), for the one theta that keeps the condition and all of p positive. It lies
    between two poles, and the sum falls from one to the other: Newton's steps, halving where they leave the bracket.

    Args:
        shares: Positive, [matches, outcomes]; each row's sum is 1.
        values: [matches, outcomes]; each row has both signs.
    """
    theta = np.zeros(len(shares))
    low, high = -1 / values.max(1), -1 / values.min(1)
    rows = np.arange(len(shares))  # that have not settled yet
    for _ in range(ROOT_STEPS):
        p, v, t = shares[rows], values[rows], theta[rows]
        terms = v / (1 + t[:, None] * v)
        sums = (p * terms).sum(1)
        low[rows] = np.where(sums > 0, t, low[rows])
        high[rows] = np.where(sums > 0, high[rows], t)
        step = t + sums / (p * terms**2).sum(1)
        inside = (step > low[rows]) & (step < high[rows])
        theta[rows] = np.where(inside, step, (low[rows] + high[rows]) / 2)
        rows = rows[np.abs(theta[rows] - t) > 1e-14 * np.abs(t)]
        if not len(rows):
            break
    return shares / (1 + theta[:, None] * values)
