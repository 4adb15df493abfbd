"""The USI protocol: a client that drives an engine, its text without I/O, and options.

>>> from fukayomi import Position
>>> from fukayomi.usi import UsiEngine
>>> with UsiEngine("gpsusi") as engine:  # doctest: +SKIP
...     print(engine.search(Position(), time_ms=1000))
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.usi.client import EngineDiedError, EngineError, EngineTimeoutError, SearchAnswer
    from fukayomi.usi.engine import UsiEngine, UsiLine, UsiResult
    from fukayomi.usi.text import BestMove, Go, Info, UsiScore

__all__ = [
    "BestMove",
    "EngineDiedError",
    "EngineError",
    "EngineTimeoutError",
    "Go",
    "Info",
    "SearchAnswer",
    "UsiEngine",
    "UsiLine",
    "UsiResult",
    "UsiScore",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".client": ("EngineDiedError", "EngineError", "EngineTimeoutError", "SearchAnswer"),
        ".engine": ("UsiEngine", "UsiLine", "UsiResult"),
        ".text": ("BestMove", "Go", "Info", "UsiScore"),
    },
)
