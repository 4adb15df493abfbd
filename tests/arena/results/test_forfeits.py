"""Losses on time, by illegal moves and by failures, and Elo without them."""

from fukayomi.arena.results.game import Game
from fukayomi.arena.results.head_to_head import Standings
from fukayomi.arena.results.player_ratings import tally_games
from fukayomi.shogi.record import Result, Termination


def games(*results: tuple[str, Termination]) -> list[Game]:
    """Games of a and b by winner and ending, with alternating colours; each two are a pair."""
    found: list[Game] = []
    for number, (winner, ending) in enumerate(results):
        black, white = ("a", "b") if number % 2 == 0 else ("b", "a")
        result = Result.BLACK_WIN if winner == black else Result.WHITE_WIN
        found.append(Game(black, white, result, ending, str(number + 1), pair=number // 2 + 1))
    return found


RESIGN, TIME_UP = Termination.RESIGN, Termination.TIME_UP


def test_forfeits_are_counted_by_engine_and_elo_is_there_without_them() -> None:
    endings = [TIME_UP] * 8 + [Termination.ILLEGAL_MOVE] * 2 + [Termination.CRASH] * 2 + [RESIGN] * 8
    standings = Standings(["a", "b"], games(*(("a", ending) for ending in endings), *[("b", RESIGN)] * 8))
    loser = standings.players["b"]
    assert dict(loser.forfeits) == {TIME_UP: 8, Termination.ILLEGAL_MOVE: 2, Termination.CRASH: 2}
    assert loser.rests_on_forfeits
    assert not standings.players["a"].forfeits
    assert sum(loser.counts.games) == 26, "a crash says nothing about strength"
    assert sum(loser.clean_counts.games) == 16
    assert loser.clean_counts.pairs == [4, 0, 0, 0, 4]
    assert loser.clean_counts.strength().elo == 0
    assert (loser.counts.strength().elo or 0) < -50
    (meeting,) = standings.meetings()
    assert meeting.clean_counts.games == [8, 0, 8]
    assert standings.warnings() == [
        "b: 12 of 20 losses are forfeits (8 on time, 2 by illegal moves, 2 by crashes); its result says little about "
        "strength"
    ]


def test_one_forfeit_or_few_of_many_losses_are_no_warning() -> None:
    one = Standings(["a", "b"], games(("a", TIME_UP), ("b", RESIGN)))
    assert one.players["b"].forfeits.total() == 1
    assert one.warnings() == []
    few = Standings(["a", "b"], games(*[("a", TIME_UP)] * 2, *[("a", RESIGN)] * 19))
    assert few.warnings() == [], "2 of 21 are less than a tenth"
    assert Standings(["a", "b"], games(*[("a", TIME_UP)] * 2, *[("a", RESIGN)] * 18)).warnings() != []


def test_half_a_pair_is_left_over_when_the_other_half_was_a_forfeit() -> None:
    standings = Standings(["a", "b"], games(("a", TIME_UP), ("a", RESIGN), ("b", RESIGN), ("a", RESIGN)))
    assert standings.players["a"].counts.pairs == [0, 0, 1, 0, 1]
    assert standings.players["a"].clean_counts.pairs == [0, 0, 1, 0, 0]


def test_a_tally_knows_forfeits_and_the_games_without_them() -> None:
    found = tally_games(games(*[("a", TIME_UP)] * 3, ("a", Termination.CRASH), ("b", RESIGN), ("a", RESIGN)))
    assert found.games == 5
    assert found.forfeits["b"].total() == 4
    assert found.losses == {"b": 5, "a": 1}
    assert found.resting_on_forfeits == ["b"]
    assert found.clean_tally.pairings().games.sum() == 2
