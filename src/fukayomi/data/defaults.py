"""Defaults and choices of options. This module is light, so that commands can list them without delay."""

from enum import StrEnum

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
