"""A finished game as the statistics need it, from any source: a match, CSA or KIF files, PGN."""

import re
from dataclasses import dataclass

from fukayomi.shogi import START_SFEN, Move
from fukayomi.shogi.record import Record, Result, Termination
from fukayomi.tabular import counted, printable

_DATE = re.compile(r"(\d{4})[/.\-](\d{1,2})[/.\-](\d{1,2})", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class Game:
    """The players, the result and, where the source has them, the moves."""

    black: str
    white: str
    result: Result
    termination: Termination = Termination.NONE
    name: str = ""
    """Its origin: a file, a member of an archive, or the number of the game in its match."""
    initial_sfen: str = START_SFEN
    moves: tuple[Move, ...] | None = None
    """None if the source has results only, as PGN."""
    black_rating: float | None = None
    white_rating: float | None = None
    date: str = ""
    """Such as ``2026-01-03``, or empty."""
    pair: int | None = None
    """Number shared by the two games of an opening with swapped colours; None outside matches."""

    @classmethod
    def from_record(cls, record: Record) -> "Game":
        """A record without its scores, times and comments."""
        date = _DATE.match(record.start_time)
        return cls(
            black=record.black_name,
            white=record.white_name,
            result=record.result,
            termination=record.termination,
            name=record.name,
            initial_sfen=record.initial_sfen,
            moves=tuple(played.move for played in record.moves),
            black_rating=record.black_rating,
            white_rating=record.white_rating,
            date="{}-{:0>2}-{:0>2}".format(*date.groups()) if date else "",
        )

    def __repr__(self) -> str:
        length = "" if self.moves is None else f", {counted(len(self.moves), 'move')}"
        return f"<Game {printable(self.black)} - {printable(self.white)}: {self.result.name}{length}>"

    @property
    def year(self) -> int | None:
        """The year of the date."""
        return int(self.date[:4]) if self.date[:4].isdigit() else None
