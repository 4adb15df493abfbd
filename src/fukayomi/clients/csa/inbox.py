"""What a client waits for: lines of the server, and the wishes of the user."""

import asyncio
import contextlib
import time
from typing import Any, Self

from fukayomi.clients.connecting import ConnectionLostError, PeerFloodError
from fukayomi.clients.csa.connection import LineConnection

QUEUED = 1000
"""Lines that wait; the connection waits with more."""


class Inbox:
    """The lines of a connection, read by a task of its own, which also sends empty lines to keep it open.

    Use it as an asynchronous context manager: it closes the connection at the end.

    Args:
        connection: The connection.
        keep_alive_s: Seconds without a line of ours before an empty one.
    """

    def __init__(self, connection: LineConnection, keep_alive_s: float) -> None:
        self.connection = connection
        self.resigns = False
        """The user wants to resign, and leave."""
        self.finishes = False
        """The user wants to leave after this game."""
        self.offers_interruption = False
        """The user offers to break the game off."""
        self._keep_alive_s = keep_alive_s
        self._lines: asyncio.Queue[tuple[str, float] | None] = asyncio.Queue(QUEUED)
        self._lost: Exception | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._keep_alive())]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.connection.close()

    async def _read(self) -> None:
        try:
            while True:
                line, at_s = await self.connection.read()
                if line:
                    await self._lines.put((line, at_s))
        except PeerFloodError as error:
            self._lost = ConnectionLostError(f"the server cannot be trusted: {error}")
        except Exception as error:  # the connection has ended, or the log fails: for who waits for a line
            self._lost = error
        await self._lines.put(None)

    async def _keep_alive(self) -> None:
        with contextlib.suppress(ConnectionLostError):
            while True:
                left_s = self.connection.sent_s + self._keep_alive_s - time.monotonic()
                if left_s <= 0:
                    self.connection.send("")
                else:
                    await asyncio.sleep(left_s)

    def wake(self) -> None:
        """End the wait of `take`, so that the wishes of the user are heard."""
        with contextlib.suppress(asyncio.QueueFull):
            self._lines.put_nowait(None)

    async def take(self, timeout_s: float | None, other: "asyncio.Task[Any] | None" = None) -> tuple[str, float] | None:
        """The next line, and the time of its arrival; None if the other task has ended, or `wake` was called.

        Raises:
            ConnectionLostError: The connection has ended, or the server said nothing for too long.
        """
        line = asyncio.ensure_future(self._lines.get())
        tasks: list[asyncio.Future[Any]] = [line] if other is None else [line, other]
        try:
            await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not line.done():
                line.cancel()
        if line.done() and not line.cancelled():
            item = line.result()
            if item is None and self._lost is not None:
                self._lines.put_nowait(None)  # for the next call
                raise self._lost
            return item
        if other is not None and other.done():
            return None
        raise ConnectionLostError("the server says nothing")
