"""The result of a match goes into ratings, tests and tables."""

import random

import pytest
from places import ROOT

from fukayomi import arena, read_record
from fukayomi.arena import MatchResult, MovePlayer, play_match
from fukayomi.shogi import Move, Position
from fukayomi.usi.text import Go


class RandomPlayer(MovePlayer):
    def choose(self, position: Position, go: Go) -> Move:
        return random.Random(position.key).choice(position.legal_moves)


@pytest.fixture(scope="module")
def match() -> MatchResult:
    players = {"one": RandomPlayer(), "two": RandomPlayer()}
    return play_match(players, games=6, clock="nodes=1", rules={"max_plies": 30})


def test_a_match_is_rated_and_tested_as_its_folder_is(match: MatchResult) -> None:
    assert arena.rate(match, seed=1).rows() == arena.rate(match.folder, seed=1).rows()
    assert arena.rate([match], seed=1).rows() == arena.rate(match.games, seed=1).rows()
    assert arena.sprt(match).counts == arena.sprt(match.folder).counts
    assert sum(arena.sprt(match).counts) == 3, "pairs of games"
    assert arena.first_move(match).games == 6
    assert arena.count_strategies(match).games == 6
    with pytest.raises(ValueError, match="is not a game: expected a path, a match, a record"):
        arena.rate([3])


def test_results_fit_a_screen(match: MatchResult) -> None:
    test, ratings = arena.sprt(match), arena.rate(match, seed=1)
    for result in (match, test, ratings, arena.first_move(match)):
        for line in str(result).splitlines():
            assert len(line) <= 120
        assert len(repr(result)) <= 120
    assert repr(test) == "<SprtResult: continue, LLR -0.00 (-2.94 to 2.94), +0.0 ±239.8 Elo>"
    assert repr(ratings) == "<Ratings of 2 players>"
    assert repr(match.games[0]) == "<Game one - two: DRAW, 30 moves>"
    header = str(match).splitlines()[0].split()
    assert header == ["engine", "games", "wins", "losses", "draws", "score", "elo", "black_score", "white_score"]


def test_one_game_s_strategies_are_found_in_its_file() -> None:
    game = ROOT / "examples" / "game.csa"
    found = arena.classify_strategies(game)
    assert (
        found.rows()
        == arena.classify_strategies(str(game)).rows()
        == arena.classify_strategies(read_record(game)).rows()
    )
    assert repr(arena.classify_strategies("startpos moves 7g7f")) == "<Classification: nothing>"
    with pytest.raises(FileNotFoundError):
        arena.classify_strategies("nowhere.csa")


def test_a_side_that_loses_everything_has_a_bound() -> None:
    lost = arena.elo(0, losses=30)
    assert (lost.elo, lost.elo_low, str(lost)) == (None, None, "below -357.1 Elo")
    assert str(arena.elo(30, losses=0)) == "above +357.1 Elo"
    assert str(arena.elo(0, losses=0)) == "no games"
