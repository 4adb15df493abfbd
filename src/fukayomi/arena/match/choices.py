"""What is chosen by a name, in commands and in files. Enumerations alone, so that a command line is read at once."""

from enum import StrEnum


class Tournament(StrEnum):
    """Who meets whom."""

    ROUND_ROBIN = "round-robin"
    """Everybody meets everybody."""
    GAUNTLET = "gauntlet"
    """The first engine meets each of the others."""


class OpeningOrder(StrEnum):
    """In which order openings are taken."""

    SEQUENTIAL = "sequential"
    RANDOM = "random"
    """Shuffled by the seed; each opening once before any comes again."""


class Declaration(StrEnum):
    """By which rule a declaration (入玉宣言) is accepted."""

    POINTS_27 = "27"
    POINTS_24 = "24"
    NONE = "none"


class StrategyKind(StrEnum):
    """What a strategy (戦型) is about."""

    STYLE = "style"
    """Static or ranging rook; coarse enough that nearly every game has one."""
    OPENING = "opening"
    ATTACK = "attack"
    CASTLE = "castle"


NAMED_KINDS = (StrategyKind.OPENING, StrategyKind.ATTACK, StrategyKind.CASTLE)
"""The kinds of tags that the tables of the shogi world combine."""


class SplitBy(StrEnum):
    """What games are split by, to count strategies: one table each."""

    YEAR = "year"
    ENGINE = "engine"
    """By player and colour: each game counts for its Black and for its White."""
