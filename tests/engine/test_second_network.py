"""A second network, which reviews the positions of a sparse network's search that have become important."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sparse_files

from fukayomi.engine import Engine, EvaluatorError, Network
from fukayomi.engine.evaluators.backends.native_model import ResidualModel
from fukayomi.engine.evaluators.backends.residual_file import read_residual
from fukayomi.engine.evaluators.protocol import NetworkEvaluator
from fukayomi.engine.network import embedded_networks, load_evaluators
from fukayomi.engine.settings import UsiSettings
from fukayomi.shogi import Move, Position

NODES = 300
QUICK = UsiSettings(threads=1, slots=1, batch_size=8, review_model="<5x64>", review_visits=4)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network with random numbers, beside which stands who reviews it."""
    path = sparse_files.write(tmp_path_factory.mktemp("reviews"), sparse_files.SMALL).path
    path.with_name(path.name + ".ini").write_text("Review_Model=<5x64>\n", encoding="utf-8")
    return path


def evaluator(settings: UsiSettings) -> NetworkEvaluator:
    (found,) = load_evaluators(settings)
    assert isinstance(found, NetworkEvaluator)
    return found


def priors(network: Network, settings: UsiSettings, nodes: int = NODES, *, shares: bool = False) -> dict[Move, float]:
    with Engine(network, settings=settings, shares_batches=shares) as engine:
        return {line.move: line.prior for line in engine.search(Position(), nodes=nodes, multipv=600).lines}


@pytest.mark.parametrize("shares", [False, True])
def test_the_root_has_the_policy_of_the_residual_network(path: Path, *, shares: bool) -> None:
    with Network("<5x64>", precision="int16", device="native") as residual:
        (said,) = residual.evaluate(Position()).policies
    with Network(path, threads=1, batch_size=8, cache_mb=0) as network:
        temperature = network.settings.softmax_temperature / 100
        found = priors(network, replace(network.settings, review_visits=4), shares=shares)
        (own,) = network.evaluate(Position()).policies
        without = priors(network, replace(network.settings, review_visits=0), shares=shares)
    for policy, seen in ((said, found), (own, without)):
        flat = {move: share ** (1 / temperature) for move, share in policy.items()}
        for move, prior in seen.items():
            assert prior == pytest.approx(flat[move] / sum(flat.values()), rel=0.02, abs=1e-4)


def test_a_search_by_nodes_finds_the_same_again(path: Path) -> None:
    with Network(path, threads=1, batch_size=8, cache_mb=0) as network:
        settings = replace(network.settings, review_visits=4)
        found: list[object] = []
        for _ in range(2):
            with Engine(network, settings=settings) as engine:
                found.append(engine.search(Position(), nodes=2000, multipv=5).lines)
        assert found[0] == found[1]


def test_the_embedded_network_is_reviewed_by_the_other_and_others_only_if_they_say_so(tmp_path: Path) -> None:
    with Network("<sparse>") as embedded:
        assert isinstance(embedded.evaluator, NetworkEvaluator)
        assert "reviewed by fukayomi-5x64.onnx in " in embedded.evaluator.describe()
    with Network(sparse_files.write(tmp_path, sparse_files.SMALL).path) as own:
        assert isinstance(own.evaluator, NetworkEvaluator)
        assert "reviewed" not in own.evaluator.describe()


def test_a_network_has_the_reviewer_that_is_asked_for(path: Path, tmp_path: Path) -> None:
    own = sparse_files.write(tmp_path, sparse_files.SMALL).path
    for file, asked, reviews in ((own, "<5x64>", True), (own, None, False), (path, None, True), (path, "", False)):
        with Network(file, threads=1, batch_size=8, review_model=asked) as network:
            assert isinstance(network.evaluator, NetworkEvaluator)
            assert ("reviewed by fukayomi-5x64.onnx" in network.evaluator.describe()) == reviews


def test_the_evaluator_says_who_reviews(path: Path) -> None:
    assert "reviewed by fukayomi-5x64.onnx in " in evaluator(replace(QUICK, model=str(path))).describe()
    for none in (replace(QUICK, review_visits=0), replace(QUICK, review_model="")):
        alone = evaluator(replace(none, model=str(path)))
        assert "reviewed" not in alone.describe()
        assert alone.reviewer() is None
    assert evaluator(replace(QUICK, model="<5x64>", provider="native", precision="int16")).reviewer() is None


def test_the_network_is_loaded_again_only_if_another_reviews() -> None:
    keys = [replace(QUICK, review_visits=visits).evaluator_key() for visits in (0, 1, 64)]
    assert keys[0] != keys[1] == keys[2]
    assert replace(QUICK, review_model="other.onnx").evaluator_key() != QUICK.evaluator_key()


def test_a_network_that_cannot_review_is_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no network", encoding="utf-8")
    for reviewer, reason in (
        (str(tmp_path / "none.onnx"), "no file .*none.onnx"),
        ("<none>", "no embedded network <none>"),
        (str(path), "is a sparse network itself"),
        (str(tmp_path / "text.onnx"), "text.onnx"),
    ):
        with pytest.raises(EvaluatorError, match=f"Review_Model .*{reason}.*or Review_Visits to 0"):
            evaluator(replace(QUICK, model=str(path), review_model=reviewer))


def test_numbers_that_overflow_end_the_search(path: Path) -> None:
    weights = read_residual(embedded_networks()["<5x64>"])
    huge = replace(
        weights, stem1=weights.stem1 * 1e30, tower=[each.scaled(np.full(64, 1e30)) for each in weights.tower]
    )
    with Network(path, threads=1, batch_size=8) as network:
        assert isinstance(network.evaluator, NetworkEvaluator)
        network.evaluator.let_review(ResidualModel(Path("huge.onnx"), huge), "huge.onnx")
        unusable = "the reviewer's output is unusable: a logit is not finite"
        with Engine(network) as engine, pytest.raises(EvaluatorError, match=unusable):
            engine.search(Position(), nodes=1000)


def test_several_threads_review(path: Path) -> None:
    """A tree that two threads search, and several searches of one network at once."""
    with Network([path] * 2, threads=1, batch_size=4, cache_mb=1) as network:
        settings = replace(network.settings, review_visits=2)
        with Engine(network, settings=settings) as engine:
            assert engine.search(Position(), nodes=5000).progress.nodes >= 5000
