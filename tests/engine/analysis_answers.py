"""Searches whose answers a test has written down."""

from fukayomi._native import SearchLine
from fukayomi.engine.search import Progress, Reason, SearchResult
from fukayomi.shogi import Move, Position


def answer(*lines: tuple[float, str] | tuple[float, str, int], nodes: int = 100) -> SearchResult:
    """The result of a search, from its lines: win rate of the side to move, moves, plies to mate if there is one."""
    found = tuple(_line(*line) for line in lines)
    progress = Progress(lines=found, nodes=nodes, root_visits=nodes, seconds=0.1, seldepth=1, hashfull=0)
    return SearchResult(found[0].move, None, progress, Reason.LIMIT)


def _line(winrate: float, moves: str, mate: int | None = None) -> SearchLine:
    pv = [Move.from_usi(usi) for usi in moves.split()]
    return SearchLine(pv=pv, visits=100, prior=0.5, winrate=winrate, mate=mate)


class Script:
    """Answers from a list, one per position; remembers the positions it was asked about."""

    def __init__(self, *answers: SearchResult) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, position: Position) -> SearchResult:
        self.asked.append(position.sfen())
        return self._answers.pop(0)


def first_move(position: Position) -> SearchResult:
    """A search that prefers the first legal move and finds every position even."""
    return answer((0.5, position.legal_moves[0].usi()))
