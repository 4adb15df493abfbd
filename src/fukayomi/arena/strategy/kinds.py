"""Kinds of strategies, and how games are grouped to count them. Enumerations only: commands import them at start-up."""

from enum import StrEnum


class StrategyKind(StrEnum):
    """Kinds of strategies (戦型), by what they describe."""

    STYLE = "style"
    """Static or ranging rook (居飛車, 振り飛車). Nearly every game has one."""
    OPENING = "opening"
    ATTACK = "attack"
    CASTLE = "castle"


NAMED_KINDS = (StrategyKind.OPENING, StrategyKind.ATTACK, StrategyKind.CASTLE)
"""The kinds that name a row of a strategy table by default, as shogi statistics usually combine them."""


class SplitBy(StrEnum):
    """Grouping of games: one strategy table per group."""

    YEAR = "year"
    ENGINE = "engine"
    """One group per player and colour; each game counts for its Black and for its White."""
