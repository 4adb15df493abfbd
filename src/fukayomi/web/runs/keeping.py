"""Documents that are made again only when their files have changed."""

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

MOST_KEPT = 100
"""Documents in memory."""
SHARE = 0.2
"""Making a document whose files change all the time takes at most this share of a processor core."""

Stamp = tuple[Any, ...]
"""Changes when files change."""
Value = TypeVar("Value")


def stamp_of(paths: Iterable[Path]) -> Stamp:
    """Size and time of each file that is there."""
    found: list[tuple[str, int, int]] = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        found.append((path.name, status.st_size, status.st_mtime_ns))
    return tuple(found)


@dataclass(slots=True)
class _Slot(Generic[Value]):
    lock: threading.Lock
    stamp: Stamp | None = None
    value: Value | None = None
    due: float = 0.0


class Keeper(Generic[Value]):
    """Keeps what was made from files until they change. Methods may be called from any thread.

    Args:
        most: What is kept; the longest unused is dropped.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._slots: OrderedDict[Any, _Slot[Value]] = OrderedDict()

    def get(self, key: Any, stamp: Stamp, make: Callable[[], Value]) -> Value:
        """The value of a key: the one before, unless the stamp is another one and making it again is due.

        Of several threads that ask at once, one makes the value.
        """
        with self._lock:
            slot = self._slots.setdefault(key, _Slot[Value](threading.Lock()))
            self._slots.move_to_end(key)
            while len(self._slots) > self._most:
                self._slots.popitem(last=False)
        with slot.lock:
            if slot.value is not None and (slot.stamp == stamp or time.monotonic() < slot.due):
                return slot.value
            before = time.thread_time()
            slot.value = make()
            slot.stamp = stamp
            slot.due = time.monotonic() + (time.thread_time() - before) / SHARE
            return slot.value


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it is sent."""

    text: bytes
    """JSON."""
    version: str
    """Another one when the text is another one."""

    @classmethod
    def of(cls, values: Any) -> "Document":
        """The document of plain values; numbers that are not finite become null."""
        text = json.dumps(_finite(values), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = text.encode(errors="replace")
        return cls(data, hashlib.blake2b(data, digest_size=12).hexdigest())


def _finite(values: Any) -> Any:
    if isinstance(values, float):
        return values if abs(values) < float("inf") else None
    if isinstance(values, dict):
        return {str(key): _finite(value) for key, value in values.items()}  # pyright: ignore
    if isinstance(values, list | tuple):
        return [_finite(value) for value in values]  # pyright: ignore
    return values
