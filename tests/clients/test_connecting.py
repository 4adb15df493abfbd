"""The pauses before another attempt to connect, and what a peer may send."""

import asyncio

import pytest

from fukayomi.clients import ConnectionLostError, connecting
from fukayomi.clients.connecting import Allowance, Backoff
from fukayomi.listener import Notes

ERROR = ConnectionLostError("it broke")


def test_too_many_failures_in_a_row_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "FIRST_PAUSE_S", 0.001)
    notes = Notes()

    async def run() -> None:
        backoff = Backoff(2, notes)
        for _ in range(3):  # each success begins anew
            await backoff.pause(ERROR)
            await backoff.pause(ERROR)
            backoff.reset()
        await backoff.pause(ERROR)
        await backoff.pause(ERROR)
        with pytest.raises(ConnectionLostError):
            await backoff.pause(ERROR)

    asyncio.run(run())
    assert notes.texts == ["it broke; connecting again in 0 s"] * 8


def test_after_a_good_while_failures_count_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "LONGEST_PAUSE_S", 0.0)

    async def run() -> int:
        backoff = Backoff(1, Notes())
        for _ in range(5):
            await asyncio.sleep(0.001)
            await backoff.pause(ERROR)
        return backoff.failures

    assert asyncio.run(run()) == 1


def test_the_user_ends_a_pause() -> None:
    async def run() -> None:
        ended = asyncio.Event()
        backoff = Backoff(None, Notes())
        for _ in range(8):
            backoff.failures += 1
        waiting = asyncio.create_task(backoff.pause(ERROR, ended))
        await asyncio.sleep(0)
        ended.set()
        async with asyncio.timeout(30):
            await waiting

    asyncio.run(run())


def test_an_allowance_is_used_up_and_comes_back() -> None:
    assert not Allowance(10, 0).take(11)
    slow, fast = Allowance(10, 0), Allowance(10, 1e9)
    assert [slow.take(6), slow.take(6), fast.take(9), fast.take(9)] == [True, False, True, True]
