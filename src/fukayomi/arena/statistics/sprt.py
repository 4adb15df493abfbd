"""The sequential probability ratio test: after every pair of games, is there proof enough to stop the match?

The test weighs two hypotheses, that the first player is stronger by `elo0` or by `elo1`. Its log-likelihood ratio
(LLR) is the generalised one: of all distributions of results with the strength of a hypothesis the most likely one is
taken, for both. It is computed exactly, from nothing but the counts of results; so a match that was stopped and goes on
comes to the same decision.

Counts are those of `intervals`: losses, draws, wins, or five of pairs. Results of two games with the same
opening belong together, and games counted singly (three counts) take them for independent: then the errors stay below
alpha and beta, and the match lasts longer than it must.

The bounds are Wald's. They hold for an LLR that moves without jumps; ours jumps with each result, and passes the bound
a little before it stops. No correction is made for this: it makes the true errors, if anything, a little smaller than
alpha and beta (``benchmarks/sprt.py`` measures 4.2 % to 5.1 % where 5 % are allowed), while a correction would have to
know the order of the results. The first crossing decides: who runs a test stops there, and what games in play would
have added does not count.

Sources: M. Van den Bergh, "A practical introduction to the GSPRT"; A. Wald, "Sequential tests of statistical
hypotheses" (1945).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite, log

from fukayomi.arena.statistics.intervals import check_counts

LARGEST_ELO = {"logistic": 1000.0, "normalized": 200.0}
"""Hypotheses beyond these are no test of engines, and the solution by steps might not settle."""


class SprtError(ValueError):
    """Settings that describe no test."""


class SprtModel(StrEnum):
    """On which scale the hypotheses are given."""

    LOGISTIC = "logistic"
    """Elo, by the mean score alone. How many games the same bounds take depends on the share of draws."""
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
class SprtStatus:
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

    def evaluate(self, counts: Sequence[int]) -> SprtStatus:
        """The test after results with these counts: three (losses, draws, wins), or five of pairs.

        Raises:
            CountsError: There are not three or five counts, or one is negative.
        """
        from fukayomi.arena.statistics.sprt_likelihood import log_likelihood_ratios  # NumPy: not for settings alone

        normalized = self.model is SprtModel.NORMALIZED
        llr = float(log_likelihood_ratios([check_counts(counts)], self.elo0, self.elo1, normalized=normalized)[0])
        decision = SprtDecision.CONTINUE
        if llr >= self.upper:
            decision = SprtDecision.H1
        elif llr <= self.lower:
            decision = SprtDecision.H0
        return SprtStatus(llr, self.lower, self.upper, decision)
