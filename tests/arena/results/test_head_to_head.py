"""Pairs of games: only complete pairs count, and a failed game completes none."""

from collections.abc import Iterable

import pytest

from fukayomi.arena.results.game import Game
from fukayomi.arena.results.head_to_head import HeadToHead, PairError, count_head_to_head
from fukayomi.shogi.record import Result, Termination


def game(black: str, white: str, result: Result, pair: int | None, end: Termination = Termination.RESIGN) -> Game:
    return Game(black, white, result, end, pair=pair)


def pair(number: int, first: Result, second: Result, *ends: Termination) -> Iterable[Game]:
    """Two games of a and b; the results are of the game with a as Black, and of the other."""
    ends = ends or (Termination.RESIGN, Termination.RESIGN)
    yield game("a", "b", first, number, ends[0])
    yield game("b", "a", second, number, ends[1])


BLACK, WHITE, DRAW, UNKNOWN = Result.BLACK_WIN, Result.WHITE_WIN, Result.DRAW, Result.UNKNOWN


def test_pairs_by_points() -> None:
    played = [
        *pair(0, WHITE, BLACK),  # LL
        *pair(1, DRAW, BLACK),  # DL
        *pair(2, BLACK, BLACK),  # WL: Black won both
        *pair(3, DRAW, DRAW),
        *pair(4, WHITE, WHITE),  # LW
        *pair(5, BLACK, DRAW),  # WD
        *pair(6, BLACK, WHITE),  # WW
        *pair(7, BLACK, WHITE),
    ]
    assert count_head_to_head(played, "a", "b") == HeadToHead(
        "a", "b", results=(5, 4, 7), pairs=(1, 1, 3, 1, 2), drawn_pairs=1, paired_results=(5, 4, 7), has_pairs=True,
        failed=0, single=0,
    )  # fmt: skip
    other = count_head_to_head(reversed(played), "b", "a")
    assert (other.results, other.pairs) == ((7, 4, 5), (2, 1, 3, 1, 1))


@pytest.mark.parametrize(
    "end", [Termination.CRASH, Termination.STALL, Termination.PROTOCOL, Termination.ERROR, Termination.INTERRUPTED]
)
def test_a_failed_game_does_not_complete_its_pair(end: Termination) -> None:
    played = [*pair(0, BLACK, WHITE, Termination.RESIGN, end), *pair(1, BLACK, WHITE, end, Termination.RESIGN)]
    found = count_head_to_head([*played, *pair(2, BLACK, BLACK)], "a", "b")
    assert found.pairs == (0, 0, 1, 0, 0)
    assert found.paired_results == (1, 0, 1)
    assert found.results == (1, 0, 3)
    assert (found.failed, found.single) == (2, 2)


def test_a_failed_game_that_was_played_again_does() -> None:
    played = [*pair(0, BLACK, WHITE, Termination.CRASH, Termination.RESIGN), game("a", "b", WHITE, 0)]
    found = count_head_to_head(played, "a", "b")
    assert (found.pairs, found.failed, found.single) == ((0, 0, 1, 0, 0), 1, 0)


@pytest.mark.parametrize("end", [Termination.TIME_UP, Termination.ILLEGAL_MOVE, Termination.ADJUDICATION])
def test_losses_on_time_and_by_fouls_are_losses(end: Termination) -> None:
    assert count_head_to_head(pair(0, BLACK, WHITE, end, end), "a", "b").pairs == (0, 0, 0, 0, 1)


def test_half_a_pair_waits() -> None:
    found = count_head_to_head([*pair(0, BLACK, WHITE), game("a", "b", BLACK, 1), game("b", "a", UNKNOWN, 2)], "a", "b")
    assert (found.pairs, found.single, found.failed) == ((0, 0, 0, 0, 1), 1, 1)


def test_games_without_pairs_and_of_others() -> None:
    others = [game("a", "c", BLACK, 0), game("c", "b", BLACK, 0), game("a", "a", BLACK, 0)]
    found = count_head_to_head([*others, game("a", "b", BLACK, None), game("b", "a", DRAW, None)], "a", "b")
    assert not found.has_pairs
    assert (found.results, found.pairs) == ((0, 1, 1), (0,) * 5)
    assert count_head_to_head([], "a", "b").results == (0, 0, 0)


@pytest.mark.parametrize(
    "more", [[game("a", "b", BLACK, 3)], [*pair(3, BLACK, BLACK)]], ids=["a third game", "a second match"]
)
def test_numbers_that_are_used_twice_are_an_error(more: list[Game]) -> None:
    with pytest.raises(PairError, match="pair 3 of a and b has more games"):
        count_head_to_head([*pair(3, BLACK, WHITE), *more], "a", "b")
    with pytest.raises(PairError, match="pair 4"):
        count_head_to_head([game("a", "b", BLACK, 4), game("a", "b", WHITE, 4)], "a", "b")
