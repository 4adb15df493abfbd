"""Games whose position on the board can be followed by each case of the table in docs/usi-options.md, "Repetition"."""

from fukayomi.shogi import Position

CYCLE = " 2h3h 8b7b 3h2h 7b8b"
BEFORE = f"startpos moves{CYCLE} 2h3h 8b7b 3h2h"
"""7b8b brings the start position for the third time: nothing."""
FOURTH = f"startpos moves{3 * CYCLE}".removesuffix(" 7b8b")
"""7b8b brings it for the fourth time: a draw."""
PERPETUAL = "sfen 4k4/9/9/9/9/9/9/5R3/4K4 b - 1 moves 4h5h 5a4a 5h4h 4a5a 4h5h 5a4a 5h4h"
"""4a5a brings a position for the third time, always with check by Black: nothing."""
PERPETUAL_FOURTH = PERPETUAL.replace(" moves", " moves 4h5h 5a4a 5h4h 4a5a")
"""4a5a has done so for the fourth time: White wins."""
SHUFFLE = "sfen k8/1g7/9/9/9/9/9/7G1/8K b - 1"
"""Four plies that the search itself tries repeat the position: a value, no proof."""


def position(game: str) -> Position:
    """The position with its past."""
    return Position.from_usi(game)


def without_past(game: str) -> Position:
    """The same position and move number, as if the game began there."""
    return Position.from_sfen(Position.from_usi(game).sfen())
