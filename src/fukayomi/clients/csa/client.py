"""A client of CSA servers such as floodgate: it logs in, plays games one after another, and connects again."""

import asyncio
from collections.abc import Callable

from fukayomi.arena.game.player import Player, PlayerFailedError
from fukayomi.clients.connecting import Backoff, ConnectionLostError
from fukayomi.clients.csa.connection import LineConnection, connect
from fukayomi.clients.csa.game import LEAVING_S, ClientGame
from fukayomi.clients.csa.inbox import Inbox
from fukayomi.clients.csa.settings import PlaySettings
from fukayomi.clients.csa.text import SUMMARY_LINES, CsaProtocolError, GameSummary, read_summary
from fukayomi.clients.engine import ThinkingPlayer
from fukayomi.clients.lag import Lag
from fukayomi.clients.listener import SILENT_ONLINE, OnlineListener, Score
from fukayomi.clients.records import RecordFolder
from fukayomi.clients.secrets import Secret
from fukayomi.errors import FukayomiError
from fukayomi.tabular import printable

ANSWER_S = 30.0
"""How long a server may take to connect, to answer a login, and to complete a game summary."""
START_S = 300.0
"""How long the opponent may take to agree."""


class CsaLoginError(FukayomiError):
    """The server refuses name or password."""


class CsaClient:
    """Plays on a CSA server with a player of `fukayomi.arena.game`, such as a `UsiPlayer`.

        settings = PlaySettings(host="wdoor.c.u-tokyo.ac.jp", name="mine", game="floodgate-600-10F", games=1)
        player = UsiPlayer(EngineSettings(name="mine", command=("fukayomi-usi",)), TimeControl(main_ms=1))
        score = asyncio.run(CsaClient(settings, Secret("..."), player).run())

    Args:
        settings: Server, name, games.
        secret: The password; the game's name comes before it, with a comma.
        player: Chooses the moves; it is closed at the end.
        listener: Hears of logins, games, moves.
        accept: Says of a game that is proposed why it is rejected; "" accepts.
        log: Called with "< line" and "> line" of the protocol, without the password, which a server may repeat.
    """

    def __init__(
        self,
        settings: PlaySettings,
        secret: Secret,
        player: Player,
        *,
        listener: OnlineListener = SILENT_ONLINE,
        accept: Callable[[GameSummary], str] = lambda _: "",
        log: Callable[[str], None] | None = None,
    ) -> None:
        self.settings, self.listener = settings, listener
        self.score = Score()
        """Results so far."""
        self._secret, self._accept = secret, accept
        self._log = None if log is None else self._without_secret(log)
        self._engine = ThinkingPlayer(player, settings.rules, listener)
        self._lag = Lag(settings.margin_ms)
        self._records: RecordFolder | None = None
        self._connecting: asyncio.Task[LineConnection] | None = None
        self._inbox: Inbox | None = None
        self._finishing = asyncio.Event()
        self._has_logged_in = False
        self._backoff = Backoff(settings.reconnects, listener)

    async def run(self) -> Score:
        """Play until the games are played, or `finish` or `resign` is called.

        Raises:
            CsaLoginError: The server refuses the first login.
            ConnectionLostError: It cannot be reached, as often as the settings say.
            PlayerFailedError, OptionError: The engine does not start.
            LockedError: Another process works in the folder of the records.
        """
        settings = self.settings
        self._records = None if settings.out is None else RecordFolder(settings.out, self.listener)
        try:
            await self._engine.prepare(None, attempts=1)  # before anybody waits for it
            while not self._is_done():
                await self._connection()
        finally:
            await self._engine.close()
            if self._records is not None:
                self._records.close()
        return self.score

    def finish(self) -> None:
        """Leave after the game in play; at once if there is none."""
        self._finishing.set()
        if self._connecting is not None:
            self._connecting.cancel()
        if self._inbox is not None:
            self._inbox.finishes = True
            self._inbox.wake()

    def resign(self) -> None:
        """Resign the game in play, and leave."""
        if self._inbox is not None:
            self._inbox.resigns = True
        self.finish()

    def offer_interruption(self) -> None:
        """Offer to break the game in play off (``%CHUDAN``). It means what the server says: on floodgate, a loss."""
        if self._inbox is not None:
            self._inbox.offers_interruption = True
            self._inbox.wake()

    def _is_done(self) -> bool:
        limit = self.settings.games
        return self._finishing.is_set() or (limit is not None and self.score.games >= limit)

    async def _connection(self) -> None:
        """Connect and play until the connection ends; after a failure, pause."""
        settings, played = self.settings, self.score.games
        try:
            self._connecting = asyncio.create_task(connect(settings.host, settings.port, ANSWER_S, self._log))
            connection = await self._connecting
            self._connecting = None
            async with Inbox(connection, settings.keep_alive_s) as inbox:
                self._inbox = inbox
                await self._login(inbox)
                while not self._is_done():
                    await self._next_game(inbox)
        except (ConnectionLostError, CsaProtocolError, CsaLoginError) as error:
            if self._is_done():
                return
            if isinstance(error, CsaLoginError) and not self._has_logged_in:
                raise
            if self.score.games > played and not isinstance(error, CsaProtocolError):
                await self._backoff.rest(self._finishing)  # floodgate closes the connection after each game
            else:
                await self._backoff.pause(error, self._finishing)
        except asyncio.CancelledError:
            if self._connecting is None or not self._finishing.is_set():
                raise  # not by `finish`
        finally:
            self._connecting = self._inbox = None

    def _without_secret(self, log: Callable[[str], None]) -> Callable[[str], None]:
        return lambda line: log(self._secret.hidden_in(line))

    async def _login(self, inbox: Inbox) -> None:
        settings, name = self.settings, self.settings.name
        password = self._secret.reveal()
        if settings.game:
            password = f"{settings.game},{password}"
        inbox.connection.send(f"LOGIN {name} {password}")
        while True:
            line = await self._line(inbox, ANSWER_S)
            if not line:
                return
            if line == "LOGIN:incorrect":
                raise CsaLoginError(f"{settings.host} refuses the name {name} or the password")
            if line.startswith("LOGIN:") and line.endswith(" OK"):
                break
        self._has_logged_in = True

    async def _line(self, inbox: Inbox, timeout_s: float | None, *, is_agreed: bool = False) -> str:
        """The next line; "" if the user wants to leave: after the proposal of a game only by `resign`."""
        while not inbox.resigns and (is_agreed or not inbox.finishes):
            item = await inbox.take(timeout_s)
            if item is not None:
                return item[0]
        return ""

    async def _next_game(self, inbox: Inbox) -> None:
        """Wait for a game, and play it if both sides agree."""
        settings = self.settings
        self.listener.waiting(settings.name, settings.game)
        while (line := await self._line(inbox, None)) != "BEGIN Game_Summary":
            if not line:
                return
        summary = await self._read_summary(inbox)
        reason = self._reason_to_reject(summary)
        if not reason:
            try:
                self._engine.allow()
                await self._engine.prepare(ClientGame.terms(summary, settings))
            except PlayerFailedError:
                inbox.connection.send(_with_id("REJECT", summary))
                raise
        if reason:
            self.listener.note(f"{summary.game_id} is rejected: {printable(reason)}")
            inbox.connection.send(_with_id("REJECT", summary))
        else:
            inbox.connection.send(_with_id("AGREE", summary))
        if not await self._has_started(inbox):
            return
        game = ClientGame(summary, settings, inbox, self._engine, self._lag, self._records, self.listener)
        try:
            await game.play()
        except (ConnectionLostError, CsaProtocolError) as error:
            self.listener.note(f"{summary.game_id} is cut off: {error}")
            raise
        finally:
            self.score.add(game.game)

    async def _read_summary(self, inbox: Inbox) -> GameSummary:
        lines: list[str] = []
        while (line := await self._line(inbox, ANSWER_S, is_agreed=True)) != "END Game_Summary":
            if not line or len(lines) >= SUMMARY_LINES:
                raise CsaProtocolError("the game summary does not end")
            lines.append(line)
        return read_summary(lines)

    def _reason_to_reject(self, summary: GameSummary) -> str:
        if self._is_done():
            return "the games are over"
        opponent = summary.names[summary.turn.opponent]
        if opponent in self.settings.avoid:
            return f"{opponent} is avoided"
        if summary.position().is_mated():
            return "the game is over in its first position"
        return self._accept(summary)

    async def _has_started(self, inbox: Inbox) -> bool:
        """True if both sides have agreed."""
        while True:
            item = await inbox.take(LEAVING_S if inbox.resigns else START_S)
            line = "" if item is None else item[0]
            if line.startswith("START:"):
                return True
            if line.startswith("REJECT:"):
                self.listener.note(f"the server says {printable(line[:200])}")
                return False


def _with_id(word: str, summary: GameSummary) -> str:
    return f"{word} {summary.game_id}" if summary.game_id else word
