"""Networks of many kinds: each plays as the plain one does, or is refused when it is loaded."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_network import write_network

from fukayomi.engine import EvaluatorError, Network
from fukayomi.engine.evaluators.backends.backend import get_backend
from fukayomi.engine.evaluators.timing import PROBES
from fukayomi.shogi import Position

BOARD = (62, 9, 9)
HANDS = (57, 9, 9)

PLAYED: dict[str, dict[str, Any]] = {
    "plain": {},
    "float16 inputs": {"types": ("FLOAT16", "FLOAT", "FLOAT")},
    "float64 inputs": {"types": ("DOUBLE", "FLOAT", "FLOAT")},
    "float16 policy": {"types": ("FLOAT", "FLOAT16", "FLOAT")},
    "float64 policy": {"types": ("FLOAT", "DOUBLE", "FLOAT")},
    "float16 value": {"types": ("FLOAT", "FLOAT", "FLOAT16")},
    "float64 value": {"types": ("FLOAT", "FLOAT", "DOUBLE")},
    "all in float16": {"types": ("FLOAT16", "FLOAT16", "FLOAT16")},
    "all in float64": {"types": ("DOUBLE", "DOUBLE", "DOUBLE")},
    "batch of 1": {"batch": 1},
    "batch of 5": {"batch": 5},
    "batch of 100": {"batch": 100},
    "batch of 7, float16": {"batch": 7, "types": ("FLOAT16", "FLOAT16", "FLOAT16")},
    "batch of 3 in one input": {"batch2": 3},
    "flat value": {"value_shape": (-1,)},
    "value of rank 3": {"value_shape": (-1, 1, 1)},
    "policy by planes": {"policy_shape": (0, 27, 9, 9)},
    "planes without numbers": {"planes": (("c", "h", "w"), ("d", "h", "w"))},
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "1496 logits": ({"labels": 1496}, r"must be \[N, 2187\] .* are \[(\d+|N), 1496\]"),
    "1496 logits, batch of 1": ({"labels": 1496, "batch": 1}, r"2187.*1496"),
    "no logits": ({"labels": 0, "policy_shape": (-1,)}, "2187|without numbers"),
    "policy of all positions in one row": ({"policy_shape": (1, -1)}, r"\[1, \w+\]"),
    "policy transposed": ({"policy_shape": (2187, -1)}, r"\[2187, \w+\]"),
    "win, draw, loss": ({"value_columns": 3}, r"\[\w+, 3\]"),
    "win, draw, loss, batch of 2": ({"value_columns": 3, "batch": 2}, r"\[2, 3\]"),
    "no sigmoid": ({"final": "Identity", "value_scale": 100}, "sigmoid"),
    "negative values": ({"final": "Neg"}, "sigmoid"),
    "NaN policy": ({"scale": float("nan")}, "not finite"),
    "policy too large for float32": ({"scale": 1e38, "types": ("FLOAT", "DOUBLE", "FLOAT")}, "not finite"),
    "NaN value": ({"value_scale": float("nan")}, "win probability"),
    "infinite value": ({"final": "Reciprocal"}, "win probability"),
    "integer policy": ({"types": ("FLOAT", "INT64", "FLOAT")}, r"output_policy must be float16.*int64"),
    "integer value": ({"types": ("FLOAT", "FLOAT", "INT32")}, r"output_value must be float16.*int32"),
    "bool value": ({"types": ("FLOAT", "FLOAT", "BOOL")}, r"output_value must be float16.*bool"),
    "integer inputs": ({"types": ("INT32", "FLOAT", "FLOAT")}, r"input1 must be float.*int32"),
    "61 planes": ({"planes": ((61, 9, 9), HANDS)}, r"input1 must be float \[N, 62, 9, 9\].*61"),
    "planes for entering kings": ({"planes": (BOARD, (119, 9, 9))}, "entering kings"),
    "board of 8 files": ({"planes": ((62, 8, 9), HANDS)}, r"input1 must be float \[N, 62, 9, 9\].*8, 9"),
    "flat planes": ({"planes": ((62, 81), HANDS)}, "cannot load it|input1 must be float"),
    "three inputs": ({"inputs": ("input1", "input2", "input3")}, "input3"),
    "inputs of other names": ({"inputs": ("x", "input2")}, "this one has x"),
    "outputs of other names": ({"outputs": ("policy", "value")}, "this one has .* policy, value"),
    "batch of 5000": ({"batch": 5000}, "fixed batch size of 5000"),
    "batch of 0": ({"batch": 0}, "cannot load it|fixed batch size of 0"),
    "two batch sizes": ({"batch": 2, "batch2": 3}, "different batch sizes: 2, 3"),
}


def positions() -> list[Position]:
    return [Position.from_sfen(sfen) for sfen in PROBES] * 2


@pytest.fixture(params=["cpu", "torch"])
def device(request: pytest.FixtureRequest) -> str:
    """A backend that reads any of these files."""
    if problem := get_backend(request.param).problem():
        pytest.skip(problem)
    return request.param


@pytest.mark.parametrize("kind", PLAYED)
def test_plays_as_the_plain_network_does(kind: str, device: str, tmp_path: Path) -> None:
    plain, odd = write_network(tmp_path / "plain.onnx"), write_network(tmp_path / "odd.onnx", **PLAYED[kind])
    with (
        Network(plain, device="cpu", threads=1, batch_size=8) as expected,
        Network(odd, device=device, precision="fp32", threads=1, batch_size=8) as network,
    ):
        wanted, found = expected.evaluate(positions()), network.evaluate(positions())
        batch = PLAYED[kind].get("batch", PLAYED[kind].get("batch2", 8))
        assert network.evaluator.batch_size == batch
    np.testing.assert_allclose(found.winrates, wanted.winrates, atol=2e-3)
    np.testing.assert_allclose(found.probabilities, wanted.probabilities, atol=2e-2)


@pytest.mark.parametrize("kind", REFUSED)
def test_is_refused_with_the_reason(kind: str, device: str, tmp_path: Path) -> None:
    change, reason = REFUSED[kind]
    path = write_network(tmp_path / "odd.onnx", **change)
    with pytest.raises(EvaluatorError, match=reason) as error:
        Network(path, device=device, precision="fp32", threads=1, batch_size=8)
    assert str(path) in str(error.value)


def test_an_empty_file_is_refused(device: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.onnx"
    path.write_bytes(b"")
    with pytest.raises(EvaluatorError, match=r"empty|no inputs") as error:
        Network(path, device=device, precision="fp32", threads=1, batch_size=8)
    assert str(path) in str(error.value)


def test_the_type_of_an_output_counts_where_the_library_computes_in_it(tmp_path: Path) -> None:
    path = write_network(tmp_path / "odd.onnx", scale=1e6, types=("FLOAT", "FLOAT16", "FLOAT"))
    with pytest.raises(EvaluatorError, match="not finite"):
        Network(path, device="cpu", threads=1, batch_size=8)
    if get_backend("torch").problem() is None:  # all that it computes in fp32 is float32
        with Network(path, device="torch", precision="fp32", threads=1, batch_size=8) as network:
            assert np.isfinite(network.evaluate(positions()).probabilities).all()


@pytest.mark.parametrize("content", [b"", b"\0", b"not a network", b"\x08\x08" * 1000])
def test_what_is_no_onnx_file_is_refused(content: bytes, device: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.onnx"
    path.write_bytes(content)
    with pytest.raises(EvaluatorError, match=r"odd\.onnx"):
        Network(path, device=device, precision="fp32", threads=1, batch_size=8)


@pytest.mark.parametrize("model", ["~nosuchuser/x.onnx", "x" * 300 + ".onnx", "a\0b.onnx", "/dev/zero", "/"])
def test_names_of_no_file_are_refused(model: str) -> None:
    with pytest.raises(EvaluatorError, match=r"no file|cannot read the network|is a folder"):
        Network(model)


def test_a_file_beyond_the_limit_of_onnx_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(EvaluatorError, match="2 GiB"):
        Network(path)
