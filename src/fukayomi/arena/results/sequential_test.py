"""The sequential test of a match, from counts or from games."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fukayomi.arena.results.head_to_head import HeadToHead, count_head_to_head, find_players
from fukayomi.arena.results.sources import Games, iterate_games
from fukayomi.arena.statistics.intervals import (
    CountsError,
    Strength,
    WinRate,
    choose_counts,
    estimate_strength,
    win_rate,
)
from fukayomi.arena.statistics.sequential_elo import SequentialElo, estimate_sequential_elo
from fukayomi.arena.statistics.sprt import SprtDecision, SprtModel, SprtSettings, SprtStatus
from fukayomi.listener import SILENT, Listener
from fukayomi.tabular import Tabular

_DEFAULTS = SprtSettings()
_STRENGTH = (
    "games", "score", "score_low", "score_high", "elo", "elo_low", "elo_high", "elo_error", "nelo", "nelo_error", "los",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class SprtResult(Tabular):
    """A sequential test after some results, and the strength they show."""

    settings: SprtSettings
    counts: tuple[int, ...]
    """Losses, draws, wins of the first player; or pairs of games by its points (0, 1/2, 1, 3/2, 2)."""
    status: SprtStatus
    strength: Strength
    """Elo and normalised Elo with errors, for a match of fixed length."""
    sequential_elo: SequentialElo | None
    """Elo corrected for a match that the test itself stopped; None if all results are the same."""
    win_rate: WinRate | None
    """Wins among decided games; None if only counts of pairs are known."""
    head_to_head: HeadToHead | None
    """The counted games; None if counts were given."""

    @property
    def llr(self) -> float:
        """Log-likelihood ratio; 0 without games."""
        return self.status.llr

    @property
    def decision(self) -> SprtDecision:
        """H0, H1 or CONTINUE."""
        return self.status.decision

    def __repr__(self) -> str:
        status = self.status
        llr = f"LLR {status.llr:.2f} ({status.lower:.2f} to {status.upper:.2f})"
        return f"<SprtResult: {self.decision.value}, {llr}, {self.strength}>"

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """One row: the test and the strength."""
        strength = self.strength
        return [
            asdict(self.status)
            | {"decision": self.decision.value, "elo0": self.settings.elo0, "elo1": self.settings.elo1}
            | {name: getattr(strength, name) for name in _STRENGTH}
        ]


def sprt(
    games: Games = None,
    *,
    players: tuple[str, str] | None = None,
    wins: int | None = None,
    draws: int = 0,
    losses: int | None = None,
    pairs: Sequence[int] | None = None,
    elo0: float = _DEFAULTS.elo0,
    elo1: float = _DEFAULTS.elo1,
    alpha: float = _DEFAULTS.alpha,
    beta: float = _DEFAULTS.beta,
    model: SprtModel | str = _DEFAULTS.model,
    listener: Listener = SILENT,
) -> SprtResult:
    """Test sequentially whether the first player is stronger than the second, and estimate by how much.

    >>> from fukayomi.arena import sprt
    >>> result = sprt(pairs=[34, 54, 63, 64, 75], elo0=0, elo1=5)
    >>> round(result.llr, 2), result.decision.value
    (1.3, 'continue')
    >>> print(result.strength)
    +55.6 ±27.6 Elo
    >>> sprt(wins=76, draws=4, losses=20, elo1=50).decision.value
    'H1'

    Stop a match at the first decision. Pairs (a ``match.db`` or a match folder has them) need fewer games than single
    games; see `fukayomi.arena.statistics.sprt` for the test and its sources.

    Args:
        games: Games to count, from a path or in memory; see `fukayomi.arena.results.sources.Games`.
        players: The first player and its opponent; by default the only two players of the games.
        wins: Games won by the first player, instead of `games`.
        draws: Games drawn.
        losses: Games lost.
        pairs: Pairs of games by the first player's points (0, 1/2, 1, 3/2, 2), instead of single games.
        elo0: Advantage of the first player under H0.
        elo1: Advantage under H1.
        alpha: Probability of accepting H1 when H0 is true.
        beta: Probability of accepting H0 when H1 is true.
        model: Scale of `elo0` and `elo1`: "normalized" or "logistic".
        listener: Gets a note for each file or game that cannot be read.

    Raises:
        SprtError: The hypotheses or error rates do not describe a test.
        CountsError: Counts are missing, negative, or given beside games.
        PlayersError: A player has no games, or the players must be chosen.
        PairError: Games with the same pair number do not form a pair.
    """
    settings = SprtSettings(elo0=elo0, elo1=elo1, alpha=alpha, beta=beta, model=SprtModel(model))
    if games is None:
        counts = choose_counts(wins, draws, losses, pairs)
        return evaluate_sprt(counts, settings)
    if pairs is not None or wins is not None or losses is not None or draws:
        raise CountsError("give either games or counts")
    read = list(iterate_games(games, listener=listener))
    found = count_head_to_head(read, *find_players(read, players))
    return evaluate_sprt(found.counts, settings, found)


def evaluate_sprt(counts: Sequence[int], settings: SprtSettings, found: HeadToHead | None = None) -> SprtResult:
    """The test and the strength, from counts.

    Args:
        counts: Losses, draws, wins; or pairs of games by points.
        settings: The test.
        found: The games behind the counts.

    Raises:
        CountsError: There are not three or five counts, or one is negative.
    """
    single = counts if len(counts) == 3 else found.paired_results if found else None
    return SprtResult(
        settings=settings,
        counts=tuple(counts),
        status=settings.evaluate(counts),
        strength=estimate_strength(counts),
        sequential_elo=estimate_sequential_elo(counts, settings),
        win_rate=win_rate(single[2], losses=single[0], draws=single[1]) if single else None,
        head_to_head=found,
    )
