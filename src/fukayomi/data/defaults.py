"""Defaults of options, in a module that is imported at once."""

SPLIT_RUN = 1000
"""Consecutive rows that stay together when rows are split by game."""
SHUFFLE_MEMORY = 1 << 30
"""Bytes of memory that a shuffle uses, approximately."""
UNIQUE_MEMORY = 1 << 28
"""Bytes of positions that are kept in memory while different ones are counted."""
