"""Engines at a table, none of which is left behind."""

from collections.abc import Generator

import pytest
from arena_players import Seats


@pytest.fixture
def seat() -> Generator[Seats]:
    seats = Seats()
    yield seats
    seats.close()
    assert seats.left_behind() == []
