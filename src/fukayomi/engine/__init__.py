"""The engine: networks that evaluate positions, the search, the analysis of games, and the USI engine.

    >>> from fukayomi import Engine, Network, Position
    >>> with Network() as network, Engine(network) as engine:
    ...     evaluation = network.evaluate(Position())
    ...     result = engine.search(Position(), nodes=100)
    >>> bool(0.4 < evaluation.winrates[0] < 0.7)
    True
    >>> result.lines[0].move == result.best
    True

`analyse` judges the moves of a game:

    >>> from fukayomi import analyse
    >>> analysis = analyse(Position.from_usi("startpos moves 7g7f 3c3d"), nodes=10)
    >>> len(analysis.moves)
    2

No network library is loaded before the first network is.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fukayomi.engine.analysis import GameAnalysis
    from fukayomi.engine.engine import Engine, analyse
    from fukayomi.engine.evaluation import Evaluation
    from fukayomi.engine.evaluators import EvaluatorError
    from fukayomi.engine.network import Network
    from fukayomi.engine.search import SearchResult
    from fukayomi.engine.settings import UsiSettings

__all__ = [
    "Engine",
    "Evaluation",
    "EvaluatorError",
    "GameAnalysis",
    "Network",
    "SearchResult",
    "UsiSettings",
    "analyse",
]

# Where each public name is defined: imported on first use (PEP 562). Keep it in step with the imports above.
_MODULE_OF = {
    "Engine": "engine", "Evaluation": "evaluation", "EvaluatorError": "evaluators", "GameAnalysis": "analysis",
    "Network": "network", "SearchResult": "search", "UsiSettings": "settings", "analyse": "engine",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'fukayomi.engine' has no attribute {name!r}")
    value = getattr(import_module(f"fukayomi.engine.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
