"""Players whose engines never outlive a test."""

from collections.abc import Generator

import pytest
from arena_players import Players


@pytest.fixture
def player_of() -> Generator[Players]:
    players = Players()
    yield players
    players.close()
    assert players.left_behind() == []
