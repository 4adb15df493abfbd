"""Export to ONNX: one self-contained file with dlshogi's names, checked against torch.

Inputs `input1` [N, 62, 9, 9] and `input2` [N, 57, 9, 9], outputs `output_policy` [N, 2187] (logits) and `output_value`
[N, 1] (the win probability of the side to move), all float32; N is free. Any engine that plays dlshogi's networks can
play such a file.
"""

# pyright: reportUnknownMemberType=false

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from fukayomi.nn.config import FEATURES1, FEATURES2
from fukayomi.nn.files import replacing
from fukayomi.nn.folding import FoldedNetwork
from fukayomi.nn.network import PolicyValueNetwork

INPUT_NAMES = ["input1", "input2"]
OUTPUT_NAMES = ["output_policy", "output_value"]
OPSET = 18
HALF_MAX = 65504.0
MAX_LOGIT_ERROR = {False: 1e-3, True: 5e-2}
MAX_VALUE_ERROR = {False: 1e-4, True: 5e-3}


class ExportError(ValueError):
    """A network that cannot be exported, or a file that does not agree with it."""


@dataclass(frozen=True)
class Agreement:
    """How an exported file compares with the network in torch, float32.

    Attributes:
        positions: Positions compared.
        max_logit_error: Largest difference of a policy logit.
        max_value_error: Largest difference of a win probability.
        top1: Share of positions with the same most likely label.
    """

    positions: int
    max_logit_error: float
    max_value_error: float
    top1: float

    def as_dict(self) -> dict[str, float]:
        """The fields by name, for JSON."""
        return asdict(self)


def export_onnx(network: PolicyValueNetwork, path: Path, half: bool = False) -> None:
    """Write a network as one ONNX file; a file of that name is replaced whole or not at all.

    Args:
        network: In torch; BatchNorm is folded with its running statistics.
        path: The file to write.
        half: Store the weights as float16, which halves the file. They are cast back when the file is loaded and
            everything is computed in float32.

    Raises:
        ExportError: weights that are not finite, or too large for float16.
    """
    folded = FoldedNetwork(network)
    for name, tensor in folded.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise ExportError(f"the parameter {name} has values that are not finite")
        if half and tensor.abs().max() > HALF_MAX:
            raise ExportError(f"the parameter {name} has values beyond {HALF_MAX:.0f}, the largest float16")
    model = _to_onnx(folded)
    if half:
        _store_as_half(model)
    model.producer_name = "fukayomi"
    helper.set_model_props(model, {key: str(value) for key, value in network.config.as_dict().items()})
    onnx.checker.check_model(model)
    with replacing(path) as temporary:
        temporary.write_bytes(model.SerializeToString())


def _to_onnx(folded: FoldedNetwork) -> onnx.ModelProto:
    example = (torch.zeros(2, FEATURES1, 9, 9), torch.zeros(2, FEATURES2, 9, 9))
    batch = torch.export.Dim("batch", min=1)
    with _quiet():
        program = torch.onnx.export(
            folded,
            example,
            dynamo=True,
            verbose=False,
            opset_version=OPSET,
            input_names=INPUT_NAMES,
            output_names=OUTPUT_NAMES,
            dynamic_shapes=({0: batch}, {0: batch}),
        )
    if program is None:
        raise ExportError("torch.onnx.export gave no program")
    model = program.model_proto
    # The exporter notes for each node where in whose Python files it came from; that is nobody's business.
    graph = model.graph
    for noted in (model, graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        del noted.metadata_props[:]
        noted.doc_string = ""
    return model


@contextmanager
def _quiet() -> Generator[None]:
    """Without the exporter's remarks about its own insides (torchvision not found, deprecated calls)."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _store_as_half(model: onnx.ModelProto) -> None:
    """Turn the weight matrices and kernels into float16 initializers, each followed by a Cast to float32.

    ONNX Runtime folds the Casts when it loads the file. Biases stay float32: they are few.
    """
    graph = model.graph
    casts: list[onnx.NodeProto] = []
    for tensor in graph.initializer:
        if tensor.data_type != TensorProto.FLOAT or len(tensor.dims) < 2:
            continue
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), f"{name}.half"))
        casts.append(helper.make_node("Cast", [f"{name}.half"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def compare(network: PolicyValueNetwork, path: Path, features1: torch.Tensor, features2: torch.Tensor) -> Agreement:
    """Run an exported file in ONNX Runtime beside the network in torch.

    Args:
        network: What was exported.
        path: The ONNX file.
        features1: Planes [N, 62, 9, 9], float32.
        features2: Planes [N, 57, 9, 9], float32.
    """
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs = {"input1": features1.contiguous().numpy(), "input2": features2.contiguous().numpy()}
    outputs: list[NDArray[np.float32]] = cast("Any", session).run(OUTPUT_NAMES, inputs)
    policy, value = (torch.from_numpy(output) for output in outputs)
    network.eval()
    with torch.inference_mode():
        expected_policy, expected_logit = network(features1, features2)
    return Agreement(
        len(features1),
        (policy - expected_policy).abs().max().item(),
        (value - torch.sigmoid(expected_logit)).abs().max().item(),
        (policy.argmax(1) == expected_policy.argmax(1)).float().mean().item(),
    )


def check_agreement(agreement: Agreement, half: bool) -> None:
    """Raise ExportError when a file differs from its network by more than its precision explains."""
    # Written so that an error that is not a number fails too.
    good = agreement.max_logit_error <= MAX_LOGIT_ERROR[half] and agreement.max_value_error <= MAX_VALUE_ERROR[half]
    if not good:
        raise ExportError(f"the exported file does not agree with torch: {agreement}")
