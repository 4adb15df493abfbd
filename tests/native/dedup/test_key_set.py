"""The set of positions that have been seen."""

import random
import struct

import pytest

from fukayomi._native import KeySet


def game(key: int, candidates: int = 0) -> bytes:
    """A game of one move whose position is a number; the set looks at nothing else."""
    moves = b"".join(struct.pack("<HH", move, 1) for move in range(candidates))
    return key.to_bytes(32, "little") + struct.pack("<HBBHhH", 1, 0, 0, 7, -3, candidates) + moves


def test_each_position_is_new_once_and_the_first_game_with_it_stays() -> None:
    keys = KeySet(10)
    assert keys.add_new(game(1, 3) + game(2) + game(1) + game(3, 1)) == (game(1, 3) + game(2) + game(3, 1), 3)
    assert keys.add_new(game(3) + game(0) + game(2, 5)) == (game(0), 1)
    assert keys.add_new(b"") == (b"", 0)
    assert (len(keys), keys.capacity) == (4, 10)


def test_as_a_set_of_python() -> None:
    numbers = random.Random(4)
    drawn = [numbers.randrange(1 << 256 if numbers.random() < 0.5 else 2000) for _ in range(20_000)]
    keys, known = KeySet(len(set(drawn))), set[int]()
    for begin in range(0, len(drawn), 500):
        expected = b""
        for key in drawn[begin : begin + 500]:
            expected += b"" if key in known else game(key)
            known.add(key)
        found, count = keys.add_new(b"".join(map(game, drawn[begin : begin + 500])))
        assert found == expected
        assert len(found) == count * len(game(0))
    assert len(keys) == keys.capacity


def test_a_full_set_says_so() -> None:
    keys = KeySet(2)
    keys.add_new(game(1) + game(2))
    assert keys.add_new(game(2)) == (b"", 0)
    with pytest.raises(ValueError, match="the set of positions is full: it has 2"):
        keys.add_new(game(3))
    assert len(keys) == 2


@pytest.mark.parametrize(
    "tail", [game(2)[:-1], game(2, 9)[:60], b"x", game(2)[:32] + b"\2\0" + game(2)[34:], game(2)[:32] + b"\0\0\0\0"]
)
def test_bytes_that_are_no_games_of_one_move_add_nothing(tail: bytes) -> None:
    keys = KeySet(10)
    with pytest.raises(ValueError, match="at offset 46 is no game of one move"):
        keys.add_new(game(1, 1) + tail)
    assert len(keys) == 0


@pytest.mark.parametrize("capacity", [1 << 62, 3 << 62, (1 << 64) - 1])
def test_no_memory_for_it(capacity: int) -> None:
    with pytest.raises((MemoryError, ValueError)):
        KeySet(capacity)
