"""The USI protocol: a client that drives an engine, its text without I/O, and options.

>>> from fukayomi import Position
>>> from fukayomi.usi import UsiEngine
>>> with UsiEngine("gpsusi") as engine:  # doctest: +SKIP
...     print(engine.search(Position(), time_ms=1000))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

# Where each public name is defined: imported on first use (PEP 562). Keep it in step with the imports above.
_MODULES = {
    "fukayomi.usi.client": ("EngineDiedError", "EngineError", "EngineTimeoutError", "SearchAnswer"),
    "fukayomi.usi.engine": ("UsiEngine", "UsiLine", "UsiResult"),
    "fukayomi.usi.text": ("BestMove", "Go", "Info", "UsiScore"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'fukayomi.usi' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
