"""One `go` of the USI session: its search, in a thread of its own, and its answer."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fukayomi.engine.answer.move_choice import Known, MoveChoice, best_move
from fukayomi.engine.answer.output import Output, info_lines, info_string, search_infos
from fukayomi.engine.control import Control
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import BLACK, Move, Position
from fukayomi.usi.text import RESIGN, BestMove, Go, shorten

if TYPE_CHECKING:
    from fukayomi.engine.search import Searcher, SearchResult


@dataclass
class Job:
    """A ``go``, and what has become of it."""

    go: Go
    """The command."""
    position: Position
    """The position to search."""
    control: Control
    """Ends the search."""
    refusal: str | None
    """Reason why there is nothing to search."""
    known: Known = field(default_factory=Known)
    """Results that are known without the search."""
    result: "SearchResult | None" = None
    """Result of the search."""
    error: Exception | None = None
    """Reason of the failure; None if there was none."""
    thread: threading.Thread | None = None
    """Runs the search."""

    def start(self, search: Callable[[], None]) -> None:
        """Start a thread."""
        self.thread = threading.Thread(target=search, name="fukayomi-search", daemon=True)
        self.thread.start()

    def search(self, searcher: "Searcher", settings: UsiSettings, multipv: int, output: Output | None) -> None:
        """Search until the control ends it.

        Args:
            searcher: Searches.
            settings: The options.
            multipv: How many lines the result must have.
            output: Is told of the progress; None: nobody is.
        """
        if self.refusal is None and not self.position.legal_moves:
            self.refusal = f"{'Black' if self.position.turn == BLACK else 'White'} has no legal move"
        if self.refusal is not None:
            if output is not None:
                output.say(f"no search: {self.refusal}")
            self.control.hold()
            return
        try:
            self.result = searcher.search(
                self.position,
                self.control,
                search_moves=self._search_moves(output),
                multipv=multipv,
                mates=settings.mate_options(),
                report=None if output is None else lambda progress: output.report(progress, settings),
                report_interval_s=settings.pv_interval_ms / 1000,
            )
        except Exception as error:  # a bug must not leave the GUI without an answer
            self.error = error
            self.control.hold()

    def answer(self, choice: MoveChoice, settings: UsiSettings, *, is_game: bool) -> BestMove:
        """The answer, when the search has ended or none is needed.

        Args:
            choice: Chooses the moves of the game.
            settings: The options.
            is_game: A move of the game is wanted; otherwise it was an analysis, or a guess at the opponent's move.
        """
        if self.known.answer is not None:
            return self.known.answer
        if self.refusal is not None:
            return BestMove(RESIGN)
        if self.result is None:  # the search itself failed
            moves = self.position.legal_moves
            return BestMove(moves[0].usi() if moves else RESIGN)
        if not is_game:
            return best_move(self.result, settings)
        answer, self.result = choice.choose(self.position, self.result, settings)
        return answer

    def infos(self, settings: UsiSettings) -> list[str]:
        """The info lines before the answer."""
        if self.known.answer is not None and self.known.infos:
            return info_lines(self.known.infos)
        if self.error is not None:
            return [info_string(f"Error: {self.error!r}")]
        if self.result is None:
            return []
        lines = [info.text() for info in search_infos(self.result.progress, settings)]
        if self.result.error is not None:
            lines.append(info_string(f"Error: {self.result.error}"))
        if self.result.mate_error is not None:
            lines.append(info_string(f"Error: no mates are searched: {self.result.mate_error!r}"))
        if settings.debug:
            lines.append(info_string(f"search ended: {self.result.reason.value}"))
        return lines

    def _search_moves(self, output: Output | None) -> list[Move]:
        moves = [Move.from_usi(text) for text in dict.fromkeys(self.go.searchmoves)]
        legal = [move for move in moves if self.position.is_legal(move)]
        if len(legal) < len(moves) and output is not None:
            illegal = " ".join(move.usi() for move in moves if move not in legal)
            output.say(f"searchmoves: not legal in this position: {shorten(illegal)}")
        return legal
