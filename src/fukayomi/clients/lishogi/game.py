"""One game of the bot: its stream, which says what the state is, and the moves that it sends."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from fukayomi.arena.game.player import PlayerFailedError
from fukayomi.arena.game.rules import Declaration, GameTerms
from fukayomi.arena.game.time_control import GameClock
from fukayomi.clients.clock import usi_time
from fukayomi.clients.connecting import Backoff, ConnectionLostError
from fukayomi.clients.engine import ThinkingPlayer
from fukayomi.clients.lag import Lag
from fukayomi.clients.lishogi.api import LishogiApi, RateLimitedError, RequestRefusedError, TokenRefusedError
from fukayomi.clients.lishogi.decisions import is_level, is_lost, own_scores
from fukayomi.clients.lishogi.settings import BotSettings
from fukayomi.clients.lishogi.text import (
    STANDARD,
    GameFull,
    GameState,
    LishogiProtocolError,
    read_line,
    read_message,
)
from fukayomi.clients.listener import OnlineGame, OnlineListener
from fukayomi.clients.records import PlayedGame, RecordFolder
from fukayomi.clients.side import NO_LIMIT, Choice, EngineSide, legal_move
from fukayomi.errors import FukayomiError
from fukayomi.shogi import BLACK, WHITE, Color, Move, Position
from fukayomi.shogi.formats.clock import TimeLimit
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, now
from fukayomi.tabular import printable
from fukayomi.usi.client import EngineInterruptedError

NO_CLOCK_MS = 10_000
"""Time for a move in a game without a clock."""
REFUSALS = 3
"""Refusals of moves in one position before the bot resigns."""
FAILURES = 6
"""Streams in a row that the server refuses, or that have wrong messages, before a game is given up; or that cannot be
opened, before a bot that leaves does not wait for the end of the game."""
NOT_FOUND = 404
LEAVING_S = 10.0
"""How long the server may take for the result after a resignation from outside."""
ABORTABLE_PLIES = 2
"""A game can be aborted while it has fewer moves."""


class _NotPlayableError(FukayomiError):
    """A game that the bot cannot play."""


@dataclass(slots=True)
class _Sent:
    """What we play in a position."""

    plies: int
    """Moves before it."""
    choice: Choice
    at_s: float = 0.0
    """When it was sent the last time."""
    refusals: int = 0


class BotGame:
    """A game in play, from the first message of its stream to the result.

    Args:
        game_id: The server's name for it.
        own_id: The account of the bot.
        settings: The bot's.
        api: The server.
        finishing: Set when the bot leaves after its games. A game whose server does not answer is then left to the next
            run after a minute.
        borrow: Gets an engine for the game, when there is one; it is called once at most.
        lag: The delays measured so far; learns more.
        records: Where the record goes; None: it is not saved.
        listener: Hears of the game.
    """

    def __init__(
        self,
        game_id: str,
        own_id: str,
        settings: BotSettings,
        api: LishogiApi,
        finishing: asyncio.Event,
        borrow: Callable[[], Awaitable[ThinkingPlayer]],
        lag: Lag,
        records: RecordFolder | None,
        listener: OnlineListener,
    ) -> None:
        self.game_id = game_id
        self.engine: ThinkingPlayer | None = None
        """The engine that was borrowed."""
        self._own_id, self._settings, self._api = own_id, settings, api
        self._finishing, self._borrow = finishing, borrow
        self._lag, self._records, self._listener = lag, records, listener
        self._backoff = Backoff(settings.reconnects, listener)
        self._played: PlayedGame | None = None
        self._side: EngineSide | None = None
        self._color = BLACK
        self._position = Position()
        self._state: GameState | None = None
        self._turn_began_s = 0.0
        self._thinking: asyncio.Task[None] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._sent: _Sent | None = None
        self._broken = asyncio.Event()
        self._ended = asyncio.Event()
        self._is_leaving = False
        self._answers: set[asyncio.Task[None]] = set()
        self._answered: set[tuple[str, int]] = set()
        self._granted = 0

    @property
    def game(self) -> OnlineGame | None:
        """The game; None if its stream has not said what it is."""
        return None if self._played is None else self._played.game

    @property
    def is_over(self) -> bool:
        """True if the game has its end."""
        return self._played is not None and self._played.is_over

    async def play(self) -> None:
        """Play to the end, whatever breaks on the way: the stream says where the game is.

        Raises:
            ConnectionLostError: The server cannot be reached, as often as the settings say. What was played stays
                in the folder of the records, and the next bot goes on.
            TokenRefusedError: The token is no longer valid.
            PlayerFailedError, OptionError: The engine does not start; the game is resigned.
        """
        failures = 0
        try:
            while not self._ended.is_set():
                known = self._plies
                try:
                    await self._follow()
                except TokenRefusedError:
                    raise
                except (ConnectionLostError, RateLimitedError, RequestRefusedError, LishogiProtocolError) as error:
                    if self._ended.is_set():
                        break
                    if self._plies > known:
                        failures = 0
                        self._backoff.reset()
                    failures += isinstance(error, RequestRefusedError | LishogiProtocolError)
                    if failures >= FAILURES or (isinstance(error, RequestRefusedError) and error.status == NOT_FOUND):
                        await self._give_up(str(error))
                    elif self._finishing.is_set() and self._backoff.failures >= FAILURES:
                        self._listener.note(f"{error}; {self.game_id} is left to the next run")
                        break
                    else:
                        await self._backoff.pause(error, self._ended)
                except _NotPlayableError as error:
                    await self._give_up(str(error))
        finally:
            if self._played is not None:
                self._played.leave()  # before anything that a second cancellation could break off
            for task in list(self._answers):
                task.cancel()
            await self._stop_thinking()

    async def leave(self) -> None:
        """Resign, or abort if the game has hardly begun; the result comes by the stream, or the next bot finds it."""
        self._is_leaving = True
        await self._stop_thinking()
        aborts = self._plies < ABORTABLE_PLIES
        with contextlib.suppress(ConnectionLostError, RateLimitedError, RequestRefusedError):
            await self._api.post(self._path("abort" if aborts else "resign"))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVING_S):
                await self._ended.wait()
        self._ended.set()
        self._broken.set()

    @property
    def _plies(self) -> int:
        return 0 if self._played is None else len(self._played.record)

    def _path(self, words: str) -> str:
        return f"/api/bot/game/{self.game_id}/{words}"

    # ------------------------------------------------------------------------------------------ stream

    async def _follow(self) -> None:
        """Follow one stream, until the game ends, the stream breaks, or a move may be lost."""
        self._raise_failure()
        self._broken.clear()
        is_known = False
        broken = asyncio.create_task(self._broken.wait())
        async with contextlib.aclosing(self._api.lines(f"/api/bot/game/stream/{self.game_id}")) as lines:
            try:
                while not self._ended.is_set():
                    line, at_s = await self._next(lines, broken)
                    kind, message = read_line(line)
                    if kind == "gameFull":
                        is_known = True
                        await self._hear_game(read_message(GameFull, message), at_s)
                    elif kind == "gameState" and is_known:
                        await self._hear_state(read_message(GameState, message), at_s, is_whole=False)
            finally:
                broken.cancel()

    async def _next(self, lines: AsyncGenerator[tuple[str, float]], broken: "asyncio.Task[Any]") -> tuple[str, float]:
        """The next line of the stream; what is begun with a line is never cut off."""
        line = asyncio.ensure_future(anext(lines))
        try:
            await asyncio.wait((line, broken), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not line.done():
                line.cancel()
                await asyncio.wait((line,))
        if not line.cancelled():
            return line.result()
        self._raise_failure()
        raise ConnectionLostError(f"{self.game_id}: the server may not have had a move")

    def _raise_failure(self) -> None:
        """Raise the error of a task that has failed."""
        for task in (self._thinking, self._sending):
            if task is not None and task.done() and not task.cancelled():
                task.result()

    async def _hear_game(self, full: GameFull, at_s: float) -> None:
        """The game as a whole: at the beginning of each stream."""
        if full.id != self.game_id:
            raise LishogiProtocolError(f"the stream of {self.game_id} has the game {full.id}")
        if self._played is None:
            self._begin(full)
        await self._hear_state(full.state, at_s, is_whole=True)

    def _begin(self, full: GameFull) -> None:
        if full.variant.key != STANDARD:
            raise _NotPlayableError(f"the variant is {printable(full.variant.key)}")
        sides = [color for color in (BLACK, WHITE) if self._own_id in (full.player(color).id, full.player(color).name)]
        if not sides:
            raise LishogiProtocolError(f"{self.game_id} is a game of others")
        self._color = sides[0]
        clock = full.clock
        record = Record(
            initial_sfen=full.sfen(),
            black_name=full.sente.shown,
            white_name=full.gote.shown,
            black_rating=full.sente.rating,
            white_rating=full.gote.rating,
            event=self.game_id,
            site=f"{self._api.url}/{self.game_id}",
            start_time=now(),
            time_limit="" if clock is None else TimeLimit(clock.initial, clock.byoyomi, clock.increment).csa_3(),
        )
        self._position = Position.from_sfen(record.initial_sfen)
        for text in full.state.moves.split():  # so that the file of an earlier bot is recognized
            record.moves.append(RecordedMove(_push(self._position, text)))
        names = {BLACK: record.black_name, WHITE: record.white_name}
        self._played = PlayedGame(OnlineGame(self.game_id, names, self._color, record), self._records, self._listener)
        self._played.begin()
        self._listener.game_started(self._played.game)
        for ply, recorded in enumerate(record.moves, 1):
            self._listener.moved(self._played.game, ply, recorded, _left(full.state))

    async def _hear_state(self, state: GameState, at_s: float, *, is_whole: bool) -> None:
        """A state of the game: new moves, moves taken back, offers, or the end.

        Args:
            state: The state.
            at_s: When it came.
            is_whole: True at the beginning of a stream, where it cannot be an old one.
        """
        played = self._played
        if played is None or played.is_over:
            return
        moves, known = state.moves.split(), played.record.usi_moves()
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(moves, known, strict=False)))
        is_shorter = same < len(known)
        if is_shorter and not (is_whole or state.is_over or self._granted):
            if same == len(moves):
                return  # an old state, once more
            raise LishogiProtocolError(f"the moves of {self.game_id} have changed")
        _check(played.record.initial_sfen if is_shorter else self._position, moves if is_shorter else moves[same:])
        if is_shorter:
            await self._take_back(played, same)
        sent = None
        for number, text in enumerate(moves[same:], same + 1):
            sent = self._hear_move(played, state, text, at_s, is_last=number == len(moves), is_whole=is_whole) or sent
        if is_shorter or len(moves) > len(known) or self._state is None or _left(self._state) != _left(state):
            self._turn_began_s = at_s
        self._state = state
        if state.is_over:
            await self._end(played, state)
            return
        self._answer_offers(state)
        if self._side is None:
            await self._meet(played)
        if not self._is_leaving:
            await self._take_turn(sent, is_whole=is_whole)

    def _hear_move(
        self, played: PlayedGame, state: GameState, text: str, at_s: float, *, is_last: bool, is_whole: bool
    ) -> _Sent | None:
        """A new move; returns what we had sent if it is ours."""
        turn, before, plies = self._position.turn, self._position.copy(), len(played.record)
        move = _push(self._position, text)
        time_ms = self._used_ms(turn, state, at_s) if is_last else None
        sent = self._sent
        if sent is None or sent.plies != plies or sent.choice.move != move:
            sent = None
            recorded = RecordedMove(move, time_ms=time_ms)
        else:
            choice = sent.choice
            recorded = RecordedMove(move, choice.score_cp, choice.mate, choice.pv, time_ms=time_ms)
            if not is_whole:  # otherwise the pause before the new stream is in it
                self._lag.add(at_s - sent.at_s)
        played.add(before, recorded, _left(state))
        return sent

    def _used_ms(self, color: Color, state: GameState, at_s: float) -> int | None:
        """The time of the last move: what the clock of its side has lost; as measured, in byoyomi."""
        if self._state is None:
            return None
        before_ms, after_ms = self._state.left_ms(color), state.left_ms(color)
        if after_ms or not state.byo:
            return max(0, before_ms + state.increment_ms(color) - after_ms)
        return max(before_ms, round(1000 * (at_s - self._turn_began_s)))

    async def _take_back(self, played: PlayedGame, plies: int) -> None:
        """Go back to an earlier position."""
        await self._stop_thinking()
        self._sent = None
        self._answered.clear()
        played.take_back(plies)
        self._position = Position.from_sfen(played.record.initial_sfen)
        for recorded in played.record.moves:
            self._position.push(recorded.move)

    # ------------------------------------------------------------------------------------------ our turn

    async def _meet(self, played: PlayedGame) -> None:
        """Get an engine ready."""
        self.engine = await self._borrow()
        first_ply = Position.from_sfen(played.record.initial_sfen).ply
        terms = GameTerms(Declaration.POINTS_27, NO_LIMIT + first_ply - 1, self._settings.ponder, is_limit_chosen=False)
        side = EngineSide(self.engine, self._color, terms, self._lag, self._listener, can_declare=False)
        try:
            await side.prepare()
        except PlayerFailedError:
            with contextlib.suppress(ConnectionLostError, RateLimitedError, RequestRefusedError):
                await self._api.post(self._path("resign"))
            raise
        self._side = side

    async def _take_turn(self, confirmed: _Sent | None, *, is_whole: bool) -> None:
        """Think, send again what the server has not had, or think in the opponent's time."""
        side, engine, plies = self._side, self.engine, self._plies
        if side is None or engine is None:
            return
        if self._position.turn != self._color:
            if confirmed is not None:
                await side.ponder(self._position, confirmed.choice.ponder, self._clocks())
        elif self._sent is not None and self._sent.plies == plies:
            if is_whole and (self._sending is None or self._sending.done()):  # our move is not in the new stream
                self._sending = self._start(self._send(self._sent))
        elif self._thinking is None or self._thinking.done():
            engine.allow()
            self._thinking = self._start(self._move(side, plies))

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        def check(task: "asyncio.Task[None]") -> None:
            if not task.cancelled() and task.exception() is not None:
                self._broken.set()  # `_raise_failure` raises its error

        task = asyncio.create_task(work)
        task.add_done_callback(check)
        return task

    async def _stop_thinking(self) -> None:
        """End the search that runs, and send nothing more."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait((self._sending,))
        if self._thinking is not None:
            if self.engine is not None:
                self.engine.stop()
            await asyncio.wait((self._thinking,))
        self._thinking = self._sending = None

    async def _move(self, side: EngineSide, plies: int) -> None:
        """Choose a move, and begin to send it."""
        try:
            choice = await side.choose(self._position.copy(), self._clocks(), self._turn_began_s)
        except EngineInterruptedError:
            return
        self._sent = _Sent(plies, Choice() if is_lost(self._scores(choice), self._settings) else choice)
        self._sending = self._start(self._send(self._sent))

    async def _send(self, sent: _Sent) -> None:
        """Send a move, after the pauses that the server asks for. If it may be lost the stream is opened again."""
        while self._sent is sent and sent.plies == self._plies:
            move = sent.choice.move
            words = "resign" if move is None else f"move/{move.usi()}"
            if (
                move is not None
                and self._settings.offer_draws
                and is_level(self._scores(sent.choice), self._plies, self._settings)
            ):
                words += "?offeringDraw=true"
            sent.at_s = time.monotonic()
            try:
                await self._api.post(self._path(words))
            except RateLimitedError as error:
                self._listener.note(f"{self.game_id}: {error}")
                await self._api.ready()
                continue
            except RequestRefusedError as error:
                self._listener.note(f"{self.game_id}: {error}")
                sent.refusals += 1
                if sent.refusals >= REFUSALS:
                    sent.choice = Choice()
                self._broken.set()
            except ConnectionLostError as error:
                self._listener.note(f"{self.game_id}: {error}")
                self._broken.set()
            return

    def _clocks(self) -> dict[Color, GameClock]:
        """The clocks as the last state has them.

        The server adds an increment after the move, USI before it: so what USI calls the main time is less.
        """
        state, clocks = self._state, dict[Color, GameClock]()
        for color in (BLACK, WHITE):
            left_ms, byoyomi_ms, increment_ms = NO_CLOCK_MS, 0, 0
            if state is not None:
                increment_ms = min(state.increment_ms(color), state.left_ms(color))
                left_ms, byoyomi_ms = state.left_ms(color) - increment_ms, state.byo
            if not left_ms and not byoyomi_ms and not increment_ms:
                left_ms = 1
            clocks[color] = GameClock(usi_time(left_ms, byoyomi_ms, increment_ms))
        return clocks

    # ------------------------------------------------------------------------------------------ draws, takebacks

    def _scores(self, last: Choice | None = None) -> list[int | None]:
        """The scores of our moves, from our side, and that of the move that is chosen now."""
        if self._played is None:
            return []
        moves = self._played.record.moves
        first = self._position.turn if len(moves) % 2 == 0 else self._position.turn.opponent
        scores = own_scores(moves, first, self._color)
        if last is not None:
            scores.append(None if last.score_cp is None else last.score_cp * (1 if self._color == BLACK else -1))
        return scores

    def _answer_offers(self, state: GameState) -> None:
        """Answer what the opponent asks for, once in each position."""
        opponent = self._color.opponent
        if state.offers_draw(opponent):
            self._answer("draw", is_accepted=is_level(self._scores(), self._plies, self._settings))
        if state.wants_takeback(opponent) and ("takeback", self._plies) not in self._answered:
            is_granted = self._granted < self._settings.takebacks
            self._granted += is_granted
            self._answer("takeback", is_accepted=is_granted)

    def _answer(self, what: str, *, is_accepted: bool) -> None:
        if (what, self._plies) in self._answered:
            return
        self._answered.add((what, self._plies))
        word = "yes" if is_accepted else "no"

        async def send() -> None:
            try:
                await self._api.post(self._path(f"{what}/{word}"))
                self._listener.note(f"{self.game_id}: the opponent asks for a {what}: {word}")
            except (ConnectionLostError, RateLimitedError, RequestRefusedError) as error:
                self._listener.note(f"{self.game_id}: the opponent asks for a {what}: {error}")

        task = asyncio.create_task(send())
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    # ------------------------------------------------------------------------------------------ end

    async def _end(self, played: PlayedGame, state: GameState) -> None:
        """The server says how the game ended."""
        await self._stop_thinking()
        termination, result = state.ending()
        played.record.termination, played.record.result = termination, result
        if termination is Termination.OTHER:
            played.record.ending_comment = f"the server says: {state.status}"
        await self._finish(played)

    async def _give_up(self, reason: str) -> None:
        """The server does not know the game, or tells nonsense of it."""
        await self._stop_thinking()
        self._listener.note(f"{self.game_id} is given up: {reason}")
        if self._played is not None:
            record = self._played.record
            record.termination, record.result, record.ending_comment = Termination.INTERRUPTED, Result.UNKNOWN, reason
            await self._finish(self._played)
        elif self._records is not None and self.game_id in self._records.left():
            self._records.give_up(self.game_id)
        self._ended.set()

    async def _finish(self, played: PlayedGame) -> None:
        await played.end()
        if self.engine is not None:
            await self.engine.game_over(played.game.outcome)
        self._listener.game_ended(played.game)
        self._ended.set()


def _check(start: Position | str, moves: Sequence[str]) -> None:
    """Check moves that the server sent, before anything is changed.

    Raises:
        LishogiProtocolError: One is not legal.
    """
    position = Position.from_sfen(start) if isinstance(start, str) else start.copy()
    for text in moves:
        _push(position, text)


def _push(position: Position, text: str) -> Move:
    """Play a move that the server sent.

    Raises:
        LishogiProtocolError: It is not legal.
    """
    move = legal_move(position, text)
    if move is None:
        raise LishogiProtocolError(f"the server sent {text[:20]!r}, which is not legal in {position.sfen()}")
    position.push(move)
    return move


def _left(state: GameState) -> dict[Color, int]:
    """Main time left to each side."""
    return {color: state.left_ms(color) for color in (BLACK, WHITE)}
