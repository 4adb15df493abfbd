"""The referee of a game between two engines, by our own rules.

An engine that fails loses: one that dies, hangs, floods, answers too late or breaks the rules. A failure during the
opponent's turn is noticed when the engine is to move: if the opponent ends the game before that, the result stands and
the failure is reported with it. An engine that does not start loses its game.
"""

import threading
from dataclasses import dataclass
from typing import NoReturn

from fukayomi._native import MATE_CP
from fukayomi.arena.game.openings import Opening
from fukayomi.arena.game.player import Answer, Failure, Player, PlayerFailedError
from fukayomi.arena.game.rules import Declaration, GameTerms, Rules
from fukayomi.arena.game.time_control import GameClock
from fukayomi.arena.statistics.move_times import AnswerTime
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import BLACK, WHITE, Color, DeclarationRule, Move, Position, Repetition, ShogiError
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination, now, result_of, winner_is
from fukayomi.usi.client import EngineInterruptedError
from fukayomi.usi.text import MOVE, RESIGN, WIN, Info, shorten


class Adjudicator:
    """Counts how many moves in a row each side has scored as won, lost or level.

    A move without a score (a book move, for example) breaks a series. A side whose first score is lost already, as in a
    handicap game, plays on to the end: such a game was given away by its start, not by an engine.
    """

    def __init__(self, rules: Rules) -> None:
        """Start a game."""
        self._rules = rules
        self._winning = {BLACK: 0, WHITE: 0}
        self._losing = {BLACK: 0, WHITE: 0}
        self._level = {BLACK: 0, WHITE: 0}
        self._first: dict[Color, int] = {}

    def add(self, color: Color, score_cp: int | None) -> None:
        """Count a move.

        Args:
            color: The side that played it.
            score_cp: Its score from that side's point of view, in centipawns; None: no score.
        """
        resign, draw = self._rules.resign, self._rules.draw
        if score_cp is not None:
            self._first.setdefault(color, score_cp)
        rows = (
            (self._winning, resign is not None and score_cp is not None and score_cp >= resign.score_cp),
            (self._losing, resign is not None and score_cp is not None and score_cp <= -resign.score_cp),
            (self._level, draw is not None and score_cp is not None and abs(score_cp) <= draw.score_cp),
        )
        for row, goes_on in rows:
            row[color] = row[color] + 1 if goes_on else 0

    def verdict(self, turn: Color, plies: int) -> Result | None:
        """The result, if the game is decided.

        Args:
            turn: The side to move.
            plies: Plies played so far.
        """
        resign, draw = self._rules.resign, self._rules.draw
        if resign is not None and self._losing[turn] >= resign.moves and self._first[turn] > -resign.score_cp:
            agrees = self._winning[turn.opponent] >= resign.moves
            if agrees or not resign.both_sides:
                return winner_is(turn.opponent)
        if draw is not None and plies >= draw.ply and min(self._level.values()) >= draw.moves:
            return Result.DRAW
        return None


PV_PLIES = 64

DECLARATIONS = {declaration: DeclarationRule[declaration.name] for declaration in Declaration}
"""The rules of the core, by those of the settings."""


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """A finished game."""

    record: Record
    """Names, all moves (those of the opening have no time), scores, termination, result."""
    failure: Failure | None = None
    """The engine that must be restarted, if any: usually, but not always, the one that lost."""
    warnings: tuple[str, ...] = ()
    """Irregularities that did not affect the result, as ``NAME: text``."""
    answers: tuple[AnswerTime, ...] = ()
    """The times of all answers, also of the one that lost the game, in their order."""


def play_game(
    black: Player,
    white: Player,
    opening: Opening,
    rules: Rules,
    stop: threading.Event | None = None,
    *,
    ponder: bool = False,
) -> PlayedGame | None:
    """Play a game.

    Args:
        black: The engine with the black pieces (先手). It is not always the first to move after an opening.
        white: The engine with the white pieces (後手).
        opening: Where the engines take over. If its moves end the game, no engine is asked.
        rules: When the game ends.
        stop: Ends the game when set; both engines can play another one.
        ponder: Whether engines that say which move they expect think in the opponent's time.

    Returns:
        The game; None if it was stopped.
    """
    if black is white:
        raise InvalidValueError(f"{black.name} cannot play against itself: create two players")
    game = _Game({BLACK: black, WHITE: white}, opening, rules, ponder=ponder)
    if game.is_over:
        return PlayedGame(game.record)
    failures: list[Failure | None] = []
    try:
        black.prepare(rules, stop, game.terms)
        white.prepare(rules, stop, game.terms)
        while not game.is_over:
            game.play_move(stop)
    except EngineInterruptedError:
        return None
    except PlayerFailedError as error:
        failures.append(error.failure)
        game.end(error.failure.kind, winner_is(WHITE if error.player is black else BLACK))
    game.tell_players()
    game.record.end_time = now()
    failures += [black.take_failure(), white.take_failure()]  # ask both: it closes a dead engine
    failure, *others = [*filter(None, failures), None]
    more = tuple(f"{other.engine}: {other.detail}" for other in others if other is not None)
    warnings = (*black.take_warnings(), *white.take_warnings(), *more)
    return PlayedGame(game.record, failure, warnings, tuple(game.answers))


class _Game:
    """A game in play."""

    def __init__(self, players: dict[Color, Player], opening: Opening, rules: Rules, *, ponder: bool) -> None:
        self._players = players
        self._rules = rules
        self._declaration = DECLARATIONS[rules.declaration]
        nodes_index = opening.number + opening.round  # a repeated opening gets another number of nodes
        self._clocks = {
            color: GameClock(player.clock, nodes_index, rules.margin_ms) for color, player in players.items()
        }
        self._adjudicator = Adjudicator(rules)
        self._position = Position.from_sfen(opening.initial_sfen)
        self.terms = GameTerms.of(rules, ponder=ponder, first_ply=self._position.ply)
        self.record = Record(
            initial_sfen=opening.initial_sfen,
            black_name=players[BLACK].name,
            white_name=players[WHITE].name,
            start_time=now(),
        )
        self.answers: list[AnswerTime] = []
        self._judge_position()
        for move in opening.moves:
            if self.is_over:
                break
            self._push(RecordedMove(move))

    @property
    def is_over(self) -> bool:
        """True if the game has ended."""
        return self.record.termination is not Termination.NONE

    def end(self, termination: Termination, result: Result) -> None:
        """End the game."""
        self.record.termination, self.record.result = termination, result

    def play_move(self, stop: threading.Event | None) -> None:
        """Ask the side to move, and judge its answer."""
        turn = self._position.turn
        clock, opponent = self._clocks[turn], self._clocks[turn.opponent]
        latest_ms = clock.latest_ms()
        limit_ms = self._rules.stall_ms if latest_ms is None else latest_ms
        answer = self._players[turn].think(self._position, clock.go(turn, opponent), limit_ms, stop)
        self.answers.append(AnswerTime(self._players[turn].name, round(answer.used_ms, 1), _reported_ms(answer)))
        if not clock.spend(answer.used_ms) or answer.used_ms > limit_ms:
            self._end_by(Termination.TIME_UP)
        elif answer.move == RESIGN:
            self._end_by(Termination.RESIGN)
        elif answer.move != WIN and not MOVE.fullmatch(answer.move):
            self._refuse(self._players[turn], answer.move)
        elif answer.move == WIN and self._position.can_declare_win(self._declaration):
            self._end_by(Termination.DECLARATION)
        elif answer.move == WIN and self._position.can_declare_draw(self._declaration):
            self._end_by(Termination.IMPASSE)
        elif (move := self._legal_move(answer.move)) is None:
            self.record.illegal_move = answer.move
            self._end_by(Termination.ILLEGAL_MOVE)
        elif self._declaration is DeclarationRule.TRY and move == self._position.try_move():
            self.record.comment = f"try (トライ): {answer.move}"  # the side to move wins by it
            self._end_by(Termination.DECLARATION)
        else:
            self._play(move, answer)
            self._ponder(turn, answer)

    def _ponder(self, color: Color, answer: Answer) -> None:
        """Let a player think about the answer that it expects, if the game goes on after it."""
        best = None if answer.search is None else answer.search.bestmove
        if not self.terms.ponder or self.is_over or best is None or best.ponder is None:
            return
        expected = self._legal_move(best.ponder)
        if expected is None:
            return
        position = self._position.copy()
        position.push(expected)
        if ending_of(position, len(self.record) + 1, self._rules.max_plies) is None:
            go = self._clocks[color].go(color, self._clocks[color.opponent])
            self._players[color].ponder(position, go)

    def _refuse(self, player: Player, text: str) -> NoReturn:
        """End the game by an answer that is not a move of USI, and the engine with it."""
        said = f"answered {shorten(text)!r}, which is not a move" if text else "sent bestmove without a move"
        raise player.refused(said)

    def tell_players(self) -> None:
        """Report the result to both."""
        for color, player in self._players.items():
            is_won = self.record.result == winner_is(color)
            player.game_over("draw" if self.record.result is Result.DRAW else "win" if is_won else "lose")

    def _legal_move(self, text: str) -> Move | None:
        try:
            move = Move.from_usi(text)
        except ShogiError:
            return None
        return move if self._position.is_legal(move) else None

    def _play(self, move: Move, answer: Answer) -> None:
        turn = self._position.turn
        score_cp, mate = score_of(answer.info)
        sign = 1 if turn == BLACK else -1
        played = RecordedMove(
            move,
            score_cp=None if score_cp is None else sign * score_cp,
            mate=None if mate is None else sign * mate,
            pv=continuation(self._position, move, answer.info),
            time_ms=round(answer.used_ms),
        )
        self._push(played)
        self._adjudicator.add(turn, score_cp)
        verdict = self._adjudicator.verdict(self._position.turn, len(self.record))
        if verdict is not None and not self.is_over:
            self.end(Termination.ADJUDICATION, verdict)

    def _push(self, played: RecordedMove) -> None:
        self._position.push(played.move)
        self.record.moves.append(played)
        self._judge_position()

    def _judge_position(self) -> None:
        """End the game if the rules end it here."""
        ended = ending_of(self._position, len(self.record), self._rules.max_plies)
        if ended is not None:
            self.end(*ended)

    def _end_by(self, termination: Termination) -> None:
        self.end(termination, result_of(termination, self._position.turn))


def ending_of(position: Position, plies: int, max_plies: int) -> tuple[Termination, Result] | None:
    """Termination and result by the rules in a position; None if the game goes on.

    Args:
        position: The position with all moves of the game.
        plies: Number of moves of the game.
        max_plies: The game is a draw after this many.
    """
    repetition = position.repetition()
    if position.is_mated():
        termination = Termination.MATE
    elif repetition is Repetition.DRAW:
        termination = Termination.REPETITION
    elif repetition in (Repetition.WIN, Repetition.LOSE):
        winner = position.turn if repetition is Repetition.WIN else position.turn.opponent
        return Termination.PERPETUAL_CHECK, winner_is(winner)
    elif plies >= max_plies:
        termination = Termination.MAX_PLIES
    else:
        return None
    return termination, result_of(termination, position.turn)


def continuation(position: Position, move: Move, info: Info | None) -> str:
    """The USI moves that an engine expects after its own one, as far as they are legal, with spaces between them.

    Args:
        position: The position before the move.
        move: The move that it chose.
        info: What it said of the move; None: nothing.
    """
    if info is None or info.pv[:1] != (move.usi(),):
        return ""
    after = position.copy()
    legal: list[str] = []
    for text in info.pv[:PV_PLIES]:
        try:
            after.push_usi(text)
        except ShogiError:
            break
        legal.append(text)
    return " ".join(legal[1:])


def score_of(info: Info | None) -> tuple[int | None, int | None]:
    """Centipawns and plies to mate of an answer, from the mover's point of view; None: it says nothing of them."""
    if info is None or info.score is None:
        return None, None
    if info.score.mate is not None:
        cp = MATE_CP if info.score.mate > 0 else -MATE_CP
        return cp, info.score.mate if info.score.mate_length_known and info.score.mate else None
    return max(-MATE_CP, min(MATE_CP, info.score.cp or 0)), None


def _reported_ms(answer: Answer) -> int | None:
    """The time that an engine says it took; None if it says nothing, or counts from before its clock ran."""
    infos = () if answer.search is None or answer.is_pondered else answer.search.infos
    return max((info.time_ms for info in infos if info.time_ms is not None), default=None)
