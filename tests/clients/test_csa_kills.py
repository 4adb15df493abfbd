"""Games between two clients and the server while each of them, and the engines, are killed: no game is lost."""

import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from csa_processes import KINDS, Table, differences, records

from fukayomi.arena.results.sources import read_games

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds engines in /proc")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def play(folder: Path, games: int, kill_every: int, limit_s: float, note: Callable[[str, object], None]) -> None:
    table = Table(folder, free_port())
    try:
        table.play(games, kill_every, seed=games, limit_s=limit_s)
        codes = table.end()
    finally:
        table.close()
    assert codes == [0, 0, 0]
    assert {*table.kills} == {*KINDS}
    server = records(folder / "server")
    wrong = [line for name in ("one", "two") for line in differences(server, records(folder / name), name)]
    assert wrong == []
    cut = sum(record.termination in ("interrupted", "protocol") for record in server.values())
    note("games", len(server))
    note("kills", dict(table.kills))
    note("games cut off", cut)
    assert len(server) >= games
    assert cut <= sum(table.kills[kind] for kind in ("server", "one", "two"))
    assert not list(folder.rglob("*.part"))
    secrets = [path for path in folder.rglob("*") if path.is_file() and b"moonlight" in path.read_bytes()]
    assert secrets == []
    assert len(list(read_games([folder / "one"]))) >= games - cut - sum(table.kills.values())  # ready for `rate`


@pytest.mark.slow
def test_no_game_is_lost_when_each_side_is_killed(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    play(tmp_path, 10, 2, 240, record_property)


@pytest.mark.soak
@pytest.mark.timeout(4000)
def test_no_game_of_a_thousand_is_lost(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    play(tmp_path, 1000, 12, 3600, record_property)
