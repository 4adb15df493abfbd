"""A game of the reader against the engine: rules, clocks, the engine's moves, taking back, hints.

The rules are those of matches (`arena.game`), the engine's answers those that a GUI gets (`Engine.choose`).
"""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from fukayomi.arena.game.referee import ending_of, score_of
from fukayomi.arena.game.time_control import GameClock
from fukayomi.engine.engine import Engine
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.shogi import BLACK, WHITE, Color, DeclarationRule, Move, Position, ShogiError
from fukayomi.shogi.formats.clock import TimeLimit
from fukayomi.shogi.formats.notation import english_moves, japanese_moves
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, now, result_of, winner_is
from fukayomi.usi.text import RESIGN, WIN
from fukayomi.web.play.question import MOST_PLIES, PlayError, PlayQuestion

if TYPE_CHECKING:
    from fukayomi.engine.network import Network
    from fukayomi.engine.settings import UsiSettings
    from fukayomi.usi.client import SearchAnswer

MEMORY_MB = 256
"""Most memory for the engine's tree: ten seconds with a sparse network take as much."""
HINT_MEMORY_MB = 16
LATE_MS = 500
"""Tolerance for late moves of the reader: they travel."""
STOP_S = 0.02
"""Interval at which a search that has not begun is told to stop."""


class Phase(StrEnum):
    """Phase of a game: who is to move."""

    READER = "reader"
    ENGINE = "engine"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class _Turn:
    """State that taking a move back restores."""

    main_ms: dict[Color, int]


class PlayGame:
    """A game in play. All methods may be called from any thread.

    Args:
        question: The game.
        network: What plays; it stays open.
        settings: Options of the engine.
        changed: Called after every change, from any thread, without a lock.
        first: Makes the contexts in which the engine thinks; other searches pause in them.

    Raises:
        PlayError: The position is none, or the game is over there.
    """

    def __init__(
        self,
        question: PlayQuestion,
        network: "Network",
        settings: "UsiSettings",
        changed: Callable[[], None],
        first: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._question = question
        self._rule = DeclarationRule[question.declaration.name]
        self._changed = changed
        self._first_of_all = first
        self._network = network
        self._position = question.position()
        self._first = len(self._position.moves)
        self.color = BLACK if question.color == "black" else WHITE
        self._engine = Engine(network, memory_mb=MEMORY_MB, settings=question.options(settings), shares_batches=True)
        self._clocks = {
            self.color: GameClock(question.clock(), margin_ms=LATE_MS) if question.has_clock else None,
            self.color.opponent: GameClock(question.engine_clock(), margin_ms=LATE_MS),
        }
        self._record = _record(question, self._position, self.color)
        self._turns: list[_Turn] = []
        self._lock = threading.RLock()
        self._hint_lock = threading.Lock()  # one hint at a time
        self._version = 0
        self._began_s = time.monotonic()
        self._timer: threading.Timer | None = None
        self._thread: threading.Thread | None = None
        self._error = ""
        self._is_closed = False
        ended = ending_of(self._position, len(self._record), MOST_PLIES)
        if ended is not None:
            self._engine.close()
            raise PlayError("the game is over in this position")
        with self._lock:
            self._begin_turn()

    # ------------------------------------------------------------------------------------------ what the page sees

    @property
    def phase(self) -> Phase:
        """Phase of the game: who is to move."""
        if self._record.termination is not Termination.NONE:
            return Phase.OVER
        return Phase.READER if self._position.turn == self.color else Phase.ENGINE

    @property
    def idle_s(self) -> float:
        """Time for which the reader has not moved."""
        return time.monotonic() - self._began_s if self.phase is Phase.READER else 0.0

    def state(self) -> dict[str, Any]:
        """The game as the page gets it. Of two states the one with the higher `version` is newer."""
        with self._lock:
            record, phase = self._record, self.phase
            played = record.initial_sfen, record.usi_moves()
            names = zip(record.moves, japanese_moves(*played), english_moves(*played), strict=True)
            return {
                "version": self._version,
                "color": _name(self.color),
                "phase": phase.value,
                "turn": _name(self._position.turn),
                "start": record.initial_sfen,
                "first": self._first,
                "moves": [_move_state(move, japanese, english) for move, japanese, english in names],
                "can_declare": phase is Phase.READER and self._may_declare(),
                "can_take_back": len(self._turns) > 0 and self._taken_back() is not None,
                "end": _end(record),
                "winner": _winner(record),
                "names": [record.black_name, record.white_name],
                "clocks": {_name(color): _clock_state(clock) for color, clock in self._clocks.items()},
                "elapsed_ms": 0 if phase is Phase.OVER else round(1000 * (time.monotonic() - self._began_s)),
                "error": self._error,
            }

    def record(self) -> Record:
        """The game as a record."""
        with self._lock:
            return replace(self._record, moves=list(self._record.moves))

    # ------------------------------------------------------------------------------------------ the reader

    def move(self, usi: str, ply: int) -> None:
        """Play the reader's move.

        Args:
            usi: The move.
            ply: Number of moves played before it, so that a move that comes twice counts once.

        Raises:
            PlayError: The reader is not to move, or the move is not legal.
        """
        with self._lock:
            self._check_turn()
            if ply != len(self._record):
                raise PlayError("the position has changed")
            try:
                move = Move.from_usi(usi)
            except ShogiError as error:
                raise PlayError(str(error)) from error
            if not self._position.is_legal(move):
                raise PlayError(f"{usi} is not a legal move")
            self._play(RecordedMove(move), 1000 * (time.monotonic() - self._began_s))
        self._changed()

    def resign(self) -> None:
        """The reader resigns, also while the engine thinks.

        Raises:
            PlayError: The game is over.
        """
        with self._lock:
            if self.phase is Phase.OVER:
                raise PlayError("the game is over")
            self._end(Termination.RESIGN, winner_is(self.color.opponent))
        self._stop_thinking()
        self._changed()

    def declare(self) -> None:
        """The reader declares a win, or a draw by the 24-point rule (入玉宣言).

        Raises:
            PlayError: The reader is not to move, or the rules do not allow it; nothing is lost by that.
        """
        with self._lock:
            self._check_turn()
            if self._position.can_declare_win(self._rule):
                self._end(Termination.DECLARATION, winner_is(self.color))
            elif self._position.can_declare_draw(self._rule):
                self._end(Termination.IMPASSE, Result.DRAW)
            else:
                raise PlayError("the conditions of a declaration are not met")
        self._changed()

    def take_back(self) -> None:
        """Take back the reader's last move, and the engine's answer to it. Clocks go back too.

        Raises:
            PlayError: The reader has not moved yet.
        """
        with self._lock:
            kept = self._taken_back()
            if kept is None:
                raise PlayError("there is no move to take back")
            self._version += 1  # the engine's answer comes too late
        self._stop_thinking()
        with self._lock:
            turn = self._turns[kept - self._first]
            while len(self._record) > kept:
                self._position.pop()
                self._record.moves.pop()
            del self._turns[kept - self._first :]
            for color, main_ms in turn.main_ms.items():
                clock = self._clocks[color]
                assert clock is not None
                clock.main_ms = main_ms
            self._record.termination, self._record.result = Termination.NONE, Result.UNKNOWN
            self._error = ""
            self._begin_turn()
        self._changed()

    def hint(self) -> dict[str, Any]:
        """Hint for the reader: move, win rate and line that the engine would play, at its full strength.

        Raises:
            PlayError: The reader is not to move.
            EvaluatorError: The network failed.
        """
        with self._lock:
            self._check_turn()
            position = self._position.copy()
        nodes = self._network.analysis_nodes
        with (
            self._hint_lock,
            Engine(self._network, memory_mb=HINT_MEMORY_MB, shares_batches=True) as engine,
            self._first_of_all(),
        ):
            result = engine.search(position, nodes=nodes)
        line = result.lines[0]
        usi = [move.usi() for move in line.pv]
        return {
            "ply": len(position.moves),
            "usi": usi[0],
            "pv": usi,
            "japanese": japanese_moves(position.sfen(), usi),
            "english": english_moves(position.sfen(), usi),
            "win_rate": line.winrate if position.turn == BLACK else 1 - line.winrate,
            "cp": line.cp if position.turn == BLACK else -line.cp,
            "nodes": nodes,
        }

    def close(self) -> None:
        """End the game without a result; an interrupted game keeps its moves."""
        with self._lock:
            if self.phase is not Phase.OVER:
                self._end(Termination.INTERRUPTED, Result.UNKNOWN)
            self._is_closed = True
        self._stop_thinking()
        self._engine.close()

    # ------------------------------------------------------------------------------------------ the game

    def _check_turn(self) -> None:
        if self.phase is Phase.OVER:
            raise PlayError("the game is over")
        if self.phase is Phase.ENGINE:
            raise PlayError("the engine is to move")

    def _may_declare(self) -> bool:
        return self._position.can_declare_win(self._rule) or self._position.can_declare_draw(self._rule)

    def _taken_back(self) -> int | None:
        """Number of moves that stay when the reader takes a move back; None if there is none."""
        turn = self._position.turn
        for kept in range(len(self._record) - 1, self._first - 1, -1):
            turn = turn.opponent
            if turn == self.color:
                return kept
        return None

    def _play(self, played: RecordedMove, used_ms: float) -> None:
        """Play a legal move of the side to move, if it has come in time."""
        turn = self._position.turn
        before = _Turn({color: clock.main_ms for color, clock in self._clocks.items() if clock is not None})
        clock = self._clocks[turn]
        if clock is not None and clock.control.has_clock and not clock.spend(used_ms):
            self._end(Termination.TIME_UP, winner_is(turn.opponent))
            return
        if self._rule is DeclarationRule.TRY and played.move == self._position.try_move():
            self._record.comment = f"try (トライ): {played.move.usi()}"
            self._end(Termination.DECLARATION, winner_is(turn))
            return
        self._turns.append(before)
        played.time_ms = round(used_ms)
        self._position.push(played.move)
        self._record.moves.append(played)
        ended = ending_of(self._position, len(self._record), MOST_PLIES)
        if ended is not None:
            self._end(*ended)
        else:
            self._begin_turn()

    def _begin_turn(self) -> None:
        """Start the clock of the side to move, and the engine if it is its turn."""
        self._version += 1
        self._stop_timer()
        self._began_s = time.monotonic()
        if self.phase is Phase.ENGINE:
            self._thread = threading.Thread(
                target=self._think, args=(self._version,), name="fukayomi-play", daemon=True
            )
            self._thread.start()
            return
        clock = self._clocks[self.color]
        latest_ms = None if clock is None else clock.latest_ms()
        if latest_ms is not None:
            self._timer = threading.Timer(latest_ms / 1000, self._time_up, (self._version,))
            self._timer.daemon = True
            self._timer.start()

    def _time_up(self, version: int) -> None:
        """The reader's time is over, if it is still the same turn."""
        with self._lock:
            if version != self._version or self.phase is not Phase.READER:
                return
            clock = self._clocks[self.color]
            assert clock is not None
            clock.main_ms = 0
            self._end(Termination.TIME_UP, winner_is(self.color.opponent))
        self._changed()

    def _end(self, termination: Termination, result: Result) -> None:
        self._version += 1
        self._stop_timer()
        self._record.termination, self._record.result = termination, result
        self._record.end_time = now()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ------------------------------------------------------------------------------------------ the engine

    def _think(self, version: int) -> None:
        """Let the engine choose a move, in a thread of its own."""
        color = self.color.opponent
        with self._lock:
            if version != self._version:
                return
            clock, reader = self._clocks[color], self._clocks[self.color]
            assert clock is not None
            go = clock.go(color, reader or clock)
            position, began_s = self._position.copy(), self._began_s
        try:
            with self._first_of_all():
                answer = self._engine.choose(position, go)
            error = ""
        except EvaluatorError as failed:
            answer, error = None, str(failed)
        used_ms = 1000 * (time.monotonic() - began_s)
        with self._lock:
            if version != self._version:
                return
            if answer is None:
                self._error = error
                self._end(Termination.ERROR, Result.UNKNOWN)
            else:
                self._answer(answer, used_ms)
        self._changed()

    def _answer(self, answer: "SearchAnswer", used_ms: float) -> None:
        assert answer.bestmove is not None
        turn, text = self._position.turn, answer.bestmove.move
        if text == RESIGN:
            self._end(Termination.RESIGN, result_of(Termination.RESIGN, turn))
        elif text == WIN:
            self._end(Termination.DECLARATION, result_of(Termination.DECLARATION, turn))
        else:
            cp, mate = score_of(answer.best_info)
            sign = 1 if turn == BLACK else -1
            move = Move.from_usi(text)
            self._play(RecordedMove(move, None if cp is None else sign * cp, mate and sign * mate), used_ms)

    def _stop_thinking(self) -> None:
        """Wait until the engine has ended; what it answers is too late. Called without the lock."""
        thread = self._thread
        while thread is not None and thread.is_alive():
            self._engine.stop()  # a stop before the search begins has no effect
            thread.join(STOP_S)


def _record(question: PlayQuestion, position: Position, color: Color) -> Record:
    limit, clock = question.engine_clock().text(), question.clock() if question.has_clock else None
    drawn = f", temperature {question.temperature:g}" if question.temperature else ""
    names = {color: question.name, color.opponent: f"fukayomi ({limit}{drawn})"}
    return Record(
        initial_sfen=position.start_sfen(),
        moves=[RecordedMove(move) for move in position.moves],
        black_name=names[BLACK],
        white_name=names[WHITE],
        start_time=now(),
        time_limit="" if clock is None else TimeLimit(clock.main_ms, clock.byoyomi_ms, clock.increment_ms).csa_3(),
    )


def _move_state(played: RecordedMove, japanese: str, english: str) -> dict[str, Any]:
    return {
        "usi": played.move.usi(),
        "japanese": japanese,
        "english": english,
        "time_ms": played.time_ms,
        "cp": played.score_cp,
        "mate": played.mate,
    }


def _end(record: Record) -> str | None:
    return None if record.termination is Termination.NONE else record.termination.value


def _winner(record: Record) -> str | None:
    return {Result.BLACK_WIN: "black", Result.WHITE_WIN: "white", Result.DRAW: "draw"}.get(record.result)


def _clock_state(clock: GameClock | None) -> dict[str, Any] | None:
    """A clock that runs down; None for a limit of a move, and for none."""
    if clock is None or not clock.control.has_clock:
        return None
    control = clock.control
    return {"main_ms": clock.main_ms, "byoyomi_ms": control.byoyomi_ms, "increment_ms": control.increment_ms}


def _name(color: Color) -> str:
    return "black" if color == BLACK else "white"
