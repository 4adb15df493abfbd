"""Tests of clients run event loops of their own."""

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_running_loop() -> Iterator[None]:
    """Playwright leaves its event loop marked as running in the thread of the tests, also after tests of the page."""
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)
