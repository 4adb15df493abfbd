"""Networks in torch on a GPU, on a stand-in for one (`fake_gpu`); what torch itself does there is not tested here."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_network import write_network

from fukayomi import Position
from fukayomi.engine.evaluation import evaluate
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.protocol import NetworkEvaluator, Slot
from fukayomi.engine.evaluators.timing import filled_slot, probe_positions
from fukayomi.engine.network import embedded_network

torch = pytest.importorskip("torch")

from fake_gpu import FakeGpu, evaluator_of  # noqa: E402

from fukayomi.engine.evaluators.backends.torch_gpu import GpuSlot  # noqa: E402


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return write_network(tmp_path / "toy.onnx")


@pytest.mark.parametrize("batch", [1, 3, 4, 65])
def test_files_of_one_batch_size_answer_all_positions(tmp_path: Path, network: Path, batch: int) -> None:
    fixed = evaluator_of(write_network(tmp_path / "fixed.onnx", batch=batch))
    assert fixed.batch_size == batch
    slot = filled_slot(fixed, 20, probe_positions())
    expected = filled_slot(evaluator_of(network), 20, probe_positions())
    fixed.run(slot, 20)
    evaluator_of(network).run(expected, 20)
    np.testing.assert_allclose(slot.values, expected.values, atol=1e-6)
    np.testing.assert_allclose(slot.logits, expected.logits, atol=1e-4)


@pytest.mark.parametrize("capacity", [1, 2, 33, 104, 600])
def test_every_number_of_positions_has_a_graph(network: Path, capacity: int) -> None:
    evaluator = evaluator_of(network)
    slot = filled_slot(evaluator, capacity, probe_positions())
    evaluator.run(slot, capacity)
    expected = slot.values.copy()
    for n in sorted({1, 2, capacity // 2, capacity - 1, capacity} & set(range(1, capacity + 1))):
        slot.values[:] = 7
        evaluator.run(slot, n)
        np.testing.assert_allclose(slot.values[:n], expected[:n], atol=1e-6)
        assert (slot.values[n:] == 7).all()


def test_graphs_are_made_before_a_search_needs_them(network: Path) -> None:
    device = FakeGpu()
    evaluator = evaluator_of(network, device=device)
    slot = filled_slot(evaluator, 104, probe_positions())
    made = device.captures
    assert made == 6  # 1, 4, 16, 32, 64, 104
    for n in (1, 2, 17, 100, 104):
        evaluator.run(slot, n)
    assert device.captures == made


def test_what_a_slot_leaves_is_used_again(network: Path) -> None:
    device = FakeGpu()
    evaluator = evaluator_of(network, device=device)
    first, second = evaluator.allocate(64), evaluator.allocate(64)
    made = device.captures
    del first
    for capacity in (64, 20, 33):
        slot = filled_slot(evaluator, capacity, probe_positions())
        evaluator.run(slot, capacity)
        del slot
    assert device.captures == made
    slots = [evaluator.allocate(64), evaluator.allocate(64), second]
    assert len({id(slot.lane) for slot in slots if isinstance(slot, GpuSlot)}) == 3
    made = device.captures
    assert (evaluator.allocate(65).capacity, device.captures) == (65, made + 6)


def test_slots_of_several_gpus_run_at_once() -> None:
    path = embedded_network()
    evaluators = [evaluator_of(path, device=FakeGpu(number)) for number in range(3)]
    positions = probe_positions()
    work = [
        (evaluator, filled_slot(evaluator, 16, positions[start : start + 16]), start)
        for start, evaluator in zip((0, 10, 20, 30, 40, 50), evaluators * 2, strict=True)
    ]
    errors: list[Exception] = []

    def run(evaluator: NetworkEvaluator, slot: Slot) -> None:
        try:
            for n in (16, 5, 16, 1, 16):
                evaluator.run(slot, n)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=each[:2]) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    expected = evaluate(evaluator_of(path), positions)
    for _, slot, start in work:
        np.testing.assert_allclose(slot.values, expected.winrates[start : start + 16], atol=1e-6)


PASSING = torch.ones(3)
FULL = r"too little free memory: use a smaller DNN_Batch_Size or fewer UCT_Threads"
LOST = r"has failed and cannot be used any more: start the program again"
ERRORS = {
    "memory full": (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."), FULL),
    "memory of a library full": (
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"),
        FULL,
    ),
    "old GPU": (
        RuntimeError("CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors might"),
        r"no code for this GPU \(sm_10; it has sm_75, sm_80\): install a build of torch",
    ),
    "old AMD GPU": (RuntimeError("HIP error: invalid device function"), "no code for this GPU"),
    "lost": (RuntimeError("CUDA error: unspecified launch failure\nCUDA kernel errors might be"), LOST),
    "fallen off the bus": (RuntimeError("CUDA error: GPU is lost"), LOST),
    "another": (
        RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED"),
        r"torch failed: cuDNN error: CUDNN_STATUS_NOT",
    ),
}


@pytest.mark.parametrize("where", ["hold", "zeros", "pinned", "capture", "copy", "replay", "synchronize"])
@pytest.mark.parametrize("kind", ERRORS)
def test_errors_name_the_file_the_gpu_and_the_remedy(network: Path, where: str, kind: str) -> None:
    error, reason = ERRORS[kind]
    device = FakeGpu(2)
    device.errors[where] = error
    with pytest.raises(EvaluatorError, match=reason) as raised:
        evaluate(evaluator_of(network, device=device), probe_positions()[:8])
    assert str(raised.value).startswith(f"{network}: GPU 2 (Fake 1000)")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"scale": float("nan")}, "output_policy has a number that is not finite"),
        ({"final": "Identity", "value_scale": 100}, r"output_value must be a win probability.*sigmoid"),
        ({"value_scale": float("nan")}, "output_value must be a win probability"),
    ],
)
def test_numbers_that_are_no_answers_are_refused(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    path = write_network(tmp_path / "odd.onnx", **change)  # type: ignore[arg-type]
    evaluator = evaluator_of(path)
    slot = filled_slot(evaluator, 12, probe_positions())
    with pytest.raises(EvaluatorError, match=reason) as error:
        evaluator.run(slot, 12)
    assert str(path) in str(error.value)


def test_the_plane_of_the_colour_to_move_reaches_a_network_that_asks_for_it(tmp_path: Path) -> None:
    evaluator = evaluator_of(write_network(tmp_path / "toy.onnx", planes=((62, 9, 9), (58, 9, 9))), "fp16")
    sfen = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"
    found = evaluate(evaluator, [Position.from_sfen(f"{sfen} {side} - 1") for side in "bw"])
    assert found.winrates == pytest.approx([0.5, 1 / (1 + np.exp(-1 / 58))], abs=1e-4)


@pytest.mark.parametrize(
    ("compute", "reason"),
    [
        (lambda own, other: own.copy_(own * own.sum().item()), "not permitted when stream is capturing"),
        (lambda own, other: own.copy_(own if own.any() else -own), "not permitted when stream is capturing"),
        (lambda own, other: own.copy_(own * torch.tensor(2.0)), "not permitted when stream is capturing"),
        (lambda own, other: own.add_(other), "memory that will not be there"),
        (lambda own, other: own.add_(PASSING), "memory that will not be there"),
    ],
    ids=["a number asked for", "a decision", "a number given", "another device", "other memory"],
)
def test_the_stand_in_is_strict(compute: Callable[[Any, Any], Any], reason: str) -> None:
    device = FakeGpu()
    own, other = device.zeros((3,), torch.float32), FakeGpu(1).zeros((3,), torch.float32)
    with pytest.raises((RuntimeError, AssertionError), match=reason):
        device.queue().capture(partial(compute, own, other))
