"""Searches for books (`fukayomi.book.search_book`): many positions at once, by an `AnalysisService`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from queue import SimpleQueue

from fukayomi._native import MATE_CP
from fukayomi.book import BookMove
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.service.query import AnalysisQuery, MoveAnswer, TurnAnswer
from fukayomi.engine.service.service import AnalysisService, RunningQuery
from fukayomi.shogi import BLACK, Move, Position
from fukayomi.usi.text import WIN


class ServiceBookSearcher:
    """Searches positions for a book.

        >>> import tempfile
        >>> from pathlib import Path
        >>> from fukayomi import Network, Position
        >>> from fukayomi.book import BookSearchSettings, search_book
        >>> from fukayomi.engine import AnalysisService, ServiceBookSearcher
        >>> path = Path(tempfile.mkdtemp()) / "book.db"
        >>> with Network("<hash>") as network, AnalysisService(network) as service:
        ...     searcher = ServiceBookSearcher(service)
        ...     found = search_book(path, [Position()], searcher, settings=BookSearchSettings(nodes=50, positions=3))
        >>> len(found.book)
        3

    Args:
        service: It searches; it stays open.
    """

    def __init__(self, service: AnalysisService) -> None:
        self._service = service

    @property
    def identity(self) -> str:
        """The network: the beginning of its file's SHA-256, the same on all devices, or what names it in its place."""
        network = self._service.network
        return network.identity if network.sha256 is None else network.sha256[:16]

    def search(
        self, positions: Sequence[Position], nodes: int, moves: int
    ) -> Iterator[tuple[Position, Sequence[BookMove]]]:
        """See `fukayomi.book.BookSearcher`.

        Raises:
            EvaluatorError: The network failed.
        """
        answers: SimpleQueue[tuple[Position, TurnAnswer]] = SimpleQueue()
        running: list[RunningQuery] = []
        try:
            for position in positions:
                query = AnalysisQuery(sfen=position.sfen(), visits=nodes, multipv=moves)
                running.append(
                    self._service.submit(query, lambda answer, position=position: answers.put((position, answer)))
                )
            for _ in positions:
                position, answer = answers.get()
                if answer.error is not None:
                    raise EvaluatorError(f"the search of {position.sfen()} failed: {answer.error}")
                yield position, book_moves(position, answer)
        finally:
            for each in running:
                if each.left:
                    each.cancel()


def book_moves(position: Position, answer: TurnAnswer) -> list[BookMove]:
    """The moves of an answer as a book has them: of a won position those that win, the best one with the highest count.

    Args:
        position: The position that was searched.
        answer: What the search found.

    Returns:
        The moves that were visited or are proven, the best first; none if the side to move may declare a win.
    """
    if any(move.move == WIN for move in answer.moves):
        return []
    sign = 1 if position.turn == BLACK else -1
    known = [(move, sign * move.score_cp) for move in answer.moves if move.score_cp is not None]
    if known and known[0][1] == MATE_CP:
        known = [(move, score) for move, score in known if score == MATE_CP]
    found = [_book_move(move, score) for move, score in known]
    if found:
        found[0] = replace(found[0], count=max(1, *(move.count for move in found)))
    return found


def _book_move(move: MoveAnswer, score_cp: int) -> BookMove:
    ponder = Move.from_usi(move.pv[1]) if len(move.pv) > 1 else None
    return BookMove(Move.from_usi(move.move), ponder, score_cp, len(move.pv), move.visits)
