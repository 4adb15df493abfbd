"""What a GPU must show: agreement in every precision, several batches in flight, USI, training. Skipped without one.

``FUKAYOMI_GPU_TESTS="torch openvino"`` runs them with these values of DNN_Provider instead of those that need a GPU.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fukayomi import Engine, Network, Position
from fukayomi.engine import AnalysisQuery, AnalysisService
from fukayomi.engine.evaluation import Evaluation, compare, evaluate
from fukayomi.engine.evaluators.backends.backend import BACKENDS, get_backend
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.timing import PROBES, filled_slot, probe_positions
from fukayomi.engine.network import embedded_network
from fukayomi.usi.client import UsiClient
from fukayomi.usi.text import Go

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

GIVEN = os.environ.get("FUKAYOMI_GPU_TESTS", "").split()
DEVICES = GIVEN or [name for name in BACKENDS if get_backend(name).on_gpu]
LIMITS = {"fp32": (0.97, 0.003), "fp16": (0.95, 0.005), "bf16": (0.85, 0.02), "int8": (0.75, 0.03)}
"""Least share of equal best moves and largest mean error of the win rate; fp32 on a GPU may be TF32."""
GAME = probe_positions()[len(PROBES) :: 2]
USI_S = 300.0


@pytest.fixture(scope="module", params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    problem = get_backend(request.param).problem()
    if problem is not None:
        pytest.skip(f"{request.param}: {problem}" if GIVEN else "no GPU for this backend (fukayomi doctor)")
    return request.param


def for_device(onnx: Path, device: str, folder: Path) -> Path:
    """The network in a file that the device reads."""
    if get_backend(device).precisions(NetworkFile(onnx)):
        return onnx
    from fukayomi.learning import export_network

    path = folder / f"{onnx.stem}.safetensors"
    export_network(onnx, path)
    return path


@pytest.fixture(scope="module")
def network(device: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return for_device(embedded_network(), device, tmp_path_factory.mktemp(device))


@pytest.fixture(scope="module")
def reference() -> Iterator[Evaluation]:
    """What ONNX Runtime says of the positions on the CPU, in fp32."""
    with Network(embedded_network(), device="cpu", precision="fp32", batch_size=32) as onnx:
        yield evaluate(onnx.evaluator, probe_positions())


def opened(path: Path, device: str, precision: str = "fp32", batch: int = 32) -> Network:
    return Network(path, device=device, precision=precision, batch_size=batch, cache_mb=0)


@pytest.mark.parametrize("precision", LIMITS)
def test_agrees_with_onnx_runtime_in_float32(device: str, network: Path, precision: str, reference: Evaluation) -> None:
    if precision not in get_backend(device).precisions(NetworkFile(network)):
        pytest.skip(f"{device} does not compute {network.suffix} files in {precision}")
    least_top1, largest_error = LIMITS[precision]
    with opened(network, device, precision) as given:
        found = compare(given.evaluator, reference, probe_positions())
    assert found.top1 >= least_top1
    assert found.value_error <= largest_error


def test_every_kind_of_network_agrees(device: str, tmp_path: Path) -> None:
    from fukayomi.nn import NetworkConfig, PolicyValueNetwork, export_onnx, save_parameters

    for name in ("resnet5x32_swish_lk_tf", "senet1x32"):
        torch.manual_seed(1)
        network = PolicyValueNetwork(NetworkConfig.from_name(name)).eval()
        onnx, path = tmp_path / f"{name}.onnx", tmp_path / f"{name}.safetensors"
        export_onnx(network, onnx)
        save_parameters(network, path)
        is_onnx = bool(get_backend(device).precisions(NetworkFile(onnx)))
        with opened(onnx, "cpu") as expected, opened(onnx if is_onnx else path, device) as given:
            found = compare(given.evaluator, expected.evaluator, probe_positions())
        assert (found.kl, found.value_error) < (0.001, 0.003), f"{name}: {found}"


def test_batches_in_flight_at_once_do_not_touch_each_other(device: str, network: Path) -> None:
    positions = probe_positions()
    parts = [positions[n::4] for n in range(4)]
    with opened(network, device) as given:
        evaluator = given.evaluator
        slots = [filled_slot(evaluator, 32, part) for part in parts]
        expected = []
        for slot in slots:
            evaluator.run(slot, 32)
            expected.append((slot.logits.copy(), slot.values.copy()))
        wrong: list[str] = []

        def work(number: int) -> None:
            slot, (logits, values) = slots[number], expected[number]
            for turn in range(50):
                slot.values[:] = slot.logits[:] = -1
                evaluator.run(slot, 32)
                counts = slot.input.counts
                same = all(
                    np.allclose(slot.logits[i, : counts[i]], logits[i, : counts[i]], atol=1e-2) for i in range(32)
                )
                if not (same and np.allclose(slot.values, values, atol=1e-3)):
                    wrong.append(f"slot {number}, turn {turn}")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_answers_do_not_depend_on_the_batch(device: str, network: Path) -> None:
    with opened(network, device, batch=256) as given:
        slot = filled_slot(given.evaluator, 256, probe_positions())
        given.evaluator.run(slot, 256)
        logits, values = slot.logits.copy(), slot.values.copy()
        for n in (1, 2, 3, 31, 32, 100, 255):
            slot.values[:] = -1
            given.evaluator.run(slot, n)
            np.testing.assert_allclose(slot.values[:n], values[:n], atol=3e-3)
            for i in range(n):
                count = slot.input.counts[i]
                np.testing.assert_allclose(slot.logits[i, :count], logits[i, :count], atol=0.05)


def test_searches_one_position_and_many(device: str, network: Path) -> None:
    with opened(network, device) as given:
        with Engine(given) as engine:
            assert engine.search(Position(), nodes=500).progress.nodes == 500
        with AnalysisService(given) as service:
            running = [service.submit(AnalysisQuery(sfen=each.sfen(), visits=50)) for each in GAME]
            assert all(answer.visits > 0 for each in running for answer in each.result(USI_S))


def test_networks_are_opened_and_closed_again_and_again(device: str, network: Path) -> None:
    for _ in range(3):
        with opened(network, device) as given, Engine(given) as engine:
            engine.search(Position(), nodes=64)
    if device == "torch-cuda":
        used = torch.cuda.memory_reserved()
        for _ in range(5):
            with opened(network, device) as given, Engine(given) as engine:
                engine.search(Position(), nodes=64)
        assert torch.cuda.memory_reserved() < used + (256 << 20)


def test_usi_starts_stops_and_ends(device: str, network: Path) -> None:
    with UsiClient([sys.executable, "-m", "fukayomi", "usi"], timeout_s=60) as client:
        client.handshake()
        client.set_options({"DNN_Model": str(network), "DNN_Provider": device, "DNN_Batch_Size": "32"})
        client.wait_ready(USI_S)
        for moves in ([], ["7g7f"], ["7g7f", "3c3d"]):
            client.new_game()
            client.position(moves=moves)
            client.start_go(Go(infinite=True))
            time.sleep(0.3)
            client.stop()
            answer = client.wait_answer(60)
            assert answer.bestmove is not None
            position = Position()
            for move in moves:
                position.push_usi(move)
            assert answer.bestmove.move in [move.usi() for move in position.legal_moves]
        assert client.close() == 0


def test_devices_have_networks_of_their_own(device: str, network: Path) -> None:
    if get_backend(device).on_gpu and (device != "torch-cuda" or torch.cuda.device_count() < 2):
        pytest.skip("there is one GPU")
    with Network([network, network], device=device, precision="fp32", batch_size=32, cache_mb=0) as given:
        with Engine(given) as engine:
            assert engine.search(Position(), nodes=500).progress.nodes == 500
        assert len(given.evaluators) == 2


def test_a_network_learns_and_plays(device: str, tmp_path: Path) -> None:
    from fukayomi.data import write_data
    from fukayomi.data.formats.psv import psv_record
    from fukayomi.learning import TrainingSettings, export_network, train

    if device == "torch-cuda":
        trained_on = "cuda"
    elif device == "torch":
        trained_on = "cpu"
    else:
        pytest.skip("only torch trains")
    sfen = Position().sfen()
    rows = [psv_record(sfen, move, score_cp=60, ply=1, result=1) for move in ("2g2f", "2g2f", "2g2f", "7g7f")]
    write_data(tmp_path / "games.psv", rows)
    settings = TrainingSettings(steps=60, batch=4, warmup=5, lr=0.02)
    result = train("resnet2x16", [tmp_path / "games.psv"], tmp_path / "run", settings=settings, device=trained_on)
    losses = [row["total_loss"] for row in result.losses.rows()]
    assert result.finished
    assert all(np.isfinite(losses))
    export_network(result.checkpoint, tmp_path / "learned.safetensors")
    with opened(tmp_path / "learned.safetensors", device) as given:
        policy = given.evaluate(Position()).policies[0]
    assert max(policy, key=policy.__getitem__).usi() == "2g2f"
