"""The margin that a client keeps for the network, learnt from the delays it has measured."""

from collections import deque

KEPT = 40
"""Delays that are kept, the last ones."""
SAFETY = 1.5
"""The margin, as a multiple of the longest of them."""
MOST_MS = 10_000


class Lag:
    """The time that moves take to the server and back.

    >>> lag = Lag(least_ms=200)
    >>> lag.margin_ms
    200
    >>> lag.add(0.4)
    >>> lag.margin_ms
    600

    Args:
        least_ms: The margin while nothing is known, and the least later on.
    """

    def __init__(self, least_ms: int) -> None:
        self._least_ms = least_ms
        self._delays_s: deque[float] = deque(maxlen=KEPT)

    def add(self, seconds: float) -> None:
        """A move has come back after so long."""
        self._delays_s.append(seconds)

    @property
    def margin_ms(self) -> int:
        """How much earlier an engine must answer."""
        longest_s = max(self._delays_s, default=0.0)
        return max(self._least_ms, min(MOST_MS, round(1000 * SAFETY * longest_s)))
