"""A connection that carries lines, with limits: for the client and for the server."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable

from fukayomi.clients.connecting import Allowance, ConnectionLostError, PeerFloodError, reason_of
from fukayomi.clients.csa.text import LONGEST_LINE

CHUNK = 1 << 16
UNSENT = 1 << 18
"""Bytes that may wait for a peer that does not read; then the connection is given up."""


class LineConnection:
    """Reads and writes lines of text, which end with a line feed.

    Args:
        reader: Of the connection.
        writer: Of the connection.
        log: Called with "< line" and "> line" for all that is received and sent.
        size: Limit of the bytes that it sends; None: no limit.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        log: Callable[[str], None] | None = None,
        size: Allowance | None = None,
    ) -> None:
        self._reader, self._writer, self._log = reader, writer, log
        self._size = size
        self._rest = b""
        self._received: list[bytes] = []
        self._arrived_s = 0.0
        self.sent_s = time.monotonic()
        """Time of the last line that was sent (`time.monotonic`)."""
        raw = writer.get_extra_info("socket")
        if raw is not None:
            with contextlib.suppress(OSError):
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    @property
    def peer(self) -> str:
        """The address of the peer."""
        address: tuple[str, int] | None = self._writer.get_extra_info("peername")
        return address[0] if address else ""

    async def read(self) -> tuple[str, float]:
        """The next line, without its end, and the time of its arrival (`time.monotonic`).

        What is not UTF-8 becomes U+FFFD. A half line at the end of the connection is dropped.

        Raises:
            ConnectionLostError: The peer has closed the connection, or it broke.
            PeerFloodError: The line is too long, or bytes come too fast.
        """
        while not self._received:
            if len(self._rest) > LONGEST_LINE:
                raise PeerFloodError(f"it sends lines of more than {LONGEST_LINE} bytes")
            try:
                chunk = await self._reader.read(CHUNK)
            except OSError as error:
                raise ConnectionLostError(f"the connection broke: {error.strerror or error}") from error
            if not chunk:
                raise ConnectionLostError("the peer closed the connection")
            if self._size is not None and not self._size.take(len(chunk)):
                raise PeerFloodError("it sends too much")
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._received = lines[::-1]
            self._arrived_s = time.monotonic()
        raw = self._received.pop()
        if len(raw) > LONGEST_LINE:
            raise PeerFloodError(f"it sends lines of more than {LONGEST_LINE} bytes")
        line = raw.decode("utf-8", "replace").rstrip("\r")
        if self._log is not None:
            self._log(f"< {line}")
        return line, self._arrived_s

    def send(self, *lines: str) -> None:
        """Send lines, without waiting for the peer.

        Args:
            lines: The lines.

        Raises:
            ConnectionLostError: The connection has ended, or the peer does not read.
        """
        if self._writer.is_closing():
            raise ConnectionLostError("the connection is closed")
        self.sent_s = time.monotonic()
        if self._log is not None:
            for line in lines:
                self._log(f"> {line}")
        self._writer.write("".join(f"{line}\n" for line in lines).encode())
        if self._writer.transport.get_write_buffer_size() > UNSENT:
            self.abort()
            raise ConnectionLostError("the peer does not read what it is sent")

    def abort(self) -> None:
        """End the connection at once."""
        self._writer.transport.abort()

    async def close(self, timeout_s: float = 2.0) -> None:
        """Send what is left, and end the connection."""
        with contextlib.suppress(OSError):
            self._writer.close()
            try:
                async with asyncio.timeout(timeout_s):
                    await self._writer.wait_closed()
            except TimeoutError:
                self.abort()


async def connect(host: str, port: int, timeout_s: float, log: Callable[[str], None] | None = None) -> LineConnection:
    """Connect to a server.

    Raises:
        ConnectionLostError: It cannot be reached in time.
    """
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        raise ConnectionLostError(f"{host}:{port} does not answer") from None
    except (OSError, UnicodeError) as error:
        raise ConnectionLostError(f"cannot connect to {host}:{port}: {reason_of(error)}") from error
    return LineConnection(reader, writer, log)
