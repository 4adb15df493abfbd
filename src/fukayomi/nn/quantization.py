"""Networks in int8: static quantisation of an ONNX file to the operators Q and DQ, which any runtime turns into int8.

What is quantised are the convolutions of the trunk, which take nearly all the time: weights to int8 with a scale for
each output channel, rounded together (`rounding.py`), activations to uint8 with a scale and a zero point for each
tensor, from the smallest and largest values that real positions give, after its channels have been made about equally
large (`equalization.py`); for each channel, where what a block adds to the trunk is added in float32. The rest stays
float32, where it costs little time and int8 would cost much agreement: the first layer and the heads.
"""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

import logging
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxruntime import quantization

from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import file_sha256
from fukayomi.nn.config import FEATURES1, FEATURES2
from fukayomi.nn.equalization import equalize, separate_channels
from fukayomi.nn.export import INPUT_NAMES, OUTPUT_NAMES
from fukayomi.nn.rounding import round_weights
from fukayomi.nn.unfolding import QUANTIZED

CALIBRATION_BATCH = 64
ROUNDING_POSITIONS = 128
"""Positions, of those given, on which the weights are rounded: four times as many agree no better."""
FEWEST_POSITIONS = 16
"""Fewer positions do not show how large the activations become."""

Planes = NDArray[np.float32]


class QuantizationError(InvalidValueError):
    """A network cannot be quantised; the message says why."""

    __module__ = "fukayomi.nn"


def quantize_onnx(network: Path | str, features1: Planes, features2: Planes) -> bytes:
    """Quantise a network to int8.

    The same network and planes give the same bytes.

    Args:
        network: An ONNX file with dlshogi's inputs and outputs that computes in float32.
        features1: Planes of positions from games, [N, 62, 9, 9], on which the activations are measured; 500 are plenty.
        features2: Their other planes, [N, 57, 9, 9], or 58 as the network has.

    Returns:
        The content of an ONNX file with the same inputs and outputs. Its metadata say what it was made from.

    Raises:
        QuantizationError: The file is no such network, or is quantised already; or there are too few positions.
        OSError: The file cannot be read.
    """
    network = Path(network)
    given = len(features1)
    with tempfile.TemporaryDirectory(prefix="fukayomi-") as folder, _quiet():
        model = _simplified(network, Path(folder, "simplified.onnx"))
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        fixed = _fixed_batch(network, model)
        if fixed:  # full batches alone
            count = len(features1) - len(features1) % fixed
            features1, features2 = features1[:count], features2[:count]
        if len(features1) < FEWEST_POSITIONS:
            raise QuantizationError(
                f"{network}: quantisation needs at least {max(fixed, FEWEST_POSITIONS)} positions, not {given}"
            )
        nodes = _trunk(model)
        kinds = {node.name: node.op_type for node in model.graph.node}
        if not nodes:
            raise QuantizationError(f"{network}: no convolutions between the first layer and the heads to quantise")
        helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})  # it is: no warning, please
        quantized = Path(folder, "quantized.onnx")
        calibration = _Calibration(features1, features2, fixed or CALIBRATION_BATCH)
        try:
            convolutions = [name for name in nodes if kinds[name] == "Conv"]
            equalize(model, convolutions, calibration.batches())
            equalized = ModelProto()
            equalized.CopyFrom(model)  # ONNX Runtime changes what it is given
            quantization.quantize_static(
                model,
                quantized,
                calibration,
                quant_format=quantization.QuantFormat.QDQ,
                per_channel=True,
                activation_type=quantization.QuantType.QUInt8,
                weight_type=quantization.QuantType.QInt8,
                nodes_to_quantize=nodes,
            )
            model = onnx.load(quantized)
            round_weights(equalized, model, convolutions, list(calibration.batches(ROUNDING_POSITIONS)))
            separate_channels(equalized, model, convolutions, calibration.batches())
        except Exception as error:  # ONNX Runtime's errors have no common base
            raise QuantizationError(f"{network}: it cannot be quantised: {error}") from error
    model.producer_name, model.producer_version = "fukayomi", ""
    made = {"precision": "int8", "fp32_sha256": file_sha256(network), "calibration_positions": str(len(features1))}
    helper.set_model_props(model, metadata | {f"fukayomi.{key}": value for key, value in made.items()})
    return model.SerializeToString(deterministic=True)


def _simplified(network: Path, file: Path) -> ModelProto:
    """The network after ONNX Runtime's basic optimisations: weights as float32 constants, BatchNorm folded.

    Raises:
        QuantizationError: ONNX Runtime cannot load it.
        OSError: The file cannot be read.
    """
    with network.open("rb"):  # a missing file is an OSError, not one of ONNX Runtime's
        pass
    options = cast(Any, onnxruntime).SessionOptions()
    options.graph_optimization_level = cast(Any, onnxruntime).GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(file)
    options.log_severity_level = 4
    try:
        cast(Any, onnxruntime).InferenceSession(str(network), options, providers=["CPUExecutionProvider"])
        model = onnx.load(file)
    except Exception as error:  # as above
        raise QuantizationError(f"{network}: not a network that ONNX Runtime can load: {error}") from error
    if any(node.op_type in QUANTIZED for node in model.graph.node):
        raise QuantizationError(f"{network}: this is an int8 file, quantised already; give the float32 file")
    floats = (tensor for tensor in model.graph.initializer if tensor.data_type == TensorProto.FLOAT)
    if not all(np.isfinite(numpy_helper.to_array(tensor)).all() for tensor in floats):
        raise QuantizationError(f"{network}: some weights are not finite numbers; take a network from before that")
    # onnxruntime.quantization knows nodes by their names, which need not be there.
    names = Counter(node.name for node in model.graph.node)
    for number, node in enumerate(model.graph.node):
        if not node.name or names[node.name] > 1:
            node.name = f"{node.op_type}.{number}"
    return model


def _fixed_batch(network: Path, model: ModelProto) -> int:
    """The file's fixed batch size; 0 if it is free.

    Raises:
        QuantizationError: The inputs or outputs are not those of a network for shogi.
    """
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = {node.name: node.type.tensor_type for node in model.graph.input if node.name not in constants}
    outputs = {node.name for node in model.graph.output}
    if set(inputs) != set(INPUT_NAMES) or not set(OUTPUT_NAMES) <= outputs:
        wanted = f"the inputs {', '.join(INPUT_NAMES)} and the outputs {', '.join(OUTPUT_NAMES)}"
        raise QuantizationError(f"{network}: not a network for shogi, which has {wanted}")
    sizes: set[int] = set()
    for name, planes in zip(INPUT_NAMES, ((FEATURES1,), (FEATURES2, FEATURES2 + 1)), strict=True):
        kind = inputs[name]
        batch, *rest = [dim.dim_value for dim in kind.shape.dim] or [0]
        fits = len(rest) == 3 and rest[0] in (0, *planes) and set(rest[1:]) <= {0, 9}
        if not fits:
            raise QuantizationError(f"{network}: {name} must be [N, {planes[0]}, 9, 9]")
        if kind.elem_type != TensorProto.FLOAT:
            raise QuantizationError(f"{network}: {name} is not float32: quantise the float32 network")
        sizes.add(batch)
    return max(sizes)


def _trunk(model: ModelProto) -> list[str]:
    """The nodes to quantise, in order: convolutions that policy and value share, but the first, and ReLUs on them."""
    graph = model.graph
    producers = {output: node for node in graph.node for output in node.output}
    consumers = Counter(name for node in graph.node for name in node.input)
    policy, value = ({node.name for node in _upstream([name], producers)} for name in OUTPUT_NAMES)
    found: list[str] = []
    for node in graph.node:
        if node.name not in policy & value:
            continue
        if node.op_type == "Conv":
            if any(other.op_type == "Conv" for other in _upstream(node.input, producers)):
                found.append(node.name)
        elif node.op_type == "Relu":
            before = producers.get(node.input[0])
            if before is not None and before.name in found and consumers[node.input[0]] == 1:
                found.append(node.name)
    return found


def _upstream(names: Iterable[str], producers: dict[str, NodeProto]) -> list[NodeProto]:
    """The nodes that tensors depend on."""
    found: dict[str, NodeProto] = {}
    waiting = list(names)
    while waiting:
        node = producers.get(waiting.pop())
        if node is not None and node.name not in found:
            found[node.name] = node
            waiting.extend(node.input)
    return list(found.values())


class _Calibration(quantization.CalibrationDataReader):
    """The planes in batches."""

    def __init__(self, features1: Planes, features2: Planes, size: int) -> None:
        self._features, self._size = (features1, features2), size
        self._rest = self.batches()

    def batches(self, positions: int | None = None) -> Iterator[dict[str, Planes]]:
        """All batches, or those of the first positions."""
        for start in range(0, len(self._features[0][:positions]), self._size):
            rows = slice(start, start + self._size)
            yield dict(zip(INPUT_NAMES, (features[rows] for features in self._features), strict=True))

    def get_next(self) -> dict[str, Any] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return next(self._rest, None)


@contextmanager
def _quiet() -> Generator[None]:
    """Suppress the log messages of onnxruntime.quantization, which go to the root logger."""
    logger = logging.getLogger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
