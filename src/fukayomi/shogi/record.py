"""Game records (棋譜): the first position, the moves with scores, times and comments, the players and the result.

Scores are in centipawns from Black's side, whoever moved; most programs write a mate as ±30000.
"""

from collections.abc import Iterator, MutableSequence, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any

from fukayomi.shogi.position import BLACK, START_SFEN, Color, Move, Position, ShogiError
from fukayomi.tabular import Tabular, counted, printable


def now() -> str:
    """The local time as records write it: ``2026/01/31 12:00:00``."""
    return datetime.now().strftime("%Y/%m/%d %H:%M:%S")


class RecordError(ShogiError):
    """A record that cannot be read or written; `except ShogiError` catches it too."""

    __module__ = "fukayomi"

    def __init__(self, name: str, line: int | None, reason: str) -> None:
        self.name = name
        """File or archive member; the second game of a file has ``#2`` appended, and so on."""
        self.line = line
        """Line number, from 1; None if it is not known."""
        self.reason = reason
        """Reason of the error, with the offending text."""
        place = name if line is None else f"{name}, line {line}"
        super().__init__(f"{place}: {reason}")


class IllegalMoveInRecordError(RecordError):
    """A record has an illegal move that is not marked as the end of the game."""

    __module__ = "fukayomi"


class UnknownFormatError(RecordError):
    """A file is not a game record, or its format is not supported."""

    __module__ = "fukayomi"


class Result(IntEnum):
    """Result of a game. The values from 0 are those of the hcpe format."""

    UNKNOWN = -1
    DRAW = 0
    BLACK_WIN = 1
    WHITE_WIN = 2


class Termination(StrEnum):
    """Ways in which a game ends."""

    NONE = "none"
    """The record does not say."""
    RESIGN = "resign"
    DECLARATION = "declaration"
    """Win by declaration (入玉宣言)."""
    REPETITION = "repetition"
    """Fourfold repetition, a draw (千日手)."""
    PERPETUAL_CHECK = "perpetual_check"
    """Repetition in which one side gave perpetual check and lost (連続王手の千日手)."""
    IMPASSE = "impasse"
    """Draw by impasse (持将棋)."""
    DRAW = "draw"
    """A draw by agreement or for another reason."""
    MAX_PLIES = "max_plies"
    """Draw by reaching the maximum number of plies."""
    MATE = "mate"
    NO_MATE = "no_mate"
    """A mate problem without a solution (不詰)."""
    TIME_UP = "time_up"
    ILLEGAL_MOVE = "illegal_move"
    """An illegal move or another foul (反則)."""
    CRASH = "crash"
    """An engine lost because its process ended or did not start."""
    STALL = "stall"
    """An engine lost because it did not answer, long after its time."""
    PROTOCOL = "protocol"
    """An engine lost because it broke the protocol: by an answer that is not a move, or by endless output."""
    ADJUDICATION = "adjudication"
    """Ended by the referee because of the engines' scores."""
    INTERRUPTED = "interrupted"
    TAKEN_BACK = "taken_back"
    """Ended by a player taking back a move (待った)."""
    ERROR = "error"
    OTHER = "other"


_MOST_LEFT_OUT = 100
_SIDE_TO_MOVE_LOSES = {Termination.RESIGN, Termination.TIME_UP, Termination.MATE, Termination.ILLEGAL_MOVE}
_DRAWN = {Termination.REPETITION, Termination.IMPASSE, Termination.DRAW, Termination.MAX_PLIES}


def winner_is(color: Color) -> Result:
    """The result of a game that `color` won."""
    return Result.BLACK_WIN if color == BLACK else Result.WHITE_WIN


def result_of(termination: Termination, turn: Color) -> Result:
    """The result of a termination with `turn` to move; UNKNOWN if it does not decide."""
    if termination in _SIDE_TO_MOVE_LOSES:
        return winner_is(turn.opponent)
    if termination is Termination.DECLARATION:
        return winner_is(turn)
    return Result.DRAW if termination in _DRAWN else Result.UNKNOWN


@dataclass(slots=True)
class RecordedMove:
    """A move of a game with its score, comment and time."""

    move: Move
    score_cp: int | None = None
    """Centipawns from Black's side."""
    mate: int | None = None
    """Plies to the announced mate; positive if Black mates, negative if White mates."""
    pv: str = ""
    """Expected continuation after the move, as text of the record."""
    comment: str = ""
    time_ms: int | None = None
    bookmark: str = ""
    """Name of the position after the move (しおり); one a line."""


@dataclass(slots=True)
class Variation:
    """A line that leaves the game or another variation (変化): moves played instead of those from a ply on."""

    ply: int
    """Number of the first move, counted from 1 at the record's first position."""
    moves: list[RecordedMove] = field(default_factory=list[RecordedMove])
    comment: str = ""
    """Comment before the first move."""
    parent: int | None = None
    """Index in `Record.variations` of the variation that this one leaves, which stands before it; None: the game."""
    bookmark: str = ""
    """Bookmark before the first move."""


@dataclass(slots=True, repr=False)
class Record(Tabular):
    """A game from its first position to its end; every move is legal.

        >>> from fukayomi import Record
        >>> record = Record.from_text("position startpos moves 7g7f 3c3d 8h2b+")
        >>> for position, played in record.replay():
        ...     print(position.ply, position.japanese(played.move))
        1 ☗７六歩
        2 ☖３四歩
        3 ☗２二角成
        >>> record.kif().splitlines()[-1]
        '   3 ２二角成(88)'

    Printed, it is the table of its moves; `to_pandas` and `to_polars` make DataFrames.
    """

    name: str = ""
    """File or archive member; the second game of a file has ``#2`` appended, and so on."""
    initial_sfen: str = START_SFEN
    moves: MutableSequence[RecordedMove] = field(default_factory=list[RecordedMove])
    black_name: str = ""
    white_name: str = ""
    black_rating: float | None = None
    white_rating: float | None = None
    event: str = ""
    site: str = ""
    start_time: str = ""
    """As the record writes it, usually ``2026/01/03 21:37:56``."""
    end_time: str = ""
    time_limit: str = ""
    opening: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Other fields of the header."""
    comment: str = ""
    """Comment before the first move."""
    termination: Termination = Termination.NONE
    result: Result = Result.UNKNOWN
    illegal_move: str = ""
    """An illegal move that ended the game, in USI or as the record writes it; `moves` does not have it."""
    summary: str = ""
    """The server's note on the end: ``toryo:alice win:bob lose``."""
    variations: list[Variation] = field(default_factory=list[Variation])
    """Lines that leave the game or each other, which KIF, KI2 and JKF have. All moves are legal."""
    bookmark: str = ""
    """Bookmark before the first move."""
    ending_word: str = ""
    """The record's own word for an end that `termination` does not tell: ``封じ手``, ``接続切れ``."""
    ending_comment: str = ""
    """Comment on the end of the game, and text below it."""
    ending_time_ms: int | None = None
    """Time that passed before the end, after the last move or the illegal move."""
    illegal_move_time_ms: int | None = None
    left_out: list[tuple[int | None, str]] = field(default_factory=list[tuple[int | None, str]], compare=False)
    """Parts of the variations that the reader left out: the line, if it is known, and why; the first hundred."""

    def __repr__(self) -> str:
        players = f"{printable(self.black_name) or '?'} - {printable(self.white_name) or '?'}"
        return f"<Record {players}: {counted(len(self.moves), 'move')}, {self.result.name}>"

    def leave_out(self, line: int | None, reason: str) -> bool:
        """Note that a part of a variation is left out; False if so many are that this one is not noted."""
        if len(self.left_out) >= _MOST_LEFT_OUT:
            return False
        self.left_out.append((line, reason))
        return True

    def __len__(self) -> int:
        """Number of moves."""
        return len(self.moves)

    @property
    def side_names(self) -> tuple[str, str]:
        """Names of Black and White: 先手 and 後手, or 下手 and 上手 in a handicap game (駒落ち)."""
        from fukayomi.shogi.formats.kif.board import is_handicap

        return ("下手", "上手") if is_handicap(self.initial_sfen) else ("先手", "後手")

    @property
    def illegal_move_by(self) -> Color | None:
        """The side that made the illegal move; None if there is none."""
        if not self.illegal_move:
            return None
        first = BLACK if self.initial_sfen.split()[1] == "b" else BLACK.opponent
        return first if len(self.moves) % 2 == 0 else first.opponent

    def moves_before(self, variation: Variation) -> list[RecordedMove]:
        """The moves from the first position to where a variation of this record begins."""
        parts: list[Sequence[RecordedMove]] = []
        ply, parent = variation.ply, variation.parent
        while parent is not None:
            line = self.variations[parent]
            parts.append(line.moves[: ply - line.ply])
            if line.parent is not None and line.parent >= parent:
                self._check_place(parent, line)
            ply, parent = line.ply, line.parent
        parts.append(self.moves[: ply - 1])
        return [played for part in reversed(parts) for played in part]

    def variation_order(self) -> Iterator[tuple[int, Variation]]:
        """Iterate over the variations in the order of KIF, each with its index.

        A line is followed by those that leave it, from its end to its beginning; those of the same ply keep their
        order. So the moves before a variation are always the first ones of what was played last.

        Raises:
            RecordError: A variation has no place in the record.
        """
        children: dict[int | None, list[int]] = {}
        for index, line in enumerate(self.variations):
            self._check_place(index, line)
            children.setdefault(line.parent, []).append(index)
        waiting: list[int] = []
        index: int | None = None
        while True:
            leaving = reversed(children.get(index, []))
            waiting += sorted(leaving, key=lambda number: self.variations[number].ply)
            if not waiting:
                return
            index = waiting.pop()
            yield index, self.variations[index]

    def _check_place(self, index: int, variation: Variation) -> None:
        if variation.parent is None:
            first, plies, what = 0, len(self.moves), "a game"
        elif 0 <= variation.parent < index:
            line = self.variations[variation.parent]
            first, plies, what = line.ply, len(line.moves) - 1, f"a variation from ply {line.ply}"
        else:
            raise RecordError(self.name, None, f"variation {index} leaves variation {variation.parent}, not above it")
        if not first < variation.ply <= first + plies + 1:
            plies += variation.parent is not None
            raise RecordError(self.name, None, f"a variation at ply {variation.ply} of {what} of {plies} plies")

    def usi_moves(self) -> list[str]:
        """The moves in USI form."""
        return [played.move.usi() for played in self.moves]

    @classmethod
    def from_text(cls, text: str, *, name: str = "") -> "Record":
        """Parse a record in CSA, KIF, KI2, JKF or USI; the format is detected.

        Raises:
            RecordError: The record is damaged or has an illegal move.
        """
        from fukayomi.shogi.formats import read_record

        return read_record(text.encode(errors="surrogateescape"), name=name)

    def csa(self) -> str:
        """The record in CSA 2.2."""
        from fukayomi.shogi.formats import write_csa

        return write_csa(self)

    def kif(self) -> str:
        """The record in KIF.

        Raises:
            RecordError: A variation has no place in the record.
        """
        from fukayomi.shogi.formats import write_kif

        return write_kif(self)

    def usi(self) -> str:
        """The first position and the moves, as arguments of USI's ``position`` command."""
        start = "startpos" if self.initial_sfen == START_SFEN else f"sfen {self.initial_sfen}"
        return f"{start} moves {' '.join(self.usi_moves())}" if self.moves else start

    def replay(self) -> Iterator[tuple[Position, RecordedMove]]:
        """Iterate over the moves, each with the position before it.

        The position is one object, which changes with each step; use `copy` to keep it.
        """
        position = Position.from_sfen(self.initial_sfen, allow_missing_king=True)
        for played in self.moves:
            yield position, played
            position.push(played.move)

    def rows(self) -> list[dict[str, Any]]:
        """One row per move: ply, move, its Japanese name, score and mate (of Black), seconds, comment."""
        return [
            {
                "ply": position.ply,
                "move": played.move.usi(),
                "japanese": position.japanese(played.move),
                "score_cp": played.score_cp,
                "mate": played.mate,
                "seconds": None if played.time_ms is None else played.time_ms / 1000,
                "comment": played.comment,
            }
            for position, played in self.replay()
        ]
