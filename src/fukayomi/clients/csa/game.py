"""One game of a client on a CSA server."""

import asyncio
import contextlib
import time
from dataclasses import dataclass

from fukayomi.arena.game.rules import GameTerms
from fukayomi.clients.connecting import ConnectionLostError
from fukayomi.clients.csa.clock import CsaClock
from fukayomi.clients.csa.inbox import Inbox
from fukayomi.clients.csa.settings import PlaySettings
from fukayomi.clients.csa.text import (
    DECLARE,
    INTERRUPT,
    OUTCOMES,
    RESIGN,
    CsaProtocolError,
    GameSummary,
    comment,
    csa_text,
    ending,
    read_echo,
    read_move,
)
from fukayomi.clients.engine import ThinkingPlayer
from fukayomi.clients.lag import Lag
from fukayomi.clients.listener import OnlineGame, OnlineListener
from fukayomi.clients.records import PlayedGame, RecordFolder
from fukayomi.clients.side import NO_LIMIT, Choice, EngineSide
from fukayomi.shogi import BLACK, WHITE
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, now, winner_is
from fukayomi.usi.client import EngineInterruptedError

SILENCE_S = 180.0
"""How long the server may say nothing after the time of the side to move is over."""
LEAVING_S = 10.0
"""How long the server may take for the result after a resignation from outside."""


@dataclass(slots=True)
class _Sent:
    """Our move, on its way."""

    text: str
    at_s: float
    choice: Choice


class ClientGame:
    """A game in play, from START to the result.

    Args:
        summary: What both sides agreed to.
        settings: The client's.
        inbox: Lines of the server, and what the user wants.
        engine: Chooses our moves; prepared for this game.
        lag: The delays measured so far; learns more.
        records: Where the record goes; None: it is not saved.
        listener: Hears of the game.
    """

    def __init__(
        self,
        summary: GameSummary,
        settings: PlaySettings,
        inbox: Inbox,
        engine: ThinkingPlayer,
        lag: Lag,
        records: RecordFolder | None,
        listener: OnlineListener,
    ) -> None:
        self._summary, self._settings, self._inbox, self._engine = summary, settings, inbox, engine
        self._listener = listener
        self._color = summary.turn
        self._position = summary.position()
        self._clocks = {color: CsaClock(summary.times[color]) for color in (BLACK, WHITE)}
        turn = self._position.turn if len(summary.record.moves) % 2 == 0 else self._position.turn.opponent
        for played in summary.record.moves:
            self._clocks[turn].charge((played.time_ms or 0) // summary.times[turn].unit_ms)
            turn = turn.opponent
        own = summary.times[self._color]
        record = Record(
            initial_sfen=summary.record.initial_sfen,
            moves=list(summary.record.moves),
            black_name=summary.names[BLACK],
            white_name=summary.names[WHITE],
            event=summary.game_id,
            site=f"{settings.host}:{settings.port}",
            start_time=now(),
            time_limit=own.text(),
        )
        game = OnlineGame(summary.game_id, summary.names, self._color, record)
        self._played = PlayedGame(game, records, listener)
        self._side = EngineSide(engine, self._color, self.terms(summary, settings), lag, listener)
        self._turn_began_s = time.monotonic()
        self._thinking: asyncio.Task[None] | None = None
        self._sent: _Sent | None = None
        self._reason = ""
        self._has_resigned = False
        self._has_offered = False

    @staticmethod
    def terms(summary: GameSummary, settings: PlaySettings) -> GameTerms:
        """What the engine is told of a game."""
        first_ply = int(summary.record.initial_sfen.split()[3])
        limit = summary.max_moves or NO_LIMIT
        return GameTerms(settings.rules.declaration, limit + first_ply - 1, settings.ponder, bool(summary.max_moves))

    @property
    def game(self) -> OnlineGame:
        """The game."""
        return self._played.game

    async def play(self) -> None:
        """Play to the end. If the connection breaks the game is an interrupted one, without a result.

        Raises:
            ConnectionLostError, CsaProtocolError: The connection broke; the game is saved and reported all the same.
        """
        self._played.begin()
        self._listener.game_started(self.game)
        record, error = self.game.record, None
        try:
            self._begin_turn(time.monotonic())
            while not self._played.is_over:
                await self._step()
        except (ConnectionLostError, CsaProtocolError) as failed:
            error = failed
            record.termination, record.result = Termination.INTERRUPTED, Result.UNKNOWN
            record.ending_comment = str(failed)
        finally:
            self._played.leave()  # all moves are in the file; a cancelled game is recovered from it
            await self._stop_thinking()
        await self._played.end()
        await self._engine.game_over(self.game.outcome)
        self._listener.game_ended(self.game)
        if error is not None:
            raise error

    # ------------------------------------------------------------------------------------------ lines

    async def _step(self) -> None:
        """Wait for the next line, or the engine's answer, and handle it."""
        if self._inbox.resigns and not self._has_resigned:
            await self._stop_thinking()
            self._has_resigned = True
            self._inbox.connection.send(RESIGN)
        if self._inbox.offers_interruption and not self._has_offered:
            self._has_offered = True
            self._inbox.connection.send(INTERRUPT)
        item = await self._inbox.take(self._patience_s(), self._thinking)
        if item is None:
            if self._thinking is not None and self._thinking.done():
                thinking, self._thinking = self._thinking, None
                thinking.result()
            return
        line, at_s = item
        if line.startswith("#"):
            self._hear_end(line)
        elif (echo := read_echo(line)) is not None and echo.text[0] in "+-":
            await self._hear_move(echo.text, echo.units, at_s)

    def _patience_s(self) -> float | None:
        """How long the server may be silent now; None: for ever."""
        if self._has_resigned:
            return LEAVING_S
        latest_ms = self._clocks[self._position.turn].latest_ms()
        if latest_ms is None:
            return None
        return self._turn_began_s + latest_ms / 1000 + SILENCE_S - time.monotonic()

    def _hear_end(self, line: str) -> None:
        if line not in OUTCOMES:
            self._reason = line
            return
        record = self.game.record
        record.termination, record.result = ending(self._reason, line, self._color)
        is_lost = record.result == winner_is(self._color.opponent)
        if record.termination is Termination.ILLEGAL_MOVE and is_lost and self._sent is not None:
            record.ending_comment = f"the server refused {self._sent.text}"  # it is legal by our rules

    async def _hear_move(self, text: str, units: int | None, at_s: float) -> None:
        turn, before = self._position.turn, self._position.copy()
        move = read_move(text, self._position)
        if move is None:
            raise CsaProtocolError(f"the server sent {text}, which is not legal in {self._position.sfen()}")
        time_ = self._summary.times[turn]
        if units is None:
            units = time_.units_of(1000 * (at_s - self._turn_began_s))
        self._clocks[turn].charge(units)
        played = RecordedMove(move, time_ms=units * time_.unit_ms)
        sent = None
        if turn == self._color and self._sent is not None and self._sent.text == text:
            sent, self._sent = self._sent, None
            self._side.lag.add(at_s - sent.at_s)
            choice = sent.choice
            played = RecordedMove(move, choice.score_cp, choice.mate, choice.pv, time_ms=played.time_ms)
        self._position.push(move)
        self._played.add(before, played, {color: clock.main_ms for color, clock in self._clocks.items()})
        self._begin_turn(at_s)
        if sent is not None:
            await self._side.ponder(self._position, sent.choice.ponder, self._clocks)

    # ------------------------------------------------------------------------------------------ our turn

    def _begin_turn(self, at_s: float) -> None:
        self._turn_began_s = at_s
        is_ours = self._position.turn == self._color
        if is_ours and not self._has_resigned and self._side.ending(self._position) is None:
            self._engine.allow()
            self._thinking = asyncio.create_task(self._move())

    async def _move(self) -> None:
        """Choose a move, and send it."""
        try:
            choice = await self._side.choose(self._position, self._clocks, self._turn_began_s)
        except EngineInterruptedError:
            return
        if choice.move is None:
            text = sent = DECLARE if choice.declares else RESIGN
        else:
            text = sent = csa_text(self._position, choice.move)
            if self._settings.comments and choice.score_cp is not None:
                after = self._position.copy()
                after.push(choice.move)
                sent = f"{text},{comment(after, choice.score_cp, choice.pv)}"
        self._sent = _Sent(text, time.monotonic(), choice)
        self._inbox.connection.send(sent)

    # ------------------------------------------------------------------------------------------ end

    async def _stop_thinking(self) -> None:
        thinking, self._thinking = self._thinking, None
        if thinking is not None:
            self._engine.stop()
            with contextlib.suppress(ConnectionLostError, EngineInterruptedError):
                await thinking
