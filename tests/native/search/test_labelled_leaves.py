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


def test_a_cancelled_batch_and_unusable_outputs_have_no_labels() -> None:
    runner = Runner(Position())
    runner.run(50)
    n = runner.slot.gather(runner.search, runner.batch, 8)
    assert n > 1
    runner.slot.run(runner.evaluator, n)
    logits, values = runner.slot.logits.copy(), runner.slot.values.copy()
    logits[0, 0], values[1] = np.nan, np.nan
    data = runner.search.labelled_leaves(runner.batch, logits, values)
    assert len(decode_hcpe3(np.frombuffer(data, np.uint8), True).results) == n - 2
    with pytest.raises(TypeError):
        runner.search.labelled_leaves(runner.batch, logits.astype(np.float64), values)
    # Its moves are not those of the new position.
    runner.search.set_position(Position.from_sfen("9/4k4/9/9/9/9/9/9/4K4 b 2r2b4g4s4n4l18p 1"))
    assert len(runner.batch) == n
    assert runner.search.labelled_leaves(runner.batch, logits, values) == b""


def test_positions_of_the_tree_are_labelled_with_visits_and_mean_value() -> None:
    position = Position.from_sfen(MATSURI)
    runner = Runner(position)
    runner.run(600)
    found = decode_hcpe3(np.frombuffer(runner.search.labelled_nodes(12), np.uint8), True)
    assert not found.damages
    # A line of the text: move, visits, mean value of the side that moved, prior, and the result if there is one.
    lines = [line.split() for line in runner.search.tree_text().splitlines()]
    expected = sum(int(line[1]) >= 12 and len(line) == len(lines[0]) for line in lines)
    assert len(found.results) == expected > 20
    root = next(n for n in range(len(found.starts)) if found.starts[n].tobytes() == encode_hcp(position))
    moves = {line.move.raw: line.visits for line in runner.search.lines(1000) if line.visits > 0}
    first, last = int(found.candidates[root]), int(found.candidates[root + 1])
    shares = {
        int(move): float(visits) / 65535
        for move, visits in zip(found.candidate_moves[first:last], found.candidate_visits[first:last], strict=True)
    }
    total = sum(moves.values())
    kept = {move: visits / total for move, visits in moves.items() if visits / total >= 1 / 512}
    assert shares == pytest.approx(kept, abs=1e-4)
    assert int(found.moves[root]) == max(moves, key=lambda move: moves[move])
    assert int(found.evals[root]) == centipawns(1 - float(lines[0][2]))


def test_proven_positions_are_not_labelled() -> None:
    position = Position.from_sfen("4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1")
    runner = Runner(position)
    runner.run(200)
    assert runner.search.is_decided
    found = decode_hcpe3(np.frombuffer(runner.search.labelled_nodes(2), np.uint8), True)
    assert encode_hcp(position) not in {start.tobytes() for start in found.starts}
