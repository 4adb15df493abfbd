"""Limits of game records from outside."""

LARGEST_RECORD = 64 << 20
"""Bytes; no larger file is read as one game."""
