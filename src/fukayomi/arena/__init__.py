"""Comparing engines: matches, ratings, sequential tests, and strategies of games.

    >>> import random
    >>> from fukayomi import arena
    >>> class RandomPlayer(arena.MovePlayer):
    ...     def choose(self, position, go):
    ...         return random.choice(position.legal_moves)
    >>> result = arena.play_match(
    ...     {"one": RandomPlayer(), "two": RandomPlayer()}, games=2, clock="nodes=1", rules={"max_plies": 10}
    ... )
    >>> [(game.black, game.white) for game in result.games]
    [('one', 'two'), ('two', 'one')]

Engines are USI engines (``"fukayomi-usi"``), `fukayomi.Engine`, or any `MovePlayer`.

    >>> print(arena.win_rate(76, losses=20, draws=4))
    79.17% (70.00%-86.09%)
    >>> arena.sprt(pairs=[5, 20, 60, 25, 10], elo0=0, elo1=5).decision.value
    'continue'
    >>> games = [("new", "old", "1-0")] * 5 + [("old", "new", "1-0")] * 2 + [("old", "new", "1/2-1/2")] * 2
    >>> print(arena.rate(games, simulations=0))
    player  rating  error  points  played  cfs  wins  draws  losses  bound  pool
    new      60.73              6       9          5      2       2            1
    old     -60.73              3       9          2      2       5            1

Games come from paths (match folders, PGN, records), as objects, as (black, white, result) tuples or from a DataFrame;
`fukayomi.arena.results.sources.Games` has the details. Results are tables: print them, or call ``to_pandas()``.
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.arena.game.player import MovePlayer
    from fukayomi.arena.match.play import play_match
    from fukayomi.arena.match.state import MatchListener, MatchResult, MatchState
    from fukayomi.arena.positions.balanced_set import BalancedSet, balanced_positions
    from fukayomi.arena.ratings.rating import Ratings
    from fukayomi.arena.results.first_move import FirstMoveResults, first_move
    from fukayomi.arena.results.head_to_head import PairError, PlayersError
    from fukayomi.arena.results.player_ratings import rate
    from fukayomi.arena.results.sequential_test import SprtResult, sprt
    from fukayomi.arena.statistics.intervals import CountsError, Strength, WinRate, elo, win_rate
    from fukayomi.arena.statistics.sprt import SprtError
    from fukayomi.arena.strategy.counts import StrategyCounts, classify_strategies, count_strategies
    from fukayomi.arena.strategy.matcher import Classification
    from fukayomi.arena.strategy.pictures import plot_shares, plot_years

__all__ = [
    "BalancedSet",
    "Classification",
    "CountsError",
    "FirstMoveResults",
    "MatchListener",
    "MatchResult",
    "MatchState",
    "MovePlayer",
    "PairError",
    "PlayersError",
    "Ratings",
    "SprtError",
    "SprtResult",
    "StrategyCounts",
    "Strength",
    "WinRate",
    "balanced_positions",
    "classify_strategies",
    "count_strategies",
    "elo",
    "first_move",
    "play_match",
    "plot_shares",
    "plot_years",
    "rate",
    "sprt",
    "win_rate",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".game.player": ("MovePlayer",),
        ".match.play": ("play_match",),
        ".match.state": ("MatchListener", "MatchResult", "MatchState"),
        ".positions.balanced_set": ("BalancedSet", "balanced_positions"),
        ".ratings.rating": ("Ratings",),
        ".results.first_move": ("FirstMoveResults", "first_move"),
        ".results.head_to_head": ("PairError", "PlayersError"),
        ".results.player_ratings": ("rate",),
        ".results.sequential_test": ("SprtResult", "sprt"),
        ".statistics.intervals": ("CountsError", "Strength", "WinRate", "elo", "win_rate"),
        ".statistics.sprt": ("SprtError",),
        ".strategy.counts": ("StrategyCounts", "classify_strategies", "count_strategies"),
        ".strategy.matcher": ("Classification",),
        ".strategy.pictures": ("plot_shares", "plot_years"),
    },
)
