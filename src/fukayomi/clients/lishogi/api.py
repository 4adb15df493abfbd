"""Requests to lishogi's API: one at a time, a full minute's pause after 429, streams with limits."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from types import TracebackType
from typing import Any, Self, cast

import aiohttp

from fukayomi import __version__
from fukayomi.clients.connecting import Allowance, ConnectionLostError, PeerFloodError, reason_of
from fukayomi.clients.lishogi.text import SHOWN, Account, read_message
from fukayomi.clients.secrets import Secret
from fukayomi.errors import FukayomiError
from fukayomi.tabular import printable

ANSWER_S = 20.0
"""How long the server may take to connect and to answer."""
SILENCE_S = 30.0
"""How long a stream may be silent; the server sends an empty line every 7 seconds."""
RATE_LIMIT_S = 60.0
"""The pause after 429, as the API asks for."""
LONGEST_LINE = 1 << 17
"""Bytes of a line; a game of 10 000 moves has half of them."""
LONGEST_ANSWER = 1 << 16
"""Bytes of an answer that are read."""
STREAM_BYTES, STREAM_BYTES_PER_S = 1 << 22, 1 << 18
"""How much a stream may send at once, and in each second after that."""


class RequestRefusedError(FukayomiError):
    """The server refuses a request. The message has its words."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
        """Status of HTTP."""


class TokenRefusedError(RequestRefusedError):
    """The server refuses the token."""


class RateLimitedError(FukayomiError):
    """The server asks for a pause (429); the next request waits for its end."""


class LishogiApi:
    """The API of a server, for one account. Use it as an asynchronous context manager.

    Args:
        url: Address of the server.
        token: Of the account, with the permission to play as a bot.
        log: Called with "> request" and "< answer", without the token.
    """

    def __init__(self, url: str, token: Secret, log: Callable[[str], None] | None = None) -> None:
        self.url = url
        self._token, self._log = token, log
        self._session: aiohttp.ClientSession | None = None
        self._one = asyncio.Lock()
        self._free_s = 0.0

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            headers={
                "Authorization": f"Bearer {self._token.reveal()}",
                "User-Agent": f"fukayomi/{__version__}",
                "Accept-Encoding": "identity",  # a line is read when it comes, and is no longer than it looks
            },
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=ANSWER_S),
            connector=aiohttp.TCPConnector(limit=0),  # a stream for each game
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def account(self) -> Account:
        """The account of the token.

        Raises:
            TokenRefusedError, RequestRefusedError, RateLimitedError, ConnectionLostError: It cannot be had.
            LishogiProtocolError: The answer is not an account.
        """
        return read_message(Account, await self._request("GET", "/api/account"))

    async def upgrade(self) -> None:
        """Make the account a bot, for ever.

        Raises:
            RequestRefusedError, RateLimitedError, ConnectionLostError: The request failed.
        """
        await self.post("/api/bot/account/upgrade")

    async def post(self, path: str, form: Mapping[str, str] | None = None) -> None:
        """Send a request that changes something.

        Args:
            path: Path and query.
            form: Fields of the body.

        Raises:
            RequestRefusedError: The server refuses it.
            RateLimitedError: It was not done; the server asks for a pause.
            ConnectionLostError: The connection failed: it may have been done, or not.
        """
        await self._request("POST", path, form)

    async def ready(self) -> None:
        """Wait for the end of the pause that the server has asked for."""
        while (left_s := self._free_s - time.monotonic()) > 0:
            await asyncio.sleep(left_s)

    async def lines(self, path: str) -> AsyncGenerator[tuple[str, float]]:
        """The lines of a stream, without empty ones, and the time of their arrival (`time.monotonic`).

        Close it (`contextlib.aclosing`) to end the stream.

        Raises:
            RequestRefusedError: The server refuses the stream.
            RateLimitedError: The server asks for a pause.
            ConnectionLostError: The stream has ended, was silent for too long, or sent too much.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=ANSWER_S, sock_read=SILENCE_S)
        allowance, rest = Allowance(STREAM_BYTES, STREAM_BYTES_PER_S), b""
        with self._failures():
            await self.ready()
            self._say(f"> GET {path}")
            headers = {"Accept": "application/x-ndjson"}
            async with self._open.get(
                self.url + path, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                if response.status // 100 != 2:
                    await self._refuse(response)
                async for chunk in response.content.iter_any():
                    at_s = time.monotonic()
                    if not allowance.take(len(chunk)):
                        raise PeerFloodError("it sends too much")
                    *received, rest = (rest + chunk).split(b"\n")
                    if max(map(len, (rest, *received))) > LONGEST_LINE:
                        raise PeerFloodError(f"it sends lines of more than {LONGEST_LINE} bytes")
                    for raw in filter(None, received):
                        if line := self._text(raw).strip():
                            self._say(f"< {line}")
                            yield line, at_s
        raise ConnectionLostError(f"the server closed {path}")

    @property
    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("LishogiApi is an asynchronous context manager")
        return self._session

    async def _request(self, method: str, path: str, form: Mapping[str, str] | None = None) -> object:
        with self._failures():
            async with self._one:
                await self.ready()
                self._say(f"> {method} {path}{f' {dict(form)}' if form else ''}")
                async with self._open.request(method, self.url + path, data=form, allow_redirects=False) as response:
                    if response.status // 100 != 2:
                        await self._refuse(response)
                    text = await self._body(response)
        self._say(f"< {text}")
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(text)
        return None

    async def _refuse(self, response: aiohttp.ClientResponse) -> None:
        status, path = response.status, response.url.path
        if status == 429:
            self._free_s = time.monotonic() + RATE_LIMIT_S
            self._say(f"< 429; nothing for {RATE_LIMIT_S:.0f} s")
            raise RateLimitedError(f"the server asks for a pause (429): nothing for {RATE_LIMIT_S:.0f} s")
        if status >= 500:
            raise ConnectionLostError(f"the server answers {status} to {path}")
        text = await self._body(response)
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(text)
            if isinstance(found, dict):
                text = str(cast("dict[str, Any]", found).get("error", text))
        self._say(f"< {status} {text}")
        message = f"the server refuses {path} ({status}): {printable(text[:SHOWN])}"
        raise (TokenRefusedError if status == 401 else RequestRefusedError)(message, status)

    async def _body(self, response: aiohttp.ClientResponse) -> str:
        parts = b""
        async for chunk in response.content.iter_any():
            parts += chunk
            if len(parts) > LONGEST_ANSWER:
                break
        return self._text(parts[:LONGEST_ANSWER])

    def _text(self, raw: bytes) -> str:
        return self._token.hidden_in(raw.decode("utf-8", "replace"))

    def _say(self, line: str) -> None:
        if self._log is not None:
            self._log(line)

    @contextlib.contextmanager
    def _failures(self) -> Generator[None]:
        try:
            yield
        except PeerFloodError as error:
            raise ConnectionLostError(f"the server cannot be trusted: {error}") from error
        except TimeoutError as error:
            raise ConnectionLostError(f"{self.url} says nothing") from error
        except aiohttp.ClientPayloadError as error:
            raise ConnectionLostError(f"{self.url} broke off its answer") from error
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, ConnectionLostError):
                raise
            raise ConnectionLostError(
                f"the connection to {self.url} failed: {self._token.hidden_in(reason_of(error))}"
            ) from error
