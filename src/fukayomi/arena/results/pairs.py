"""What two players did against each other: wins, draws and losses, and the points of pairs of games.

Which games count: those with a result that was played for. A game that an engine broke off (crash, stall, protocol) or
that somebody interrupted says something of the program or of the computer, and nothing of strength, whoever is given
the point; it is left out, and told. A game lost on time or by an illegal move was lost by play, and counts.

A pair counts when both its games count, one with each colour. A game that fails does not complete its pair, and the
other game of the pair is left out with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from fukayomi.arena.results.game import Game
from fukayomi.shogi.record import Result, Termination

FAILURES = frozenset(
    {
        Termination.CRASH,
        Termination.STALL,
        Termination.PROTOCOL,
        Termination.ERROR,
        Termination.INTERRUPTED,
        Termination.TAKEN_BACK,
    }
)


class PairError(ValueError):
    """Games that have the same number of a pair and are none."""


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """The games of two players, from the first one's view.

    Attributes:
        results: Losses, draws, wins in all games that count.
        pairs: Complete pairs by points: 0, 1/2, 1, 3/2, 2.
        drawn_pairs: Complete pairs of two draws, which are among those of one point.
        paired_results: Losses, draws, wins in the complete pairs alone.
        has_pairs: The source numbers pairs; otherwise its games can only count singly.
        failed: Games that do not count.
        single: Games that count, in pairs that are not complete or in none.
    """

    first: str
    second: str
    results: tuple[int, int, int]
    pairs: tuple[int, int, int, int, int]
    drawn_pairs: int
    paired_results: tuple[int, int, int]
    has_pairs: bool
    failed: int
    single: int


def counts_for_strength(game: Game) -> bool:
    """Whether the game's result was played for."""
    return game.result is not Result.UNKNOWN and game.termination not in FAILURES


def half_points(game: Game, player: str) -> int:
    """What the game brought this player: 0, 1 for a draw, 2 for a win."""
    if game.result is Result.DRAW:
        return 1
    return 2 if (game.result is Result.BLACK_WIN) == (game.black == player) else 0


def count_head_to_head(games: Iterable[Game], first: str, second: str) -> HeadToHead:
    """The results of two players; games of others are passed over. The games come from one match.

    Raises:
        PairError: More than two games that count have the same number of a pair, or two with the same colours.
    """
    results, pairs, paired_results = [0] * 3, [0] * 5, [0] * 3
    drawn_pairs = failed = 0
    has_pairs = False
    waiting: dict[int, Game] = {}
    complete: set[int] = set()
    for game in games:
        if {game.black, game.white} != {first, second} or game.black == game.white:
            continue
        has_pairs = has_pairs or game.pair is not None
        if not counts_for_strength(game):
            failed += 1
            continue
        points = half_points(game, first)
        results[points] += 1
        if game.pair is None:
            continue
        other = waiting.pop(game.pair, None)
        if game.pair in complete or (other is not None and other.black == game.black):
            raise PairError(f"pair {game.pair} of {first} and {second} has more games than one with each colour")
        if other is None:
            waiting[game.pair] = game
            continue
        complete.add(game.pair)
        both = (points, half_points(other, first))
        pairs[sum(both)] += 1
        drawn_pairs += both == (1, 1)
        for one in both:
            paired_results[one] += 1
    lost, drawn, won = results
    ll, ld, even, wd, ww = pairs
    return HeadToHead(
        first, second, (lost, drawn, won), (ll, ld, even, wd, ww), drawn_pairs,
        (paired_results[0], paired_results[1], paired_results[2]), has_pairs, failed,
        sum(results) - 2 * sum(pairs),
    )  # fmt: skip
