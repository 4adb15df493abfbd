"""One game of a client on a CSA server."""

import asyncio
import contextlib
import time
from dataclasses import dataclass

from fukayomi.arena.game.player import Answer, PlayerFailedError
from fukayomi.arena.game.referee import DECLARATIONS, continuation, ending_of, score_of
from fukayomi.arena.game.rules import GameTerms
from fukayomi.clients.csa.clock import DAY_MS, CsaClock, with_margin
from fukayomi.clients.csa.connection import ConnectionLostError
from fukayomi.clients.csa.inbox import Inbox
from fukayomi.clients.csa.lag import Lag
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
from fukayomi.clients.engine import ATTEMPTS, ThinkingPlayer
from fukayomi.clients.listener import OnlineGame, OnlineListener
from fukayomi.clients.records import GameFile, RecordFolder
from fukayomi.shogi import BLACK, WHITE, Color, Move, ShogiError
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, now, winner_is
from fukayomi.usi.client import EngineInterruptedError
from fukayomi.usi.options import OptionError
from fukayomi.usi.text import RESIGN as USI_RESIGN
from fukayomi.usi.text import WIN, shorten

SILENCE_S = 180.0
"""How long the server may say nothing after the time of the side to move is over."""
LEAVING_S = 10.0
"""How long the server may take for the result after a resignation from outside."""
NO_LIMIT = 10_000
"""Plies that an engine is told where the server has no limit."""


@dataclass(slots=True)
class _Sent:
    """Our move, on its way."""

    text: str
    at_s: float
    score_cp: int | None = None
    mate: int | None = None
    pv: str = ""
    ponder: str | None = None
    """The answer that the engine expects."""


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
        self._lag, self._listener = lag, listener
        self._color = summary.turn
        self._position = summary.position()
        self._clocks = {color: CsaClock(summary.times[color]) for color in (BLACK, WHITE)}
        turn = self._position.turn if len(summary.record.moves) % 2 == 0 else self._position.turn.opponent
        for played in summary.record.moves:
            self._clocks[turn].charge((played.time_ms or 0) // summary.times[turn].unit_ms)
            turn = turn.opponent
        own = summary.times[self._color]
        self.record = Record(
            initial_sfen=summary.record.initial_sfen,
            moves=list(summary.record.moves),
            black_name=summary.names[BLACK],
            white_name=summary.names[WHITE],
            event=summary.game_id,
            site=f"{settings.host}:{settings.port}",
            start_time=now(),
            time_limit=own.text(),
        )
        self._game = OnlineGame(summary.game_id, summary.names, self._color, self.record)
        self._file: GameFile | None = None
        self._records = records
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

    async def play(self) -> OnlineGame:
        """Play to the end.

        Returns:
            The game. If the connection broke it is an interrupted one, without a result.

        Raises:
            ConnectionLostError, CsaProtocolError: The connection broke; the game is saved and reported all the same.
        """
        if self._records is not None:
            self._begin_file(self._records)
        self._listener.game_started(self._game)
        error: Exception | None = None
        try:
            self._begin_turn(time.monotonic())
            while not self._is_over:
                await self._step()
        except (ConnectionLostError, CsaProtocolError) as failed:
            error = failed
            self.record.termination, self.record.result = Termination.INTERRUPTED, Result.UNKNOWN
            self.record.ending_comment = str(failed)
        finally:
            await self._stop_thinking()
        await self._finish()
        if error is not None:
            raise error
        return self._game

    @property
    def _is_over(self) -> bool:
        return self.record.termination is not Termination.NONE

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
        record = self.record
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
            self._lag.add(at_s - sent.at_s)
            played = RecordedMove(move, sent.score_cp, sent.mate, sent.pv, time_ms=played.time_ms)
        self._position.push(move)
        self.record.moves.append(played)
        if self._file is not None:
            try:
                self._file.add(before, played)
            except OSError as error:
                self._listener.note(f"{self._game.game_id} is not saved: {error}")
        left_ms = {color: clock.main_ms for color, clock in self._clocks.items()}
        self._listener.moved(self._game, len(self.record), played, left_ms)
        self._begin_turn(at_s)
        if sent is not None and sent.ponder is not None:
            await self._ponder(sent.ponder)

    # ------------------------------------------------------------------------------------------ our turn

    def _begin_turn(self, at_s: float) -> None:
        self._turn_began_s = at_s
        is_ours = self._position.turn == self._color
        if is_ours and not self._has_resigned and self._ending() is None:
            self._engine.allow()
            self._thinking = asyncio.create_task(self._move())

    def _ending(self) -> Termination | None:
        """The end of the game by the rules, which the server is about to announce; a mate must be resigned."""
        ended = ending_of(self._position, len(self.record), self._summary.max_moves or NO_LIMIT)
        return None if ended is None or ended[0] is Termination.MATE else ended[0]

    async def _move(self) -> None:
        """Choose a move, and send it."""
        try:
            answer = None if self._position.is_mated() else await self._choose()
        except EngineInterruptedError:
            return
        sent = self._to_send(answer)
        self._sent = sent
        text = sent.text
        if self._settings.comments and text[0] in "+-" and sent.score_cp is not None:
            after = self._position.copy()
            after.push_usi(answer.move if answer is not None else "")
            text = f"{text},{comment(after, sent.score_cp, sent.pv)}"
        sent.at_s = time.monotonic()
        self._inbox.connection.send(text)

    async def _choose(self) -> Answer | None:
        """The engine's answer: a legal move, a resignation or a declaration that holds; None: it fails again and again.

        An engine that breaks down is restarted, and thinks in what is left of the time.
        """
        turn = self._color
        clock, opponent = self._clocks[turn], self._clocks[turn.opponent]
        for attempt in range(1, ATTEMPTS + 1):
            margin_ms = self._lag.margin_ms
            if attempt > 1:
                margin_ms += round(1000 * (time.monotonic() - self._turn_began_s))
            latest_ms = clock.latest_ms()
            limit_ms = DAY_MS if latest_ms is None else max(1, latest_ms - margin_ms)
            go = with_margin(clock.go(turn, opponent), turn, margin_ms)
            try:
                answer = await self._engine.think(self._position, go, limit_ms)
                if self._is_allowed(answer.move):
                    return answer
                raise await self._engine.refuse(f"answered {shorten(answer.move)!r}, which is not a legal move")
            except PlayerFailedError as error:
                self._listener.note(f"{error}; attempt {attempt} of {ATTEMPTS}")
            if attempt < ATTEMPTS:
                try:
                    await self._engine.prepare(self.terms(self._summary, self._settings))
                except (PlayerFailedError, OptionError) as error:
                    self._listener.note(str(error))
        self._listener.note("the engine does not answer: resigning")
        return None

    def _is_allowed(self, text: str) -> bool:
        if text == WIN:
            return self._position.can_declare_win(DECLARATIONS[self._settings.rules.declaration])
        return text == USI_RESIGN or self._legal(text) is not None

    def _legal(self, text: str) -> Move | None:
        try:
            move = Move.from_usi(text)
        except ShogiError:
            return None
        return move if self._position.is_legal(move) else None

    def _to_send(self, answer: Answer | None) -> _Sent:
        at_s = time.monotonic()
        move = None if answer is None else self._legal(answer.move)
        if answer is None or move is None:
            return _Sent(DECLARE if answer is not None and answer.move == WIN else RESIGN, at_s)
        score_cp, mate = score_of(answer.info)
        sign = 1 if self._color == BLACK else -1
        best = None if answer.search is None else answer.search.bestmove
        return _Sent(
            csa_text(self._position, move),
            at_s,
            None if score_cp is None else sign * score_cp,
            None if mate is None else sign * mate,
            continuation(self._position, move, answer.info),
            None if best is None or not self._settings.ponder else best.ponder,
        )

    async def _ponder(self, expected: str) -> None:
        """Let the engine think about the answer that it expects, if the game goes on after it."""
        move = self._legal(expected)
        if move is None or self._ending() is not None:
            return
        after = self._position.copy()
        after.push(move)
        if ending_of(after, len(self.record) + 1, self._summary.max_moves or NO_LIMIT) is None:
            turn = self._color
            go = self._clocks[turn].go(turn, self._clocks[turn.opponent])
            await self._engine.ponder(after, with_margin(go, turn, self._lag.margin_ms))

    # ------------------------------------------------------------------------------------------ end

    async def _stop_thinking(self) -> None:
        thinking, self._thinking = self._thinking, None
        if thinking is not None:
            self._engine.stop()
            with contextlib.suppress(ConnectionLostError, EngineInterruptedError):
                await thinking

    async def _finish(self) -> None:
        """Tell the engine, save the record, report."""
        record = self.record
        record.end_time = now()
        if self._file is not None:
            try:
                path = await asyncio.to_thread(self._file.finish)
                self._game = OnlineGame(self._game.game_id, self._game.names, self._color, record, path)
            except OSError as error:
                self._listener.note(f"{self._game.game_id} is not saved: {error}")
        is_won = record.result == winner_is(self._color)
        is_lost = record.result == winner_is(self._color.opponent)
        await self._engine.game_over("win" if is_won else "lose" if is_lost else "draw")
        self._listener.game_ended(self._game)

    def _begin_file(self, records: RecordFolder) -> None:
        """Begin the file; a full disk does not end the game."""
        try:
            self._file = records.begin(self._summary.game_id, self.record)
        except OSError as error:
            self._listener.note(f"{self._game.game_id} is not saved: {error}")


def score_for(color: Color, result: Result) -> str:
    """``win``, ``loss``, ``draw`` or ``none`` for a side."""
    if result is Result.DRAW:
        return "draw"
    return "none" if result is Result.UNKNOWN else "win" if result == winner_is(color) else "loss"
