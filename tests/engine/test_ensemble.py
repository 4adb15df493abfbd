"""Networks that judge every position together."""

import numpy as np
import pytest
from odd_evaluators import Failing

from fukayomi import Engine, EvaluatorError, Network, Position
from fukayomi.engine.evaluators.protocol import EnsembleEvaluator, hash_evaluator, uniform_evaluator

POSITIONS = [
    Position(),
    Position.from_usi("startpos moves 7g7f 8c8d 2g2f"),
    Position.from_sfen("4k4/9/4G4/9/9/9/9/9/4K4 b G 1"),
]
MATED = Position.from_sfen("7k1/7G1/7P1/9/9/9/9/9/K8 w - 2")


def test_the_mean_is_weighted() -> None:
    networks = [Network(hash_evaluator(8, seed=seed)) for seed in (1, 2)]
    parts = [network.evaluate(POSITIONS) for network in networks]
    ensemble = Network(EnsembleEvaluator([network.evaluator for network in networks], [3, 1])).evaluate(POSITIONS)
    np.testing.assert_allclose(ensemble.winrates, 0.75 * parts[0].winrates + 0.25 * parts[1].winrates, rtol=1e-6)
    for n in range(len(POSITIONS)):
        mean = {move: 0.75 * p + 0.25 * parts[1].policies[n][move] for move, p in parts[0].policies[n].items()}
        assert ensemble.policies[n] == pytest.approx(mean, rel=1e-4, abs=1e-7)


def test_one_network_alone_is_itself() -> None:
    alone = Network(hash_evaluator(8)).evaluate(POSITIONS)
    ensemble = Network(EnsembleEvaluator([hash_evaluator(8)])).evaluate(POSITIONS)
    np.testing.assert_allclose(ensemble.winrates, alone.winrates)
    np.testing.assert_allclose(ensemble.probabilities, alone.probabilities, atol=1e-6)


def test_a_mated_position_has_no_policy() -> None:
    ensemble = EnsembleEvaluator([hash_evaluator(8), uniform_evaluator(8)])
    assert Network(ensemble).evaluate([MATED, POSITIONS[0]]).counts.tolist() == [0, 30]


def test_an_ensemble_searches() -> None:
    ensemble = EnsembleEvaluator([hash_evaluator(8, seed=1), hash_evaluator(4, seed=2)])
    assert (ensemble.batch_size, ensemble.slots) == (4, 1)
    assert ensemble.identity == "0.5*hash-1+0.5*hash-2"
    with Engine(Network(ensemble)) as engine:
        result = engine.search(Position(), nodes=300)
        assert result.progress.nodes == 300
        assert engine.network.identity == ensemble.identity
    assert ensemble.describe() == "mean of 50.0% hash-1, 50.0% hash-2"


def test_a_network_that_fails_ends_the_search() -> None:
    with (
        Engine(Network(EnsembleEvaluator([hash_evaluator(8), Failing()]))) as engine,
        pytest.raises(EvaluatorError),
    ):
        engine.search(Position(), nodes=100)


@pytest.mark.parametrize(
    ("evaluators", "weights", "message"),
    [
        (0, None, "needs at least one"),
        (2, [1.0], "need as many weights, not 1"),
        (2, [1.0, 0.0], "must be above 0: 1, 0"),
        (2, [1.0, float("nan")], "must be above 0: 1, nan"),
        (2, [1.0, float("inf")], "must be above 0: 1, inf"),
    ],
)
def test_weights_must_fit(evaluators: int, weights: list[float] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EnsembleEvaluator([hash_evaluator(8)] * evaluators, weights)
