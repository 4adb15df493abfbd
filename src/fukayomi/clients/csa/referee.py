"""A game between two clients of a CSA server: the proposal, the moves, the clocks, and what a breach costs."""

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol

from fukayomi.arena.game.referee import DECLARATIONS, ending_of
from fukayomi.clients.csa.clock import CsaClock, CsaTime
from fukayomi.clients.csa.settings import ServeSettings
from fukayomi.clients.csa.text import (
    DECLARE,
    INTERRUPT,
    RESIGN,
    SIGN,
    GameSummary,
    csa_text,
    ending_lines,
    read_comment,
    read_move,
)
from fukayomi.clients.listener import OnlineGame, OnlineListener
from fukayomi.clients.records import PlayedGame, RecordFolder
from fukayomi.shogi import BLACK, WHITE, Color, Move, Position
from fukayomi.shogi.formats.notation import western_move
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, now, result_of, winner_is
from fukayomi.tabular import printable

QUEUED = 16
"""Lines that wait for the referee; a client that sends more waits."""
SERVER = "the server"


class Side(Protocol):
    """A player of a game, as the referee sees it."""

    name: str
    avoids: set[str]
    """Players that it does not meet again."""

    def send(self, *lines: str) -> None:
        """Send lines; to a player who has gone, nothing."""

    def drop(self) -> None:
        """End the connection."""

    def back(self, game: "RefereedGame") -> None:
        """The game is over."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """A line of a player, or that it has left."""

    side: Side | None
    """None: the server breaks the game off."""
    line: str | None
    """None: it has left."""
    at_s: float
    reason: str = ""


class RefereedGame:
    """A game of a server.

    Args:
        game_id: Its name.
        sides: The players.
        clock: The time of each.
        settings: The rules and timeouts.
        records: Where the record goes; None: it is not saved.
        listener: Hears of the game.
    """

    def __init__(
        self,
        game_id: str,
        sides: dict[Color, Side],
        clock: CsaTime,
        settings: ServeSettings,
        records: RecordFolder | None,
        listener: OnlineListener,
    ) -> None:
        self.sides = sides
        self.has_started = False
        """True if both sides agreed."""
        self._settings, self._listener = settings, listener
        self._clock = clock
        self._clocks = {color: CsaClock(clock, settings.rules.margin_ms) for color in sides}
        self._declaration = DECLARATIONS[settings.rules.declaration]
        self._position = Position()
        names = {color: side.name for color, side in sides.items()}
        self._record = Record(
            black_name=names[BLACK], white_name=names[WHITE], event=game_id, start_time=now(), time_limit=clock.text()
        )
        self._played = PlayedGame(OnlineGame(game_id, names, None, self._record), records, listener)
        self._heard: asyncio.Queue[_Heard] = asyncio.Queue(QUEUED)
        self._is_over = False
        self._offers: set[Color] = set()
        self._offender: Side | None = None
        self._turn_began_s = 0.0

    async def hear(self, side: Side, line: str | None, at_s: float, reason: str = "") -> None:
        """A player sends a line, or leaves (None)."""
        if not self._is_over:
            await self._heard.put(_Heard(side, line, at_s, reason))

    def interrupt(self) -> None:
        """Break the game off, without a result."""
        while self._heard.full():
            self._heard.get_nowait()
        self._heard.put_nowait(_Heard(None, None, time.monotonic()))

    async def run(self) -> None:
        """Propose the game, and play it if both agree."""
        try:
            if await self._agree():
                await self._play()
        finally:
            self._is_over = True
            while not self._heard.empty():  # who waits there goes on
                self._heard.get_nowait()

    # ------------------------------------------------------------------------------------------ proposal

    async def _agree(self) -> bool:
        """Propose the game; True if both sides agree."""
        game_id, limit = self._played.game.game_id, self._settings.rules.max_plies
        times = dict.fromkeys(self.sides, self._clock)
        for color, side in self.sides.items():
            side.send(*GameSummary(game_id, self._played.game.names, color, times, max_moves=limit).lines())
        missing = [*self.sides.values()]
        try:
            async with asyncio.timeout(self._settings.agree_s):
                while missing:
                    heard = await self._heard.get()
                    side, line = heard.side, heard.line
                    if side is None:
                        self._reject(SERVER)
                        return False
                    if line in ("AGREE", f"AGREE {game_id}") and side in missing:
                        missing.remove(side)
                        continue
                    if line in ("REJECT", f"REJECT {game_id}"):
                        self.sides[BLACK].avoids.add(self.sides[WHITE].name)
                    else:
                        side.drop()  # it has left, or breaks the protocol
                    self._reject(side.name)
                    return False
        except TimeoutError:
            self._reject(missing[0].name)
            for side in missing:
                side.drop()
            return False
        return True

    def _reject(self, name: str) -> None:
        for side in self.sides.values():
            side.send(f"REJECT:{self._played.game.game_id} by {name}")

    # ------------------------------------------------------------------------------------------ moves

    async def _play(self) -> None:
        self.has_started = True
        self._played.begin()  # before the players know of the game: a kill then leaves it here too
        for side in self.sides.values():
            side.send(f"START:{self._played.game.game_id}")
        self._turn_began_s = time.monotonic()
        self._listener.game_started(self._played.game)
        while not self._played.is_over:
            latest_ms = self._clocks[self._position.turn].latest_ms()
            try:
                until_s = None if latest_ms is None else self._turn_began_s + latest_ms / 1000
                async with asyncio.timeout(None if until_s is None else max(0.0, until_s - time.monotonic())):
                    heard = await self._heard.get()
            except TimeoutError:
                if self._heard.empty():  # otherwise a line has just come, perhaps in time
                    self._end_by(Termination.TIME_UP)
            else:
                self._judge(heard)
        await self._finish()

    def _judge(self, heard: _Heard) -> None:
        """What a player has sent, or that it has left."""
        turn, line = self._position.turn, heard.line
        if heard.side is None:
            self._end(Termination.INTERRUPTED, Result.UNKNOWN)
            return
        color = BLACK if heard.side is self.sides[BLACK] else WHITE
        used_ms = max(0.0, 1000 * (heard.at_s - self._turn_began_s))
        latest_ms = self._clocks[turn].latest_ms()
        if latest_ms is not None and used_ms > latest_ms:
            self._end_by(Termination.TIME_UP)
        elif line is None:
            self._foul(color, heard.reason)
        elif line == RESIGN:
            if color == turn:
                self._echo(RESIGN, used_ms)
            self._end(Termination.RESIGN, winner_is(color.opponent))
        elif line == INTERRUPT:
            self._offers.add(color)
            if len(self._offers) == 2:
                self._end(Termination.INTERRUPTED, Result.UNKNOWN)
        elif color != turn:
            self._foul(color, f"it sent {_quoted(line)} in the opponent's turn")
        elif line == DECLARE:
            self._declare(used_ms)
        elif line[:1] in ("+", "-"):
            self._move(line, used_ms)
        else:
            self._foul(color, f"it sent {_quoted(line)}")

    def _echo(self, text: str, used_ms: float) -> int:
        """Tell both sides what was accepted; returns its time in units."""
        units = self._clock.units_of(used_ms)
        for side in self.sides.values():
            side.send(f"{text},T{units}")
        return units

    def _declare(self, used_ms: float) -> None:
        if self._position.can_declare_win(self._declaration):
            termination = Termination.DECLARATION
        elif self._position.can_declare_draw(self._declaration):
            termination = Termination.IMPASSE
        else:
            self._record.comment = f"{DECLARE}, but the rule for a declaration does not hold"
            self._end_by(Termination.ILLEGAL_MOVE)
            return
        self._echo(DECLARE, used_ms)
        self._end_by(termination)

    def _move(self, line: str, used_ms: float) -> None:
        text, _, comment = line.partition(",")
        move = read_move(text, self._position)
        if move is None:
            meant = western_move(text, self._position) if text[0] == SIGN[self._position.turn] else None
            if meant is None:
                self._record.ending_comment = f"{SIGN[self._position.turn]} sent {_quoted(text)}"
            else:
                self._record.illegal_move = meant.usi()
            self._end_by(Termination.ILLEGAL_MOVE)
            return
        self._turn_began_s += used_ms / 1000
        self._play_move(move, comment, self._echo(csa_text(self._position, move), used_ms))

    def _play_move(self, move: Move, comment: str, units: int) -> None:
        turn, before = self._position.turn, self._position.copy()
        self._clocks[turn].charge(units)
        self._position.push(move)
        score_cp, pv = read_comment(comment, self._position)
        played = RecordedMove(move, score_cp, pv=pv, time_ms=units * self._clock.unit_ms)
        self._played.add(before, played, {color: clock.main_ms for color, clock in self._clocks.items()})
        ended = ending_of(self._position, len(self._record), self._settings.rules.max_plies)
        if ended is not None and ended[0] is not Termination.MATE:  # who is mated resigns, as CSA has it
            self._end(*ended)

    # ------------------------------------------------------------------------------------------ end

    def _foul(self, color: Color, reason: str) -> None:
        self._record.ending_comment = f"{SIGN[color]} {self.sides[color].name}: {printable(reason)}"
        self._listener.note(f"{self._played.game.game_id}: {self.sides[color].name} loses: {reason}")
        self._offender = self.sides[color]
        self._end(Termination.PROTOCOL, winner_is(color.opponent))

    def _end_by(self, termination: Termination) -> None:
        self._end(termination, result_of(termination, self._position.turn))

    def _end(self, termination: Termination, result: Result) -> None:
        self._record.termination, self._record.result = termination, result

    async def _finish(self) -> None:
        """Save the record, and tell both sides."""
        await self._played.end()
        for color, side in self.sides.items():
            side.send(*ending_lines(self._record.termination, self._record.result, color))
        if self._offender is not None:
            self._offender.drop()
        self._listener.game_ended(self._played.game)


def _quoted(line: str) -> str:
    return repr(printable(line[:40]))
