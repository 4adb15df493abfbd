"""One position after the other, each searched within the same limits: what the analysis of a game asks for."""

import threading

from fukayomi.engine.control import Control, Limits
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import Evaluator
from fukayomi.engine.network import suggestions_file
from fukayomi.engine.search import Searcher, SearchResult
from fukayomi.engine.settings import Settings, read_suggestions
from fukayomi.shogi import Position
from fukayomi.usi.options import Options


def settings_for(model: str) -> tuple[Settings, list[str]]:
    """The settings for a network, those included that a file beside it suggests, and what is wrong with that file.

    Raises:
        EvaluatorError: there is no such network.
    """
    options = Options(Settings())
    options.set("DNN_Model", model)
    path = suggestions_file(model)
    if path is None:
        return options.settings, []
    pairs, complaints = read_suggestions(path.read_text("utf-8", "replace"), str(path))
    complaints += options.suggest(pairs)
    return options.settings, complaints


class Analyst:
    """A search tree with its evaluator, closed by `with`.

    The tree is kept from one position to the next, so that what the search already knows about the move is not lost.

    Args:
        evaluator: the network.
        settings: the parameters of the search, and its memory.
        nodes: the most newly evaluated positions a search; None: no limit.
        time_ms: the most time a search; None: no limit. At least one of the two is needed.
        multipv: lines to report.
    """

    def __init__(
        self, evaluator: Evaluator, settings: Settings, *, nodes: int | None, time_ms: int | None, multipv: int = 1
    ) -> None:
        if nodes is None and time_ms is None:
            raise ValueError("a search needs a limit: nodes or time_ms")
        self._nodes, self._time_ms, self._multipv = nodes, time_ms, multipv
        self._searcher = Searcher(
            [evaluator], settings.search_params(), memory_mb=settings.hash_mb, node_limit=settings.node_limit
        )

    def search(self, position: Position) -> SearchResult:
        """Think about a position that has legal moves.

        Raises:
            EvaluatorError: the evaluator failed.
        """
        # The time is kept here and not by a clock's budget, which would end early where there is only one legal move.
        control = Control(Limits(nodes=self._nodes))
        timer = threading.Timer((self._time_ms or 0) / 1000, control.stop)
        if self._time_ms is not None:
            timer.start()
        try:
            result = self._searcher.search(position, control, multipv=self._multipv)
            if not result.lines and result.error is None:  # no evaluation came in time: allow one
                result = self._searcher.search(position, Control(Limits(nodes=1)), multipv=self._multipv)
        finally:
            timer.cancel()
        if result.error is not None:
            raise EvaluatorError(f"the network failed: {result.error}") from result.error
        return result

    def limits(self) -> str:
        """The limits in words: ``800 nodes or 350 ms a position``."""
        nodes = f"{self._nodes} nodes" if self._nodes is not None else ""
        time = f"{self._time_ms} ms" if self._time_ms is not None else ""
        return f"{' or '.join(filter(None, (nodes, time)))} a position"

    def __enter__(self) -> "Analyst":
        return self

    def __exit__(self, *_: object) -> None:
        self._searcher.close()
