"""A second evaluator, which gives positions that have become important other priors."""

import math

import numpy as np
import pytest
from puct_model import OPEN, Branch, Model, plain_parameters
from search_runner import MATSURI, Runner, Slot, reviewer

from fukayomi._native import (
    Batch,
    HashEvaluator,
    Move,
    Position,
    Reviewer,
    RootRule,
    SearchParams,
    SparseInput,
    UniformEvaluator,
)

NODES = 400
VISITS = 12


def with_reviews(visits: int = VISITS, params: SearchParams | None = None) -> SearchParams:
    params = params or plain_parameters()
    params.review_visits = visits
    return params


def runner_of(
    position: str, params: SearchParams, by: Reviewer | None, capacity: int = 1, memory_mb: int = 64
) -> Runner:
    runner = Runner(Position.from_sfen(position), params=params, capacity=capacity, memory_mb=memory_mb)
    runner.batch = runner.search.new_batch(capacity, reviewer=by)
    return runner


def searched(params: SearchParams, by: Reviewer | None, capacity: int = 1) -> Runner:
    runner = runner_of(OPEN, params, by, capacity)
    runner.run(NODES)
    runner.search.check_invariants()
    return runner


class ReviewedModel(Model):
    """The same tree, in which positions with `VISITS` visits get the priors of another evaluator."""

    def __init__(self, position: Position, params: SearchParams) -> None:
        super().__init__(position, params)
        self.second = Model(position, params)
        self.second.runner = Runner(params=plain_parameters(), evaluator=HashEvaluator(1))

    def visit(self) -> None:
        position, path, moves = self.descend()
        value, path[-1].branches = self.evaluate(position)
        self.back_up(path, value)
        position = self.position.copy()
        for branch, move in zip(path, [*moves, None], strict=True):
            if len(branch.values) == VISITS and branch.branches:
                self.review(branch, position)
            if move is not None:
                position.push(Move.from_usi(move))

    def review(self, branch: Branch, position: Position) -> None:
        """New priors, and of moves without visits a new order: where priors are equal, the first is tried first."""
        _, judged = self.second.evaluate(position)
        for move, branch_of_move in branch.branches.items():
            branch_of_move.prior = judged[move].prior
        branch.branches = {move: branch.branches[move] for move in judged}


def test_a_position_with_enough_visits_gets_other_priors() -> None:
    runner = searched(with_reviews(), reviewer())
    ReviewedModel(Position.from_sfen(OPEN), with_reviews()).check(runner)
    assert runner.visits() != searched(plain_parameters(), None).visits()


def test_without_a_reviewer_or_a_number_of_visits_there_are_none() -> None:
    plain = searched(plain_parameters(), None).visits()
    assert searched(with_reviews(), None).visits() == plain
    assert searched(plain_parameters(), reviewer()).visits() == plain
    assert searched(with_reviews(NODES + 1), reviewer()).visits() == plain


def test_who_reviews_by_the_same_evaluator_changes_nothing() -> None:
    """The order of equal priors is that of the moves' numbers, before and after."""
    assert searched(with_reviews(), reviewer(HashEvaluator())).visits() == searched(plain_parameters(), None).visits()


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_the_rows_of_the_reviewer_do_not_matter(rows: int) -> None:
    found = [searched(with_reviews(2), reviewer(rows=each), capacity=16) for each in (8, rows)]
    assert found[0].search.tree_text() == found[1].search.tree_text()


def test_the_core_reviews_between_its_batches() -> None:
    by_steps, alone = (runner_of(MATSURI, with_reviews(), reviewer(), 4) for _ in range(2))
    by_steps.run(NODES)
    slot = alone.slot
    memory = slot.input, slot.logits, slot.values
    while (left := NODES - alone.search.nodes) > 0:  # a stretch does not end with a smaller batch
        alone.search.run(alone.batch, HashEvaluator(), *memory, 4, left, seconds=3600)
    assert by_steps.search.tree_text() == alone.search.tree_text()


def test_reviews_and_what_moves_gained() -> None:
    """The root's priors are the reviewer's; those of others follow what moves gained, as after an evaluation."""
    params = with_reviews()
    params.policy_history = 20.0
    runner = searched(params, reviewer())
    second = Runner(Position.from_sfen(OPEN), params=plain_parameters(), evaluator=HashEvaluator(1))
    second.run(1)
    said = {line.move.usi(): line.prior for line in second.search.lines(600)}
    assert {line.move.usi(): line.prior for line in runner.search.lines(600)} == said
    best = runner.search.lines(1)[0].move
    position = Position.from_sfen(OPEN)
    position.push(best)
    second.search.set_position(position)
    second.run(1)
    said = {line.move.usi(): line.prior for line in second.search.lines(600)}
    found = {line.move.usi(): line.prior for line in runner.search.lines_of(position)}
    assert found != said
    assert math.fsum(found.values()) == pytest.approx(1.0, abs=0.05)


def test_with_gumbel_the_root_keeps_its_priors() -> None:
    params = with_reviews(2)
    params.root_rule = RootRule.GUMBEL
    runner = searched(params, reviewer(UniformEvaluator()))
    first = Runner(Position.from_sfen(OPEN), params=plain_parameters())
    first.run(1)
    priors = {line.move.usi(): line.prior for line in first.search.lines(600)}
    assert {line.move.usi(): line.prior for line in runner.search.lines(600)} == priors


@pytest.mark.parametrize("noise", [0.0, 0.25])
def test_a_root_with_a_policy_of_its_own_follows(noise: float) -> None:
    """With a temperature or noise of its own, too, the root's moves go by the new priors."""
    params = with_reviews(2)
    params.softmax_temperature_root, params.root_noise_epsilon = 1.0, noise
    assert searched(params, reviewer()).visits() != searched(params, None).visits()


def test_a_tree_that_goes_on_and_one_that_is_full() -> None:
    runner = runner_of(MATSURI, with_reviews(params=SearchParams()), reviewer(), 16, memory_mb=1)
    assert sum(1 for _ in runner.play(Position.from_sfen(MATSURI), 4, 6000)) == 4


def test_another_position_may_be_set_while_reviews_are_due() -> None:
    """Results come in for a tree that is no more; its positions are not looked for in the new one."""
    runner = runner_of(MATSURI, with_reviews(2), reviewer(), 16)
    runner.run(200)
    assert runner.slot.gather(runner.search, runner.batch, 16) > 0
    runner.slot.run(runner.evaluator, 16)
    runner.search.set_position(Position())
    runner.slot.apply(runner.search, runner.batch)
    runner.run(200)
    runner.search.check_invariants()
    assert runner.search.nodes == 200


def test_an_input_of_another_evaluator_is_refused() -> None:
    logits, values = np.zeros((8, 593), np.float32), np.zeros(8, np.float32)
    runner = runner_of(OPEN, with_reviews(), Reviewer(HashEvaluator(), SparseInput(8), logits, values))
    with pytest.raises(ValueError, match="the input is of another evaluator"):
        runner.run(NODES)
    runner.search.check_invariants()
    batch: Batch = runner.search.new_batch(1)
    assert len(batch) == 0


def test_memory_must_have_the_rows_of_the_input() -> None:
    slot = Slot(8)
    with pytest.raises(ValueError, match="row"):
        Reviewer(HashEvaluator(), slot.input, slot.logits[:7].copy(), slot.values)


@pytest.mark.parametrize("number", [-1, 10**9 + 1])
def test_a_number_out_of_range_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="review_visits"):
        Runner(params=with_reviews(number))
