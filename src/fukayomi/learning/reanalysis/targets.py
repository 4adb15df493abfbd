"""New targets: those of a network without a search, and their place in the games."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import EVAL_SCALE, MATE_CP
from fukayomi.data.formats.hcpe3 import MOST_VISITS, Games
from fukayomi.engine.evaluation import Evaluation
from fukayomi.learning.labelling.labels import LabelColumns


def labels_of_evaluation(evaluation: Evaluation, most: int | None, least: float = 0.0) -> LabelColumns:
    """Labels from a network alone: 65535 visits shared out by its policy, and its value as the evaluation.

    Moves that get less than half a visit are left out, but for the best one. No evaluation is a mate: those beyond
    ±29999 are limited.

    Args:
        evaluation: Of N positions.
        most: Most candidates of each; None: all.
        least: Moves with a smaller share are left out too, but for the best one.
    """
    order = np.argsort(-evaluation.probabilities, axis=1, kind="stable")[:, :most]
    visits = np.rint(MOST_VISITS * np.take_along_axis(evaluation.probabilities, order, axis=1)).astype(np.int64)
    moves = np.take_along_axis(evaluation.moves, order, axis=1)
    is_candidate = (visits > 0) & (visits >= MOST_VISITS * least) & (evaluation.counts > 0)[:, None]
    is_candidate[:, :1] |= (evaluation.counts > 0)[:, None]
    with np.errstate(divide="ignore"):
        winrates = evaluation.winrates.astype(np.float64)
        evals = -np.rint(EVAL_SCALE) * np.log(1 / winrates - 1)
    has_moves = evaluation.counts > 0
    best = moves[:, 0] if moves.shape[1] else np.zeros(len(evaluation), np.uint16)
    return LabelColumns(
        np.where(has_moves, best, 0).astype(np.uint16),
        np.rint(np.clip(evals, 1 - MATE_CP, MATE_CP - 1)).astype(np.int16),
        is_candidate.sum(axis=1, dtype=np.int64),
        moves[is_candidate].astype(np.uint16),
        visits[is_candidate].astype(np.uint16),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Renewed:
    """Games some of whose targets are new."""

    games: Games
    changed: int
    """Positions with new targets."""
    moved: int
    """Those whose best move is another one than before."""


def renew(games: Games, chosen: NDArray[np.bool_], labels: LabelColumns) -> Renewed:
    """Put labels into games. Everything but evaluations and candidates stays.

    Args:
        games: The games, with P moves.
        chosen: The moves whose positions have labels, each with candidates: bool [P].
        labels: Their labels, in order. A position whose label has no candidates keeps what it has.
    """
    has_label = labels.counts > 0
    is_new = np.zeros(len(games.moves), np.bool_)
    is_new[np.flatnonzero(chosen)[has_label]] = True
    before = games.candidate_counts()
    counts, evals = before.copy(), games.evals.copy()
    counts[is_new], evals[is_new] = labels.counts[has_label], labels.evals[has_label]
    of_new = np.repeat(is_new, counts)
    of_old = np.repeat(~is_new, before)
    moves, visits = np.empty(len(of_new), np.uint16), np.empty(len(of_new), np.uint16)
    moves[of_new], visits[of_new] = labels.candidate_moves, labels.candidate_visits
    moves[~of_new], visits[~of_new] = games.candidate_moves[of_old], games.candidate_visits[of_old]
    new = replace(
        games,
        evals=evals,
        candidates=np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64),
        candidate_moves=moves,
        candidate_visits=visits,
    )
    moved = most_visited(games)[is_new] != labels.moves[has_label]
    return Renewed(new, int(has_label.sum()), int(moved.sum()))


def most_visited(games: Games) -> NDArray[np.uint16]:
    """The most visited candidate of each move, of several the first; 0 without candidates: uint16 [P]."""
    counts = games.candidate_counts()
    rows = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((-games.candidate_visits.astype(np.int64), rows))  # stable: the first of equal ones comes first
    best = np.zeros(len(counts), np.uint16)
    searched = np.flatnonzero(counts)
    best[searched] = games.candidate_moves[order[games.candidates.astype(np.int64)[searched]]]
    return best
