"""What waits for a page: the newest report, in order, and not without end."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from patience import PATIENCE_S

from fukayomi.web.hub import MOST_WAITING, Hub, Message, Outbox


def in_loop(task: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine in a thread of its own: that of the tests may have the browser's loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(task())).result(PATIENCE_S)


async def taken(outbox: Outbox) -> list[Message]:
    """All that waits, until the message that is called last."""
    found: list[Message] = []
    while (message := await outbox.take()) is not None:
        if message == {"last": True}:
            break
        found.append(message)
    return found


def test_newer_report_takes_the_place_of_the_older() -> None:
    async def run() -> list[Message]:
        outbox = Outbox()
        for nodes in range(5):
            outbox.send({"nodes": nodes}, ("report", 1))
        outbox.send({"end": 1})
        outbox.send({"nodes": 9}, ("report", 2))
        outbox.send({"end": 2})
        outbox.send({"last": True})
        return await taken(outbox)

    assert in_loop(run) == [{"nodes": 4}, {"end": 1}, {"nodes": 9}, {"end": 2}]


def test_page_that_does_not_read_is_let_go() -> None:
    async def run() -> tuple[Message | None, bool]:
        outbox = Outbox()
        for number in range(MOST_WAITING + 1):
            outbox.send({"end": number})
        await asyncio.sleep(0)
        return await outbox.take(), outbox.is_full

    assert in_loop(run) == (None, True)


def test_messages_come_from_any_thread_and_after_the_end_of_the_loop() -> None:
    boxes: list[Outbox] = []

    async def run() -> list[Message]:
        boxes.append(Outbox())
        with ThreadPoolExecutor(4) as pool:
            for number in range(40):
                pool.submit(boxes[0].send, {"number": number})
        boxes[0].send({"last": True})
        return await taken(boxes[0])

    assert {message["number"] for message in in_loop(run)} == set(range(40))
    boxes[0].send({"late": True})
    Hub().send_all({"nobody": True})
