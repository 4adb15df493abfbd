"""The leaves of a batch as games of one move, with what the evaluator says of them."""

import numpy as np
import pytest
from search_runner import MATSURI, Runner

from fukayomi._native import centipawns, decode_hcpe3, encode_hcp
from fukayomi.shogi import Position


def test_the_root_is_labelled_with_policy_and_value() -> None:
    position = Position.from_sfen(MATSURI)
    runner = Runner(position)
    n = runner.slot.gather(runner.search, runner.batch, 1)
    assert n == 1
    runner.slot.run(runner.evaluator, n)
    data = runner.search.labelled_leaves(runner.batch, runner.slot.logits, runner.slot.values)
    runner.slot.apply(runner.search, runner.batch)
    found = decode_hcpe3(np.frombuffer(data, np.uint8), True)
    assert not found.damages
    assert found.starts[0].tobytes() == encode_hcp(position)
    assert (found.results.tolist(), found.opponents.tolist()) == ([0], [0])
    assert found.evals.tolist() == [centipawns(float(runner.slot.values[0]))]
    count = int(runner.slot.input.counts[0])
    logits = runner.slot.logits[0, :count].astype(np.float64)
    shares = np.sort(np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum())[::-1]
    kept = shares[shares > 1.01 / 512]
    visits = np.sort(found.candidate_visits)[::-1]
    assert len(kept) <= len(visits) <= (shares > 0.98 / 512).sum()
    assert visits[: len(kept)] / 65535 == pytest.approx(kept, rel=0.01)
    assert found.moves[0] == found.candidate_moves[int(np.argmax(found.candidate_visits))]


def test_all_leaves_of_a_batch_are_labelled_and_legal() -> None:
    runner = Runner(Position.from_sfen(MATSURI))
    labelled = 0
    while runner.search.nodes < 300:
        n = runner.slot.gather(runner.search, runner.batch, 16)
        runner.slot.run(runner.evaluator, n)
        data = runner.search.labelled_leaves(runner.batch, runner.slot.logits, runner.slot.values)
        runner.slot.apply(runner.search, runner.batch)
        found = decode_hcpe3(np.frombuffer(data, np.uint8), True)
        assert not found.damages
        assert len(found.results) == n
        labelled += n
    assert labelled == runner.search.evaluations
