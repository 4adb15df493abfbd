"""The functions of sparse networks refuse wrong arrays, and nothing is written to a copy."""

from typing import Any

import numpy as np
import pytest
import sparse_files

from fukayomi import _native
from fukayomi._native import MOVE_ROWS, NO_POLICY_LABEL, SPARSE_LABELS, SPARSE_ROWS, encode_hcp, encode_position
from fukayomi.files.sparse_network import SparseFile
from fukayomi.shogi import Position

SQUARE_ROWS = 29 * 9 * 81


def floats(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def parts(blocks: int) -> dict[str, Any]:
    return {
        "squares": floats(blocks, 29, 9, 81, 32),
        "attacked": floats(blocks, 29, 9, 32),
        "placed": floats(blocks, 29, 81, 32),
        "others": floats(blocks, SPARSE_ROWS - SQUARE_ROWS, 32),
        "bias": floats(blocks * 32),
    }


BAGS: dict[str, Any] = {"rows": np.array([1, 2, 9], np.uint16), "offsets": np.array([0, 1, 3])}
LAYER: dict[str, Any] = {"accumulators": floats(2, 2, 32), "products": floats(2, 32)}
MOVES: dict[str, Any] = {
    "labels": np.array([5, 6, 7], np.uint16),
    "groups": np.zeros((3, 8), np.uint16),
    "offsets": np.array([0, 1, 3]),
    "label_table": floats(2, SPARSE_LABELS, 32),
    "label_bias": floats(SPARSE_LABELS),
    "group_table": floats(1, MOVE_ROWS, 32),
    "group_bias": floats(MOVE_ROWS),
    "hidden": floats(2, 64),
}
PLANES1, PLANES2 = encode_position(Position())
CALLS: dict[str, dict[str, Any]] = {
    "first_layer": BAGS | parts(2) | LAYER | {"threads": 1},
    "first_layer_backward": BAGS | LAYER | parts(2) | {"threads": 1},
    "sum_weights": BAGS | {"weights": floats(10), "out": floats(2)},
    "sum_weights_backward": BAGS | {"gradients": floats(2), "weight_gradients": floats(10)},
    "move_logits": MOVES | {"logits": floats(3), "threads": 1},
    "move_logits_backward": MOVES
    | {"gradients": floats(3)}
    | {
        f"{name}_gradients": MOVES[name]
        for name in ("label_table", "label_bias", "group_table", "group_bias", "hidden")
    }
    | {"threads": 1},
    "sparse_batch": {
        "hcps": np.frombuffer(encode_hcp(Position()) * 2, np.uint8).reshape(2, 32),
        "offsets": np.array([0, 1, 2]),
        "moves": np.array([7, 8], np.uint16),
        "visits": np.array([3, 4], np.uint16),
        "threads": 1,
    },
    "sparse_planes_batch": {
        "planes1": np.stack([PLANES1] * 2),
        "planes2": np.stack([PLANES2] * 2),
        "labels": np.array([NO_POLICY_LABEL, 5], np.uint16),
        "places": np.array([40, 30, 2187], np.int32),
        "weights": np.ones(3, np.float32),
        "threads": 1,
    },
}
"""Good arguments of two positions."""
OUTPUTS = {
    "first_layer": LAYER.keys(),
    "first_layer_backward": parts(1).keys(),
    "sum_weights": ["out"],
    "sum_weights_backward": ["weight_gradients"],
    "move_logits": ["logits"],
    "move_logits_backward": [name for name in CALLS["move_logits_backward"] if name.endswith("_gradients")],
}
ANY_LENGTH = {("sum_weights", "weights"), ("sum_weights_backward", "weight_gradients"), ("move_logits", "group_table")}


def call(name: str, **changes: Any) -> Any:
    return getattr(_native, name)(**CALLS[name] | changes)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> SparseFile:
    return sparse_files.write(tmp_path_factory.mktemp("sparse"), sparse_files.SMALL)


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arrays_are_refused(name: str) -> None:
    call(name)
    for argument, array in CALLS[name].items():
        if argument == "threads":
            continue
        for wrong in (array.astype(np.float64), np.repeat(array, 2, axis=-1)[..., ::2], array.tolist(), None):
            with pytest.raises(TypeError, match="incompatible function arguments"):
                call(name, **{argument: wrong})
        if (name, argument) not in ANY_LENGTH:
            for wrong in (np.repeat(array, 2, axis=0), array[:0]):
                with pytest.raises(ValueError, match=r"shape|span|differ|position|there are"):
                    call(name, **{argument: wrong})


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_that_cannot_be_written_are_refused(name: str) -> None:
    for argument in OUTPUTS[name]:
        array = CALLS[name][argument].copy()
        array.flags.writeable = False
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call(name, **{argument: array})


@pytest.mark.parametrize("name", [name for name in CALLS if "threads" in CALLS[name]])
def test_numbers_of_threads(name: str) -> None:
    for threads in (0, 1025, 2**63):
        with pytest.raises(ValueError, match="threads must be 1 to 1024"):
            call(name, threads=threads)
    with pytest.raises(TypeError):
        call(name, threads=-1)


@pytest.mark.parametrize(
    ("name", "argument", "numbers", "message"),
    [
        ("first_layer", "rows", [1, SPARSE_ROWS, 2], "a row is beyond the table"),
        ("first_layer_backward", "rows", [65535, 1, 2], "a row is beyond the table"),
        ("first_layer", "offsets", [0, 4, 3], "offsets decrease"),
        ("first_layer", "offsets", [0, -1, 3], "offsets decrease"),
        ("first_layer", "offsets", [1, 2, 3], "offsets do not span"),
        ("first_layer", "offsets", [0, 1, 2**62], "offsets do not span"),
        ("sum_weights", "rows", [1, 2, 10], "a row is beyond the table"),
        ("sum_weights_backward", "rows", [10, 1, 2], "a row is beyond the table"),
        ("move_logits", "labels", [1, 2, SPARSE_LABELS], "a label is beyond the table"),
        ("move_logits_backward", "groups", [[MOVE_ROWS] * 8] * 3, "a group row is beyond the table"),
        ("sparse_batch", "offsets", [0, 3, 2], "offsets decrease"),
        ("sparse_planes_batch", "labels", [0, 2187], "a label is beyond the last"),
        ("sparse_planes_batch", "places", [5, 6, -1], "places do not ascend"),
        ("sparse_planes_batch", "places", [-(2**31), 5, 6], "places do not ascend"),
        ("sparse_planes_batch", "places", [2187, 2186, 2188], "places do not ascend"),
        ("sparse_planes_batch", "places", [1, 2, 2 * 2187], "places do not ascend by position, up to the last"),
    ],
)
def test_numbers_beyond_the_last(name: str, argument: str, numbers: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(name, **{argument: np.array(numbers, CALLS[name][argument].dtype)})


def test_positions_that_the_rules_forbid_are_named() -> None:
    hcps = CALLS["sparse_batch"]["hcps"].copy()
    hcps[1] = 255
    with pytest.raises(_native.InvalidPackedError, match="position 1: hcp ff"):
        call("sparse_batch", hcps=hcps)
    planes2 = CALLS["sparse_planes_batch"]["planes2"].copy()
    planes2[1] = 255
    with pytest.raises(_native.InvalidPackedError, match=r"position 1: .* a set has only"):
        call("sparse_planes_batch", planes2=planes2)


def test_memory_that_there_is_not() -> None:
    for count in (2**62 + 1, 2**64 - 1):  # what no allocator is asked for
        with pytest.raises(MemoryError):
            _native.recycled_floats(count)
        with pytest.raises(MemoryError):
            _native.SparseInput(count)
    for wrong in (-1, 1.0, None):
        with pytest.raises(TypeError):
            _native.recycled_floats(wrong)  # pyright: ignore[reportArgumentType]
    assert _native.recycled_floats(0).shape == (0,)


def test_bytes_of_files(file: SparseFile) -> None:
    for make in (_native.SparseInferenceNetwork, _native.check_sparse_file):
        for wrong in (file.data.astype(np.float32), file.data[None], file.data[::-1], None):
            with pytest.raises(TypeError):
                make(wrong)  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValueError, match="ends within its header"):
            make(file.data[:0])


def test_runners_and_inputs(file: SparseFile) -> None:
    network = _native.SparseInferenceNetwork(file.data)
    for threads in (0, 1025):
        with pytest.raises(ValueError, match="threads must be 1 to 1024"):
            _native.SparseRunner(network, threads)
    with pytest.raises(TypeError):
        _native.SparseRunner(None, 1)  # pyright: ignore[reportArgumentType]
    runner, read = _native.SparseRunner(network, 1), _native.SparseInput(1)
    logits, values = floats(1, 593), floats(1)
    read_only = floats(1, 593)
    read_only.flags.writeable = False
    for wrong in (logits.astype(np.float64), logits[:, :592], logits[0], read_only, None):
        with pytest.raises(TypeError):
            runner.run(read, 1, wrong, values)  # pyright: ignore[reportArgumentType]
    for inputs in ([read], [read, read]):
        with pytest.raises(ValueError, match="another evaluator"):
            runner.run(_native.JointInput(list(inputs)), 1, logits, values)
    with pytest.raises(TypeError):
        read.write(-1, Position(), [])
    with pytest.raises(TypeError):
        read.write(0, Position(), [None])  # pyright: ignore[reportArgumentType]
    assert runner.run(read, 1, logits, values)  # a row that was never written is a position without moves
    assert read.counts.tolist() == [0]
