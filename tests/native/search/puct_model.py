"""The formulas of the search in Python, as papers write them: one position at a time, without batches."""

import math
from dataclasses import dataclass, field
from statistics import fmean, pvariance

import pytest
from search_runner import Runner

from fukayomi._native import Fpu, Move, Position, Repetition, SearchParams

OPEN = "1nsgkgsn1/9/9/9/9/9/9/9/1NSGKGSN1 b - 1"
"""Pieces of which the search tries every move, promotion or not."""


def plain_parameters() -> SearchParams:
    """Parameters for which the model is complete: without mate in one."""
    params = SearchParams()
    params.leaf_mate_plies = 0
    return params


@dataclass
class Branch:
    """A move and the position after it."""

    prior: float
    values: list[float] = field(default_factory=list[float])
    """Of each visit, for the side that moves here."""
    branches: dict[str, "Branch"] = field(default_factory=dict[str, "Branch"])


class Model:
    """A tree that grows by one visit at a time."""

    def __init__(self, position: Position, params: SearchParams) -> None:
        self.position = position
        self.params = params
        self.runner = Runner(params=params)  # evaluates one position
        self.root = Branch(1.0)

    def evaluate(self, position: Position) -> tuple[float, dict[str, Branch]]:
        """The value for the side to move, and the branches."""
        if position.first_recurrence() != Repetition.NONE:
            assert position.first_recurrence() == Repetition.DRAW, "the model knows no other proof"
            return 0.5, {}
        self.runner.search.set_position(position, nodes=1)
        assert self.runner.step(1) == 1, "the position is open"
        lines = self.runner.search.lines(600)
        return float(self.runner.slot.values[0]), {line.move.usi(): Branch(line.prior) for line in lines}

    def exploration(self, branch: Branch, *, is_root: bool) -> float:
        """c times the growth with the visits."""
        params = self.params
        c_init = params.c_init_root if is_root else params.c_init
        c_base = params.c_base_root if is_root else params.c_base
        visits = sum(len(part.values) for part in branch.branches.values())
        n = len(branch.values)
        spread = math.sqrt((2 * params.c_stdev**2 + n * pvariance(branch.values)) / (n + 1))
        factor = 1 + params.c_variance * (spread / params.c_stdev - 1)
        return factor * (math.log((visits + c_base + 1) / c_base) + c_init) * max(visits, 1) ** params.c_exponent

    def unvisited(self, branch: Branch, *, is_root: bool) -> float:
        """The value of moves without visits."""
        params = self.params
        visited = [part for part in branch.branches.values() if part.values]
        mass = sum(part.prior * (len(part.values) if params.fpu_visit_mass else 1) for part in visited)
        reduction = (params.fpu_reduction_root if is_root else params.fpu_reduction) * math.sqrt(mass)
        parent = max(0.0, 1.0 - fmean(branch.values) - reduction)
        fpu = params.fpu_root if is_root else params.fpu
        return {Fpu.PARENT: parent, Fpu.HALF: 0.5, Fpu.LOSS: 0.0, Fpu.WIN: 1.0}[fpu]

    def choose(self, branch: Branch, *, is_root: bool) -> str:
        """The move that the next visit takes."""
        unvisited = self.unvisited(branch, is_root=is_root)
        scale = self.exploration(branch, is_root=is_root)

        def score(move: str) -> float:
            part = branch.branches[move]
            q = fmean(part.values) if part.values else unvisited
            return q + scale * part.prior / (1 + len(part.values))

        return max(branch.branches, key=score)

    def descend(self) -> tuple[Position, list[Branch], list[str]]:
        """The way of the next visit: the position at its end, the branches, and the moves between them."""
        position, path, moves = self.position.copy(), [self.root], list[str]()
        while path[-1].branches:
            moves.append(self.choose(path[-1], is_root=len(path) == 1))
            position.push(Move.from_usi(moves[-1]))
            path.append(path[-1].branches[moves[-1]])
        return position, path, moves

    def back_up(self, path: list[Branch], value: float) -> None:
        """Enter the value, for the side to move at the end of the path."""
        for branch in reversed(path):
            value = 1.0 - value
            branch.values.append(value)

    def visit(self) -> None:
        """One visit: down, evaluate, back up."""
        position, path, _ = self.descend()
        value, path[-1].branches = self.evaluate(position)
        self.back_up(path, value)

    def visits(self) -> dict[str, int]:
        """Those of the root's moves."""
        return {move: len(branch.values) for move, branch in self.root.branches.items()}

    def check(self, runner: Runner) -> None:
        """Make as many visits as a search has made, and check that it has gone the same ways."""
        while len(self.root.values) < runner.search.root_visits:
            self.visit()
        assert runner.visits() == self.visits()
        best = runner.search.lines(1)[0]
        assert best.winrate == pytest.approx(fmean(self.root.branches[best.move.usi()].values), abs=1e-4)
