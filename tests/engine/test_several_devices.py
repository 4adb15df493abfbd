"""Several networks that search one tree: shared out among the positions, or as an ensemble."""

import sys
import time
from pathlib import Path

import pytest
from toy_network import write_network

from fukayomi import Engine, EvaluatorError, Network, Position
from fukayomi.engine.evaluators.backends.backend import get_backend
from fukayomi.engine.evaluators.protocol import Slot, StubEvaluator, hash_evaluator
from fukayomi.engine.network import load_evaluators
from fukayomi.engine.settings import UsiSettings, usi_options
from fukayomi.usi.engine import UsiEngine


class Counting(StubEvaluator):
    """A hash evaluator that counts what it evaluates."""

    def __init__(self, seed: int) -> None:
        vars(self).update(vars(hash_evaluator(8, seed)))
        self.count = 0

    def run(self, slot: Slot, n: int) -> None:
        self.count += n
        time.sleep(0.001)  # in which the other network gets its share
        super().run(slot, n)


def settings(**values: str) -> UsiSettings:
    options = usi_options()
    for name, value in values.items():
        options.set(name, value)
    return options.settings


def test_two_networks_share_the_positions_out() -> None:
    first, second = Counting(1), Counting(2)
    with Engine([first, second]) as engine:
        result = engine.search(Position(), nodes=2000)
        assert result.progress.nodes == 2000
        assert engine.network.identity == "hash-1, hash-2"
        assert str(engine.network) == "Counting, Counting (hash-1, hash-2)"
    assert first.count + second.count == result.progress.evaluations > 1000
    assert min(first.count, second.count) > 200


def test_with_weights_each_position_is_evaluated_by_both() -> None:
    first, second = Counting(1), Counting(2)
    with Engine(Network([first, second], weights=[3, 1], cache_mb=0)) as engine:
        engine.search(Position(), nodes=300)
        assert engine.network.identity == "0.75*hash-1+0.25*hash-2"
    assert first.count == second.count >= 300


def test_two_files_share_the_cpus(tmp_path: Path) -> None:
    one, two = write_network(tmp_path / "one.onnx"), write_network(tmp_path / "two.onnx", value_scale=3.0)
    with Network([one, two], device="cpu", precision="fp32", batch_size=4) as network:
        assert network.name == "one.onnx, two.onnx"
        assert [evaluator.slots for evaluator in network.evaluators] == [1, 1]
        with Engine(network) as engine:
            assert engine.search(Position(), nodes=100).progress.nodes == 100
    with Network([one, two], device="cpu", precision="fp32", batch_size=4, weights=[1, 1]) as network:
        apart = [Network(path, device="cpu", precision="fp32").evaluate(Position()) for path in (one, two)]
        mean = (apart[0].winrates[0] + apart[1].winrates[0]) / 2
        assert network.evaluate(Position()).winrates[0] == pytest.approx(mean)


@pytest.mark.parametrize("backend", ["native", "cpu", "openvino", "torch"])
def test_each_backend_takes_a_network_for_each_device(tmp_path: Path, backend: str) -> None:
    if (problem := get_backend(backend).problem()) is not None:
        pytest.skip(problem)
    torch, nn = pytest.importorskip("torch"), pytest.importorskip("fukayomi.nn")
    from network_samples import SHAPES

    models: list[Path] = []
    for number in range(2):
        torch.manual_seed(number)
        network = nn.PolicyValueNetwork(SHAPES["residual, silu"]).eval()
        models.append(tmp_path / (f"{number}.safetensors" if backend == "torch" else f"{number}.onnx"))
        (nn.save_parameters if backend == "torch" else nn.export_onnx)(network, models[-1])
    given = {"DNN_Model": str(models[0]), "DNN_Model2": str(models[1]), "DNN_Provider": backend, "UCT_Threads3": "1"}
    first, second, third = load_evaluators(settings(**given, DNN_Precision="fp32", DNN_Batch_Size="4"))
    assert first.identity == third.identity != second.identity
    with Engine([first, second, third]) as engine:
        assert engine.search(Position(), nodes=100).progress.nodes == 100
    assert [(each.slots, each.batch_size) for each in (first, second, third)] == [(1, 4)] * 3


def test_a_device_is_used_if_it_has_a_network_or_batches() -> None:
    assert [device.model for device in settings().devices()] == ["<internal>"]
    used = settings(DNN_Model3="b.onnx", UCT_Threads4="2", DNN_Batch_Size="16", DNN_Batch_Size4="32").devices()
    assert [device.model for device in used] == ["<internal>", "b.onnx", "<internal>"]
    assert [device.option for device in used] == ["DNN_Model", "DNN_Model3", "DNN_Model"]
    assert [(device.plan.gpu, device.plan.slots, device.plan.batch_size) for device in used] == [
        (0, 0, 16),
        (2, 0, 16),
        (3, 2, 32),
    ]


def test_the_options_load_them() -> None:
    shared = load_evaluators(settings(DNN_Model="<hash>", DNN_Model2="<uniform>"))
    assert [evaluator.identity for evaluator in shared] == ["hash-0", "uniform"]
    ensemble = load_evaluators(
        settings(DNN_Model="<hash>", DNN_Model2="<uniform>", DNN_Ensemble="true", DNN_Weight2="300")
    )
    assert [evaluator.identity for evaluator in ensemble] == ["0.25*hash-0+0.75*uniform"]


def test_a_second_network_that_is_missing_is_named() -> None:
    with pytest.raises(EvaluatorError, match=r"missing\.onnx"):
        Network(["<hash>", "missing.onnx"])
    with pytest.raises(EvaluatorError, match=r"^DNN_Model2 missing\.onnx: no file /"):
        load_evaluators(settings(DNN_Model="<hash>", DNN_Model2="missing.onnx"))
    with pytest.raises(ValueError, match="at least one network"):
        Network([])


def test_the_usi_engine_has_them_too() -> None:
    options = {"DNN_Model": "<hash>", "DNN_Model2": "<uniform>", "DNN_Batch_Size": 4, "DNN_Batch_Size2": 8}
    with UsiEngine([sys.executable, "-m", "fukayomi", "usi"], options=options) as engine:
        assert engine.search(Position(), nodes=500).best in Position().legal_moves
