"""Players of a CSA server who speak the protocol by hand: honest ones, and such as do not."""

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import Sequence
from typing import Self

from fukayomi.clients.csa.text import OUTCOMES, csa_text, read_move
from fukayomi.shogi import Position

PATIENCE_S = 60.0


class Peer:
    """A connection to a server, line by line."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.lines: list[str] = []
        self.sign = ""
        self.game_id = ""

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()

    def send(self, *lines: str) -> None:
        self.writer.write("".join(f"{line}\n" for line in lines).encode())

    def send_raw(self, data: bytes) -> None:
        self.writer.write(data)

    def reset(self) -> None:
        """End the connection as a machine that lost its power: without a word that ends it."""
        linger = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()

    async def line(self) -> str:
        """The next line; "" at the end of the connection. Empty lines are skipped."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                with contextlib.suppress(ConnectionError):
                    raw = await self.reader.readline()
                    if raw == b"\n":
                        continue
                    text = raw.decode().rstrip("\n")
                    self.lines.append(text)
                    return text
                return ""

    async def until(self, *starts: str) -> str:
        """The next line that begins so; "" at the end of the connection."""
        while (line := await self.line()) and not line.startswith(starts):
            pass
        return line

    async def login(self, name: str, game: str, secret: str = "s") -> str:
        self.send(f"LOGIN {name} {game},{secret}")
        return await self.line()

    async def proposal(self) -> list[str]:
        """Wait for a game; the lines of its summary."""
        assert await self.until("BEGIN Game_Summary")
        lines = [line async for line in self._summary()]
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        self.sign, self.game_id = fields["Your_Turn"], fields["Game_ID"]
        return lines

    async def _summary(self):
        while (line := await self.line()) != "END Game_Summary":
            assert line
            yield line

    async def play(self, seed: int, plies: int = 10_000) -> list[str]:
        """Play random moves until so many have been played, or to the end; the server's last lines if it is the end."""
        chooser, position, count = random.Random(seed), self.position, len(self.position.moves)
        while True:
            if ("+" if position.turn.name == "BLACK" else "-") == self.sign:
                if count >= plies:
                    return []
                moves = position.legal_moves
                self.send(csa_text(position, chooser.choice(moves)) if moves else "%TORYO")
            line = await self.until("+", "-", "#")
            if not line.startswith(("+", "-")):
                return await self.end(line)
            move = read_move(line.split(",")[0], position)
            assert move is not None
            position.push(move)
            count += 1

    async def end(self, line: str = "") -> list[str]:
        """The last lines of the game."""
        lines = [line] if line else []
        while not lines or (lines[-1] not in OUTCOMES and lines[-1]):
            lines.append(await self.until("#"))
        return lines

    async def start(self) -> None:
        self.send(f"AGREE {self.game_id}")
        assert await self.until("START:")
        self.position = Position()


async def honest_game(port: int, names: Sequence[str], game: str, plies: int = 4) -> tuple[list[str], list[str]]:
    """Two honest players play a game, of which the one to move resigns at the end; their last lines."""

    async def one(name: str, seed: int) -> list[str]:
        async with Peer(port) as peer:
            assert await peer.login(name, game) == f"LOGIN:{name} OK"
            await peer.proposal()
            await peer.start()
            ended = await peer.play(seed, plies)
            if not ended:
                peer.send("%TORYO")
                ended = await peer.end()
            return ended

    first, second = await asyncio.gather(one(names[0], 1), one(names[1], 2))
    return first, second
