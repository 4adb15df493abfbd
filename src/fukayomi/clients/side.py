"""The engine's side of a game outside: what it plays, in what is left of the time."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fukayomi.arena.game.player import Answer, PlayerFailedError
from fukayomi.arena.game.referee import DECLARATIONS, continuation, ending_of, score_of
from fukayomi.arena.game.rules import Declaration, GameTerms
from fukayomi.arena.game.time_control import GameClock
from fukayomi.clients.clock import DAY_MS, with_margin
from fukayomi.clients.engine import ATTEMPTS, ThinkingPlayer
from fukayomi.clients.lag import Lag
from fukayomi.listener import Listener
from fukayomi.shogi import BLACK, Color, Move, Position, ShogiError
from fukayomi.shogi.record import Termination
from fukayomi.usi.options import OptionError
from fukayomi.usi.text import RESIGN, WIN, shorten

NO_LIMIT = 10_000
"""Plies that an engine is told where the server has no limit."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the engine plays."""

    move: Move | None = None
    """A legal move; None: it resigns, or declares."""
    declares: bool = False
    """A declaration that holds."""
    score_cp: int | None = None
    """Centipawns from Black's side."""
    mate: int | None = None
    """Plies to mate; positive if Black mates."""
    pv: str = ""
    """The moves that it expects, in USI."""
    ponder: str | None = None
    """The answer that it expects."""


class EngineSide:
    """An engine in one game: it answers with legal moves, in time for the network, and is restarted when it fails.

    Args:
        engine: The engine.
        color: Its side.
        terms: What it is told of the game.
        lag: The delays measured so far.
        listener: Gets notes of failures.
        can_declare: False on a server that ends games by its own count, where nobody declares.
    """

    def __init__(
        self,
        engine: ThinkingPlayer,
        color: Color,
        terms: GameTerms,
        lag: Lag,
        listener: Listener,
        *,
        can_declare: bool = True,
    ) -> None:
        self.color = color
        self.lag = lag
        self._engine, self._terms, self._listener = engine, terms, listener
        self._can_declare = can_declare

    async def prepare(self) -> None:
        """Get ready for the game.

        Raises:
            PlayerFailedError, OptionError, EngineInterruptedError: See `ThinkingPlayer.prepare`.
        """
        self._engine.allow()
        await self._engine.prepare(self._terms)

    def ending(self, position: Position) -> Termination | None:
        """How the game ends by the rules in a position; None if it goes on, or the side to move is mated."""
        ended = ending_of(position, position.ply - 1, self._terms.max_plies)
        return None if ended is None or ended[0] is Termination.MATE else ended[0]

    async def choose(self, position: Position, clocks: Mapping[Color, GameClock], began_s: float) -> Choice:
        """Choose a move; an engine that fails again and again resigns.

        Args:
            position: The position with all moves of the game.
            clocks: The clocks as the server has them, when the turn began.
            began_s: When that was (`time.monotonic`).

        Raises:
            EngineInterruptedError: `ThinkingPlayer.stop` was called.
        """
        answer = None if position.is_mated() else await self._answer(position, clocks, began_s)
        move = None if answer is None else legal_move(position, answer.move)
        if answer is None or move is None:
            return Choice(declares=answer is not None and answer.move == WIN)
        score_cp, mate = score_of(answer.info)
        sign = 1 if self.color == BLACK else -1
        best = None if answer.search is None else answer.search.bestmove
        return Choice(
            move,
            score_cp=None if score_cp is None else sign * score_cp,
            mate=None if mate is None else sign * mate,
            pv=continuation(position, move, answer.info),
            ponder=None if best is None or not self._terms.ponder else best.ponder,
        )

    async def ponder(self, position: Position, expected: str | None, clocks: Mapping[Color, GameClock]) -> None:
        """Let the engine think about the answer that it expects, if there is one and the game goes on after it.

        Args:
            position: The position after the engine's move.
            expected: The answer, in USI.
            clocks: The clocks after the move.
        """
        move = None if expected is None else legal_move(position, expected)
        if move is None or self.ending(position) is not None:
            return
        after = position.copy()
        after.push(move)
        if ending_of(after, after.ply - 1, self._terms.max_plies) is None:
            go = clocks[self.color].go(self.color, clocks[self.color.opponent])
            await self._engine.ponder(after, with_margin(go, self.color, self.lag.margin_ms))

    async def _answer(self, position: Position, clocks: Mapping[Color, GameClock], began_s: float) -> Answer | None:
        """A legal move, a resignation or a declaration that holds; None: the engine fails again and again.

        An engine that breaks down is restarted, and thinks in what is left of the time.
        """
        clock = clocks[self.color]
        for attempt in range(1, ATTEMPTS + 1):
            margin_ms = self.lag.margin_ms
            if attempt > 1:
                margin_ms += round(1000 * (time.monotonic() - began_s))
            latest_ms = clock.latest_ms()
            limit_ms = DAY_MS if latest_ms is None else max(1, latest_ms - margin_ms)
            go = with_margin(clock.go(self.color, clocks[self.color.opponent]), self.color, margin_ms)
            try:
                answer = await self._engine.think(position, go, limit_ms)
                if answer.move == WIN and not self._can_declare and self._holds(position):
                    self._terms = replace(self._terms, declaration=Declaration.NONE)  # the server counts otherwise
                elif answer.move == RESIGN or legal_move(position, answer.move) or self._is_win(position, answer.move):
                    return answer
                else:
                    raise await self._engine.refuse(f"answered {shorten(answer.move)!r}, which is not a legal move")
            except PlayerFailedError as error:
                self._listener.note(f"{error}; attempt {attempt} of {ATTEMPTS}")
            if attempt < ATTEMPTS:
                try:
                    await self._engine.prepare(self._terms)
                except (PlayerFailedError, OptionError) as error:
                    self._listener.note(str(error))
        self._listener.note("the engine does not answer: resigning")
        return None

    def _is_win(self, position: Position, text: str) -> bool:
        return text == WIN and self._can_declare and self._holds(position)

    def _holds(self, position: Position) -> bool:
        return position.can_declare_win(DECLARATIONS[self._terms.declaration])


def legal_move(position: Position, text: str) -> Move | None:
    """A move in USI; None if it is none, or not legal."""
    try:
        move = Move.from_usi(text)
    except ShogiError:
        return None
    return move if position.is_legal(move) else None
