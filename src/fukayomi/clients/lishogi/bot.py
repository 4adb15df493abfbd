"""A bot on lishogi: it answers challenges by its rules, and plays one game or several."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from fukayomi.arena.game.player import Player
from fukayomi.clients.connecting import Backoff, ConnectionLostError, wait_for
from fukayomi.clients.engine import ThinkingPlayer
from fukayomi.clients.lag import Lag
from fukayomi.clients.lishogi.api import LishogiApi, RateLimitedError, RequestRefusedError
from fukayomi.clients.lishogi.challenges import DAY_S, Opponents, Refusal, refusal
from fukayomi.clients.lishogi.game import BotGame
from fukayomi.clients.lishogi.settings import BotSettings
from fukayomi.clients.lishogi.text import (
    Account,
    Challenge,
    GameInfo,
    LishogiProtocolError,
    read_line,
    read_message,
)
from fukayomi.clients.listener import SILENT_ONLINE, OnlineListener, Score
from fukayomi.clients.records import RecordFolder
from fukayomi.clients.secrets import Secret
from fukayomi.errors import FukayomiError

STARTING_S = 30.0
"""How long a game that was accepted may take to begin."""
MOST_WAITING = 100
"""Games and answers to challenges that wait at once; more are passed over."""
REMEMBERED = 1000
"""Challenges that were answered, and are not answered again."""


class NotABotError(FukayomiError):
    """The account of the token is not a bot account."""


class LishogiBot:
    """Plays on lishogi with players of `fukayomi.arena.game`, such as a `UsiPlayer`.

        settings = BotSettings(games=1, max_main=600, out=Path("lishogi"))
        bot = LishogiBot(settings, Secret("..."), lambda: usi_player("mine", ["fukayomi-usi"]))
        score = asyncio.run(bot.run())

    Args:
        settings: Server, challenges, play.
        token: Of the account, with the permission to play as a bot.
        player: Makes a player; it is called once for each game at the same time.
        listener: Hears of games and moves; challenges are notes.
        log: Called with "> request" and "< answer", without the token.
    """

    def __init__(
        self,
        settings: BotSettings,
        token: Secret,
        player: Callable[[], Player],
        *,
        listener: OnlineListener = SILENT_ONLINE,
        log: Callable[[str], None] | None = None,
    ) -> None:
        self.settings, self.listener = settings, listener
        self.score = Score()
        """Results so far."""
        self._player = player
        self._api = LishogiApi(settings.url, token, log)
        self._backoff = Backoff(settings.reconnects, listener)
        self._lag = Lag(settings.margin_ms)
        self._records: RecordFolder | None = None
        self._account: Account | None = None
        self._idle: list[ThinkingPlayer] = []
        self._engines: list[ThinkingPlayer] = []
        self._free = asyncio.Condition()
        self._games: dict[str, BotGame] = {}
        self._accepted: dict[str, float] = {}
        self._answered: deque[str] = deque(maxlen=REMEMBERED)
        self._played: deque[str] = deque(maxlen=REMEMBERED)
        self._met = Opponents()
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: BaseException | None = None
        self._changed = asyncio.Event()
        self._finishing = asyncio.Event()
        self._resigns = False

    async def run(self) -> Score:
        """Play until the games are played, or `finish` or `resign` is called. Games that an earlier run left go on.

        Raises:
            TokenRefusedError: The server refuses the token.
            NotABotError: The account is not a bot account.
            ConnectionLostError: The server cannot be reached, as often as the settings say.
            PlayerFailedError, OptionError: The engine does not start.
            LockedError: Another process works in the folder of the records.
        """
        settings = self.settings
        if settings.out is not None:
            self._records = RecordFolder(settings.out, self.listener, goes_on=True)
        try:
            engine = self._new_engine()
            await engine.prepare(None, attempts=1)  # before anybody waits for it
            self._idle.append(engine)
            async with self._api:
                await self._sign_in()
                await self._play()
        finally:
            tasks = [*self._tasks]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for engine in self._engines:
                await engine.close()
            if self._records is not None:
                self._records.close()
        return self.score

    def finish(self) -> None:
        """Accept no more challenges, and leave after the games in play; at once if there are none."""
        self._finishing.set()
        self._changed.set()

    def resign(self) -> None:
        """Resign the games in play (abort those that have hardly begun), and leave."""
        self._resigns = True
        self.finish()

    # ------------------------------------------------------------------------------------------ the run

    async def _sign_in(self) -> None:
        """Find out who we are, and whom we have met."""
        while not self._finishing.is_set():
            try:
                self._account = await self._api.account()
            except (ConnectionLostError, RateLimitedError) as error:
                await self._backoff.pause(error, self._finishing)
                continue
            self._backoff.reset()
            if not self._account.is_bot:
                raise NotABotError(
                    f"{self._account.username} is not a bot account; fukayomi lishogi upgrade makes it one"
                )
            if self._records is not None and self.settings.per_day is not None:
                for record in await asyncio.to_thread(list, self._records.recent(DAY_S)):
                    self._met.add_record(record, self._account.username)
            return

    async def _play(self) -> None:
        if self._records is not None:
            for game_id in self._records.left():
                self._begin(game_id)
        if self._account is not None:
            self.listener.waiting(self._account.username, "")
            self._start(self._listen())
        has_resigned = False
        while not self._is_done():
            await wait_for(self._changed, STARTING_S)
            self._changed.clear()
            if self._resigns and not has_resigned:
                has_resigned = True
                for game in self._games.values():
                    self._start(game.leave())

    def _is_done(self) -> bool:
        """True if the run is over. Raises the error of a task that has failed."""
        if self._failed is not None:
            raise self._failed
        self._forget_accepted()
        if self._games or self._accepted:
            return False
        limit = self.settings.games
        return self._finishing.is_set() or (limit is not None and self.score.games >= limit)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task, whose error ends the run."""

        def ended(task: "asyncio.Task[None]") -> None:
            self._tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                self._failed = self._failed or error
            self._changed.set()

        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(ended)

    # ------------------------------------------------------------------------------------------ events

    async def _listen(self) -> None:
        """Follow the stream of events, and open it again whenever it breaks."""
        while True:
            try:
                async with contextlib.aclosing(self._api.lines("/api/stream/event")) as lines:
                    async for line, _ in lines:
                        self._backoff.reset()
                        self._hear(line)
            except (ConnectionLostError, RateLimitedError) as error:
                await self._backoff.pause(error)
            except RequestRefusedError as error:
                if error.status in (401, 403):
                    raise
                await self._backoff.pause(error)

    def _hear(self, line: str) -> None:
        try:
            kind, message = read_line(line)
            if kind == "challenge":
                self._hear_challenge(read_message(Challenge, message.get("challenge")))
            elif kind == "challengeCanceled":
                self._accepted.pop(read_message(Challenge, message.get("challenge")).id, None)
                self._changed.set()
            elif kind == "gameStart":
                info = read_message(GameInfo, message.get("game"))
                if info.compat.bot:
                    self._begin(info.id)
        except LishogiProtocolError as error:
            self.listener.note(f"{error}; passed over")

    def _hear_challenge(self, challenge: Challenge) -> None:
        own = "" if self._account is None else self._account.id
        if challenge.direction == "out" or (challenge.challenger is not None and challenge.challenger.id == own):
            return
        if challenge.id in self._answered or len(self._tasks) >= MOST_WAITING:
            return
        self._answered.append(challenge.id)
        reason = refusal(challenge, self.settings, self._met) or self._is_busy()
        if reason is None:
            self._accepted[challenge.id] = time.monotonic()
            if challenge.challenger is not None:
                self._met.add(challenge.challenger.shown)
        self._start(self._answer(challenge, reason))

    def _is_busy(self) -> Refusal | None:
        """Why no game can begin now."""
        self._forget_accepted()
        count = len(self._games) + len(self._accepted)
        limit = self.settings.games
        if self._finishing.is_set() or (limit is not None and self.score.games + count >= limit):
            return Refusal("later", "the games are over")
        if count >= self.settings.at_once:
            return Refusal("later", "other games are in play")
        return None

    def _forget_accepted(self) -> None:
        """Forget the challenges that were accepted and did not become games."""
        for game_id, at_s in list(self._accepted.items()):
            if time.monotonic() > at_s + STARTING_S:
                del self._accepted[game_id]

    async def _answer(self, challenge: Challenge, reason: Refusal | None) -> None:
        said = "accepted" if reason is None else f"declined: {reason.text}"
        try:
            if reason is None:
                await self._api.post(f"/api/challenge/{challenge.id}/accept")
            else:
                await self._api.post(f"/api/challenge/{challenge.id}/decline", {"reason": reason.key})
        except (ConnectionLostError, RateLimitedError, RequestRefusedError) as error:
            if not isinstance(error, ConnectionLostError):  # otherwise the game may begin
                self._accepted.pop(challenge.id, None)
            said = str(error)
        self.listener.note(f"{challenge.text()}: {said}")

    # ------------------------------------------------------------------------------------------ games

    def _begin(self, game_id: str) -> None:
        """A game begins, or goes on."""
        self._accepted.pop(game_id, None)
        if game_id in self._games or game_id in self._played or len(self._games) >= MOST_WAITING:
            return
        if self._account is None or (self._records is not None and self._records.has(game_id)):
            return
        game = BotGame(
            game_id,
            self._account.id,
            self.settings,
            self._api,
            self._finishing,
            self._borrow,
            self._lag,
            self._records,
            self.listener,
        )
        self._games[game_id] = game
        self._start(self._run(game))

    async def _run(self, game: BotGame) -> None:
        try:
            await game.play()
            if game.game is not None and game.is_over:
                self.score.add(game.game)
        finally:
            self._played.append(game.game_id)
            if game.engine is not None:
                await self._give_back(game.engine)
            del self._games[game.game_id]

    def _new_engine(self) -> ThinkingPlayer:
        engine = ThinkingPlayer(self._player(), self.settings.rules, self.listener)
        self._engines.append(engine)
        return engine

    async def _borrow(self) -> ThinkingPlayer:
        """An engine that no game uses; waits for one if all are in use."""
        async with self._free:
            while not self._idle:
                if len(self._engines) < self.settings.at_once:
                    return self._new_engine()
                await self._free.wait()
            return self._idle.pop()

    async def _give_back(self, engine: ThinkingPlayer) -> None:
        async with self._free:
            self._idle.append(engine)
            self._free.notify()
