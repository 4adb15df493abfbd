"""Game records (棋譜): the first position, the moves with scores, times and comments, the players and the result.

Scores are in centipawns from Black's side, whoever moved; most programs write a mate as ±30000.
"""

from collections.abc import Iterator, MutableSequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from fukayomi.shogi.position import BLACK, START_SFEN, Color, Move, Position


class RecordError(ValueError):
    """A record that cannot be read or written."""

    __module__ = "fukayomi"

    def __init__(self, name: str, line: int | None, reason: str) -> None:
        self.name = name
        """File or archive member; the second game of a file has ``#2`` appended, and so on."""
        self.line = line
        """Line number, from 1; None if it is not known."""
        self.reason = reason
        """What is wrong, with the offending text."""
        place = name if line is None else f"{name}, line {line}"
        super().__init__(f"{place}: {reason}")


class IllegalMoveInRecordError(RecordError):
    """A record has an illegal move that is not marked as the end of the game."""

    __module__ = "fukayomi"


class UnknownFormatError(RecordError):
    """A file is not a game record, or its format is not supported."""

    __module__ = "fukayomi"


class Result(IntEnum):
    """Who won. The values from 0 are those of the hcpe format."""

    UNKNOWN = -1
    DRAW = 0
    BLACK_WIN = 1
    WHITE_WIN = 2


class Termination(StrEnum):
    """How a game ended."""

    NONE = "none"
    """The record stops without a word."""
    RESIGN = "resign"
    DECLARATION = "declaration"
    """Win by declaration (入玉宣言)."""
    REPETITION = "repetition"
    """Fourfold repetition, a draw (千日手)."""
    PERPETUAL_CHECK = "perpetual_check"
    """Repetition in which one side checked all the time, and lost (連続王手の千日手)."""
    IMPASSE = "impasse"
    """Draw by impasse (持将棋)."""
    DRAW = "draw"
    """A draw for another reason."""
    MAX_PLIES = "max_plies"
    """Stopped at the agreed number of plies, a draw."""
    MATE = "mate"
    NO_MATE = "no_mate"
    """A mate problem that has no solution (不詰)."""
    TIME_UP = "time_up"
    ILLEGAL_MOVE = "illegal_move"
    """An illegal move or another foul of one side (反則)."""
    CRASH = "crash"
    """An engine's process ended, or never began; it lost. So with the next two."""
    STALL = "stall"
    """An engine did not answer at all, long after its time."""
    PROTOCOL = "protocol"
    """An engine broke the protocol beyond use, as by output without end."""
    ADJUDICATION = "adjudication"
    """Ended by the referee, because the engines' scores said that it was won or drawn."""
    INTERRUPTED = "interrupted"
    TAKEN_BACK = "taken_back"
    """Ended by a move taken back (待った)."""
    ERROR = "error"
    OTHER = "other"


_SIDE_TO_MOVE_LOSES = {Termination.RESIGN, Termination.TIME_UP, Termination.MATE, Termination.ILLEGAL_MOVE}
_DRAWN = {Termination.REPETITION, Termination.IMPASSE, Termination.DRAW, Termination.MAX_PLIES}


def winner_is(color: Color) -> Result:
    """The result of a game that this side won."""
    return Result.BLACK_WIN if color == BLACK else Result.WHITE_WIN


def result_of(termination: Termination, turn: Color) -> Result:
    """What an ending means, given the side that is to move when it comes."""
    if termination in _SIDE_TO_MOVE_LOSES:
        return winner_is(turn.opponent)
    if termination is Termination.DECLARATION:
        return winner_is(turn)
    return Result.DRAW if termination in _DRAWN else Result.UNKNOWN


@dataclass(slots=True)
class RecordedMove:
    """A move as it was played, and what the record notes about it."""

    move: Move
    score_cp: int | None = None
    """Centipawns from Black's side."""
    mate: int | None = None
    """Plies to the mate that the record announces: positive if Black mates, negative if White does."""
    pv: str = ""
    """The expected continuation after the move, as the record writes it."""
    comment: str = ""
    time_ms: int | None = None


@dataclass(slots=True)
class Record:
    """A game from its first position to its end; every move is legal."""

    name: str = ""
    """Where it comes from: file or archive member, and ``#2`` and so on for the later games of a file."""
    initial_sfen: str = START_SFEN
    moves: MutableSequence[RecordedMove] = field(default_factory=list[RecordedMove])
    black_name: str = ""
    white_name: str = ""
    black_rating: float | None = None
    white_rating: float | None = None
    event: str = ""
    site: str = ""
    start_time: str = ""
    """As the record writes it, mostly ``2026/01/03 21:37:56``."""
    end_time: str = ""
    time_limit: str = ""
    opening: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """What else the record's head says."""
    comment: str = ""
    """Remarks before the first move."""
    termination: Termination = Termination.NONE
    result: Result = Result.UNKNOWN
    illegal_move: str = ""
    """The last move, as the record writes it, where it was illegal and ended the game; it is not among the moves."""
    summary: str = ""
    """What a server wrote about the end, as ``toryo:alice win:bob lose``."""

    def __len__(self) -> int:
        """Number of moves."""
        return len(self.moves)

    def usi_moves(self) -> list[str]:
        """The moves in USI form."""
        return [played.move.usi() for played in self.moves]

    def usi_position(self) -> str:
        """The game as USI's ``position`` command takes it, without that word."""
        start = "startpos" if self.initial_sfen == START_SFEN else f"sfen {self.initial_sfen}"
        return f"{start} moves {' '.join(self.usi_moves())}" if self.moves else start

    def replay(self) -> Iterator[tuple[Position, RecordedMove]]:
        """Each move with the position before it.

        It is one position that moves on with the game: copy it to keep it.
        """
        position = Position.from_sfen(self.initial_sfen, allow_missing_king=True)
        for played in self.moves:
            yield position, played
            position.push(played.move)
