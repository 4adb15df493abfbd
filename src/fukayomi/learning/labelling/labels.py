"""Labels: what a search says about a position, as the targets of training.

The policy of our own network is the visits of its search. A USI engine with MultiPV gives scores instead, which become
shares: with w the win rate of a line, 1 / (1 + exp(-score / eval_scale)), or 1 for a mate and 0 for being mated, a line
gets

    exp(w / T) / sum of exp(w / T) over the lines

of 65535 visits, and at least one. Training can sharpen or soften that later: its own temperature t makes T * t of T,
since it weighs a move by visits^(1/t).
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import MATE_CP, SearchLine
from fukayomi.data.formats.hcpe3 import MOST_VISITS
from fukayomi.shogi import Move
from fukayomi.usi.engine import UsiLine

_HEAD = struct.Struct("<HhH")
_CANDIDATE = np.dtype([("move", "<u2"), ("visits", "<u2")])


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a position. It has no candidates if the game is decided there, or the search failed."""

    best: Move | None = None
    """The best move; None without candidates."""
    eval_cp: int = 0
    """Centipawns from the side to move; ±30000 is a mate."""
    candidates: tuple[tuple[Move, int], ...] = ()
    """Moves with their visits, 1 to 65535, the best first."""
    problem: str = ""
    """Reason why the position has no label, if the engine is to blame."""
    notes: tuple[str, ...] = ()
    """Further notes for the user."""

    def to_bytes(self) -> bytes:
        """Best move, evaluation, number of candidates, and the candidates, laid out as a move of hcpe3."""
        head = _HEAD.pack(0 if self.best is None else self.best.raw, self.eval_cp, len(self.candidates))
        return head + np.array([(move.raw, visits) for move, visits in self.candidates], _CANDIDATE).tobytes()


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumns:
    """N labels with C candidates in all."""

    moves: NDArray[np.uint16]
    """Best moves as `Move.raw`, 0 if there is none: uint16 [N]."""
    evals: NDArray[np.int16]
    """Centipawns from the side to move: int16 [N]."""
    counts: NDArray[np.int64]
    """Candidates of each: int64 [N]."""
    candidate_moves: NDArray[np.uint16]
    """uint16 [C]."""
    candidate_visits: NDArray[np.uint16]
    """uint16 [C]."""

    def to_bytes(self) -> bytes:
        """The same bytes as those of each `Label`, one after the other."""
        begins = np.cumsum(3 + 2 * self.counts) - (3 + 2 * self.counts)  # in numbers of two bytes
        words = np.empty(3 * len(self.counts) + 2 * len(self.candidate_moves), np.uint16)
        words[begins], words[begins + 1] = self.moves, self.evals.view(np.uint16)
        words[begins + 2] = self.counts
        before = np.cumsum(self.counts) - self.counts
        places = np.arange(len(self.candidate_moves)) - np.repeat(before, self.counts)
        at = np.repeat(begins + 3, self.counts) + 2 * places
        words[at], words[at + 1] = self.candidate_moves, self.candidate_visits
        return words.astype("<u2").tobytes()


def read_labels(file: BinaryIO, count: int) -> LabelColumns:
    """Read the next labels of a file that `Label.to_bytes` made."""
    heads = np.zeros(count, [("move", "<u2"), ("eval", "<i2"), ("count", "<u2")])
    bodies: list[bytes] = []
    for index in range(count):
        head = file.read(_HEAD.size)
        heads[index] = _HEAD.unpack(head)
        bodies.append(file.read(int(heads[index]["count"]) * _CANDIDATE.itemsize))
    candidates = np.frombuffer(b"".join(bodies), _CANDIDATE)
    return LabelColumns(
        np.array(heads["move"]), np.array(heads["eval"]), heads["count"].astype(np.int64),
        np.array(candidates["move"]), np.array(candidates["visits"]),
    )  # fmt: skip


def label_of_lines(lines: Iterable[UsiLine], answer: Move | None, temperature: float, eval_scale: float) -> Label:
    """The label that the lines of a USI engine give.

    Of lines that begin with the same move, the first counts. If the engine has found a mate, only mating moves remain.

    Args:
        lines: The lines, best first.
        answer: The move that the engine answered; None if it resigned or declared a win.
        temperature: T above.
        eval_scale: Centipawns.

    Returns:
        The label; without candidates if no line has a score.
    """
    scores: dict[Move, int] = {}
    for line in lines:
        if line.cp is not None or line.mate is not None:
            scores.setdefault(line.move, line.eval_cp)
    ranked = sorted(scores.items(), key=lambda pair: pair[1], reverse=True)
    if not ranked:
        return Label()
    best, score = ranked[0] if answer is None or answer not in scores else (answer, scores[answer])
    if score == MATE_CP:
        ranked = [pair for pair in ranked if pair[1] == MATE_CP]
    visits = visits_of_scores([cp for _, cp in ranked], temperature, eval_scale)
    candidates = [(move, count) for (move, _), count in zip(ranked, visits, strict=True)]
    candidates.sort(key=lambda pair: pair[0] != best)  # a stable order: the best one comes first
    return Label(best, score, tuple(candidates))


def visits_of_scores(scores: Sequence[int], temperature: float, eval_scale: float) -> list[int]:
    """Visits in proportion to the shares of scores; the formula is above.

    >>> visits_of_scores([100, 100], 0.02, 756.0)
    [32768, 32768]
    >>> visits_of_scores([100, 0, -30000], 0.02, 756.0)
    [54986, 10549, 1]

    Args:
        scores: Centipawns from the side to move; ±30000 is a mate.
        temperature: T.
        eval_scale: Centipawns.
    """
    cp = np.array(scores, np.float64)
    winrates = np.where(np.abs(cp) >= MATE_CP, cp > 0, 1 / (1 + np.exp(-cp / eval_scale)))
    weights = np.exp((winrates - winrates.max()) / temperature)
    return np.maximum(1, np.rint(MOST_VISITS * weights / weights.sum())).astype(np.int64).tolist()


def label_of_search(lines: Iterable[SearchLine], most: int | None) -> Label:
    """The label that a search of our own gives: the visits of the moves.

    If the search has proven a mate, only mating moves remain. Visits above 65535 are scaled down.

    Args:
        lines: The lines, best first.
        most: Most candidates; None: all that were visited.
    """
    visited = [line for line in lines if line.visits > 0]
    if not visited:
        return Label()
    best = visited[0]
    if best.mate is not None and best.mate > 0:
        visited = [line for line in visited if line.mate is not None and line.mate > 0]
    kept = visited[:most]
    divisor = max(1.0, max(line.visits for line in kept) / MOST_VISITS)
    candidates = tuple((line.move, max(1, int(line.visits / divisor))) for line in kept)
    return Label(best.move, best.cp, candidates)
