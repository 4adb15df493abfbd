"""Settings that are chosen by name, and the defaults of matches.

Enumerations and numbers only: a command line reads them at once.
"""

from enum import StrEnum

MAX_PLIES = 320
"""Plies after which a game is a draw."""
MARGIN_MS = 100
"""Tolerance for late answers."""
START_TIMEOUT_MS = 10_000
"""Time for ``usiok``."""
READY_TIMEOUT_MS = 120_000
"""Time for ``readyok``: engines load their networks then."""
STALL_MS = 600_000
"""Time for a move without a clock (nodes, depth)."""
RESIGN_MOVES = 3
"""Moves in a row with a lost score before a loss is adjudicated."""
DRAW_MOVES = 8
"""Moves in a row with a level score before a draw is adjudicated."""
DRAW_PLY = 160
"""No draw is adjudicated before this ply."""
SEED = 0
"""Seed for shuffling openings."""
CONCURRENCY = 1
"""Games at once."""
MOST_GAMES = 1_000_000
"""Games that a match can have: all of them are scheduled before the first."""


class Tournament(StrEnum):
    """Pairing scheme of the engines."""

    ROUND_ROBIN = "round-robin"
    """Every engine meets every other."""
    GAUNTLET = "gauntlet"
    """The first engine meets each of the others."""


class OpeningOrder(StrEnum):
    """The order of the openings."""

    SEQUENTIAL = "sequential"
    """As in the file."""
    RANDOM = "random"
    """Shuffled by the seed; every opening is used once before any is repeated."""


class Declaration(StrEnum):
    """The rule for a declaration (入玉宣言); docs/usi-options.md has a table of them."""

    POINTS_27 = "27"
    """28 points for Black, 27 for White."""
    POINTS_24 = "24"
    """31 points; with 24 to 30 the game is a draw."""
    POINTS_27_HANDICAP = "27H"
    """27, where the pieces that a handicap leaves out count for White."""
    POINTS_24_HANDICAP = "24H"
    """24, where the pieces that a handicap leaves out count for White."""
    TRY = "try"
    """The side that moves its king to the square on which the enemy's king starts wins (トライルール)."""
    NONE = "none"
