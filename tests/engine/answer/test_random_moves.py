"""Moves chosen at random: which may be chosen, how often, and the same ones with the same seed."""

from collections import Counter
from collections.abc import Iterable

import pytest

from fukayomi import Engine, Network, Position
from fukayomi._native import SearchLine
from fukayomi.engine.answer.move_choice import RandomMoves, RandomRule, random_rule
from fukayomi.engine.search import Progress, Reason, SearchResult
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import Move
from fukayomi.usi.text import Go

SEED_002 = UsiSettings(random_ply=32, random_cutoff=25, random_cutoff_drop=1)
"""What dlshogi's author measures with: 2.5 % up to move 32, 0.1 % less with each move."""


def found(lines: Iterable[tuple[str, int, float, int | None]]) -> SearchResult:
    """The result of a search with these moves, visits, win rates and mates, the best first."""
    made = tuple(
        SearchLine([Move.from_usi(move), Move.from_usi("3c3d")], visits, 0.1, winrate, mate)
        for move, visits, winrate, mate in lines
    )
    return SearchResult(made[0].move, made[0].pv[1], Progress(made, 100, 100, 0.1, 5, 0), Reason.LIMIT)


def counted(result: SearchResult, settings: UsiSettings, games: int = 2000) -> Counter[str]:
    """How often each move is chosen in so many games, at the start position."""
    moves = RandomMoves()
    chosen: Counter[str] = Counter()
    for _ in range(games):
        answer = moves.choose(result, Position(), settings)
        assert answer.best is not None
        assert answer.best == answer.lines[0].move
        assert answer.ponder == answer.lines[0].pv[1]
        assert sorted(line.move.usi() for line in answer.lines) == sorted(line.move.usi() for line in result.lines)
        chosen[answer.best.usi()] += 1
    return chosen


def test_the_rule_of_each_move() -> None:
    rules = {ply: random_rule(SEED_002, ply) for ply in (1, 2, 3, 31, 32, 33)}
    assert rules[1] == rules[2] == RandomRule(10.0, 0.025)
    assert rules[3] == RandomRule(9.0, 0.024)
    assert rules[31] == rules[32] == RandomRule(0.1, 0.010), "the temperature has a floor"
    assert rules[33] is None
    later = UsiSettings(random_ply=2, random2_ply=5)
    assert random_rule(later, 2) == RandomRule(10.0, 0.015)
    assert random_rule(later, 3) == random_rule(later, 5) == RandomRule(10.0, 0.03, 0.04, 0.75)
    assert random_rule(later, 6) is None
    steep = UsiSettings(random_ply=9, random_cutoff_drop=10)
    assert random_rule(steep, 9) == RandomRule(6.0, 0.0)


CANDIDATES = found(
    [("7g7f", 64, 0.55, None), ("2g2f", 16, 0.54, None), ("1g1f", 9, 0.52, None), ("5g5f", 0, 0.55, None)]
)


@pytest.mark.parametrize(("temperature", "share"), [(1000, 0.8), (2000, 2 / 3), (10_000, 0.535)])
def test_moves_within_the_cutoff_are_chosen_by_their_visits(temperature: int, share: float) -> None:
    settings = UsiSettings(random_ply=1, random_temperature=temperature, random_cutoff=15, random_seed=1)
    chosen = counted(CANDIDATES, settings)
    assert set(chosen) == {"7g7f", "2g2f"}, "1g1f is 3 % worse, 5g5f was never tried"
    assert chosen["7g7f"] / 2000 == pytest.approx(share, abs=0.04)


def test_a_worse_looking_best_move_still_bounds_the_rest() -> None:
    lines = found([("7g7f", 64, 0.50, None), ("2g2f", 60, 0.60, None)])
    assert set(counted(lines, UsiSettings(random_ply=1, random_cutoff=0, random_seed=1))) == {"7g7f", "2g2f"}


def test_mates_are_played_and_not_walked_into() -> None:
    settings = UsiSettings(random_ply=1, random_cutoff=1000, random_seed=1)
    won = found([("7g7f", 64, 1.0, 3), ("2g2f", 60, 0.9, None)])
    assert set(counted(won, settings, 50)) == {"7g7f"}
    mated = found([("7g7f", 64, 0.1, None), ("2g2f", 60, 0.0, -2)])
    assert set(counted(mated, settings, 50)) == {"7g7f"}
    lost = found([("7g7f", 64, 0.0, -4), ("2g2f", 60, 0.0, -2)])
    assert set(counted(lost, settings, 50)) == {"7g7f"}, "the longest resistance"


def test_later_moves_are_random_now_and_then_and_not_in_a_won_game() -> None:
    settings = UsiSettings(random2_ply=1, random2_probability=100, random2_temperature=1000, random_seed=1)
    chosen = counted(CANDIDATES, settings)
    assert chosen["7g7f"] / 2000 == pytest.approx(1 - 0.1 * (25 / 89), abs=0.02)
    won = found([("7g7f", 64, 0.76, None), ("2g2f", 60, 0.75, None)])
    assert set(counted(won, settings, 50)) == {"7g7f"}


def games_of(settings: UsiSettings, games: int) -> list[str]:
    """The first eight moves of games that the engine plays against itself."""
    played: list[str] = []
    # With a cache, what it knows from one game would change how batches fill in the next.
    with Network("<hash>", cache_mb=0) as network, Engine(network, settings=settings) as engine:
        for _ in range(games):
            position = Position()
            engine.new_game()
            for _ in range(8):
                answer = engine.choose(position, Go(nodes=60)).bestmove
                assert answer is not None
                position.push_usi(answer.move)
                if answer.ponder is not None:
                    assert position.is_legal(Move.from_usi(answer.ponder))
            played.append(position.usi())
    return played


def test_games_differ_and_a_seed_repeats_them() -> None:
    settings = UsiSettings(hash_mb=16, random_ply=8, random_cutoff=500, random_seed=7)
    games = games_of(settings, 4)
    assert len(set(games)) == 4
    assert games_of(settings, 4) == games
    assert len(set(games_of(UsiSettings(hash_mb=16), 2))) == 1
