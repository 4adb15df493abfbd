"""Limits of game records from outside."""

LARGEST_RECORD = 64 << 20
"""Bytes; no larger file is read as one game."""

MOST_PLIES = 10_000
"""Plies; no longer game is read. No real game comes near it."""
