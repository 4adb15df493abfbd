"""Comparing evaluators, and the positions they are compared on."""

import pytest

from fukayomi import Network, Position
from fukayomi.engine.evaluation import compare, evaluate, sample_positions

MATED = "7k1/7G1/7P1/9/9/9/9/9/K8 w - 2"


def test_a_network_agrees_with_itself() -> None:
    with Network("<hash>") as network:
        positions = [*sample_positions(network.evaluator, 20), Position.from_sfen(MATED)]
        agreement = compare(network.evaluator, network.evaluator, positions)
    assert agreement.as_dict() == {"positions": 21, "top1": 1, "kl": 0, "value_error": 0, "max_value_error": 0}
    assert str(agreement).split()[:3] == ["positions", "top1", "kl"]


def test_a_network_without_knowledge_does_not_agree() -> None:
    with Network("<hash>") as network, Network("<uniform>") as uniform:
        positions = sample_positions(network.evaluator, 50)
        agreement = compare(uniform.evaluator, network.evaluator, positions)
        known = compare(uniform.evaluator, evaluate(network.evaluator, positions), positions)
    assert agreement == known
    assert agreement.top1 < 0.3
    assert agreement.kl > 0.1
    assert 0 < agreement.value_error < agreement.max_value_error <= 1


def test_positions_that_say_nothing_about_the_policy_are_refused() -> None:
    mated = Position.from_sfen(MATED)
    with Network("<hash>") as network:
        for positions in ([], [mated]):
            with pytest.raises(ValueError, match="no position with a legal move"):
                compare(network.evaluator, network.evaluator, positions)
        with pytest.raises(ValueError, match="other positions"):
            compare(network.evaluator, evaluate(network.evaluator, [mated]), [Position()])


def test_sampled_positions_are_different_positions_of_games() -> None:
    with Network("<hash>") as network:
        positions = sample_positions(network.evaluator, 100)
        again = sample_positions(network.evaluator, 100)
        other = sample_positions(network.evaluator, 100, seed=1)
        assert sample_positions(network.evaluator, 0) == []
    assert [position.sfen() for position in positions] == [position.sfen() for position in again]
    assert [position.sfen() for position in positions] != [position.sfen() for position in other]
    assert len({position.sfen() for position in positions}) > 90
    assert {position.ply % 4 for position in positions} == {0, 1, 2, 3}
    assert max(position.ply for position in positions) > 60
