"""A small CSA server: it pairs clients by the name of the game, and judges by our referee's rules.

Whatever a client does, the other side gets the right result: a client that leaves, floods, sends what the protocol does
not allow, or says nothing loses.
"""

import asyncio
import contextlib
import hashlib
import hmac
import re
import time
from collections import Counter
from datetime import datetime
from typing import Self

from fukayomi.clients.connecting import Allowance, ConnectionLostError, PeerFloodError, reason_of
from fukayomi.clients.csa.clock import CsaTime
from fukayomi.clients.csa.connection import LineConnection
from fukayomi.clients.csa.referee import RefereedGame
from fukayomi.clients.csa.settings import ServeSettings
from fukayomi.clients.csa.text import GAME_NAME, NAME
from fukayomi.clients.listener import SILENT_ONLINE, OnlineListener
from fukayomi.clients.records import RecordFolder
from fukayomi.errors import FukayomiError
from fukayomi.shogi import BLACK, WHITE

IDLE_LINES = (30, 0.5)
"""Lines without a meaning (empty ones, those after the end of a game) that a client may send: at once, a second."""
BYTES = (1 << 20, 1 << 15)
"""Bytes that a client may send: at once, a second."""
REMEMBERED = 10_000
"""Names and pairs that a server remembers."""
_LOGIN = re.compile(rf"LOGIN ({NAME.pattern}) ([!-~]{{1,1024}})(?: x1)?")


class ServerError(FukayomiError, OSError):
    """A server that cannot listen. The message names the address."""


class CsaServer:
    """A CSA server. Use it as an asynchronous context manager.

        async with CsaServer(ServeSettings(port=4081, out=Path("games"))) as server:
            await server.run()

    Clients log in with ``LOGIN name game-600-10F,secret``; those that name the same game meet, and again after each
    game, with colours swapped. The first login of a name sets its secret. A game name that ends in two numbers sets
    the clock: seconds, and seconds of increment (with F) or byoyomi (without).

    Args:
        settings: The settings.
        listener: Hears of games, moves and results.
    """

    def __init__(self, settings: ServeSettings, listener: OnlineListener = SILENT_ONLINE) -> None:
        self.settings, self.listener = settings, listener
        self.records: RecordFolder | None = None
        """Where the records go."""
        self._server: asyncio.Server | None = None
        self._sessions: set[_Session] = set()
        self._waiting: dict[str, list[_Session]] = {}
        self._games: dict[RefereedGame, asyncio.Task[None]] = {}
        self._secrets: dict[str, bytes] = {}
        self._black_of: dict[frozenset[str], str] = {}
        self._addresses = Counter[str]()
        self._is_ending = False
        self._done = asyncio.Event()
        self._failed: Exception | SystemExit | None = None
        self._last_id = 0
        self.played = 0
        """Games that have ended."""

    @property
    def port(self) -> int:
        """The port that it listens at."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        """Listen.

        Raises:
            ServerError: The address cannot be used.
            LockedError: Another process works in the folder of the records.
        """
        settings = self.settings
        self.records = RecordFolder(settings.out, self.listener) if settings.out is not None else None
        try:
            self._server = await asyncio.start_server(self._accept, settings.host, settings.port)
        except OSError as error:
            if self.records is not None:
                self.records.close()
            raise ServerError(f"cannot listen at {settings.host}:{settings.port}: {reason_of(error)}") from error
        return self

    async def __aexit__(self, *_: object) -> None:
        self.interrupt()
        assert self._server is not None
        self._server.close()
        await asyncio.gather(*self._games.values(), return_exceptions=True)
        for session in list(self._sessions):
            session.drop()
        while self._sessions:
            await asyncio.sleep(0.01)
        await self._server.wait_closed()
        if self.records is not None:
            self.records.close()

    async def run(self) -> None:
        """Serve until the last game has ended after `finish`, or as many games as the settings say.

        Raises:
            Exception: The listener has raised it; all games are broken off.
            SystemExit: The same; the command's output is closed.
        """
        await self._done.wait()
        if self._failed is not None:
            raise self._failed

    def finish(self) -> None:
        """Begin no more games; `run` returns when those in play have ended."""
        self._is_ending = True
        for waiting in self._waiting.values():
            for session in waiting:
                session.drop()
        self._waiting.clear()
        if not self._games:
            self._done.set()

    def interrupt(self) -> None:
        """Break off all games, without results; `run` returns."""
        self.finish()
        for game in self._games:
            game.interrupt()

    # ------------------------------------------------------------------------------------------ clients

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = LineConnection(reader, writer, size=Allowance(*BYTES))
        address = connection.peer
        settings = self.settings
        is_full = len(self._sessions) >= settings.connections
        if self._is_ending or is_full or self._addresses[address] >= settings.connections_per_address:
            connection.abort()
            return
        session = _Session(self, connection)
        self._sessions.add(session)
        self._addresses[address] += 1
        try:
            await session.run()
        except (Exception, SystemExit) as error:
            self._fail(error)
        finally:
            self._sessions.discard(session)
            self._addresses[address] -= 1
            if not self._addresses[address]:
                del self._addresses[address]

    def admits(self, name: str, secret: str) -> bool:
        """True if this is the secret of the name; the first one is."""
        digest = hashlib.sha256(secret.encode()).digest()
        known = self._secrets.get(name)
        if known is None:
            if len(self._secrets) >= REMEMBERED:  # forget the oldest of those that are not here
                here = {session.name for session in self._sessions}
                del self._secrets[next(each for each in self._secrets if each not in here)]
            self._secrets[name] = known = digest
        return hmac.compare_digest(known, digest)

    def replace(self, new: "_Session") -> None:
        """End the other connection of a player who has logged in again."""
        for session in list(self._sessions):
            if session is not new and session.name == new.name:
                self.leave(session)
                session.drop()

    def wait_for_game(self, session: "_Session") -> None:
        """Pair a client with one that waits, or let it wait."""
        if self._is_ending:
            session.drop()
            return
        waiting = self._waiting.setdefault(session.game_name, [])
        for other in waiting:
            if other.name not in session.avoids and session.name not in other.avoids:
                waiting.remove(other)
                self._begin(other, session)
                return
        waiting.append(session)
        self.listener.waiting(session.name, session.game_name)

    def leave(self, session: "_Session") -> None:
        """A client no longer waits for a game."""
        waiting = self._waiting.get(session.game_name, [])
        if session in waiting:
            waiting.remove(session)
        if not waiting:
            self._waiting.pop(session.game_name, None)

    # ------------------------------------------------------------------------------------------ games

    def _begin(self, first: "_Session", second: "_Session") -> None:
        pair = frozenset((first.name, second.name))
        if self._black_of.get(pair) == first.name:
            first, second = second, first
        if len(self._black_of) >= REMEMBERED:
            self._black_of.clear()
        self._black_of[pair] = first.name
        name = first.game_name
        clock = CsaTime.of_game(name) or CsaTime.of_control(self.settings.clock)
        self._last_id = max(self._last_id + 1, int(datetime.now().strftime("%Y%m%d%H%M%S%f")[:-3]))
        game_id = f"fukayomi+{name or 'game'}+{first.name}+{second.name}+{self._last_id}"
        game = RefereedGame(game_id, {BLACK: first, WHITE: second}, clock, self.settings, self.records, self.listener)
        first.game = second.game = game
        self._games[game] = asyncio.create_task(self._play(game))

    async def _play(self, game: RefereedGame) -> None:
        try:
            await game.run()
        except (Exception, SystemExit) as error:
            self._fail(error)
        finally:
            del self._games[game]
            self.played += game.has_started
            if self.settings.games is not None and self.played >= self.settings.games:
                self.finish()
            for session in game.sides.values():
                session.back(game)
            if self._is_ending and not self._games:
                self._done.set()

    def _fail(self, error: Exception | SystemExit) -> None:
        """Break off all games, since the listener has raised an error; `run` raises it."""
        self._failed = self._failed or error
        self.interrupt()
        self._done.set()


class _Session:
    """A connection of a client."""

    def __init__(self, server: CsaServer, connection: LineConnection) -> None:
        self._server, self._connection = server, connection
        self._idle_lines = Allowance(*IDLE_LINES)
        self._is_open = True
        self._task: asyncio.Task[None] | None = None
        self.name = ""
        self.game_name = ""
        self.game: RefereedGame | None = None
        self.avoids: set[str] = set()
        """Players that it has rejected, or that rejected it."""

    async def run(self) -> None:
        """Talk to the client until the connection ends."""
        server, reason = self._server, "it has left"
        self._task = asyncio.current_task()
        try:
            if await self._login():
                server.replace(self)
                server.wait_for_game(self)
                while self._is_open and await self._hear_line():
                    pass
        except (ConnectionLostError, PeerFloodError, TimeoutError) as error:
            reason = str(error) or "it said nothing for too long"
        except asyncio.CancelledError:
            if self._is_open:  # it was not dropped: the whole program ends
                raise
        finally:
            self._is_open, self._task = False, None
            server.leave(self)
            if self.game is not None:
                await self.game.hear(self, None, time.monotonic(), reason)
            await self._connection.close()

    async def _login(self) -> bool:
        async with asyncio.timeout(self._server.settings.login_s):
            line = ""
            while not line:
                line, _ = await self._read()
        found = _LOGIN.fullmatch(line)
        if found is not None:
            name, secret = found.groups()
            game, comma, own = secret.partition(",")
            if (not comma or GAME_NAME.fullmatch(game)) and self._server.admits(name, own if comma else secret):
                self.name, self.game_name = name, game if comma else ""
                self._connection.send(f"LOGIN:{name} OK")
                return True
        self._connection.send("LOGIN:incorrect")
        return False

    async def _read(self) -> tuple[str, float]:
        """The next line; empty ones are answered, and neither they nor others without a meaning may be too many."""
        line, at_s = await self._connection.read()
        if not line:
            self._take_idle_line()
            self._connection.send("")
        return line, at_s

    def _take_idle_line(self) -> None:
        if not self._idle_lines.take(1):
            raise PeerFloodError("it sends lines too fast")

    async def _hear_line(self) -> bool:
        """Hear a line; False if the client has logged out."""
        try:
            async with asyncio.timeout(self._server.settings.idle_s):
                line, at_s = await self._read()
        except TimeoutError:
            if self.game is None:
                raise
            return True  # the clock of the game is the referee's
        if not line:
            return True
        if line.startswith("%%"):  # commands of shogi-server's extended mode
            self._take_idle_line()
        elif self.game is not None:
            await self.game.hear(self, line, at_s)
        elif line == "LOGOUT":
            self.send("LOGOUT:completed")
            return False
        else:  # perhaps it crossed the end of the last game
            self._take_idle_line()
        return True

    def send(self, *lines: str) -> None:
        """Send lines; to a client that has gone, nothing."""
        with contextlib.suppress(ConnectionLostError):
            self._connection.send(*lines)

    def back(self, game: RefereedGame) -> None:
        """A game is over: wait for the next."""
        if self.game is game:
            self.game = None
        if self._is_open:
            self._server.wait_for_game(self)

    def drop(self) -> None:
        """End the connection, after what was sent."""
        self._is_open = False
        if self._task is not None:
            self._task.cancel()
