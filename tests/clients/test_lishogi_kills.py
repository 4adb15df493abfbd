"""Games of the bot while it, its engine, its streams and its requests are killed: no game is lost."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from lishogi_processes import KINDS, BotTable, differences
from lishogi_server import TOKEN

from fukayomi.arena.results.sources import read_games

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds engines in /proc")


def play(
    folder: Path, games: int, kill_every: int, limit_s: float, note: Callable[[str, object], None], pauses: int = 0
) -> None:
    table = BotTable(folder, games, seed=games)
    try:
        table.play(kill_every, limit_s, pauses)
        code = table.end()
    finally:
        table.close()
    server, records = table.server, folder / "records"
    assert code == 0
    assert {*table.kills} >= {*KINDS}
    assert table.kills["429"] == pauses
    assert differences(server.games, records) == []
    assert len(server.games) >= games
    assert server.tokens == {TOKEN}
    note("games", len(server.games))
    note("ends", dict(Counter(game.status for game in server.games.values())))
    note("faults", dict(table.kills))
    note("streams of games", sum(game.opened for game in server.games.values()))
    assert not list(records.glob("*.part"))
    assert [path for path in folder.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()] == []
    assert len(list(read_games([records]))) == len(server.games)  # ready for `rate`


@pytest.mark.slow
def test_no_game_of_the_bot_is_lost(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    play(tmp_path, 10, 1, 240, record_property)


@pytest.mark.soak
@pytest.mark.timeout(4000)
def test_no_game_of_two_hundred_is_lost(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    play(tmp_path, 200, 2, 3600, record_property, pauses=2)
