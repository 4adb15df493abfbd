"""How sure a result is: win rates with Wilson's interval, scores in Elo and normalised Elo with their errors.

Results come as counts, from the view of the first of two players: three of single games (losses, draws, wins), or
five of pairs of games (an opening played with both colours) by the points of the pair: 0, 1/2, 1, 3/2, 2. Five say
more than three: an opening that favours one side and the advantage of the first move cancel within a pair, so that
pairs scatter less than games do.

All intervals are of 95 %. Sources: E. B. Wilson, "Probable inference, the law of succession, and statistical
inference" (1927); M. Van den Bergh, "Normalized Elo".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, log, log10, sqrt

Z95 = 1.959963984540054
"""A normal variable lies within so many standard deviations in 95 % of cases."""

NELO_PER_UNIT = 800 / log(10)
"""Normalised Elo of a mean of one standard deviation a game above 1/2."""

ABSENT = 1e-3
"""What an outcome that never came counts as, so that it is not taken for impossible."""

LARGEST_SCORE = 0.999
"""Elo is infinite at a score of 1; nothing beyond this score, or below its complement, is told apart."""


class CountsError(ValueError):
    """Counts of results that are neither three nor five numbers from 0."""


@dataclass(frozen=True, slots=True)
class WinRate:
    """Wins among the decided games, and the score in which a draw is half a win.

    Attributes:
        rate: Wins among wins and losses, 0..1; None where there are none. Draws are left out.
        low: Lower end of Wilson's 95 % interval of `rate`, 0..1; 0 where there are no decided games.
        high: Its upper end; 1 where there are no decided games.
        score: Points a game with draws as half, 0..1; None without games.
    """

    wins: int
    losses: int
    draws: int
    rate: float | None
    low: float
    high: float
    score: float | None

    def __str__(self) -> str:
        """As ``79.17% (70.00%-86.09%)``; draws left out."""
        rate = "-" if self.rate is None else f"{self.rate:.2%}"
        return f"{rate} ({self.low:.2%}-{self.high:.2%})"


def wilson(wins: int, losses: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of the probability of a win, 0..1. Without games: all of it."""
    games = wins + losses
    if games == 0:
        return 0.0, 1.0
    share = wins / games
    center = share + z * z / (2 * games)
    half = z * sqrt(share * (1 - share) / games + (z / (2 * games)) ** 2)
    scale = 1 + z * z / games
    return max(0.0, (center - half) / scale), min(1.0, (center + half) / scale)


def win_rate(wins: int, losses: int, draws: int = 0) -> WinRate:
    """The win rate of so many games.

    Raises:
        CountsError: A count is negative.
    """
    losses, draws, wins = check_counts((losses, draws, wins))
    decided, games = wins + losses, wins + losses + draws
    return WinRate(
        wins, losses, draws,
        wins / decided if decided else None,
        *wilson(wins, losses),
        (wins + draws / 2) / games if games else None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Strength:
    """How much stronger the first player is, by the counts; errors are half the 95 % interval.

    Errors are None, and with them no claim is made, where every result is the same: such results show no scatter.

    Attributes:
        games: Of five counts: twice the pairs.
        pairs: None of three counts.
        score: Points a game, 0..1, with draws as half; None without games.
        elo: Difference on the logistic scale, within ±1200; None without games.
        nelo: Normalised Elo, the mean over the standard deviation of a game; None without games.
        los: Likelihood of superiority: how probable it is that the first player is the stronger, 0..1; 1/2 without
            games.
    """

    games: int
    pairs: int | None
    score: float | None
    elo: float | None
    elo_error: float | None
    nelo: float | None
    nelo_error: float | None
    los: float


def estimate_strength(counts: Sequence[int]) -> Strength:
    """Elo, normalised Elo and likelihood of superiority by three counts (losses, draws, wins) or five (of pairs).

    An outcome that never came counts as 1/1000, which keeps everything finite. `score` is exact all the same.

    Raises:
        CountsError: There are not three or five counts, or one is negative.
    """
    counts = check_counts(counts)
    results, steps = sum(counts), len(counts) - 1
    games_a_result = 2 if len(counts) == 5 else 1
    pairs = results if len(counts) == 5 else None
    if results == 0:
        return Strength(0, pairs, None, None, None, None, None, 0.5)
    weights = [count or ABSENT for count in counts]
    total = sum(weights)
    mean = sum(i / steps * weight for i, weight in enumerate(weights)) / total
    variance = sum((i / steps - mean) ** 2 * weight for i, weight in enumerate(weights)) / total
    error = sqrt(variance / total)
    scattered = max(counts) < results
    return Strength(
        games=games_a_result * results,
        pairs=pairs,
        score=sum(i * count for i, count in enumerate(counts)) / (steps * results),
        elo=score_to_elo(mean),
        elo_error=(score_to_elo(mean + Z95 * error) - score_to_elo(mean - Z95 * error)) / 2 if scattered else None,
        nelo=(mean - 0.5) / sqrt(games_a_result * variance) * NELO_PER_UNIT,
        nelo_error=Z95 * NELO_PER_UNIT / sqrt(games_a_result * total) if scattered else None,
        los=normal_cdf((mean - 0.5) / error),
    )


def check_counts(counts: Sequence[int]) -> tuple[int, ...]:
    """The counts, if they are three or five numbers from 0.

    Raises:
        CountsError: They are not.
    """
    if len(counts) not in (3, 5) or min(counts) < 0:
        listed = ", ".join(map(str, counts))
        raise CountsError(f"three counts (losses, draws, wins) or five (of pairs) from 0 are needed, not [{listed}]")
    return tuple(counts)


def score_to_elo(score: float) -> float:
    """Elo difference at which this score is expected; within ±1200."""
    score = min(max(score, 1 - LARGEST_SCORE), LARGEST_SCORE)
    return -400 * log10(1 / score - 1)


def elo_to_score(elo: float) -> float:
    """Score, 0..1, that is expected at this Elo difference."""
    return 1 / (1 + 10 ** (-elo / 400))


def normal_cdf(x: float) -> float:
    """Probability that a standard normal variable is below `x`."""
    return erfc(-x / sqrt(2)) / 2
