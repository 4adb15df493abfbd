"""Names of the formats of training data. This module is light, so that commands can list them without delay."""

from enum import StrEnum


class DataFormat(StrEnum):
    """Formats of positions and games."""

    HCP = "hcp"
    HCPE = "hcpe"
    HCPE2 = "hcpe2"
    HCPE3 = "hcpe3"
    CACHE = "cache"
    AVERAGES = "avg"
    PSV = "psv"
    BOOK = "book"
    SFEN = "sfen"
    """One position per line."""
    PLAIN = "plain"
    """psv as text, as YaneuraOu's learner writes it."""
    RECORDS = "records"
    """CSA, KIF, KI2, JKF or USI lines, also in archives and folders."""


class Target(StrEnum):
    """Formats that can be written; the names are the suffixes of files."""

    HCP = "hcp"
    HCPE = "hcpe"
    HCPE2 = "hcpe2"
    HCPE3 = "hcpe3"
    PSV = "psv"
    PLAIN = "plain"
    CACHE = "cache"
    """Made of one file of averages only."""
    SFEN = "sfen"
    CSA = "csa"
    USI = "usi"
    KIF = "kif"
    KI2 = "ki2"
    JKF = "jkf"

    @property
    def is_record(self) -> bool:
        """True if the format holds game records."""
        return self in (Target.CSA, Target.USI) or self.holds_one_game

    @property
    def has_moveless_rows(self) -> bool:
        """True if the format has positions without a move: rows whose value alone is learned, or positions alone."""
        return self in (Target.PSV, Target.PLAIN, Target.HCP, Target.SFEN)

    @property
    def has_encodings(self) -> bool:
        """True if records of the format may be in another encoding than UTF-8."""
        return self in (Target.KIF, Target.KI2)

    @property
    def holds_one_game(self) -> bool:
        """True if a file holds a single game."""
        return self in (Target.KIF, Target.KI2, Target.JKF)


class Encoding(StrEnum):
    """Encodings of KIF and KI2 records."""

    UTF_8 = "utf-8"
    SHIFT_JIS = "shift_jis"
    """CP932, as Japanese Windows has it."""

    @property
    def label(self) -> str:
        """The name for people."""
        return "UTF-8" if self is Encoding.UTF_8 else "Shift_JIS"


class Weighing(StrEnum):
    """Weight of each search of a position for its moves when searches are averaged."""

    EVENLY = "evenly"
    """Every search counts the same: its visits, or the one move of an hcpe row, are scaled to add up to 2^32."""
    BY_VISITS = "by-visits"
    """Every search counts as much as it has visits; an hcpe row has one."""

    @property
    def number(self) -> int:
        """The number of the weighing in an .avg file."""
        return int(self is Weighing.EVENLY)


SPLIT_RUN = 1000
"""Consecutive rows that stay together when rows are split by game."""
SHUFFLE_MEMORY = 1 << 30
"""Bytes of memory that a shuffle uses, approximately."""
UNIQUE_MEMORY = 1 << 28
"""Bytes of positions that are kept in memory while different ones are counted."""


class Unit(StrEnum):
    """Unit that stays together in a split."""

    GAME = "game"
    """Games, with all equal games; rows, which do not say where a game ends, in runs of consecutive rows."""
    POSITION = "position"
    """All rows of a position."""
