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

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi._native import RootRule, SearchLine, SearchParams
    from fukayomi.engine.analysis.game_analysis import GameAnalysis
    from fukayomi.engine.engine import Engine, TreeNode, analyse
    from fukayomi.engine.evaluation import Evaluation
    from fukayomi.engine.evaluators import EvaluatorError
    from fukayomi.engine.evaluators.planes import PlaneEvaluator
    from fukayomi.engine.measuring.doctor import Diagnosis, diagnose
    from fukayomi.engine.measuring.speed import NetworkSpeed, measure_speed
    from fukayomi.engine.network import Network
    from fukayomi.engine.report.document import AnalysisFileError
    from fukayomi.engine.search import SearchResult
    from fukayomi.engine.service.book import ServiceBookSearcher
    from fukayomi.engine.service.query import AnalysisQuery, MoveAnswer, QueryError, TurnAnswer
    from fukayomi.engine.service.service import AnalysisService, RunningQuery
    from fukayomi.engine.settings import UsiSettings

__all__ = [
    "AnalysisFileError",
    "AnalysisQuery",
    "AnalysisService",
    "Diagnosis",
    "Engine",
    "Evaluation",
    "EvaluatorError",
    "GameAnalysis",
    "MoveAnswer",
    "Network",
    "NetworkSpeed",
    "PlaneEvaluator",
    "QueryError",
    "RootRule",
    "RunningQuery",
    "SearchLine",
    "SearchParams",
    "SearchResult",
    "ServiceBookSearcher",
    "TreeNode",
    "TurnAnswer",
    "UsiSettings",
    "analyse",
    "diagnose",
    "measure_speed",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".analysis.game_analysis": ("GameAnalysis",),
        ".measuring.doctor": ("Diagnosis", "diagnose"),
        "fukayomi._native": ("RootRule", "SearchLine", "SearchParams"),
        ".engine": ("Engine", "TreeNode", "analyse"),
        ".evaluation": ("Evaluation",),
        ".evaluators": ("EvaluatorError",),
        ".evaluators.planes": ("PlaneEvaluator",),
        ".network": ("Network",),
        ".service.book": ("ServiceBookSearcher",),
        ".service.query": ("AnalysisQuery", "MoveAnswer", "QueryError", "TurnAnswer"),
        ".report.document": ("AnalysisFileError",),
        ".search": ("SearchResult",),
        ".service.service": ("AnalysisService", "RunningQuery"),
        ".settings": ("UsiSettings",),
        ".measuring.speed": ("NetworkSpeed", "measure_speed"),
    },
)
