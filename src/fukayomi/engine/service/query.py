"""Questions to an analysis service and its answers: positions of a game, and the moves that the search found."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self, cast

from fukayomi._native import MATE_CP, MAX_MOVES, MOST_PLIES
from fukayomi.engine.analysis.game_analysis import Score
from fukayomi.engine.search import has_score
from fukayomi.engine.settings import ANALYSIS_CANDIDATES
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import BLACK, START_SFEN, Color, Move, Position, ShogiError

if TYPE_CHECKING:
    from fukayomi.engine.search import Progress

MOST_VISITS = 1_000_000_000
LONGEST_MS = 86_400_000
SHORTEST_REPORT_MS = 10
LARGEST_PRIORITY = 2**31 - 1
DIGITS = 4
"""Decimal places of win rates and priors."""
_NAME_SHOWN = 40
"""Characters of an unknown field that a message shows."""


class QueryError(InvalidValueError):
    """A query that cannot be answered; the message begins with the name of the field."""


@dataclass(frozen=True, slots=True)
class AnalysisQuery:
    """Positions of a game that are to be searched.

        >>> AnalysisQuery(moves=("7g7f", "3c3d"), turns=(0, 2)).position(2).ply
        3
        >>> AnalysisQuery(visits=0)
        Traceback (most recent call last):
        ...
        fukayomi.engine.service.query.QueryError: visits: must be a whole number from 1 to 1000000000

    Raises:
        QueryError: A field has a wrong type or value, or a move is not legal.
    """

    sfen: str = START_SFEN
    """The position in which the game begins."""
    moves: Sequence[str] = ()
    """The moves of the game in USI form; repetition needs them."""
    turns: Sequence[int] = ()
    """The positions to search, each by the number of moves before it. Empty: the one after the last move."""
    visits: int | None = None
    """Visits of each position. None: without `time_ms` those of the network (`Network.analysis_nodes`)."""
    time_ms: int | None = None
    """Time of each position (ms), from when its search begins."""
    multipv: int = ANALYSIS_CANDIDATES
    """Moves in each answer."""
    priority: int = 0
    """Positions of a higher priority are searched first; those of the same in the order of their coming."""
    report_every_ms: int | None = None
    """Time between answers during the search (ms). None: there are none."""
    search_moves: Sequence[str] = ()
    """The moves to search, in USI form, at every turn. Empty: all legal moves."""

    def __post_init__(self) -> None:
        if not isinstance(cast("object", self.sfen), str):
            raise QueryError("sfen: must be text")
        self._take_list("moves", str, MOST_PLIES)
        self._take_list("search_moves", str, MAX_MOVES)
        self._take_list("turns", int, len(self.moves) + 1)
        self._check_number("visits", 1, MOST_VISITS)
        self._check_number("time_ms", 1, LONGEST_MS)
        self._check_number("multipv", 1, MAX_MOVES)
        self._check_number("priority", -LARGEST_PRIORITY, LARGEST_PRIORITY)
        self._check_number("report_every_ms", SHORTEST_REPORT_MS, LONGEST_MS)
        if any(not 0 <= turn <= len(self.moves) for turn in self.turns):
            raise QueryError(f"turns: must be numbers from 0 to {len(self.moves)}, the number of moves")
        if len(set(self.turns)) < len(self.turns):
            raise QueryError("turns: must be different numbers")
        object.__setattr__(self, "turns", self.turns or (len(self.moves),))
        self._replay()

    @classmethod
    def from_fields(cls, given: dict[str, Any]) -> Self:
        """A query from the fields of a JSON object.

        Raises:
            QueryError: A field is not known, null, an empty list, or as above.
        """
        known = [field.name for field in fields(cls)]
        for name, value in given.items():
            if name not in known:
                raise QueryError(f"{name[:_NAME_SHOWN]}: no such field; there are {', '.join(known)}")
            if value is None:
                raise QueryError(f"{name}: must not be null; leave the field out")
            if value == [] and name != "moves":
                raise QueryError(f"{name}: must not be empty; leave the field out")
        return cls(**given)

    def position(self, turn: int) -> Position:
        """The position after so many moves, with the moves that led to it."""
        position = Position.from_sfen(self.sfen)
        for move in self.moves[:turn]:
            position.push_usi(move)
        return position

    def restriction(self) -> tuple[Move, ...]:
        """The moves to search; empty: all."""
        return tuple(Move.from_usi(move) for move in self.search_moves)

    def _take_list(self, name: str, kind: type, most: int) -> None:
        """Make a list of a field a tuple, which nobody changes."""
        value: object = getattr(self, name)
        if not isinstance(value, list | tuple):
            raise QueryError(f"{name}: must be a list")
        items = cast("list[object] | tuple[object, ...]", value)
        if len(items) > most:
            raise QueryError(f"{name}: has {len(items)} items; at most {most} can be used")
        for number, item in enumerate(items):
            if type(item) is not kind:
                raise QueryError(f"{name}[{number}]: must be {'text' if kind is str else 'a whole number'}")
        object.__setattr__(self, name, tuple(items))

    def _check_number(self, name: str, least: int, most: int) -> None:
        value: object = getattr(self, name)
        is_optional = type(self).__dataclass_fields__[name].default is None
        if value is None and is_optional:
            return
        if type(value) is not int or not least <= value <= most:
            raise QueryError(f"{name}: must be a whole number from {least} to {most}")

    def _replay(self) -> None:
        """Play the game once: all moves must be legal, and those to be searched at every turn."""
        field = "sfen"
        turns = set(self.turns)
        try:
            position = Position.from_sfen(self.sfen)
            for turn in range(len(self.moves) + 1):
                for number, move in enumerate(self.search_moves if turn in turns else ()):
                    field = f"search_moves[{number}] at turn {turn}"
                    position.copy().push_usi(move)
                if turn < len(self.moves):
                    field = f"moves[{turn}]"
                    position.push_usi(self.moves[turn])
        except (ShogiError, UnicodeError) as error:
            raise QueryError(f"{field}: {error}") from error


@dataclass(frozen=True, slots=True)
class MoveAnswer:
    """A move of a position that was searched; win rate and scores are Black's."""

    move: str
    """In USI form; "win" where the side to move may declare a win (入玉宣言)."""
    visits: int
    prior: float
    """The network's probability of the move, 0 to 1."""
    win_rate: float | None
    """0 to 1; None if the search has neither visited nor proven the move."""
    score_cp: int | None
    """Centipawns; ±30000 for a mate; None as above."""
    mate: int | None
    """Plies to a proven mate: positive if Black mates, negative if White does."""
    pv: tuple[str, ...]
    """The expected line; it begins with the move."""


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """Result of the search of a position; win rate and score are Black's."""

    turn: int
    """The position: number of moves before it."""
    is_during_search: bool
    """True if another answer for the position follows."""
    visits: int = 0
    win_rate: float | None = None
    """0 to 1; None if the search was cancelled before its first result."""
    score_cp: int | None = None
    """Centipawns, ±30000 for a mate; None as above."""
    moves: tuple[MoveAnswer, ...] = ()
    """The best first; empty if the side to move is mated, and as above."""
    error: str | None = None
    """Reason why there is no result: the network failed."""

    def to_fields(self) -> dict[str, Any]:
        """The fields of a JSON object."""
        if self.error is not None:
            return {"turn": self.turn, "error": self.error}
        moves = [{name: getattr(move, name) for name in MoveAnswer.__slots__} for move in self.moves]
        names = ("turn", "is_during_search", "visits", "win_rate", "score_cp")
        return {name: getattr(self, name) for name in names} | {"moves": moves}

    @classmethod
    def of_search(cls, turn: int, color: Color, progress: "Progress", *, is_during_search: bool) -> Self:
        """The answer that the state of a search gives.

        Args:
            turn: The position.
            color: The side to move in it.
            progress: The state of its search.
            is_during_search: Whether another answer follows.
        """
        moves: list[MoveAnswer] = []
        for line in progress.lines:
            score = Score.seen_by(color, line.winrate, line.mate)
            pv = tuple(move.usi() for move in line.pv)
            prior, win_rate = round(line.prior, DIGITS), round(score.winrate, DIGITS)
            known = (win_rate, score.cp) if has_score(line) else (None, None)
            moves.append(MoveAnswer(pv[0], line.visits, prior, *known, score.mate, pv))
        if not moves:
            return cls(turn, is_during_search)
        best = Score.seen_by(color, progress.lines[0].winrate, progress.lines[0].mate)
        win_rate = round(best.winrate, DIGITS)
        return cls(turn, is_during_search, progress.root_visits, win_rate, best.cp, tuple(moves))

    @classmethod
    def decided(cls, turn: int, winner: Color, moves: Sequence[str] = ()) -> Self:
        """The answer for a position that needs no search: mate, or a win that may be declared."""
        win_rate, cp = (1.0, MATE_CP) if winner == BLACK else (0.0, -MATE_CP)
        answers = tuple(MoveAnswer(move, 0, 1.0, win_rate, cp, None, (move,)) for move in moves)
        return cls(turn, False, 0, win_rate, cp, answers)
