"""fukayomi (深読み): a deep-learning shogi engine and the tools that make it stronger.

    >>> import fukayomi
    >>> position = fukayomi.Position()
    >>> position.push_usi("7g7f")
    Move.from_usi('7g7f')
    >>> len(position.legal_moves)
    30

Everything listed here is imported on first use, so `import fukayomi` is quick. The sub-packages have more:
`fukayomi.shogi` (rules and records), `fukayomi.engine` (search and analysis), `fukayomi.data` (training data),
`fukayomi.arena` (matches and ratings), `fukayomi.clients` (games on servers), `fukayomi.learning` (training),
`fukayomi.selfplay` (games of networks against themselves), `fukayomi.loop` (the learning loop), `fukayomi.nn`
(networks in torch), `fukayomi.book` (opening books) and `fukayomi.usi` (the USI protocol).
"""

from typing import TYPE_CHECKING

from fukayomi._environment import prepare_environment
from fukayomi._lazy import lazy

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
    from fukayomi.data import read_records
    from fukayomi.engine import (
        Engine,
        Evaluation,
        EvaluatorError,
        GameAnalysis,
        Network,
        PlaneEvaluator,
        SearchResult,
        analyse,
    )
    from fukayomi.errors import FukayomiError
    from fukayomi.learning import Dataset
    from fukayomi.listener import Listener, ProgressPrinter, fan_out
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
        MateReason,
        MateResult,
        MateSolver,
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
        Variation,
        read_record,
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
    "FukayomiError",
    "GameAnalysis",
    "IllegalMoveError",
    "IllegalMoveInRecordError",
    "InvalidMoveError",
    "InvalidPackedError",
    "InvalidSfenError",
    "Listener",
    "MatchListener",
    "MatchResult",
    "MateReason",
    "MateResult",
    "MateSolver",
    "Move",
    "MovePlayer",
    "Network",
    "Piece",
    "PieceType",
    "PlaneEvaluator",
    "Position",
    "ProgressPrinter",
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
    "Variation",
    "__version__",
    "analyse",
    "classify_strategies",
    "fan_out",
    "play_match",
    "rate",
    "read_record",
    "read_records",
    "sprt",
    "write_record",
]

prepare_environment()

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".arena": (
            "Classification", "MatchListener", "MatchResult", "MovePlayer", "Ratings", "SprtResult",
            "classify_strategies", "play_match", "rate", "sprt",
        ),
        ".engine": (
            "Engine", "Evaluation", "EvaluatorError", "GameAnalysis", "Network", "PlaneEvaluator", "SearchResult",
            "analyse",
        ),
        ".data": ("read_records",),
        ".errors": ("FukayomiError",),
        ".learning": ("Dataset",),
        ".listener": ("Listener", "ProgressPrinter", "fan_out"),
        ".shogi": (
            "BLACK", "WHITE", "Color", "DeclarationRule", "IllegalMoveError", "IllegalMoveInRecordError",
            "InvalidMoveError", "InvalidPackedError", "InvalidSfenError", "MateReason",
            "MateResult", "MateSolver", "Move", "Piece", "PieceType", "Position",
            "Record", "RecordedMove", "RecordError", "Repetition", "Result", "ShogiError", "Termination",
            "UnknownFormatError", "Variation", "read_record", "write_record",
        ),
        ".usi": ("UsiEngine", "UsiResult"),
    },
    subpackages=("arena", "book", "data", "engine", "learning", "loop", "nn", "selfplay", "shogi", "usi"),
)  # fmt: skip
