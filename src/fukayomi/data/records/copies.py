"""The moves of a record as columns, and games that are given more than once, such as in two formats.

Two records are of one game if they have the same players, start and moves, and nothing in their times of start
contradicts it: days, hours and seconds are compared as far as both records tell them. Records that name no player and
no time must also have the same name but for folders and suffix: ``a.csa`` and ``a.kif``. Engines that do not vary can
play a game again within a second, so records of one folder or archive in one format are different games.
"""

import hashlib
import ntpath
import re
import unicodedata
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi._native import NO_SCORE
from fukayomi.shogi import Position, ShogiError
from fukayomi.shogi.formats.csa.reader import CsaMoves
from fukayomi.shogi.record import Record
from fukayomi.tabular import counted

_LARGEST_SCORE = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """The N moves of a record.

    Positions and games are made from them. The CSA reader returns columns already; then no Python object is made for a
    move.
    """

    black_starts: bool
    moves: NDArray[np.uint16]
    """As `Move.raw`: uint16 [N]."""
    scores: NDArray[np.int32]
    """Centipawns from Black's side, NO_SCORE where the record has none: int32 [N]."""
    game: _native.CsaGame | None
    """The columns of the native reader, for a CSA record whose moves were not changed."""

    @classmethod
    def of(cls, record: Record) -> "RecordColumns":
        """The columns of a record."""
        black_starts = " b " in record.initial_sfen
        game = record.moves.game if isinstance(record.moves, CsaMoves) else None
        if game is not None:
            return cls(black_starts, game.moves, game.scores, game)
        moves = np.array([played.move.raw for played in record.moves], np.uint16)
        noted = [NO_SCORE if played.score_cp is None else played.score_cp for played in record.moves]
        scores = np.clip(np.array(noted, np.int64), NO_SCORE, _LARGEST_SCORE).astype(np.int32)
        return cls(black_starts, moves, scores, None)

    def hcps(self, initial_sfen: str) -> NDArray[np.uint8]:
        """The position before each move, and the last one: uint8 [N + 1, 32].

        Raises:
            ShogiError: The first position lacks a king, as in a mate problem.
        """
        if self.game is not None:
            return self.game.hcps()
        return _native.encode_game_hcps(Position.from_sfen(initial_sfen, allow_missing_king=True), self.moves)

    def has_comment(self, pattern: re.Pattern[str], record: Record) -> bool:
        """True if the comment on any move begins with the pattern."""
        if self.game is not None:
            return any(pattern.match(comment) for _, comment in self.game.comments)
        return any(pattern.match(played.comment) for played in record.moves)


@lru_cache(maxsize=1024)
def start_key(initial_sfen: str) -> bytes:
    """The position from which a game starts as bytes, equal in all formats: its hcp, or its SFEN if it lacks a king."""
    position = Position.from_sfen(initial_sfen, allow_missing_king=True)
    try:
        return _native.encode_hcp(position)
    except ShogiError:
        return " ".join(position.sfen().split()[:3]).encode()


_DAY = re.compile(
    r"(?<![0-9])(?:(?P<year>[0-9]{4})|(?P<era>令和|平成|昭和|[RHS])(?P<era_year>[0-9]{1,2}|元))[^0-9]"
    r"(?P<month>[0-9]{1,2})[^0-9](?P<day>[0-9]{1,2})(?![0-9])"
    r"|(?<![0-9])(?P<compact>(?:19|20)[0-9]{6})(?=T?[0-9]{4}|[^0-9]|$)"
)
_CLOCK = re.compile(
    r"(?P<half>午前|午後|[AaPp][Mm])?\s{0,4}(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?"
    r"|時(?:(?P<minutes>[0-9]{1,2})分(?:(?P<seconds>[0-9]{1,2})秒)?)?)(?:\s?(?P<english>[AaPp][Mm]))?"
    r"|^T?(?P<digits>[0-9]{4}(?:[0-9]{2})?)$"
)
_ERAS = {"令和": 2018, "R": 2018, "平成": 1988, "H": 1988, "昭和": 1925, "S": 1925}
_LONGEST_TIME = 200  # characters
_NUMBER = re.compile(r"#\d+$")


class SeenGames:
    """Remembers the games of a collection, in about 200 bytes each.

    Attributes:
        copies: Records of games that had been seen before.
    """

    def __init__(self) -> None:
        self.copies = 0
        self._firsts: dict[bytes, bytes | _SameMoves] = {}

    def is_copy(self, record: Record, *, in_collection: bool = False) -> bool:
        """Remember the game of a record; True if a record of it was seen before.

        Args:
            record: The record; its name says where it is from.
            in_collection: Whether its file has several games.
        """
        file, number = _NUMBER.sub("", record.name), _NUMBER.search(record.name)
        folder, name = ntpath.split(file)  # takes both separators
        stem, suffix = ntpath.splitext(name)
        time = _time_of(record.start_time)
        fields = [_player(record.black_name), _player(record.white_name)]
        if not time and not any(fields):
            fields += [record.start_time, stem, number[0] if number else ""]
        content = hashlib.blake2b(_bytes("\n".join(fields)), digest_size=16)
        content.update(start_key(record.initial_sfen))
        content.update(RecordColumns.of(record).moves.astype("<u2").tobytes())
        place = zlib.crc32(_bytes(file if in_collection else f"{folder}/*{suffix}"))
        here = _Seen(place, zlib.crc32(_bytes(record.name)), time)
        key = content.digest()
        first = self._firsts.get(key)
        if first is None:
            self._firsts[key] = here.pack()
            return False
        if isinstance(first, bytes):
            first = self._firsts[key] = _SameMoves(_Seen.unpack(first))
        if first.is_new(here):
            return False
        self.copies += 1
        return True


def _player(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).split())


def _time_of(text: str) -> tuple[str, ...]:
    """Day, minute and second at which a game began, as far as a record tells them."""
    plain = unicodedata.normalize("NFKC", text[:_LONGEST_TIME]).strip()
    found = _DAY.search(plain)
    if found is None:
        return ()
    if compact := found["compact"]:
        day = f"{compact[:4]}-{compact[4:6]}-{compact[6:]}"
    else:
        in_era = 1 if found["era_year"] == "元" else int(found["era_year"] or 0)
        year = int(found["year"]) if found["year"] else _ERAS[found["era"]] + in_era
        day = f"{year:04}-{int(found['month']):02}-{int(found['day']):02}"
    clock = _CLOCK.search(plain[found.end() :].strip())
    return (day, *_clock(clock)) if clock else (day,)


def _clock(found: re.Match[str]) -> tuple[str, ...]:
    """Minute and second, as far as they are told: ``10:05``, ``10時5分0秒``, ``午後1:05``, ``100500``."""
    if digits := found["digits"]:
        hour, minute, second = digits[:2], digits[2:4], digits[4:]
    else:
        hour, minute = found["hour"], found["minute"] or found["minutes"]
        if minute is None:  # 10時 tells no minute
            return ()
        second = found["second"] or found["seconds"] or ""
    half = (found["half"] or found["english"] or "").lower()
    hours = int(hour) % 12 + 12 * (half in ("午後", "pm")) if half else int(hour)
    start = f"{hours:02}:{int(minute):02}"
    return (start, f"{int(second):02}") if second else (start,)


class _Seen(NamedTuple):
    """Origin of a record, and the time when its game began."""

    place: int
    name: int
    time: tuple[str, ...]

    def pack(self) -> bytes:
        """As bytes, because most games come once."""
        return self.place.to_bytes(4, "little") + self.name.to_bytes(4, "little") + " ".join(self.time).encode()

    @classmethod
    def unpack(cls, data: bytes) -> "_Seen":
        """From `pack`."""
        place, name = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4))
        return cls(place, name, tuple(data[8:].decode().split()))


class _SameMoves:
    """Games with the same players, start and moves."""

    def __init__(self, first: _Seen) -> None:
        self._names: set[int] = set()
        self._games = _Games()
        self.is_new(first)

    def is_new(self, seen: _Seen) -> bool:
        """True if a record is not of one of these games; remembers it."""
        if seen.name in self._names:
            return False
        self._names.add(seen.name)
        return self._games.add(seen.place, seen.time)


class _Games:
    """Least number of games that the records of some places are of.

    The records of one place are different games, and so are those with different times.
    """

    def __init__(self) -> None:
        self._at_place: Counter[int] = Counter()
        self._most = 0
        self._later: dict[str, _Games] = {}
        """Those with the same day, of these those with the same minute, and of these those with the same second."""
        self._of_later = 0

    def add(self, place: int, time: tuple[str, ...]) -> bool:
        """Add a record; True if there is another game now."""
        before = max(self._most, self._of_later)
        self._at_place[place] += 1
        self._most = max(self._most, self._at_place[place])
        if time:
            self._of_later += self._later.setdefault(time[0], _Games()).add(place, time[1:])
        return max(self._most, self._of_later) > before


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def copies_text(count: int) -> str:
    """Text about copies, for people."""
    return f"{counted(count, 'record')} of games given before; each game counts once"
