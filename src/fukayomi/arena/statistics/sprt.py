"""The sequential probability ratio test (SPRT): is there enough evidence to stop the match?

The test compares two hypotheses: the first player is stronger by `elo0` (H0), or by `elo1` (H1). Its log-likelihood
ratio (LLR) is the generalised one: for each hypothesis it takes the most likely of all result distributions with that
strength. The LLR is exact and depends on the result counts alone, so a match that was stopped and resumed reaches the
same decision.

Counts are those of `intervals`: losses, draws, wins, or five for pairs. The two games of an opening belong together.
Three counts treat them as independent: the error rates then stay below alpha and beta, and the match takes longer than
necessary.

The bounds are Wald's. They assume an LLR without jumps; the real one jumps with each result and overshoots the bound a
little. No correction is made: the overshoot makes the true error rates, if anything, slightly smaller than alpha and
beta (``benchmarks/sprt.py`` measures 4.2 % to 5.1 % for 5 %), and a correction would need the order of the results. The
first crossing decides: stop there, and ignore games that were still running.

Sources: M. Van den Bergh, "A practical introduction to the GSPRT"; A. Wald, "Sequential tests of statistical
hypotheses" (1945).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from fukayomi.arena.statistics.intervals import check_counts
from fukayomi.errors import InvalidValueError
from fukayomi.settings import Settings

LARGEST_ELO = {"logistic": 1000.0, "normalized": 200.0}
"""Limit of the hypotheses, by model. Beyond it the iterative solution may not converge."""


class SprtError(InvalidValueError):
    """Settings that do not describe a test."""

    __module__ = "fukayomi.arena"


class SprtModel(StrEnum):
    """The scale of the hypotheses."""

    LOGISTIC = "logistic"
    """Elo, from the mean score alone. The length of a test depends on the draw rate."""
    NORMALIZED = "normalized"
    """Normalised Elo, the mean over the standard deviation. The same bounds always take about the same games."""


class SprtDecision(StrEnum):
    """The outcome of a test."""

    CONTINUE = "continue"
    H0 = "H0"
    """The difference is closer to `elo0`."""
    H1 = "H1"
    """The difference is closer to `elo1`."""


@dataclass(frozen=True, slots=True)
class SprtStatus:
    """The state of a test after some results."""

    llr: float
    """Log-likelihood ratio; 0 without games."""
    lower: float
    """H0 is accepted at this LLR or below."""
    upper: float
    """H1 is accepted at this LLR or above."""
    decision: SprtDecision


Rate = Annotated[float, Field(gt=0, lt=0.5)]


class Hypotheses(Settings):
    """Two hypotheses, and how often a test may decide for the wrong one."""

    elo0: float = 0.0
    """Advantage of the first player under H0."""
    elo1: float = 10.0
    """Advantage of the first player under H1; larger than `elo0`."""
    alpha: Rate = 0.05
    """Probability of accepting H1 when H0 is true."""
    beta: Rate = 0.05
    """Probability of accepting H0 when H1 is true."""


class SprtSettings(Hypotheses):
    """A test of two hypotheses.

    Raises:
        SprtError: The settings do not describe a test.
    """

    ERROR: ClassVar = SprtError

    model: SprtModel = SprtModel.NORMALIZED
    """Scale of `elo0` and `elo1`."""

    @model_validator(mode="after")
    def _is_a_test(self) -> Self:
        largest = LARGEST_ELO[self.model]
        for name, elo in (("elo0", self.elo0), ("elo1", self.elo1)):
            if abs(elo) > largest:
                raise InvalidValueError(f"{name} must be within ±{largest:g} ({self.model.value} Elo), not {elo:g}")
        if self.elo0 >= self.elo1:
            raise InvalidValueError(f"elo0 must be less than elo1, not {self.elo0:g} and {self.elo1:g}")
        return self

    @property
    def lower(self) -> float:
        """The LLR at which H0 is accepted: ln(beta / (1 - alpha))."""
        return log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """The LLR at which H1 is accepted: ln((1 - beta) / alpha)."""
        return log((1 - self.beta) / self.alpha)

    def evaluate(self, counts: Sequence[int]) -> SprtStatus:
        """The state of the test after results with these counts.

        >>> status = SprtSettings(elo0=0, elo1=5).evaluate([34, 54, 63, 64, 75])
        >>> round(status.llr, 2), status.decision.value
        (1.3, 'continue')

        Args:
            counts: Losses, draws, wins; or pairs of games by points (0, 1/2, 1, 3/2, 2).

        Raises:
            CountsError: There are not three or five counts, or one is negative.
        """
        # Imports NumPy, which settings alone do not need.
        from fukayomi.arena.statistics.sprt_likelihood import log_likelihood_ratios

        normalized = self.model is SprtModel.NORMALIZED
        llr = float(log_likelihood_ratios([check_counts(counts)], self.elo0, self.elo1, normalized=normalized)[0])
        decision = SprtDecision.CONTINUE
        if llr >= self.upper:
            decision = SprtDecision.H1
        elif llr <= self.lower:
            decision = SprtDecision.H0
        return SprtStatus(llr, self.lower, self.upper, decision)
