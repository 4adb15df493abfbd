"""Networks in the native core, beside ONNX Runtime and torch."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi import Network
from fukayomi._native import cpu_instructions
from fukayomi.engine.choice import find_candidates, load
from fukayomi.engine.evaluation import Evaluation, compare, evaluate
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.evaluators.backends.native_model import ResidualModel
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.residual_file import OtherNetworkError, ResidualWeights, read_residual
from fukayomi.engine.evaluators.protocol import NetworkEvaluator
from fukayomi.engine.evaluators.timing import filled_slot, probe_positions
from fukayomi.engine.network import embedded_network

onnx = pytest.importorskip("onnx")
torch = pytest.importorskip("torch")

from network_samples import SHAPES, shaken  # noqa: E402

from fukayomi.nn import NetworkConfig, PolicyValueNetwork, export_onnx  # noqa: E402

EMBEDDED = embedded_network()
READABLE = {
    "embedded's kind": NetworkConfig(blocks=2, channels=32, activation="relu", value_hidden=16),
    "colour, branches, dropout": NetworkConfig(
        blocks=2, channels=40, activation="silu", value_hidden=24, stem="branches", colour_plane=True, dropout=0.5
    ),
}
APART = {
    "silu": NetworkConfig(blocks=2, channels=16, activation="silu", value_hidden=8),
    "odd sizes": NetworkConfig(blocks=1, channels=21, activation="relu", value_hidden=5),
}
"""Written as other exporters do."""
OTHERS = ("pre-activation", "squeeze-excitation", "large kernels", "Transformer")


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[[NetworkConfig], Path]:
    """Exports a network of a shape, once."""
    folder, known = tmp_path_factory.mktemp("residual"), dict[NetworkConfig, Path]()

    def file(config: NetworkConfig) -> Path:
        if config not in known:
            known[config] = folder / f"{len(known)}.onnx"
            export = batchnorms_apart if config in APART.values() else export_onnx
            export(shaken(config), known[config])
        return known[config]

    return file


@pytest.fixture(scope="module")
def embedded() -> ResidualWeights:
    return read_residual(EMBEDDED)


@pytest.fixture(scope="module")
def exact() -> Callable[[Path], Evaluation]:
    """What ONNX Runtime says of the positions in fp32, computed once for each file."""

    @cache
    def answers(path: Path) -> Evaluation:
        return evaluate(load(NetworkFile(path), Plan("cpu", "fp32", 1, 1, 16)), probe_positions())

    return answers


def evaluator_of(
    path: Path, weights: ResidualWeights, precision: str = "fp32", instructions: str | None = None
) -> NetworkEvaluator:
    model = ResidualModel(path, weights, precision=precision, instructions=instructions)
    return NetworkEvaluator(NetworkFile(path), model, Plan("native", precision, 1, 1, 8), "")


COMPUTED = [(precision, each) for precision in ("fp32", "int16") for each in cpu_instructions(precision)]
LARGEST_KL = {"fp32": 1e-7, "int16": 1e-4}
LARGEST_VALUE_ERROR = {"fp32": 1e-5, "int16": 0.005}


@pytest.mark.parametrize(("precision", "instructions"), COMPUTED)
@pytest.mark.parametrize("kind", READABLE | APART)
def test_answers_as_onnx_runtime_does(
    write: Callable[[NetworkConfig], Path],
    exact: Callable[[Path], Evaluation],
    kind: str,
    precision: str,
    instructions: str,
) -> None:
    path = write((READABLE | APART)[kind])
    evaluator = evaluator_of(path, read_residual(path), precision, instructions)
    agreement = compare(evaluator, exact(path), probe_positions())
    assert agreement.top1 == 1.0
    assert agreement.kl < LARGEST_KL[precision]
    assert agreement.max_value_error < LARGEST_VALUE_ERROR[precision]


@pytest.mark.parametrize(("precision", "instructions"), COMPUTED)
def test_the_embedded_network_agrees_on_real_positions(
    embedded: ResidualWeights, exact: Callable[[Path], Evaluation], precision: str, instructions: str
) -> None:
    evaluator = evaluator_of(EMBEDDED, embedded, precision, instructions)
    agreement = compare(evaluator, exact(EMBEDDED), probe_positions())
    assert agreement.top1 == 1.0
    assert agreement.kl < LARGEST_KL[precision]
    assert agreement.max_value_error < LARGEST_VALUE_ERROR[precision]


def test_large_activations_are_computed_as_torch_does(tmp_path: Path) -> None:
    """Silu far from zero, where its exponential would overflow."""
    network = shaken(APART["silu"])
    with torch.no_grad():
        for block in network.blocks:
            block.norm1.weight.mul_(50.0)
    path = tmp_path / "large.onnx"
    batchnorms_apart(network, path)
    with (
        Network(path, device="cpu", precision="fp32") as exact,
        Network(path, device="native", precision="fp32") as native,
    ):
        agreement = compare(native.evaluator, exact.evaluator, probe_positions())
    assert agreement.top1 == 1.0
    assert agreement.max_value_error < 1e-4


@given(batch=st.integers(1, 33), threads=st.integers(1, 5), seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_a_result_depends_on_the_position_alone(embedded: ResidualWeights, batch: int, threads: int, seed: int) -> None:
    positions = probe_positions()
    order = np.random.default_rng(seed).permutation(len(positions))[:batch]
    alone, together = (ResidualModel(EMBEDDED, embedded, threads=count) for count in (1, threads))
    slot = filled_slot(together, len(order), [positions[i] for i in order])
    together.run(slot, len(order))
    for row, number in enumerate(order):
        expected = filled_slot(alone, 1, [positions[number]])
        alone.run(expected, 1)
        count = int(slot.input.counts[row])
        np.testing.assert_array_equal(slot.logits[row, :count], expected.logits[0, :count])
        assert slot.values[row] == expected.values[0]


def test_slots_run_at_once(embedded: ResidualWeights) -> None:
    model, alone = (ResidualModel(EMBEDDED, embedded, threads=threads) for threads in (2, 1))
    slots = [filled_slot(model, 16, probe_positions()[:16]) for _ in range(4)]
    threads = [threading.Thread(target=lambda slot=slot: [model.run(slot, 16) for _ in range(20)]) for slot in slots]
    for thread in threads:
        thread.start()
    expected = filled_slot(alone, 16, probe_positions()[:16])
    alone.run(expected, 16)
    for thread in threads:
        thread.join()
    for slot in slots:
        np.testing.assert_array_equal(slot.values, expected.values)
        np.testing.assert_array_equal(slot.logits, expected.logits)


def test_threads_that_cannot_be_started_are_an_error(
    embedded: ResidualWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("Resource temporarily unavailable")

    monkeypatch.setattr("fukayomi.engine.evaluators.backends.native_model.NetworkRunner", refuse)
    with pytest.raises(EvaluatorError, match=r"cannot start 3 threads for .*5x64\.onnx: Resource temporarily"):
        ResidualModel(EMBEDDED, embedded, threads=3).allocate(4)


def batchnorms_apart(network: PolicyValueNetwork, path: Path) -> None:
    """Write an ONNX file as dlshogi's exporter does where nothing is folded, with a MatMul in the value head."""
    builder, config = Graph(), network.config
    stem = network.stem
    first = builder.conv("input1", stem.conv1_3x3)
    second = builder.conv("input1", stem.conv1_1x1)
    third = builder.conv("input2", stem.conv2_1x1)
    x = builder.activation(builder.norm(builder.add(builder.add(first, second), third), stem.norm), config)
    for block in network.blocks:
        y = builder.activation(builder.norm(builder.conv(x, block.conv1), block.norm1), config)
        y = builder.norm(builder.conv(y, block.conv2), block.norm2)
        x = builder.activation(builder.add(x, y), config)
    policy = builder.node("Flatten", builder.conv(x, network.policy.conv), axis=1)
    builder.node("Add", builder.constant(network.policy.bias), policy, output="output_policy")
    value = builder.activation(builder.norm(builder.conv(x, network.value.conv), network.value.norm), config)
    flat = builder.node("Flatten", value, axis=1)
    hidden = builder.node("MatMul", flat, builder.constant(network.value.fc1.weight.T))
    hidden = builder.activation(builder.node("Add", hidden, builder.constant(network.value.fc1.bias)), config)
    last = network.value.fc2
    logit = builder.node("Gemm", hidden, builder.constant(last.weight.T), builder.constant(last.bias))
    builder.node("Sigmoid", logit, output="output_value")
    builder.save(path)


class Graph:
    """Writes an ONNX graph node by node."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []

    def constant(self, tensor: torch.Tensor) -> str:
        name = f"constant{len(self.tensors)}"
        self.tensors.append(onnx.numpy_helper.from_array(np.ascontiguousarray(tensor.detach().numpy()), name))
        return name

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: object) -> str:
        output = output or f"tensor{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def conv(self, source: str, layer: torch.nn.Conv2d) -> str:
        side = layer.kernel_size[0] // 2
        weights = [self.constant(layer.weight)] + ([] if layer.bias is None else [self.constant(layer.bias)])
        return self.node("Conv", source, *weights, pads=[side] * 4)

    def norm(self, source: str, layer: torch.nn.BatchNorm2d) -> str:
        parts = (layer.weight, layer.bias, layer.running_mean, layer.running_var)
        return self.node("BatchNormalization", source, *map(self.constant, parts), epsilon=layer.eps)

    def add(self, a: str, b: str) -> str:
        return self.node("Add", a, b)

    def activation(self, source: str, config: NetworkConfig) -> str:
        if config.activation == "relu":
            return self.node("Relu", source)
        return self.node("Mul", source, self.node("Sigmoid", source))

    def save(self, path: Path) -> None:
        info, kind = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
        inputs = [info("input1", kind, ["n", 62, 9, 9]), info("input2", kind, ["n", 57, 9, 9])]
        outputs = [info("output_policy", kind, ["n", 2187]), info("output_value", kind, ["n", 1])]
        graph = onnx.helper.make_graph(self.nodes, "network", inputs, outputs, self.tensors)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, path)


@pytest.mark.parametrize("kind", OTHERS)
def test_other_networks_are_left_to_other_backends(write: Callable[[NetworkConfig], Path], kind: str) -> None:
    path = write(SHAPES[kind])
    with pytest.raises(
        EvaluatorError,
        match=r"\.onnx: DNN_Provider native runs sparse networks, and residual networks in ONNX files, alone: ",
    ):
        load(NetworkFile(path), Plan("native"))
    able = {backend.name for backend, _ in find_candidates(NetworkFile(path), Plan())}
    assert "cpu" in able
    assert "native" not in able


def test_a_parameter_file_is_for_torch(tmp_path: Path) -> None:
    path = tmp_path / "network.safetensors"
    path.write_bytes(b"parameters")
    with pytest.raises(EvaluatorError, match="native runs sparse networks, and residual networks in ONNX files, alone"):
        load(NetworkFile(path), Plan("native"))


def change(model: "onnx.ModelProto", kind: str, number: int, edit: Callable[["onnx.NodeProto"], None]) -> None:
    edit([node for node in model.graph.node if node.op_type == kind][number])


def rename_output(model: "onnx.ModelProto", number: int, name: str) -> None:
    model.graph.node[number].output[0] = name


def insert(model: "onnx.ModelProto", kind: str, source: str, **attributes: object) -> None:
    """A node after a tensor, which feeds the first node that takes it."""
    number, node = next((n, node) for n, node in enumerate(model.graph.node) if source in node.input)
    node.input[list(node.input).index(source)] = "inserted"
    model.graph.node.insert(number, onnx.helper.make_node(kind, [source], ["inserted"], **attributes))


def shorten(model: "onnx.ModelProto", name: str, count: int) -> None:
    """A bias with fewer numbers."""
    tensor = next(each for each in model.graph.initializer if each.name == name)
    tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor)[:count].copy(), name))


def function(model: "onnx.ModelProto") -> None:
    """A function of the file's own that is called Relu."""
    body = [onnx.helper.make_node("Tanh", ["x"], ["y"])]
    opset = [onnx.helper.make_opsetid("", 18)]
    model.functions.append(onnx.helper.make_function("own", "Relu", ["x"], ["y"], body, opset))
    change(model, "Relu", 0, lambda node: setattr(node, "domain", "own"))


INT32 = onnx.TensorProto.INT32
EDITS: list[tuple[Callable[["onnx.ModelProto"], object], str]] = [
    (lambda model: change(model, "Relu", 1, lambda node: setattr(node, "op_type", "Tanh")), "Tanh instead of"),
    (lambda model: change(model, "Conv", 2, lambda node: node.ClearField("input")), "damaged|before its inputs"),
    (lambda model: model.graph.node.reverse(), "comes before its inputs"),
    (lambda model: model.graph.input.pop(), "planes: {'input1': 62}"),
    (lambda model: setattr(model.graph.input[1].type.tensor_type.shape.dim[1], "dim_value", 119), "119"),
    (lambda model: setattr(model.graph.input[1].type.tensor_type.shape.dim[2], "dim_value", 27), "input2 is another"),
    (lambda model: setattr(model.graph.input[0].type.tensor_type, "elem_type", INT32), "input1 is another one"),
    (lambda model: change(model, "Sigmoid", 0, lambda node: setattr(node, "op_type", "Tanh")), "Tanh instead of"),
    (lambda model: change(model, "Gemm", 0, lambda node: node.input.pop()), "Gemm with other factors"),
    (lambda model: insert(model, "Cast", "input1", to=INT32), "pads something else"),
    (lambda model: insert(model, "Cast", "policy.conv.weight", to=INT32), "inserted is no constant"),
    (function, "functions of its own"),
    (lambda model: rename_output(model, 1, model.graph.node[0].output[0]), "same output"),
    (lambda model: shorten(model, "blocks.0.conv1.bias", 3), r"a layer is \[3\] where \[32\] would fit"),
    (lambda model: shorten(model, "value.conv.bias", 3), r"a layer is \[3\] where \[27\] would fit"),
    (lambda model: shorten(model, "policy.bias", 100), "damaged"),
]
"""Changes of a file that make it another network, or none, and what is said of it."""


@pytest.mark.parametrize("number", range(len(EDITS)))
def test_damaged_and_other_graphs_are_refused(
    write: Callable[[NetworkConfig], Path], tmp_path: Path, number: int
) -> None:
    edit, reason = EDITS[number]
    model = onnx.load(write(READABLE["embedded's kind"]))
    edit(model)
    path = tmp_path / "changed.onnx"
    onnx.save(model, path)
    with pytest.raises(OtherNetworkError, match=reason):
        read_residual(path)


def test_a_convolution_may_have_no_bias(write: Callable[[NetworkConfig], Path], tmp_path: Path) -> None:
    model = onnx.load(write(READABLE["embedded's kind"]))
    change(model, "Conv", 2, lambda node: node.input.pop())
    path = tmp_path / "changed.onnx"
    onnx.save(model, path)
    with (
        Network(path, device="cpu", precision="fp32") as exact,
        Network(path, device="native", precision="fp32") as native,
    ):
        assert compare(native.evaluator, exact.evaluator, probe_positions()).max_value_error < 1e-5


def test_a_batchnorm_in_training_is_refused(write: Callable[[NetworkConfig], Path], tmp_path: Path) -> None:
    model = onnx.load(write(APART["odd sizes"]))
    path = tmp_path / "apart.onnx"
    change(
        model,
        "BatchNormalization",
        1,
        lambda node: node.attribute.append(onnx.helper.make_attribute("training_mode", 1)),
    )
    onnx.save(model, path)
    with pytest.raises(OtherNetworkError, match="in training"):
        read_residual(path)


@pytest.mark.parametrize("edit", ["value", "side"])
def test_only_planes_of_zeros_may_be_padded(write: Callable[[NetworkConfig], Path], tmp_path: Path, edit: str) -> None:
    model = onnx.load(write(READABLE["embedded's kind"]))
    pad = next(node for node in model.graph.node if node.op_type == "Pad")
    if edit == "value":
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(1), "ones"))
        del pad.input[2:]
        pad.input.append("ones")
    else:
        tensor = next(each for each in model.graph.initializer if each.name == pad.input[1])
        pads = onnx.numpy_helper.to_array(tensor).copy()
        pads[1], pads[5] = pads[5], 0
        tensor.CopyFrom(onnx.numpy_helper.from_array(pads, tensor.name))
    path = tmp_path / "padded.onnx"
    onnx.save(model, path)
    with pytest.raises(OtherNetworkError, match="pads something else"):
        read_residual(path)


def test_weights_in_another_file_are_refused(write: Callable[[NetworkConfig], Path], tmp_path: Path) -> None:
    model = onnx.load(write(READABLE["embedded's kind"]))
    path = tmp_path / "apart.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    with pytest.raises(OtherNetworkError, match="in another file"):
        read_residual(path)


def repeating(path: Path, blocks: int, additions: int) -> Path:
    """A small file of a large network: all blocks have the same tensors, and the stem adds up to itself."""
    graph = Graph()
    x = graph.node("Conv", "input1", graph.constant(torch.zeros(256, 62, 3, 3)), pads=[1] * 4)
    for _ in range(additions):
        x = graph.node("Add", x, x)
    x = graph.node("Relu", x)
    kernel = graph.constant(torch.zeros(256, 256, 3, 3))
    for _ in range(blocks):
        y = graph.node("Relu", graph.node("Conv", x, kernel, pads=[1] * 4))
        x = graph.node("Relu", graph.node("Add", graph.node("Conv", y, kernel, pads=[1] * 4), x))
    policy = graph.node("Conv", x, graph.constant(torch.zeros(27, 256, 1, 1)))
    graph.node("Flatten", policy, axis=1, output="output_policy")
    value = graph.node("Relu", graph.node("Conv", x, graph.constant(torch.zeros(1, 256, 1, 1))))
    flat = graph.node("Flatten", value, axis=1)
    weights, bias = graph.constant(torch.zeros(81, 4)), graph.constant(torch.zeros(4))
    hidden = graph.node("Relu", graph.node("Gemm", flat, weights, bias))
    last = graph.node("Gemm", hidden, graph.constant(torch.zeros(4, 1)), graph.constant(torch.zeros(1)))
    graph.node("Sigmoid", last, output="output_value")
    graph.save(path)
    return path


def test_a_small_file_cannot_take_all_memory(tmp_path: Path) -> None:
    with pytest.raises(OtherNetworkError, match="would take more than 1024 MiB"):
        read_residual(repeating(tmp_path / "blocks.onnx", 300, 0))


@pytest.mark.parametrize("additions", [1, 40, 5000])
def test_a_sum_of_itself_is_refused(tmp_path: Path, additions: int) -> None:
    with pytest.raises(OtherNetworkError, match="adds a tensor to itself"):
        read_residual(repeating(tmp_path / "sum.onnx", 0, additions))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "DNN_Provider native runs sparse networks, and residual networks"),
        (b"not a network", "this is not an ONNX file, or it is damaged: "),
        (b"\x08\x07" * 50, "DNN_Provider native runs sparse networks, and residual networks"),
    ],
    ids=["empty", "text", "no graph"],
)
def test_files_that_are_no_onnx(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "file.onnx"
    path.write_bytes(content)
    with pytest.raises(EvaluatorError, match=rf"file\.onnx: {reason}"):
        load(NetworkFile(path), Plan("native"))


def test_weights_that_are_not_finite_are_refused(write: Callable[[NetworkConfig], Path], tmp_path: Path) -> None:
    model = onnx.load(write(READABLE["embedded's kind"]))
    tensor = next(each for each in model.graph.initializer if each.name == "blocks.1.conv2.weight")
    array = onnx.numpy_helper.to_array(tensor).copy()
    array[3, 4, 1, 1] = np.nan
    tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    path = tmp_path / "nan.onnx"
    onnx.save(model, path)
    with pytest.raises(OtherNetworkError, match="not finite"):
        read_residual(path)


def test_numbers_that_overflow_are_an_error(embedded: ResidualWeights) -> None:
    huge = replace(
        embedded, stem1=embedded.stem1 * 1e30, tower=[each.scaled(np.full(64, 1e30)) for each in embedded.tower]
    )
    model = ResidualModel(Path("huge.onnx"), huge)
    with pytest.raises(EvaluatorError, match=r"huge\.onnx: .*not finite"):
        model.run(filled_slot(model, 4, probe_positions()), 4)
