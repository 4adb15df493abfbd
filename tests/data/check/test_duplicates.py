"""Equal rows and games, counted in bounded memory."""

from pathlib import Path

import numpy as np
import pytest
from game_samples import random_games

from fukayomi.data.check import Duplicates, check_data
from fukayomi.data.convert.writers import DataWriter
from fukayomi.data.formats.hcpe3 import join_games

ROWS = np.array([(1, 2), (3, 4), (1, 2), (1, 3), (1, 2)], [("a", "u1"), ("b", "<u8")])


def test_equal_rows_and_games_are_counted() -> None:
    duplicates = Duplicates()
    duplicates.add_rows(ROWS[:2])
    duplicates.add_rows(ROWS[2:])
    assert [duplicates.is_new_game(game) for game in (b"one", b"two", b"one", b"one")] == [True, True, False, False]
    assert (duplicates.count(), duplicates.passed_over) == (2 + 2, 0)


@pytest.mark.parametrize(("most", "count", "passed_over"), [(5, 2, 0), (4, 1, 1), (2, 0, 3), (0, 0, 5)])
def test_no_more_rows_than_are_remembered_are_compared(most: int, count: int, passed_over: int) -> None:
    duplicates = Duplicates(most_rows=most)
    for row in range(len(ROWS)):
        duplicates.add_rows(ROWS[row : row + 1])
    assert (duplicates.count(), duplicates.passed_over) == (count, passed_over)


def test_games_beyond_the_limit_are_compared_with_those_before_it() -> None:
    duplicates = Duplicates(most_games=1)
    assert [duplicates.is_new_game(game) for game in (b"one", b"two", b"two", b"one")] == [True, True, True, False]
    assert (duplicates.count(), duplicates.passed_over) == (1, 2)


def test_a_check_says_what_it_did_not_compare(tmp_path: Path) -> None:
    games = random_games(6, seed=9)
    with DataWriter(tmp_path / "a.hcpe3") as writer:
        writer.append(games)
        writer.append(join_games([games[5]]))
    report = check_data([tmp_path / "a.hcpe3"], duplicates=Duplicates(most_games=2))
    assert (report.records, report.duplicates, report.not_compared) == (7, 0, 5)
    assert check_data([tmp_path / "a.hcpe3"]).duplicates == 1
