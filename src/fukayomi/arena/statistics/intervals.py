"""Win rates, scores and Elo with Wilson's interval; normalised Elo with its error.

Results are counts from the first player's view: three for single games (losses, draws, wins), or five for pairs of
games (one opening played with both colours) by the points of the pair: 0, 1/2, 1, 3/2, 2. The five are called
pentanomial. They say more than the three: what an opening or the first move gives in one game of a pair it takes in the
other, so pairs scatter less than games.

One method gives all intervals of scores and Elo: Wilson's score interval, with the number of coin flips that scatter as
much as the results. Without draws that is the number of games. A draw scatters less than a win or a loss, so a match
with draws is worth more coin flips; the same holds for pairs. The scatter of few results is uncertain, so PRIOR_RESULTS
results with the scatter of coin flips are mixed in. The interval of Elo is that of the score on another scale; Wilson's
interval is symmetric there.

All intervals are 95 %. Sources: E. B. Wilson, "Probable inference, the law of succession, and statistical inference"
(1927), https://doi.org/10.1080/01621459.1927.10502953; L. Kish, "Survey Sampling" (1965), section 8.2 (effective sample
size); M. Van den Bergh, "Normalized Elo".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, log10, sqrt

from fukayomi.errors import InvalidValueError

Z95 = 1.959963984540054
"""Half width of the 95 % interval of a normal variable, in standard deviations."""

NELO_PER_UNIT = 800 / log(10)
"""Normalised Elo of a mean score one standard deviation per game above 1/2."""

PRIOR_RESULTS = 20
"""Results with the scatter of coin flips that are assumed before any result."""

ABSENT = 1e-3
"""Count that stands in for 0, so that an outcome which never occurred is not impossible."""

LARGEST_SCORE = 0.999
"""Elo is infinite at a score of 1; scores are limited to this value and its complement."""


MOST_GAMES = 10**12
"""Largest count: beyond it likelihoods lose all digits."""


class CountsError(InvalidValueError):
    """Result counts that are not three or five numbers of 0 or more."""

    __module__ = "fukayomi.arena"


@dataclass(frozen=True, slots=True)
class WinRate:
    """The share of wins among decided games, and the score in which a draw is half a win."""

    wins: int
    losses: int
    draws: int
    rate: float | None
    """Wins among decided games, 0..1, draws left out; None without decided games."""
    low: float
    """Lower end of Wilson's 95 % interval of `rate`; 0 without decided games."""
    high: float
    """Upper end of the interval; 1 without decided games."""
    score: float | None
    """Points per game, 0..1, a draw as half a point; None without games."""

    def __str__(self) -> str:
        """For example ``79.17% (70.00%-86.09%)``; draws left out."""
        rate = "-" if self.rate is None else f"{self.rate:.2%}"
        return f"{rate} ({self.low:.2%}-{self.high:.2%})"


def wilson(wins: float, losses: float, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval for the probability of a win (Wilson 1927); (0, 1) without games.

    (share + z² / 2n ± z sqrt(share (1 - share) / n + z² / 4n²)) / (1 + z² / n)
    """
    games = wins + losses
    if games == 0:
        return 0.0, 1.0
    share = wins / games
    center = share + z * z / (2 * games)
    half = z * sqrt(share * (1 - share) / games + (z / (2 * games)) ** 2)
    scale = 1 + z * z / games
    # Rounding must not move an end past the share itself, which is an end where nothing or everything was won.
    return max(0.0, min(share, (center - half) / scale)), min(1.0, max(share, (center + half) / scale))


def win_rate(wins: int, *, losses: int, draws: int = 0) -> WinRate:
    """The win rate with its 95 % interval.

    >>> from fukayomi.arena import win_rate
    >>> found = win_rate(76, losses=20, draws=4)
    >>> print(found)
    79.17% (70.00%-86.09%)
    >>> found.score
    0.78

    Raises:
        CountsError: A count is negative.
    """
    losses, draws, wins = check_counts((losses, draws, wins))
    decided, games = wins + losses, wins + losses + draws
    low, high = wilson(wins, losses)
    return WinRate(
        wins=wins,
        losses=losses,
        draws=draws,
        rate=wins / decided if decided else None,
        low=low,
        high=high,
        score=(wins + draws / 2) / games if games else None,
    )


@dataclass(frozen=True, slots=True)
class Strength:
    """Strength of the first player relative to the second. Errors are half the width of the 95 % interval."""

    games: int
    """Number of games; twice the pairs for five counts."""
    pairs: int | None
    """Number of pairs; None for three counts."""
    score: float | None
    """Points per game, 0..1, a draw as half a point; None without games."""
    score_low: float
    """Lower end of the 95 % interval of `score`; 0 without games."""
    score_high: float
    """Upper end; 1 without games."""
    elo: float | None
    """Rating difference on the logistic scale, within ±1200; None without games, and if one side got all points: then
    `elo_low` or `elo_high` is a bound."""
    elo_low: float | None
    """Lower end of the 95 % interval of `elo`; None if no game was won or drawn."""
    elo_high: float | None
    """Upper end; None if no game was lost or drawn."""
    nelo: float | None
    """Normalised Elo: mean score over the standard deviation of one game; None without games."""
    nelo_error: float | None
    """None if all results are the same: then nothing shows how much results scatter."""
    los: float
    """Likelihood of superiority: probability that the first player is the stronger, 0..1; 1/2 without games."""

    @property
    def elo_error(self) -> float | None:
        """Half the width of the 95 % interval of `elo`; None if an end is open."""
        return None if self.elo_low is None or self.elo_high is None else (self.elo_high - self.elo_low) / 2

    def __str__(self) -> str:
        """For example ``+55.6 ±27.6 Elo``; ``below -306.8 Elo`` if all games were lost."""
        if self.elo_low is not None and self.elo_high is not None and self.elo is not None:
            return f"{self.elo:+.1f} ±{(self.elo_high - self.elo_low) / 2:.1f} Elo"
        if self.elo_low is not None:
            return f"above {self.elo_low:+.1f} Elo"
        return "no games" if self.elo_high is None else f"below {self.elo_high:+.1f} Elo"


def elo(
    wins: int | None = None, *, draws: int = 0, losses: int | None = None, pairs: Sequence[int] | None = None
) -> Strength:
    """The Elo difference of two players with its error, from the first player's view.

    >>> from fukayomi.arena import elo
    >>> print(elo(76, losses=20, draws=4))
    +219.9 ±79.5 Elo
    >>> print(elo(pairs=[34, 54, 63, 64, 75]))
    +55.6 ±27.6 Elo
    >>> print(elo(0, losses=30))
    below -357.1 Elo

    Args:
        wins: Games won.
        draws: Games drawn.
        losses: Games lost.
        pairs: Counts of game pairs by points (0, 1/2, 1, 3/2, 2), instead of the other three.

    Raises:
        CountsError: A count is negative or missing.
    """
    return estimate_strength(choose_counts(wins, draws, losses, pairs))


def choose_counts(wins: int | None, draws: int, losses: int | None, pairs: Sequence[int] | None) -> tuple[int, ...]:
    """Counts as this package takes them: (losses, draws, wins), or those of pairs.

    Raises:
        CountsError: Neither or both were given, or they are no counts.
    """
    if pairs is not None:
        if wins is not None or losses is not None or draws:
            raise CountsError("give either wins, draws and losses, or pairs")
        if len(pairs) != 5:
            raise CountsError(f"pairs are five counts, by the points 0, 1/2, 1, 3/2, 2, not {len(pairs)}")
        return check_counts(pairs)
    if wins is None or losses is None:
        raise CountsError("give wins and losses (and draws), or pairs")
    return check_counts((losses, draws, wins))


def estimate_strength(counts: Sequence[int]) -> Strength:
    """Score, Elo, normalised Elo and likelihood of superiority from three counts (losses, draws, wins) or five (pairs).

    Elo is the logistic transform of the score. Normalised Elo is (m - 1/2) / sqrt(v of one game) in units of
    800 / ln 10, with the mean m and the variance v of the results (Van den Bergh, "Normalized Elo"); outcomes that
    never occurred count as 1/1000 in it, which keeps it finite. Intervals and LOS are Wilson's: LOS is the normal
    probability of the distance of the score from 1/2, in standard errors of equal players.

    Raises:
        CountsError: There are not three or five counts, or one is negative.
    """
    from scipy.special import ndtr  # pyright: ignore  # here: importing SciPy takes longer than most commands

    counts = check_counts(counts)
    results, steps = sum(counts), len(counts) - 1
    games_per_result = 2 if len(counts) == 5 else 1
    pairs = results if len(counts) == 5 else None
    if results == 0:
        return Strength(0, pairs, None, 0.0, 1.0, None, None, None, None, None, 0.5)
    weights = [count or ABSENT for count in counts]
    total = sum(weights)
    mean = 0.5 + sum((i / steps - 0.5) * weight for i, weight in enumerate(weights)) / total  # exact where it is 1/2
    variance = sum((i / steps - mean) ** 2 * weight for i, weight in enumerate(weights)) / total
    score, flips = mean_score(counts), count_coin_flips(counts)
    low, high = score_interval(counts)
    return Strength(
        games=games_per_result * results,
        pairs=pairs,
        score=score,
        score_low=low,
        score_high=high,
        elo=score_to_elo(score) if 0 < score < 1 else None,
        elo_low=score_to_elo(low) if score > 0 else None,
        elo_high=score_to_elo(high) if score < 1 else None,
        nelo=(mean - 0.5) / sqrt(games_per_result * variance) * NELO_PER_UNIT,
        nelo_error=Z95 * NELO_PER_UNIT / sqrt(games_per_result * total) if max(counts) < results else None,
        los=float(ndtr((2 * score - 1) * sqrt(flips))),
    )


def score_interval(counts: Sequence[int]) -> tuple[float, float]:
    """The 95 % interval of the points per game, 0..1, from three counts or five; (0, 1) without games."""
    if not sum(counts):
        return 0.0, 1.0
    score, flips = mean_score(counts), count_coin_flips(counts)
    return wilson(score * flips, (1 - score) * flips)


def mean_score(counts: Sequence[int]) -> float:
    """Points per game, 0..1, from three counts or five; at least one is above 0."""
    return sum(i * count for i, count in enumerate(counts)) / ((len(counts) - 1) * sum(counts))


def count_coin_flips(counts: Sequence[int]) -> float:
    """The number of coin flips (games without draws, independent of each other) that scatter as much as these results.

    Args:
        counts: Losses, draws, wins; or pairs of games by points. At least one is above 0.
    """
    results, steps = sum(counts), len(counts) - 1
    games_per_result = 2 if len(counts) == 5 else 1
    score = mean_score(counts)
    if score in (0, 1):
        return float(games_per_result * results)
    variance = sum((i / steps - score) ** 2 * count for i, count in enumerate(counts)) / results
    scatter = games_per_result * variance / (score * (1 - score))
    return games_per_result * results * (PRIOR_RESULTS + results) / (PRIOR_RESULTS + scatter * results)


def check_counts(counts: Sequence[int]) -> tuple[int, ...]:
    """The counts as a tuple.

    Raises:
        CountsError: They are not three or five numbers from 0 to MOST_GAMES.
    """
    if len(counts) not in (3, 5) or min(counts) < 0:
        listed = ", ".join(map(str, counts))
        raise CountsError(
            f"expected three counts (losses, draws, wins) or five (pairs), 0 or more each, not [{listed}]"
        )
    if max(counts) > MOST_GAMES:
        raise CountsError(f"a count is at most {MOST_GAMES:,}, not {max(counts):,}")
    return tuple(counts)


def score_to_elo(score: float) -> float:
    """Elo difference at which this score is expected, within ±1200."""
    score = min(max(score, 1 - LARGEST_SCORE), LARGEST_SCORE)
    return 400 * log10(score / (1 - score))


def elo_to_score(elo: float) -> float:
    """Expected score, 0..1, at this Elo difference."""
    return 1 / (1 + 10 ** (-elo / 400))
