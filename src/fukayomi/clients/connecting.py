"""Connections that break, what a peer may send, and the pauses before the next attempt."""

import asyncio
import contextlib
import os
import random
import re
import time

from fukayomi.errors import FukayomiError
from fukayomi.listener import Listener

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
FIRST_OF_WINSOCK = 10_000
"""The first error number of Windows' sockets, which `os.strerror` does not know."""


class ConnectionLostError(FukayomiError, ConnectionError):
    """The connection has ended. The message says how."""


class PeerFloodError(FukayomiError):
    """A peer that sends too much: endless lines, or too many. The message goes on after its name."""


def reason_of(error: Exception) -> str:
    """What the system says of a connection that failed, without asyncio's list of the addresses that it tried."""
    found = re.search(r"\[Errno ([0-9]+)\]", str(error))
    number = int(found[1]) if found else getattr(error, "errno", None) or 0
    if 0 < number < FIRST_OF_WINSOCK:
        return os.strerror(number)
    return getattr(error, "strerror", None) or str(error)


class Allowance:
    """How much a peer may send: a store that fills up steadily.

    Args:
        most: Contents of the full store.
        per_s: How much comes back in a second.
    """

    def __init__(self, most: float, per_s: float) -> None:
        self._most, self._per_s = most, per_s
        self._left, self._at_s = most, time.monotonic()

    def take(self, count: float) -> bool:
        """Take something; False if there is not enough left."""
        now_s = time.monotonic()
        self._left = min(self._most, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        self._left -= count
        return self._left >= 0


class Backoff:
    """The pauses between attempts to connect: 1 second, 2, 4, up to a minute. After a minute without a failure they
    begin again.

    Args:
        limit: Failures in a row that are too many; None: no limit.
        listener: Gets a note of each failure.
    """

    def __init__(self, limit: int | None, listener: Listener) -> None:
        self.failures = 0
        """Failures in a row."""
        self._limit, self._listener = limit, listener
        self._paused_s = time.monotonic()

    def reset(self) -> None:
        """An attempt has succeeded."""
        self.failures = 0

    async def rest(self, ended: asyncio.Event) -> None:
        """Wait a second after a connection that was good, and that the peer has closed as it usually does."""
        self.reset()
        await wait_for(ended, FIRST_PAUSE_S)

    async def pause(self, error: Exception, ended: asyncio.Event | None = None) -> None:
        """Wait before the next attempt.

        Args:
            error: Why the last one failed.
            ended: Ends the wait when set; None: nothing does.

        Raises:
            Exception: The error, after too many failures in a row.
        """
        if time.monotonic() > self._paused_s + LONGEST_PAUSE_S:
            self.reset()
        self.failures += 1
        if self._limit is not None and self.failures > self._limit:
            raise error
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(10, self.failures - 1))
        pause_s *= random.uniform(0.75, 1.25)  # many clients do not come back at once
        self._listener.note(f"{error}; connecting again in {pause_s:.0f} s")
        await wait_for(asyncio.Event() if ended is None else ended, pause_s)
        self._paused_s = time.monotonic()


async def wait_for(event: asyncio.Event, seconds: float) -> None:
    """Wait until an event is set, at most so long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
