"""What the first move is worth (先手勝率): results by colour, for each two players, with a draw as half a win.

Engines that do not vary play the same game again and again, and one decided game then counts many times. So games of
identical moves can be left out: of games with the same players in the same colours, the same start and the same moves
to the end, the first one stays, whatever the others' results. Games whose moves the source does not tell, as results
in a PGN, all stay.

Games that an engine or somebody broke off count nowhere, as in `fukayomi.arena.results.pairs`.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fukayomi.arena.results.game import Game
from fukayomi.arena.results.pairs import counts_for_strength, half_points
from fukayomi.arena.results.score import MatchScore


@dataclass(slots=True)
class Pairing:
    """The games of two players, or of one against itself.

    Attributes:
        first_as_black: From the first player's view, where it was Black.
        first_as_white: Where it was White. Empty if the player met itself.
    """

    first: str
    second: str
    first_as_black: MatchScore = field(default_factory=MatchScore)
    first_as_white: MatchScore = field(default_factory=MatchScore)

    @property
    def total(self) -> MatchScore:
        """From the first player's view."""
        return self.first_as_black + self.first_as_white

    @property
    def black(self) -> MatchScore:
        """From Black's view, whoever it was."""
        return self.first_as_black + self.first_as_white.mirrored

    def as_black(self, player: str) -> MatchScore:
        """The games in which one of the two was Black, from its view."""
        return self.first_as_black if player == self.first else self.first_as_white.mirrored

    def as_white(self, player: str) -> MatchScore:
        """The games in which one of the two was White, from its view."""
        return self.first_as_white if player == self.first else self.first_as_black.mirrored

    def lines(self) -> Iterator[str]:
        """The six lines of a pairing: wins, losses, draws and the rate."""
        yield f"{self.first} vs {self.second}: {self.black if self.first == self.second else self.total}"
        yield f"Black vs White: {self.black}"
        if self.first == self.second:
            return
        for player in (self.first, self.second):
            yield f"{player} playing Black: {self.as_black(player)}"
            yield f"{player} playing White: {self.as_white(player)}"


@dataclass(frozen=True, slots=True)
class OpponentMean:
    """Rates of a player's pairings, each opponent counted once however many games there were.

    Attributes:
        black: Of Black in the pairings of this player, whoever it was, 0..1; None where no pairing has such games.
        as_black: Of this player as Black.
        as_white: Of this player as White.
    """

    player: str
    opponents: int
    black: float | None
    as_black: float | None
    as_white: float | None

    def __str__(self) -> str:
        rates = (("Black vs White", self.black), ("playing Black", self.as_black), ("playing White", self.as_white))
        told = ", ".join(f"{name} {'-' if rate is None else f'{rate:.2%}'}" for name, rate in rates)
        return f"{self.player}, mean over {self.opponents} opponents: {told}"


@dataclass(slots=True)
class FirstMoveStatistics:
    """Results by colour.

    Attributes:
        pairings: In the order in which the players met.
        games: How many games the pairings count.
        failed: Games that were broken off or have no result, and count nowhere.
        identical: Games with the same players, colours, start and moves as an earlier one; left out if `distinct`.
        without_moves: Games that count and whose moves are not known, so that they may be identical unseen.
        distinct: Identical games are left out.
    """

    distinct: bool
    pairings: list[Pairing] = field(default_factory=list[Pairing])
    games: int = 0
    failed: int = 0
    identical: int = 0
    without_moves: int = 0

    @property
    def black(self) -> MatchScore:
        """All games, from Black's view."""
        return sum((pairing.black for pairing in self.pairings), MatchScore())

    def means(self, *, as_printed: bool = False) -> list[OpponentMean]:
        """The mean over the opponents, for each player that met several.

        Args:
            as_printed: Of the rates as they are printed, to a tenth of a percent, so that a reader comes to the same.
        """
        found: list[OpponentMean] = []
        for player in dict.fromkeys(name for pairing in self.pairings for name in (pairing.first, pairing.second)):
            met = [p for p in self.pairings if player in (p.first, p.second) and p.first != p.second]
            if len(met) < 2:
                continue
            groups = [p.black for p in met], [p.as_black(player) for p in met], [p.as_white(player) for p in met]
            found.append(OpponentMean(player, len(met), *(_mean(scores, as_printed) for scores in groups)))
        return found


def measure_first_move(games: Iterable[Game], *, distinct: bool = False) -> FirstMoveStatistics:
    """Counts results by colour for each two players.

    Args:
        games: Of any number of players.
        distinct: Leave out games whose moves are those of an earlier one.
    """
    found = FirstMoveStatistics(distinct)
    pairings: dict[tuple[str, str], Pairing] = {}
    seen: set[bytes] = set()
    for game in games:
        if not counts_for_strength(game):
            found.failed += 1
            continue
        identity = _identity(game)
        if identity in seen:
            found.identical += 1
            if distinct:
                continue
        if identity is None:
            found.without_moves += 1
        else:
            seen.add(identity)
        found.games += 1
        pairing = pairings.get((game.white, game.black)) or pairings.setdefault(
            (game.black, game.white), Pairing(game.black, game.white)
        )
        score = pairing.first_as_black if game.black == pairing.first else pairing.first_as_white
        score.add(half_points(game, pairing.first))
    found.pairings = list(pairings.values())
    return found


def _identity(game: Game) -> bytes | None:
    """The same for games that are identical; None if the moves are not known."""
    if game.moves is None:
        return None
    moves = " ".join(move.usi() for move in game.moves)
    return hashlib.blake2b(
        "\n".join((game.black, game.white, game.initial_sfen, moves)).encode(), digest_size=16
    ).digest()


def _mean(scores: list[MatchScore], as_printed: bool) -> float | None:
    rates = [score.rate for score in scores if score.rate is not None]
    if as_printed:
        rates = [round(rate * 100, 1) / 100 for rate in rates]
    return sum(rates) / len(rates) if rates else None
