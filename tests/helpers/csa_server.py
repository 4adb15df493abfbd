"""A CSA server that follows a script, for tests of the client."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager

from csa_peers import PATIENCE_S

from fukayomi.clients.csa.clock import CsaTime
from fukayomi.clients.csa.text import GameSummary
from fukayomi.shogi import BLACK, WHITE, Color
from fukayomi.shogi.record import Record

A_MINUTE = CsaTime(60_000, 0, 1000)
Script = Callable[["Scripted"], Awaitable[None]]


class Scripted:
    """The server's end of a connection. Empty lines of the client are counted and skipped."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self._reader, self._writer = reader, writer
        self.number = number
        """Of the connection, from 1."""
        self.heard: list[str] = []
        self.empty = 0

    def send(self, *lines: str) -> None:
        self._writer.write("".join(f"{line}\n" for line in lines).encode())

    def send_raw(self, data: bytes) -> None:
        self._writer.write(data)

    async def line(self) -> str:
        """The next line; "" at the end of the connection."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                raw = await self._reader.readline()
                if raw != b"\n":
                    self.heard.append(raw.decode().rstrip("\n"))
                    return self.heard[-1]
                self.empty += 1

    async def login(self) -> str:
        """Accept the login; its line."""
        line = await self.line()
        self.send(f"LOGIN:{line.split()[1]} OK")
        return line

    async def propose(
        self, color: Color = BLACK, time: CsaTime = A_MINUTE, record: Record | None = None,
        *, max_moves: int | None = None, names: tuple[str, str] = ("first", "second"),
    ) -> str:  # fmt: skip
        """Propose a game; the client's answer."""
        summary = GameSummary(
            f"game{self.number}", {BLACK: names[0], WHITE: names[1]}, color, {BLACK: time, WHITE: time},
            Record() if record is None else record, max_moves,
        )  # fmt: skip
        self.send(*summary.lines())
        answer = await self.line()
        if answer.startswith("AGREE"):
            self.send(f"START:game{self.number}")
        return answer

    async def echo(self, units: int = 0) -> str:
        """Accept the client's move; its whole line."""
        line = await self.line()
        self.send(f"{line.split(',')[0]},T{units}")
        return line


@asynccontextmanager
async def scripted_server(*scripts: Script):
    """A server on localhost whose connections follow the scripts, one after the other; gives the port."""
    waiting: list[Script] = list(scripts)
    failures: list[BaseException] = []
    count = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        try:
            if waiting:
                await waiting.pop(0)(Scripted(reader, writer, count))
        except BaseException as error:
            failures.append(error)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await server.wait_closed()
    assert not failures, failures
    assert not waiting, f"{len(waiting)} scripts were not needed"
