"""Connections that break, and the pauses before the next attempt."""

import asyncio
import contextlib
import random

from fukayomi.errors import FukayomiError
from fukayomi.listener import Listener

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


class ConnectionLostError(FukayomiError, ConnectionError):
    """The connection has ended. The message says how."""


class Backoff:
    """The pauses between attempts to connect: 1 second, 2, 4, up to a minute.

    Args:
        limit: Failures in a row that are too many; None: no limit.
        listener: Gets a note of each failure.
    """

    def __init__(self, limit: int | None, listener: Listener) -> None:
        self.failures = 0
        """Failures in a row."""
        self._limit, self._listener = limit, listener

    def reset(self) -> None:
        """An attempt has succeeded."""
        self.failures = 0

    async def rest(self, ended: asyncio.Event) -> None:
        """Wait a second after a connection that was good, and that the peer has closed as it usually does."""
        self.reset()
        await wait_for(ended, FIRST_PAUSE_S)

    async def pause(self, error: Exception, ended: asyncio.Event) -> None:
        """Wait before the next attempt.

        Args:
            error: Why the last one failed.
            ended: Ends the wait when set.

        Raises:
            Exception: The error, after too many failures in a row.
        """
        self.failures += 1
        if self._limit is not None and self.failures > self._limit:
            raise error
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(10, self.failures - 1))
        pause_s *= random.uniform(0.75, 1.25)  # many clients do not come back at once
        self._listener.note(f"{error}; connecting again in {pause_s:.0f} s")
        await wait_for(ended, pause_s)


async def wait_for(event: asyncio.Event, seconds: float) -> None:
    """Wait until an event is set, at most so long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
