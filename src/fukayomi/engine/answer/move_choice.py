"""The answer to `go`: a declaration, a move of the book, the best move or a random good one, a resignation."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fukayomi._native import MAX_MOVES
from fukayomi.engine.answer.opening_book import OpeningBook
from fukayomi.engine.answer.random_moves import RandomMoves, random_rule
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import DeclarationRule, Move, Position
from fukayomi.usi.text import RESIGN, WIN, BestMove, Info, UsiScore

if TYPE_CHECKING:
    from fukayomi.engine.search import SearchResult


@dataclass(frozen=True, slots=True)
class Known:
    """Results that are known before a search."""

    answer: BestMove | None = None
    """The answer, if no search is needed."""
    infos: tuple[Info, ...] = ()
    """Info lines to report."""


def declared_win(position: Position, rule: DeclarationRule) -> str | None:
    """Answer of the side to move if the rule lets it win at once: ``win``, under the try rule a move; else None."""
    if rule is DeclarationRule.TRY:
        move = position.try_move()
        return None if move is None else move.usi()
    return WIN if position.can_declare_win(rule) else None


class MoveChoice:
    """Chooses the moves of one game after the other. It remembers what the choice depends on beside the search."""

    def __init__(self) -> None:
        self.book = OpeningBook()
        """The opening book."""
        self._resignation = _Resignation()
        self._random = RandomMoves()

    def declaration(self, position: Position, settings: UsiSettings) -> Known:
        """The declaration of a win (入玉宣言), or the king's move that wins by the try rule, if the rules allow it."""
        answer = declared_win(position, settings.declaration_rule())
        return Known() if answer is None else Known(BestMove(answer))

    def known(self, position: Position, settings: UsiSettings) -> Known:
        """The answer to `go` if it needs no search: a declaration, or a move of the book.

        Args:
            position: The position of the game, with both kings.
            settings: The options.
        """
        declaration = self.declaration(position, settings)
        if declaration.answer is not None:
            return declaration
        found = self.book.find(position, settings, self._random.source(settings.random_seed))
        infos = [Info(string=f"book: {problem}") for problem in found.problems]
        move = found.move
        if move is None:
            return Known(None, tuple(infos))
        ponder = None if move.ponder is None else move.ponder.usi()
        answer = BestMove(move.move.usi(), None if settings.ponders_stochastically else ponder)
        infos += [
            Info(string="a move of the book"),
            Info(
                depth=move.depth,
                multipv=1 if settings.multipv > 1 else None,
                score=None if move.score_cp is None else UsiScore(cp=move.score_cp),
                nodes=0,
                time_ms=0,
                pv=(answer.move,) if ponder is None else (answer.move, ponder),
            ),
        ]
        return Known(answer, tuple(infos))

    def lines_needed(self, position: Position, settings: UsiSettings) -> int:
        """Number of lines that a search must return: MultiPV, or all if the move may be chosen at random."""
        return settings.multipv if random_rule(settings, position.ply) is None else MAX_MOVES

    def choose(
        self, position: Position, result: "SearchResult", settings: UsiSettings
    ) -> tuple[BestMove, "SearchResult"]:
        """Answer with a move of the game. Every move is asked about, so that the beginning of the game is known.

        Args:
            position: The position of the game.
            result: What the search found.
            settings: The options.

        Returns:
            The answer, and the result with the line that is played in the first place.
        """
        resigns = self._resignation.is_due(position, result, settings.resign_threshold)
        played = self._random.choose(result, position, settings)
        return best_move(played, settings, resigns=resigns), played


class _Resignation:
    """Decides whether to give a game up: below Resign_Threshold, unless it was lost when the engine took it over.

    A handicap game, or any start that was given away, is played on until mate is proven.
    """

    def __init__(self) -> None:
        self._game: tuple[str, list[Move]] | None = None
        self._was_lost = False

    def is_due(self, position: Position, result: "SearchResult", threshold: int) -> bool:
        """True if the engine should resign. Every move of a game is asked about, so that its beginning is known.

        Args:
            position: The position of the game; a game begins where it does not continue the last one.
            result: What the search found.
            threshold: Win rate below which a game is lost, per mille.
        """
        if not result.lines:
            return False
        best = result.lines[0]
        is_lost = best.winrate * 1000 < threshold
        game = position.start_sfen(), position.moves
        if self._game is None or game[0] != self._game[0] or game[1][: len(self._game[1])] != self._game[1]:
            self._was_lost = is_lost
        self._game = game
        return is_lost and (not self._was_lost or best.mate is not None)


def best_move(result: "SearchResult", settings: UsiSettings, *, resigns: bool = False) -> BestMove:
    """The answer with the best move; a mated side resigns.

    Args:
        result: What the search found.
        settings: With Stochastic_Ponder no move to ponder is named.
        resigns: Give the game up.
    """
    if result.best is None or resigns:
        return BestMove(RESIGN)
    ponder = None if settings.ponders_stochastically or result.ponder is None else result.ponder.usi()
    return BestMove(result.best.usi(), ponder)
