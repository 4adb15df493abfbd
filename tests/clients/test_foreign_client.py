"""A foreign client on our server: python-shogi's, which knows the protocol by itself."""

import asyncio
import random
from pathlib import Path

import pytest
from csa_peers import Peer

from fukayomi import read_record
from fukayomi.clients.csa.server import CsaServer
from fukayomi.clients.csa.settings import ServeSettings

pytest.importorskip("shogi.CSA", reason="needs python-shogi, of the dependency group oracles")


def play(port: int, moves: int) -> dict[str, object]:
    """Log in, play so many random moves, and resign; the summary that python-shogi has read."""
    import shogi
    from shogi import CSA

    class Protocol(CSA.TCPProtocol):
        def open(self, host: str, port: int = 0) -> None:
            """Without the thread that keeps the connection open."""
            self.host, self.port, self.recv_buf = host, port, ""
            self.connect(host, port)

    other = Protocol("127.0.0.1", port)
    assert other.login("other", "y-60-1F,s")
    other.ping()
    assert other.command("LOGOUT") == "LOGOUT:completed"
    other.socket.close()
    protocol, chooser = Protocol("127.0.0.1", port), random.Random(5)
    assert protocol.login("foreign", "x-60-1F,s")
    match = protocol.wait_match()
    protocol.agree()
    board = shogi.Board(match["summary"]["sfen"])
    own = match["my_color"]
    while True:
        if board.turn == own:
            if not moves:
                protocol.resign()
                break
            moves -= 1
            move = chooser.choice(list(board.legal_moves))
            kind = board.piece_type_at(move.from_square) if move.from_square is not None else move.drop_piece_type
            line = protocol.move(kind + 8 if move.promotion else kind, own, move)
            color, usi, seconds, _ = protocol.parse_server_message(line, board)
            assert (color, usi, seconds) == (own, move.usi(), 0.0)
        else:
            _, usi, _, _ = protocol.wait_server_message(board)
        board.push(shogi.Move.from_usi(usi))
    protocol.socket.close()
    return {"time": match["summary"]["time"], "names": match["summary"]["names"], "sfen": board.sfen()}


def test_python_shogi_plays_on_our_server(tmp_path: Path) -> None:
    async def run() -> tuple[dict[str, object], list[str]]:
        async with CsaServer(ServeSettings(port=0, out=tmp_path)) as server, Peer(server.port) as peer:
            assert await peer.login("ours", "x-60-1F") == "LOGIN:ours OK"
            foreign = asyncio.create_task(asyncio.to_thread(play, server.port, 12))
            await peer.proposal()
            await peer.start()
            ended = await peer.play(3)
            return await foreign, ended

    found, ended = asyncio.run(run())
    assert ended == ["#RESIGN", "#WIN"]
    assert found["names"] == ["ours", "foreign"]
    assert found["time"] == {
        "Time_Unit": "1sec", "Total_Time": "60", "Byoyomi": "0", "Least_Time_Per_Move": "0", "Increment": "1",
    }  # fmt: skip
    (path,) = tmp_path.glob("*.csa")
    record = read_record(path)
    *_, last = record.positions()
    assert last.sfen() == found["sfen"]
    assert (record.result, record.termination, len(record)) == (1, "resign", 25)
