"""Searches whose answers a test has written down, and a game analysed with them."""

from fukayomi._native import SearchLine
from fukayomi.engine.analysis.analyser import analyse_record
from fukayomi.engine.analysis.game_analysis import GameAnalysis, SearchLimits
from fukayomi.engine.search import Progress, Reason, SearchResult
from fukayomi.shogi import START_SFEN, Move, Position
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

HOSTILE = "\"></script><script>alert(1)</script>&'<img src=x onerror=alert(2)>{{7*7}}"
"""A text of a record that would run a script in a careless page."""


def answer(*lines: tuple[float, str] | tuple[float, str, int], nodes: int = 100) -> SearchResult:
    """The result of a search, from its lines: win rate of the side to move, moves, plies to mate if there is one."""
    found = tuple(_line(*line) for line in lines)
    progress = Progress(lines=found, nodes=nodes, root_visits=nodes, seconds=0.1, seldepth=1, hashfull=0)
    return SearchResult(found[0].move, None, progress, Reason.LIMIT)


def _line(winrate: float, moves: str, mate: int | None = None) -> SearchLine:
    pv = [Move.from_usi(usi) for usi in moves.split()]
    return SearchLine(pv=pv, visits=100, prior=0.5, winrate=winrate, mate=mate)


class Script:
    """Answers from a list, one per position, however often it is searched; remembers the positions."""

    def __init__(self, *answers: SearchResult) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, position: Position, **_: object) -> SearchResult:
        if self.asked[-1:] != [position.sfen()]:
            self.asked.append(position.sfen())
            self._answer = self._answers.pop(0)
        return self._answer


def first_move(position: Position, **_: object) -> SearchResult:
    """A search that prefers the first legal move and finds every position even."""
    return answer((0.5, position.legal_moves[0].usi()))


def game(**facts: object) -> tuple[Record, GameAnalysis]:
    """Four moves, two of them bad: 15 % and 55 % lost."""
    moves = [RecordedMove(Move.from_usi(usi), score_cp=20, comment="") for usi in ("1g1f", "9c9d", "7g7f", "8c8d")]
    names = {"black_name": "先手太郎", "white_name": "Gote", "event": "Cup", "start_time": "2026/01/02"} | facts
    record = Record(
        initial_sfen=START_SFEN, moves=moves, termination=Termination.RESIGN, result=Result.WHITE_WIN, **names
    )  # type: ignore[arg-type]
    rates = [(0.6, "2g2f 8c8d"), (0.55, "9c9d"), (0.4, "7g7f"), (0.65, "3c3d 2g2f"), (0.9, "2g2f 8d8e")]
    return record, analyse_record(
        record, Script(*map(answer, rates)), engine="test network", limits=SearchLimits(nodes=100)
    )
