"""500 hostile conversations with the server: whatever one side does, the honest one gets the right result."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from csa_hostile import conversation, hold
from csa_peers import PATIENCE_S, Peer, honest_game

from fukayomi import read_record
from fukayomi.arena.game.rules import Rules
from fukayomi.clients.csa.server import CsaServer
from fukayomi.clients.csa.settings import ServeSettings
from fukayomi.clients.listener import OnlineListener

ALL = 500
SHARE = 60
AT_ONCE = 24


def settings(out: Path | None = None, **changes: object) -> ServeSettings:
    return ServeSettings(
        port=0, out=out, rules=Rules(margin_ms=0), connections=1000, connections_per_address=1000, login_s=5, agree_s=3
    ).changed(**changes)


async def results(seeds: range, out: Path) -> dict[str, list[str]]:
    """What went wrong: the lines of the honest side, by conversation."""
    wrong: dict[str, list[str]] = {}
    free = asyncio.Semaphore(AT_ONCE)
    async with CsaServer(settings(out)) as server:

        async def one(seed: int) -> None:
            talk = conversation(seed)
            async with free:
                try:
                    lines = await hold(server.port, talk)
                except Exception as error:  # named with its seed
                    lines = [repr(error)]
            if lines != talk.expected:
                wrong[f"{seed} {talk.stage}: {talk.name}, after {talk.plies}: not {talk.expected}"] = lines

        await asyncio.gather(*map(one, seeds))
        first, second = await honest_game(server.port, ["one", "two"], "after-10-0")
        assert {first[-1], second[-1]} == {"#WIN", "#LOSE"}
    assert not list(out.glob("*.part"))
    for path in out.glob("*.csa"):  # each record says what the honest side was told
        record = read_record(path)
        good = 1 if record.black_name.startswith("good") else 2 if record.white_name.startswith("good") else 0
        if good and "better" not in record.black_name + record.white_name:
            assert record.result == good, path.read_text(encoding="utf-8")
    return wrong


def test_the_honest_side_gets_the_right_result(tmp_path: Path) -> None:
    assert asyncio.run(results(range(SHARE), tmp_path)) == {}


@pytest.mark.soak
def test_the_honest_side_gets_the_right_result_in_all_conversations(tmp_path: Path) -> None:
    assert asyncio.run(results(range(ALL), tmp_path)) == {}


def test_connections_over_the_limit_are_closed_and_the_others_play_on() -> None:
    async def run() -> None:
        async with CsaServer(settings(connections_per_address=6)) as server:
            crowd = [Peer(server.port) for _ in range(4)]
            for peer in crowd:
                await peer.__aenter__()
            await asyncio.sleep(0.05)
            first, second = await honest_game(server.port, ["one", "two"], "x-10-0")
            assert {first[-1], second[-1]} == {"#WIN", "#LOSE"}
            more = [Peer(server.port) for _ in range(4)]
            for peer in more:
                await peer.__aenter__()
            closed = [not await peer.line() for peer in more[2:]]
            assert closed == [True, True]
            for peer in crowd + more:
                await peer.__aexit__()

    asyncio.run(run())


def test_nobody_takes_the_name_of_another() -> None:
    async def run() -> None:
        async with CsaServer(settings()) as server, Peer(server.port) as owner, Peer(server.port) as thief:
            assert await owner.login("name", "x-10-0", "moon") == "LOGIN:name OK"
            assert await thief.login("name", "x-10-0", "sun") == "LOGIN:incorrect"
            assert await thief.line() == ""
            async with Peer(server.port) as again:  # the owner, whose connection may be dead
                assert await again.login("name", "x-10-0", "moon") == "LOGIN:name OK"
                assert await owner.line() == ""

    asyncio.run(run())


def test_a_listener_that_fails_ends_the_server() -> None:
    class Broken(OnlineListener):
        def moved(self, *_: object) -> None:
            raise RuntimeError("the listener is broken")

    async def run() -> None:
        async with CsaServer(settings(), Broken()) as server, asyncio.timeout(PATIENCE_S):
            playing = asyncio.create_task(honest_game(server.port, ("one", "two"), "x-60-1F"))
            with pytest.raises(RuntimeError, match="the listener is broken"):
                await server.run()
        assert await playing == ([""], [""])

    asyncio.run(run())


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGPIPE")
def test_a_server_whose_output_nobody_reads_ends_quietly() -> None:
    command = (sys.executable, "-m", "fukayomi", "csa", "serve", "--port", "0", "--json")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = json.loads(process.stdout.readline())["port"]
        process.stdout.close()
        process.stdout = None
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(b"LOGIN one moonlight\n")
            _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (141, "")
