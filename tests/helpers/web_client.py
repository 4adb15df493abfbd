"""Asks a server of `fukayomi.web` as a program does: with any headers, and with a socket."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection
from socket import create_connection
from typing import Any

from patience import PATIENCE_S
from websockets.sync.client import ClientConnection, connect

from fukayomi.web import WebServer


@dataclass(frozen=True)
class Answer:
    """What a server answered."""

    status: int
    headers: dict[str, str]
    """By name in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The text of an error."""
        return self.json["error"]


def ask(server: WebServer, method: str, path: str, body: Any = None, **headers: str | None) -> Answer:
    """Send a request with the cookie; the path goes out as it is.

    Args:
        server: Who is asked.
        method: GET, POST or DELETE.
        path: Path with query.
        body: Bytes, or what is sent as JSON.
        headers: Further headers, ``_`` for ``-``; None leaves one out that is sent otherwise.
    """
    sent: dict[str, str | None] = {"Cookie": server.cookie} | {
        name.replace("_", "-").title(): value for name, value in headers.items()
    }
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection = HTTPConnection(server.settings.host, server.port, timeout=PATIENCE_S)
    try:
        connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        if data is not None:
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def open_socket(server: WebServer, host: str = "", **headers: str | None) -> ClientConnection:
    """Open a socket as the page does; another host is a name for the same server, ``headers`` are as for `ask`."""
    sent = {"Cookie": server.cookie, "Origin": server.origin} | {
        name.replace("_", "-").title(): value for name, value in headers.items()
    }
    return connect(
        f"ws://{host or f'{server.settings.host}:{server.port}'}/ws",
        sock=create_connection((server.settings.host, server.port), PATIENCE_S),
        additional_headers={name: value for name, value in sent.items() if value is not None},
        open_timeout=PATIENCE_S,
        proxy=None,
    )


def receive(socket: ClientConnection, *kinds: str) -> dict[str, Any]:
    """The next message of one of these types; others are passed over."""
    while True:
        message = json.loads(socket.recv(timeout=PATIENCE_S))
        if message["type"] in kinds:
            return message


def send(socket: ClientConnection, **message: Any) -> None:
    """Send a message."""
    socket.send(json.dumps(message))
