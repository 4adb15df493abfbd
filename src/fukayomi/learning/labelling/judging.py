"""Searches as the judge of a book by min-max: values of leaves, and candidates that the players never tried."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from math import exp

from fukayomi._native import MATE_CP
from fukayomi.book.minmax.reach import Judge
from fukayomi.engine.network import Network
from fukayomi.learning.labelling.labellers import label_in_order
from fukayomi.learning.labelling.labelling import open_labellers
from fukayomi.learning.labelling.labels import Label
from fukayomi.learning.labelling.settings import LabelError, LabelSettings
from fukayomi.shogi import Move, Position
from fukayomi.usi.engine import UsiEngine


@contextmanager
def searching_judge(
    engine: UsiEngine | Network, settings: LabelSettings, *, workers: int | None = None
) -> Generator[Judge]:
    """A judge for `fukayomi.book.minmax_book` that searches: a USI engine's MultiPV, or our own search.

    The win rate of a position is that of the search's score. The probability of a move is its share of the policy that
    a label has: of the visits, or of the scores of an engine's lines by `settings.temperature`. Moves that are not
    among the lines have none.

        with searching_judge(UsiEngine("YaneuraOu"), LabelSettings(nodes=10_000, multipv=4)) as judge:
            found = minmax_book(games, settings=MinmaxSettings(prior_games=10, candidates=0.2), judge=judge)

    Args:
        engine: A `UsiEngine`, whose command, options and directory are used in new processes; or a network.
        settings: How to search.
        workers: Positions at once; None: as `label_positions`.

    Raises:
        LabelError: The engine cannot be used; the judge raises it where a search fails twice.
        EvaluatorError: The judge: the network failed.
    """
    with ExitStack() as stack:
        labellers = open_labellers(engine, settings, workers, stack)

        def judge(positions: Sequence[Position]) -> list[tuple[float, Mapping[Move, float]]]:
            found = (label for ready in label_in_order(labellers, positions) for label in ready)
            return [_judged(position, label, settings) for position, label in zip(positions, found, strict=True)]

        yield judge


def _judged(position: Position, label: Label, settings: LabelSettings) -> tuple[float, Mapping[Move, float]]:
    """Win rate of the side to move, and probabilities of moves."""
    if label.problem:
        raise LabelError(f"no value for {label.problem}")
    if label.best is None:  # mated, or nothing that a search says
        return (0.0 if position.is_mated() else 0.5), {}
    total = sum(visits for _, visits in label.candidates)
    score = label.eval_cp
    win_rate = float(score > 0) if abs(score) >= MATE_CP else 1 / (1 + exp(-score / settings.eval_scale))
    return win_rate, {move: visits / total for move, visits in label.candidates}
