"""fukayomi (深読み): a deep-learning shogi engine and the tools that make it stronger.

    >>> import fukayomi
    >>> position = fukayomi.Position()
    >>> position.push_usi("7g7f")
    Move.from_usi('7g7f')
    >>> len(position.legal_moves)
    30

Everything listed here is imported on first use, so `import fukayomi` is quick. The sub-packages have more:
`fukayomi.shogi` (rules and records), `fukayomi.engine` (search and analysis), `fukayomi.data` (training data),
`fukayomi.arena` (matches and ratings), `fukayomi.learning` (training) and `fukayomi.usi` (the USI protocol).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fukayomi.arena import (
        Classification,
        MatchListener,
        MatchResult,
        MovePlayer,
        Ratings,
        SprtResult,
        classify_strategies,
        play_match,
        rate,
        sprt,
    )
    from fukayomi.engine import Engine, Evaluation, EvaluatorError, GameAnalysis, Network, SearchResult, analyse
    from fukayomi.learning import Dataset
    from fukayomi.listener import Listener
    from fukayomi.shogi import (
        BLACK,
        WHITE,
        Color,
        DeclarationRule,
        IllegalMoveError,
        IllegalMoveInRecordError,
        InvalidMoveError,
        InvalidPackedError,
        InvalidSfenError,
        Move,
        Piece,
        PieceType,
        Position,
        Record,
        RecordedMove,
        RecordError,
        Repetition,
        Result,
        ShogiError,
        Termination,
        UnknownFormatError,
        read_record,
        read_records,
        write_record,
    )
    from fukayomi.usi import UsiEngine, UsiResult

__version__ = "0.1.0"

__all__ = [
    "BLACK",
    "WHITE",
    "Classification",
    "Color",
    "Dataset",
    "DeclarationRule",
    "Engine",
    "Evaluation",
    "EvaluatorError",
    "GameAnalysis",
    "IllegalMoveError",
    "IllegalMoveInRecordError",
    "InvalidMoveError",
    "InvalidPackedError",
    "InvalidSfenError",
    "Listener",
    "MatchListener",
    "MatchResult",
    "Move",
    "MovePlayer",
    "Network",
    "Piece",
    "PieceType",
    "Position",
    "Ratings",
    "Record",
    "RecordError",
    "RecordedMove",
    "Repetition",
    "Result",
    "SearchResult",
    "ShogiError",
    "SprtResult",
    "Termination",
    "UnknownFormatError",
    "UsiEngine",
    "UsiResult",
    "__version__",
    "analyse",
    "classify_strategies",
    "play_match",
    "rate",
    "read_record",
    "read_records",
    "sprt",
    "write_record",
]

# Where each public name is defined: imported on first use (PEP 562). Keep it in step with the imports above.
_PACKAGES = {
    "fukayomi.listener": ("Listener",),
    "fukayomi.arena": (
        "Classification", "MatchListener", "MatchResult", "MovePlayer", "Ratings", "SprtResult", "classify_strategies",
        "play_match", "rate", "sprt",
    ),
    "fukayomi.engine": ("Engine", "Evaluation", "EvaluatorError", "GameAnalysis", "Network", "SearchResult", "analyse"),
    "fukayomi.learning": ("Dataset",),
    "fukayomi.shogi": (
        "BLACK", "WHITE", "Color", "DeclarationRule", "Move", "Piece", "PieceType", "Position", "Record",
        "RecordedMove", "Repetition", "Result", "Termination", "read_record", "read_records", "write_record",
        "IllegalMoveError", "IllegalMoveInRecordError", "InvalidMoveError", "InvalidPackedError", "InvalidSfenError",
        "RecordError", "ShogiError", "UnknownFormatError",
    ),
    "fukayomi.usi": ("UsiEngine", "UsiResult"),
}  # fmt: skip
_PACKAGE_OF = {name: package for package, names in _PACKAGES.items() for name in names}
_SUBPACKAGES = frozenset({"arena", "data", "engine", "learning", "nn", "shogi", "usi"})


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"fukayomi.{name}")
    if name not in _PACKAGE_OF:
        raise AttributeError(f"module 'fukayomi' has no attribute {name!r}")
    value = getattr(import_module(_PACKAGE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGE_OF, *_SUBPACKAGES})
