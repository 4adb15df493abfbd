"""The server: a socket, and uvicorn that serves the application on it."""

import errno
import socket
import threading
from contextlib import suppress
from types import FrameType
from typing import Self

import uvicorn

from fukayomi.web.app import create_app
from fukayomi.web.guard import cookie_name
from fukayomi.web.settings import LOOPBACK, WebSettings
from fukayomi.web.state import State

LARGEST_MESSAGE = 1 << 16
"""Bytes of a message on the socket of a page."""


class _Server(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End. A second Ctrl-C meanwhile changes nothing: searches are stopped, and pages have a second."""
        super().handle_exit(sig, frame)
        del self._captured_signals[1:]  # the second may come in the middle of the first, so neither is turned away
        self.force_exit = False


class WebServer:
    """Serves the page; `run` in this thread, or as a context manager in another one.

    Args:
        settings: What to serve, and where.

    Raises:
        OSError: The address cannot be listened on.
    """

    def __init__(self, settings: WebSettings) -> None:
        self.settings = settings
        app = create_app(settings)
        self.state: State = app.state.shared
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        try:
            self._socket = socket.create_server((settings.host, settings.port), family=family)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise OSError(_in_use(settings, family)) from error
        # Connections inherit it; asyncio sets it only where the protocol is given. Without it the body of each small
        # answer waits 40 ms for the browser to acknowledge the head.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            lifespan="on",
            ws="websockets-sansio",
            ws_max_size=LARGEST_MESSAGE,
            ws_per_message_deflate=False,  # it costs more than loopback gains
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        self._server = _Server(config)
        self._thread: threading.Thread | None = None

    @property
    def origin(self) -> str:
        """The address without the token: ``http://127.0.0.1:8000``."""
        host = self.settings.host
        if host in ("0.0.0.0", "::"):
            host = LOOPBACK[0]
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def address(self) -> str:
        """Address to open in a browser; it holds the token."""
        token = self.settings.token
        return f"{self.origin}/" if token is None else f"{self.origin}/?token={token}"

    @property
    def cookie(self) -> str:
        """The header Cookie of somebody who has opened the address; "" without a token."""
        return "" if self.settings.token is None else f"{cookie_name(self.port)}={self.settings.token}"

    def run(self) -> None:
        """Serve until `stop`, or until a signal ends it."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """End the server, from another thread."""
        self._server.should_exit = True

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.run, name="fukayomi-web")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()


def _in_use(settings: WebSettings, family: socket.AddressFamily) -> str:
    """The message about a port that is taken, with one that is free."""
    free = 0
    for port in range(settings.port + 1, min(settings.port + 100, 65_536)):
        with suppress(OSError):
            socket.create_server((settings.host, port), family=family).close()
            free = port
            break
    return (
        f"port {settings.port} of {settings.host} is in use, perhaps by another fukayomi web: use that page, or end "
        f"it, or start this one with --port {free} (the browser keeps settings and records by port)"
    )
