"""The open sockets of pages, and what waits to be sent on each.

Any thread may send. What is newer replaces what is older and of the same kind: a slow page gets the newest report, and
never a queue of old ones.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from fukayomi.web.answers import json_bytes

Message = dict[str, Any]
MOST_SOCKETS = 64
"""Pages that are connected at once."""
MOST_WAITING = 1000
"""Messages that wait for a page; one that reads no more of them is let go."""
TRY_AGAIN_LATER = 1013
"""Code of a socket that is closed because there are too many, or because it does not read."""


class Outbox:
    """The messages that wait for one page, oldest first."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: OrderedDict[Hashable, Message] = OrderedDict()
        self._count = 0
        self._changed = asyncio.Event()
        self.is_full = False
        """True if the page has left too many messages waiting."""

    def send(self, message: Message, kind: Hashable = None) -> None:
        """Let a message be sent, from any thread.

        Args:
            message: The message.
            kind: A message of the same kind that still waits is replaced; None: it replaces nothing.
        """
        try:
            self._loop.call_soon_threadsafe(self._put, message, kind)
        except RuntimeError:  # the server has ended
            return

    def _put(self, message: Message, kind: Hashable) -> None:
        self._count += 1
        if len(self._waiting) >= MOST_WAITING:
            self.is_full = True
        else:
            self._waiting[self._count if kind is None else kind] = message
        self._changed.set()

    async def take(self) -> Message | None:
        """The oldest message, when there is one; None if the page has left too many waiting."""
        while not self._waiting and not self.is_full:
            self._changed.clear()
            await self._changed.wait()
        return None if self.is_full else self._waiting.popitem(last=False)[1]


class Hub:
    """The pages that are connected."""

    def __init__(self) -> None:
        self._outboxes: set[Outbox] = set()

    def send_all(self, message: Message, kind: Hashable = None) -> None:
        """Send a message to every page, from any thread; see `Outbox.send`."""
        for outbox in tuple(self._outboxes):
            outbox.send(message, kind)

    async def serve(
        self,
        socket: WebSocket,
        receive: Callable[[Outbox, str], None],
        left: Callable[[Outbox], None],
        greeting: Callable[[], Message],
    ) -> None:
        """Serve a socket until its page is gone.

        Args:
            socket: The socket, not yet accepted.
            receive: Called with each text that the page sends.
            left: Called at the end.
            greeting: The first message that the page gets.
        """
        if len(self._outboxes) >= MOST_SOCKETS:
            await socket.close(TRY_AGAIN_LATER)
            return
        await socket.accept()
        outbox = Outbox()
        self._outboxes.add(outbox)
        outbox.send(greeting(), "state")
        sender = asyncio.create_task(_send(socket, outbox))
        try:
            while True:
                receive(outbox, await socket.receive_text())
        except (WebSocketDisconnect, KeyError, RuntimeError):  # gone; bytes instead of text; closed by the sender
            pass
        finally:
            self._outboxes.discard(outbox)
            left(outbox)
            sender.cancel()
            if socket.client_state is WebSocketState.CONNECTED is socket.application_state:
                await socket.close(1003)


async def _send(socket: WebSocket, outbox: Outbox) -> None:
    while (message := await outbox.take()) is not None:
        try:
            await socket.send_text(json_bytes(message).decode())
        except (WebSocketDisconnect, RuntimeError):
            return
    await socket.close(TRY_AGAIN_LATER)
