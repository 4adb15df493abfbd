"""Figures that tripwires compare: a few of each chunk, which the manifest keeps, so that no chunk is read twice."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from fukayomi import _native
from fukayomi._native import EVAL_SCALE
from fukayomi.data.formats.format import position_keys
from fukayomi.data.formats.hcpe import RESULT_BITS
from fukayomi.shogi import Move

_Ints = NDArray[np.integer[Any]]
UNIQUE_GAMES = 16
"""Games of a group in which positions are compared; fixed, so that workers with small chunks are comparable."""
_ROUNDING = 1e-6


class Moments(BaseModel):
    """A number that each game has: how many games, its sum, and the sum of its squares."""

    model_config = ConfigDict(frozen=True)

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Self:
        """The moments of [N] values."""
        return cls(count=len(values), total=float(values.sum()), squares=float((values**2).sum()))

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(
            count=self.count + other.count, total=self.total + other.total, squares=self.squares + other.squares
        )

    @property
    def mean(self) -> float:
        """Their mean; NaN without values."""
        return self.total / self.count if self.count else float("nan")

    @property
    def variance(self) -> float:
        """Variance of a value, unbiased; NaN for fewer than two."""
        if self.count < 2:
            return float("nan")
        rounding = (_ROUNDING * self.mean) ** 2  # what is lost of the squares of equal values
        return max(rounding, (self.squares - self.total**2 / self.count) / (self.count - 1))


class ChunkStatistics(BaseModel):
    """Numbers of the games of a chunk, or of several together. Positions are those with targets."""

    model_config = ConfigDict(frozen=True)

    games: int = 0
    draws: int = 0
    length: Moments = Moments()
    """Moves of a game with a winner. Draws, which are rare and of another kind, would spoil the tests."""
    brier: Moments = Moments()
    """Mean of (win probability - result)^2 over the positions of a game with a winner (Brier score)."""
    entropy: Moments = Moments()
    """Mean entropy of the policy targets of a game, nats."""
    visits: Moments = Moments()
    """Mean logarithm of the visits of a game's positions."""
    played: Moments = Moments()
    """Mean share of the visits that the move played has."""
    unique: Moments = Moments()
    """Share of different positions among those of `UNIQUE_GAMES` games in a row."""
    first_moves: dict[str, int] = {}
    """Number of games that begin with each move (USI)."""

    def __add__(self, other: "ChunkStatistics") -> "ChunkStatistics":
        counts = dict(self.first_moves)
        for move, count in other.first_moves.items():
            counts[move] = counts.get(move, 0) + count
        return ChunkStatistics(
            games=self.games + other.games, draws=self.draws + other.draws, length=self.length + other.length,
            brier=self.brier + other.brier, entropy=self.entropy + other.entropy, visits=self.visits + other.visits,
            played=self.played + other.played, unique=self.unique + other.unique, first_moves=counts,
        )  # fmt: skip


def total(statistics: Iterable[ChunkStatistics]) -> ChunkStatistics:
    """The numbers of several chunks together."""
    return sum(statistics, ChunkStatistics())


def statistics_of(games: _native.DecodedGames) -> ChunkStatistics:
    """Compute the numbers of a chunk's games."""
    plies = games.plies.astype(np.int64)
    lengths = np.diff(plies)
    results = games.results & RESULT_BITS
    game_of = np.repeat(np.arange(len(lengths)), lengths)
    counts = np.diff(games.candidates.astype(np.int64))
    has_targets = counts > 0
    owners = game_of[has_targets]
    is_played = games.candidate_moves == np.repeat(games.moves, counts)
    visits, entropy, played = _policies(games.candidate_visits, is_played, counts[has_targets])
    errors = _value_errors(games.hcps[:, 0] & 1, games.evals, results[game_of])
    is_decided = has_targets & (results[game_of] > 0)
    moves, often = np.unique(games.moves[plies[:-1][lengths > 0]], return_counts=True)
    return ChunkStatistics(
        games=len(lengths),
        draws=int((results == 0).sum()),
        length=Moments.of(lengths[results > 0].astype(np.float64)),
        brier=_by_game(errors[is_decided], game_of[is_decided]),
        entropy=_by_game(entropy, owners),
        visits=_by_game(np.log(visits), owners),
        played=_by_game(played, owners),
        unique=Moments.of(_unique_shares(games.hcps[has_targets], owners, len(lengths))),
        first_moves={Move.from_raw(int(move)).usi(): int(count) for move, count in zip(moves, often, strict=True)},
    )


def _policies(
    visits: NDArray[np.uint16], is_played: NDArray[np.bool_], counts: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Of each position with candidates: all visits, their entropy, and the share of the move played.

    Args:
        visits: Of each candidate [C].
        is_played: Whether it is the move played [C].
        counts: Candidates of each position [N].
    """
    if not len(counts):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    weights = visits.astype(np.float64)
    sums = np.maximum(np.add.reduceat(weights, begins), 1.0)
    shares = weights / np.repeat(sums, counts)
    terms = shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return sums, -np.add.reduceat(terms, begins), np.add.reduceat(shares * is_played, begins)


def _value_errors(turns: _Ints, evals: _Ints, results: _Ints) -> NDArray[Any]:
    """(p - z)^2 of each move: p the win probability of the side to move, z its result (1 or 0)."""
    chances = 1 / (1 + np.exp(-evals.astype(np.float64) / EVAL_SCALE))
    return (chances - (results == turns + 1)) ** 2


def _by_game(values: NDArray[np.float64], owners: NDArray[np.int64]) -> Moments:
    """Moments of the means of games: values [N] of positions, and the game of each."""
    if not len(values):
        return Moments()
    counts = np.bincount(owners)
    return Moments.of(np.bincount(owners, values)[counts > 0] / counts[counts > 0])


def _unique_shares(hcps: NDArray[np.uint8], owners: NDArray[np.int64], games: int) -> NDArray[np.float64]:
    """The share of different positions of each whole group of games."""
    groups = owners // UNIQUE_GAMES
    whole = groups < games // UNIQUE_GAMES
    if not whole.any():
        return np.zeros(0)
    keys = position_keys(np.ascontiguousarray(hcps[whole]))
    groups = groups[whole]
    order = np.lexsort((keys, groups))
    keys, groups = keys[order], groups[order]
    is_new = np.concatenate([[True], (keys[1:] != keys[:-1]) | (groups[1:] != groups[:-1])])
    counts = np.bincount(groups)
    return np.bincount(groups, is_new)[counts > 0] / counts[counts > 0]
