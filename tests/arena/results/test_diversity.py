"""Distinct games and positions, and when it is said that engines differ."""

import pytest
from match_samples import random_moves

from fukayomi.arena.results.diversity import measure_diversity
from fukayomi.arena.results.game import Game
from fukayomi.shogi import Move, Position
from fukayomi.shogi.record import Result


def game(black: str, white: str, seed: int, plies: int = 40) -> Game:
    return Game(black, white, Result.DRAW, moves=tuple(random_moves(seed, plies).moves))


def test_games_and_positions_are_counted() -> None:
    games = [game("a", "b", 1), game("b", "a", 1), game("a", "b", 2), game("a", "b", 3, plies=20)]
    found = measure_diversity(games)
    assert (found.total.games, found.total.distinct_games) == (4, 3)
    assert (found.total.reached, found.total.distinct_positions) == (3, 2)
    assert found.by_player == {"a": found.total, "b": found.total}
    assert found.ply == 32
    assert any("1 of 4 games repeats another" in warning for warning in found.warnings)


def test_positions_are_the_same_however_they_were_reached() -> None:
    def line(*moves: str) -> Game:
        return Game("a", "b", Result.DRAW, moves=tuple(map(Move.from_usi, moves)))

    one, other = line("7g7f", "3c3d", "2g2f", "8c8d"), line("2g2f", "8c8d", "7g7f", "3c3d")
    assert measure_diversity([one, other], ply=4).total.distinct_positions == 1
    assert measure_diversity([one, other], ply=4).total.distinct_games == 2
    assert measure_diversity([one, other], ply=2).total.distinct_positions == 2


def test_another_start_is_another_game() -> None:
    later = Position()
    later.push_usi("7g7f")
    moves = tuple(random_moves(5, 9).moves)
    games = [
        Game("a", "b", Result.DRAW, moves=()),
        Game("a", "b", Result.DRAW, moves=(), initial_sfen=later.sfen()),
        Game("a", "b", Result.DRAW, moves=moves),
        Game("a", "b", Result.DRAW, moves=None),
    ]
    found = measure_diversity(games)
    assert (found.total.games, found.total.distinct_games, found.total.share) == (3, 3, None)


def test_an_engine_that_repeats_itself_is_named() -> None:
    lively = [game(one, other, seed) for one, other, seed in (("a", "b", n) for n in range(40))]
    stiff = [game("c", one, 1000 + n % 10) for n in range(40) for one in ("a", "b")]
    found = measure_diversity(lively + stiff)
    assert found.by_player["c"].share == pytest.approx(0.25)
    assert found.by_player["a"].share == pytest.approx(50 / 80)
    assert [warning.split(" (")[0] for warning in found.warnings[1:]] == [
        "c plays less varied games than a", "c plays less varied games than b"
    ]  # fmt: skip
    assert "25% and 62% distinct positions at ply 32" in found.warnings[1]


def test_who_has_more_opponents_is_not_less_varied() -> None:
    """In a gauntlet of engines that always play alike the first one has the same games many times."""
    games = [game("hero", opponent, seed) for opponent in "abcdef" for seed in range(50)]
    found = measure_diversity(games)
    assert found.by_player["hero"].share == found.by_player["a"].share == 1.0
    assert not any("varied" in warning for warning in found.warnings)


def test_small_samples_are_no_proof() -> None:
    games = [game("a", "b", 1), game("a", "b", 2), game("c", "d", 3), game("c", "d", 3)]
    assert not any("varied" in warning for warning in measure_diversity(games).warnings)
