"""ONNX files as lists of operations, computed in torch, beside ONNX Runtime; and files that are damaged or hostile."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from toy_network import write_network

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.network import embedded_network

onnx = pytest.importorskip("onnx")
torch = pytest.importorskip("torch")
onnxruntime = pytest.importorskip("onnxruntime")

from fukayomi.engine.evaluators.backends import torch_operations  # noqa: E402
from fukayomi.engine.evaluators.backends.graphs import builder  # noqa: E402
from fukayomi.engine.evaluators.backends.graphs.graph import BATCH, Graph, GraphError  # noqa: E402
from fukayomi.engine.evaluators.backends.graphs.reader import read_graph  # noqa: E402
from fukayomi.engine.evaluators.backends.torch_network import GraphNetwork  # noqa: E402

FLOAT, DOUBLE, INT64 = (getattr(onnx.TensorProto, name) for name in ("FLOAT", "DOUBLE", "INT64"))


class File:
    """Writes an ONNX file: a body [N, 8, 9, 9] that comes first, what a test adds, then a policy and a value."""

    def __init__(self, opset: int = 18, batch: int | str = "n") -> None:
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.opset, self.batch = opset, batch
        self.random = np.random.default_rng(3)
        self.body = self.node("Conv", "input1", self.weights(8, 62, 1, 1), self.weights(8))

    def constant(self, array: Any, kind: type = np.int64) -> str:
        name = f"constant{len(self.tensors)}"
        self.tensors.append(onnx.numpy_helper.from_array(np.asarray(array, kind), name))
        return name

    def weights(self, *shape: int) -> str:
        return self.constant(self.random.normal(size=shape) / 4, np.float32)

    def node(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"tensor{len(self.nodes)}.{number}" for number in range(outputs)]
        self.nodes.append(
            onnx.helper.make_node(kind, list(inputs), names, name=f"{kind}{len(self.nodes)}", **attributes)
        )
        return names[0] if outputs == 1 else names

    def write(self, path: Path, x: str, numbers: int) -> Path:
        """End with x, which has so many numbers for each position."""
        flat = self.node("Reshape", x, self.constant([-1, numbers]))
        end = (("output_policy", 2187), ("output_value", 1))
        for name, count in end:
            made = self.node("Gemm", flat, self.weights(numbers, count), self.weights(count))
            kind = "Identity" if name == "output_policy" else "Sigmoid"
            self.nodes.append(onnx.helper.make_node(kind, [made], [name]))
        info = onnx.helper.make_tensor_value_info
        inputs = [info(f"input{i}", FLOAT, [self.batch, planes, 9, 9]) for i, planes in ((1, 62), (2, 57))]
        outputs = [info(name, FLOAT, [self.batch, count]) for name, count in end]
        graph = onnx.helper.make_graph(self.nodes, "network", inputs, outputs, self.tensors)
        opsets = [onnx.helper.make_opsetid("", self.opset)]
        path.write_bytes(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
        return path


def planes(count: int) -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(4)
    return {f"input{i}": random.integers(0, 2, (count, n, 9, 9)).astype(np.float32) for i, n in ((1, 62), (2, 57))}


def in_torch(graph: Graph, given: dict[str, NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    with torch.inference_mode():
        return [each.numpy() for each in GraphNetwork(graph, torch.float32)(*map(torch.from_numpy, given.values()))]


def require_agreement(path: Path, count: int = 3) -> Graph:
    """The file computes the same here and in ONNX Runtime."""
    graph, given = read_graph(path), planes(count)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    policy, value = session.run(["output_policy", "output_value"], given)
    found = in_torch(graph, given)
    np.testing.assert_allclose(found[0], policy.reshape(count, -1), atol=2e-4)
    np.testing.assert_allclose(found[1], value.reshape(-1), atol=1e-5)
    assert np.ptp(policy, axis=0).max() > 0.01, "the network answers the same for all positions"
    return graph


def conv(**attributes: Any) -> Callable[[File], tuple[str, int]]:
    def build(file: File) -> tuple[str, int]:
        channels = 8 // attributes.get("group", 1)
        x = file.node("Conv", file.body, file.weights(4, channels, 3, 2), file.weights(4), **attributes)
        info = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("Conv", ["x", "w"], ["y"], **attributes)],
            "shapes",
            [info("x", FLOAT, [1, 8, 9, 9]), info("w", FLOAT, [4, channels, 3, 2])],
            [info("y", FLOAT, None)],
        )
        inferred = onnx.shape_inference.infer_shapes(onnx.helper.make_model(graph))
        shape = [dim.dim_value for dim in inferred.graph.output[0].type.tensor_type.shape.dim]
        return x, int(np.prod(shape))

    return build


def same(kind: str, *constants: Any, **attributes: Any) -> Callable[[File], tuple[str, int]]:
    """An operator that keeps the shape, with further inputs of float32."""

    def build(file: File) -> tuple[str, int]:
        inputs = [file.constant(each, np.float32) for each in constants]
        return file.node(kind, file.body, *inputs, **attributes), 648

    return build


def positive(kind: str, *constants: Any) -> Callable[[File], tuple[str, int]]:
    """The same of numbers above 0."""

    def build(file: File) -> tuple[str, int]:
        x = file.node("Add", file.node("Abs", file.body), file.constant(0.5, np.float32))
        return file.node(kind, x, *(file.constant(each, np.float32) for each in constants)), 648

    return build


def built(*steps: tuple[Any, ...], numbers: int) -> Callable[[File], tuple[str, int]]:
    """Operators one after the other: (kind, constants of integers..., attributes)."""

    def build(file: File) -> tuple[str, int]:
        x = file.body
        for kind, *constants, attributes in steps:
            x = file.node(
                kind, x, *(each if isinstance(each, str) else file.constant(each) for each in constants), **attributes
            )
        return x, numbers

    return build


def attention(file: File) -> tuple[str, int]:
    x = file.node("Reshape", file.body, file.constant([0, 2, 4, 81]))
    keys = file.node("Transpose", x, perm=[0, 1, 3, 2])
    weights = file.node("Softmax", file.node("MatMul", keys, x), axis=-1)
    return file.node("MatMul", weights, keys), 648


def split(file: File) -> tuple[str, int]:
    first, second = file.node("Split", file.body, file.constant([3, 5]), axis=1, outputs=2)
    return file.node("Concat", second, first, second, axis=1), 1053


def even_split(file: File) -> tuple[str, int]:
    first, second, _ = file.node("Split", file.body, axis=1, num_outputs=3, outputs=3)
    return file.node("Mul", first, second), 243


def both_inputs(file: File) -> tuple[str, int]:
    second = file.node("Conv", "input2", file.weights(3, 57, 1, 1))
    return file.node("Concat", file.body, second, axis=-3), 891


def computed_shape(file: File) -> tuple[str, int]:
    """As older exporters write `x.view(x.size(0), -1)`."""
    n = file.node("Gather", file.node("Shape", file.body), file.constant(0), axis=0)
    ends = [file.node("Unsqueeze", each, file.constant([0])) for each in (n, file.constant(-1))]
    return file.node("Reshape", file.body, file.node("Concat", *ends, axis=0)), 648


def computed_scale(file: File) -> tuple[str, int]:
    """Arithmetic on constants and shapes: x / sqrt(channels) - [a, b, ...]."""
    shape = file.node("Slice", file.node("Shape", file.body), file.constant([1]), file.constant([2]))
    scale = file.node("Sqrt", file.node("Cast", shape, to=FLOAT))
    shift = file.node("Transpose", file.node("Neg", file.weights(1, 8)), perm=[1, 0])
    shift = file.node("Reshape", file.node("Squeeze", shift, file.constant([1])), file.constant([1, 8, 1, 1]))
    return file.node("Sub", file.node("Div", file.body, scale), shift), 648


def gated(file: File) -> tuple[str, int]:
    """x * sigmoid(x), a sigmoid that is also used elsewhere, and one of something else."""
    gate = file.node("Sigmoid", file.body)
    own = file.node("Mul", gate, file.body)
    other = file.node("Mul", file.body, file.node("Sigmoid", own))
    return file.node("Add", file.node("Add", own, other), gate), 648


def norms(file: File) -> tuple[str, int]:
    """BatchNorm after a convolution, after one that is used elsewhere too, and alone."""
    parts = [file.constant(file.random.uniform(0.5, 1.5, 8), np.float32) for _ in range(4)]
    alone = file.node("BatchNormalization", file.body, *parts, epsilon=1e-3)
    folded = file.node("BatchNormalization", file.node("Conv", alone, file.weights(8, 8, 1, 1)), *parts)
    return file.node("Add", file.node("Relu", folded), file.body), 648


def layer_norm(file: File) -> tuple[str, int]:
    x = file.node("Reshape", file.body, file.constant([0, 8, 81]))
    return file.node("LayerNormalization", x, file.weights(81), file.weights(81), axis=-1, epsilon=1e-4), 648


def dense(file: File) -> tuple[str, int]:
    x = file.node("Flatten", file.body, axis=1)
    x = file.node("Gemm", x, file.weights(10, 648), file.weights(1), alpha=0.5, beta=2.0, transB=1)
    return file.node("Add", file.node("MatMul", x, file.weights(10, 12)), file.weights(12)), 12


FULL = [0, 0, 0, 0]
OPERATORS: dict[str, Callable[[File], tuple[str, int]]] = {
    "Conv": conv(),
    "Conv, padded": conv(pads=[1, 0, 1, 1]),
    "Conv, unevenly padded": conv(pads=[2, 0, 0, 1]),
    "Conv, strides": conv(strides=[2, 3], pads=[1, 1, 1, 1]),
    "Conv, dilations": conv(dilations=[2, 4]),
    "Conv, groups": conv(group=4),
    "Conv, SAME_UPPER": conv(auto_pad="SAME_UPPER", strides=[2, 1]),
    "Conv, SAME_LOWER": conv(auto_pad="SAME_LOWER"),
    "Conv, VALID": conv(auto_pad="VALID"),
    **{
        kind: same(kind)
        for kind in ("Relu", "Sigmoid", "Tanh", "Mish", "HardSwish", "Softplus", "Erf", "Exp", "Neg", "Abs")
    },
    "LeakyRelu": same("LeakyRelu"),
    "LeakyRelu, alpha": same("LeakyRelu", alpha=0.3),
    "Clip": same("Clip", -0.2, 0.3),
    "Sqrt": positive("Sqrt"),
    "Reciprocal": positive("Reciprocal"),
    "Pow": positive("Pow", 2.5),
    "Add": same("Add", np.arange(9)),
    "Div": same("Div", 3.0),
    "Softmax of channels": same("Softmax", axis=1),
    "Softmax": same("Softmax"),
    "dense layers": dense,
    "LayerNormalization": layer_norm,
    "BatchNormalization": norms,
    "sigmoids": gated,
    "attention": attention,
    "Concat": both_inputs,
    "Split": split,
    "Split, evenly": even_split,
    "ReduceMean": built(("ReduceMean", [2, 3], {"keepdims": 0}), numbers=8),
    "ReduceMean, kept": built(("ReduceMean", [-1], {}), numbers=72),
    "ReduceSum": built(("ReduceSum", [1], {"keepdims": 0}), numbers=81),
    "ReduceMax": built(("ReduceMax", [2], {"keepdims": 1}), numbers=72),
    "ReduceMean of nothing": built(("ReduceMean", {"noop_with_empty_axes": 1}), numbers=648),
    "GlobalAveragePool": built(("GlobalAveragePool", {}), numbers=8),
    "GlobalMaxPool": built(("GlobalMaxPool", {}), numbers=8),
    "Transpose": built(("Transpose", {"perm": [0, 2, 3, 1]}), ("Softmax", {"axis": -1}), numbers=648),
    "Slice": built(("Slice", [1, 2], [7, 8], [1, -1], [2, 3], {}), numbers=54),
    "Slice from the end": built(("Slice", [-3], [1 << 62], [1], {}), numbers=243),
    "Slice of all": built(("Slice", FULL, [1 << 62] * 4, {}), numbers=648),
    "Gather": built(("Gather", 5, {"axis": 1}), numbers=81),
    "Gather from the end": built(("Gather", -1, {"axis": -2}), numbers=72),
    "Squeeze": built(
        ("Slice", [0], [1], [1], {}), ("Squeeze", [1], {}), ("Unsqueeze", [0, 2], {}), ("Squeeze", [0], {}), numbers=81
    ),
    "Pad": built(("Pad", [0, 1, 0, 0, 0, 2, 0, 3], {}), numbers=11 * 9 * 12),
    "Flatten of all": built(("Flatten", {"axis": 2}), ("Reshape", [-1, 8, 81], {}), numbers=648),
    "Reshape that keeps": built(("Reshape", [0, 0, -1], {}), numbers=648),
    "Reshape of the batch": built(("Reshape", [-1, 81], {}), ("Softmax", {}), ("Reshape", [-1, 648], {}), numbers=648),
    "Dropout": built(
        ("Dropout", {}),
        ("Identity", {}),
        ("Cast", {"to": DOUBLE}),
        ("Cast", {"to": FLOAT}),
        numbers=648,
    ),
    "shapes of older exporters": computed_shape,
    "arithmetic on constants": computed_scale,
}


@pytest.mark.parametrize("kind", OPERATORS)
def test_operators_compute_what_they_do_in_onnx_runtime(kind: str, tmp_path: Path) -> None:
    file = File()
    require_agreement(file.write(tmp_path / "network.onnx", *OPERATORS[kind](file)))


OLDER: dict[str, Callable[[File], tuple[str, int]]] = {
    "Slice": built(("Slice", {"starts": [1], "ends": [3], "axes": [1]}), numbers=162),
    "Squeeze": built(("Unsqueeze", {"axes": [1]}), ("Squeeze", {"axes": [1]}), numbers=648),
    "Split": lambda file: (file.node("Split", file.body, axis=1, split=[2, 6], outputs=2)[1], 486),
    "ReduceMean": built(("ReduceMean", {"axes": [2, 3], "keepdims": 0}), numbers=8),
    "Clip": same("Clip", min=-0.2, max=0.3),
    "Pad": built(("Pad", {"pads": [0, 0, 0, 0, 0, 2, 0, 0], "value": 0.5}), numbers=810),
    "Softmax": built(("Flatten", {}), ("Softmax", {}), numbers=648),
}


@pytest.mark.parametrize("kind", OLDER)
def test_operators_of_older_files(kind: str, tmp_path: Path) -> None:
    file = File(opset=9)
    require_agreement(file.write(tmp_path / "network.onnx", *OLDER[kind](file)))


def test_gelu_and_swish_of_newer_files(tmp_path: Path) -> None:
    for number, approximate in enumerate(("none", "tanh")):
        file = File(opset=20)
        x = file.node("Gelu", file.body, approximate=approximate)
        require_agreement(file.write(tmp_path / f"{number}.onnx", x, 648))


def test_what_is_not_needed_is_gone(tmp_path: Path) -> None:
    file = File()
    x, numbers = norms(file)
    file.node("Conv", file.body, file.weights(8, 8, 1, 1))  # nobody reads it
    graph = require_agreement(file.write(tmp_path / "norms.onnx", x, numbers))
    assert [operation.kind for operation in graph.operations] == [
        "Conv", "Affine", "Conv", "Add", "Reshape", "Dense", "Dense", "Sigmoid",
    ]  # fmt: skip
    file = File()
    twice = file.node("Mul", file.node("Sigmoid", file.body), file.body)
    graph = require_agreement(file.write(tmp_path / "silu.onnx", twice, 648))
    assert [operation.kind for operation in graph.operations][:2] == ["Conv", "Reshape"]
    assert graph.operations[0].settings["activation"] == "Silu"


@pytest.mark.parametrize("has_engine", [True, False])
def test_cudnn_computes_a_convolution_with_what_follows_where_it_can(
    monkeypatch: pytest.MonkeyPatch, has_engine: bool
) -> None:
    """With a stand-in for cuDNN, which then has the residual blocks, or nothing."""
    calls: list[str] = []

    def compute(x: Any, kernels: Any, added: Any, bias: Any, *rest: Any) -> Any:
        calls.append("alone" if added is None else "with a sum")
        if not has_engine:
            raise RuntimeError("GET was unable to find an engine to execute this computation")
        result = torch.conv2d(x, kernels, bias, *rest)
        return torch.relu(result if added is None else result + added)

    graph, given = read_graph(embedded_network()), planes(3)
    expected = in_torch(graph, given)
    monkeypatch.setattr(torch_operations, "has_cudnn", lambda _: True)
    monkeypatch.setattr(torch, "cudnn_convolution_relu", lambda x, w, *rest: compute(x, w, None, *rest))
    monkeypatch.setattr(
        torch, "cudnn_convolution_add_relu", lambda x, w, z, alpha, *rest: compute(x, w, alpha * z, *rest)
    )
    network = GraphNetwork(graph, torch.float32)
    for _ in range(2):
        with torch.inference_mode():
            found = [each.numpy() for each in network(*map(torch.from_numpy, given.values()))]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4)
    assert sorted(calls) == sorted((["alone"] * 6 + ["with a sum"] * 6) * (2 if has_engine else 1))


def test_the_trunk_is_what_policy_and_value_share() -> None:
    graph = read_graph(embedded_network())
    heads = [operation.kind for operation in graph.operations if operation.output not in graph.trunk]
    assert sorted(heads) == ["Add", "Conv", "Conv", "Dense", "Dense", "Relu", "Reshape", "Reshape", "Sigmoid"]
    assert all(operation.shape[0] == BATCH for operation in graph.operations)
    assert not any(operation.kind == "Affine" for operation in graph.operations)


def test_weights_in_a_file_beside_it_are_read(tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    file = File()
    file.write(tmp_path / "whole.onnx", *dense(file))
    model = onnx.load(tmp_path / "whole.onnx")
    onnx.save(model, path, save_as_external_data=True, location="network.onnx.data", size_threshold=100)
    assert path.with_name("network.onnx.data").is_file()
    require_agreement(path)
    path.with_name("network.onnx.data").write_bytes(b"short")
    with pytest.raises(GraphError, match=r"cannot be read from network\.onnx\.data|damaged"):
        read_graph(path)
    path.with_name("network.onnx.data").unlink()
    with pytest.raises(GraphError, match=r"cannot be read from network\.onnx\.data"):
        read_graph(path)


def test_weights_in_any_other_file_are_not_read(tmp_path: Path) -> None:
    file = File()
    model = onnx.load(file.write(tmp_path / "network.onnx", *dense(file)))
    (tmp_path / "secret").write_bytes(b"\0" * 1000000)
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = tensor.EXTERNAL
    for location in ("secret", "../secret", "/etc/passwd"):
        del tensor.external_data[:]
        tensor.external_data.add(key="location", value=location)
        (tmp_path / "network.onnx").write_bytes(model.SerializeToString())
        with pytest.raises(GraphError, match="its weights are in the file"):
            read_graph(tmp_path / "network.onnx")


# --------------------------------------------------------------------------------------------- hostile files


def growing(file: File) -> tuple[str, int]:
    """A constant that becomes 64 times as large with every node."""
    x = file.constant(np.zeros(1 << 13), np.float32)
    for _ in range(14):
        x = file.node("Concat", *[x] * 64, axis=0)
    return file.node("Add", file.body, x), 648


def outer(file: File) -> tuple[str, int]:
    """A product of all numbers of a position with each other, and again."""
    x = file.node("Reshape", file.body, file.constant([0, 648, 1]))
    x = file.node("MatMul", x, file.node("Transpose", x, perm=[0, 2, 1]))
    x = file.node("Reshape", x, file.constant([0, 419904, 1]))
    return file.node("MatMul", x, file.node("Transpose", x, perm=[0, 2, 1])), 648


def outer_constant(file: File) -> tuple[str, int]:
    a, b = (file.constant(np.zeros(shape), np.float32) for shape in ((1 << 18, 1), (1, 1 << 18)))
    return file.node("Add", file.body, file.node("Add", a, b)), 648


def own_domain(file: File) -> tuple[str, int]:
    return file.node("Relu", file.body, domain="mine"), 648


def convolution(*shape: int, bias: int = 0, **attributes: Any) -> Callable[[File], tuple[str, int]]:
    def build(file: File) -> tuple[str, int]:
        weights = [file.weights(*shape), *([file.weights(bias)] if bias else [])]
        return file.node("Conv", file.body, *weights, **attributes), 648

    return build


HOSTILE: dict[str, tuple[Callable[[File], tuple[str, int]], str]] = {
    "an operator that is not known": (same("Celu"), "the Celu node 'Celu1': this operator is not known here"),
    "a loop": (same("Loop"), "the Loop node 'Loop1'"),
    "a domain of its own": (own_domain, "the Relu node 'Relu1': its operators are not ONNX's own"),
    "integers": (built(("Cast", {"to": INT64}), numbers=648), "the Cast node 'Cast1': it makes integers"),
    "an input from nowhere": (lambda f: (f.node("Add", f.body, "nowhere"), 648), "its input 'nowhere' is not known"),
    "no inputs": (lambda f: (f.node("Relu"), 648), "the Relu node 'Relu1'"),
    "computed kernels": (lambda f: (f.node("Conv", f.body, f.body), 648), "is not a constant"),
    "kernels for more planes": (convolution(8, 9, 1, 1), "do not fit"),
    "kernels larger than the board": (convolution(8, 8, 20, 20), "without numbers"),
    "kernels of one dimension": (convolution(8, 8, 1), "two dimensions"),
    "pads below 0": (convolution(8, 8, 1, 1, pads=[-1, 0, 0, 0]), "pads of"),
    "strides of 0": (convolution(8, 8, 1, 1, strides=[0, 1]), "do not fit"),
    "groups that do not fit": (convolution(9, 4, 1, 1, group=2), "do not fit"),
    "a bias of another size": (convolution(8, 8, 1, 1, bias=7), "7 numbers where there must be 8"),
    "shapes that do not fit": (
        same("Add", np.zeros(10)),
        r"the Add node 'Add1': \[N, 8, 9, 9\] and \[10\] do not fit",
    ),
    "matrices that do not fit": (lambda f: (f.node("MatMul", f.body, f.weights(8, 8)), 648), "do not fit"),
    "an axis twice": (built(("Transpose", {"perm": [0, 0, 1, 2]}), numbers=648), "no order of 4 axes"),
    "numbers that do not fit": (
        built(("Reshape", [0, 647], {}), numbers=647),
        r"\[N, 8, 9, 9\] cannot become \[N, 647\]",
    ),
    "a part of the batch": (built(("Slice", [0], [1], [0], {}), numbers=648), "takes a part of the batch"),
    "a mean over the batch": (built(("ReduceMean", [0], {}), numbers=648), "mixes the positions"),
    "steps back": (built(("Slice", [-1], [-9], [1], [-1], {}), numbers=648), "does not go forward"),
    "an empty part": (built(("Slice", [5], [5], [1], {}), numbers=648), "without numbers"),
    "reflections": (
        built(("Pad", [0, 0, 1, 1, 0, 0, 1, 1], {"mode": "reflect"}), numbers=968),
        "something else than a constant",
    ),
    "a constant that grows": (growing, "the Concat node 'Concat[0-9]+': a constant with more than"),
    "a large product": (outer, "more than 4194304 numbers of a position"),
    "a large constant product": (outer_constant, "a constant with more than"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_are_refused_with_the_node(kind: str, tmp_path: Path) -> None:
    build, reason = HOSTILE[kind]
    file = File()
    with pytest.raises(GraphError, match=reason):
        read_graph(file.write(tmp_path / "network.onnx", *build(file)))


def test_constants_that_are_large_together_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit that is soon reached."""
    monkeypatch.setattr(builder, "LARGEST_CONSTANTS", 8 << 20)
    file = File()
    x = file.constant(np.zeros(1 << 18), np.float32)
    for _ in range(14):
        x = file.node("Neg", x)
    with pytest.raises(GraphError, match=r"the Neg node 'Neg[0-9]+': the constants of the file take more than"):
        read_graph(file.write(tmp_path / "network.onnx", file.node("Add", file.body, x), 648))


def test_an_output_twice_and_a_function_are_refused(tmp_path: Path) -> None:
    file = File()
    path = file.write(tmp_path / "network.onnx", file.body, 648)
    model = onnx.load(path)
    twice = onnx.ModelProto.FromString(model.SerializeToString())
    twice.graph.node.append(onnx.helper.make_node("Relu", [file.body], ["output_policy"]))
    body = [onnx.helper.make_node("Tanh", ["x"], ["y"])]
    opsets = [onnx.helper.make_opsetid("", 18)]
    model.functions.append(onnx.helper.make_function("own", "Relu", ["x"], ["y"], body, opsets))
    for each, reason in ((twice, "another node has the same output"), (model, "not ONNX's own")):
        path.write_bytes(each.SerializeToString())
        with pytest.raises(GraphError, match=reason):
            read_graph(path)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_network(tmp_path_factory.mktemp("toy") / "toy.onnx").read_bytes()


@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_files_are_read_or_refused(toy: bytes, tmp_path: Path, data: st.DataObject) -> None:
    damaged = bytearray(toy)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    del damaged[data.draw(st.integers(1, len(damaged))) :]
    path = tmp_path / "damaged.onnx"
    path.write_bytes(damaged)
    try:
        graph = read_graph(path)
    except (GraphError, EvaluatorError):
        return
    assert {operation.kind for operation in graph.operations}
