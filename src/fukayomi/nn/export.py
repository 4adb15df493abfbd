"""Export to ONNX: one self-contained file with dlshogi's names, checked against torch.

Inputs: `input1` [N, 62, 9, 9] and `input2` [N, 57, 9, 9]. Outputs: `output_policy` [N, 2187], logits, and
`output_value` [N, 1], the win probability of the side to move. All are float32, N is free. Any engine that plays
dlshogi's networks can play such a file, but for networks with the plane of the colour to move: their `input2` has 58
planes.
"""

# pyright: reportUnknownMemberType=false

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from fukayomi.files.atomic import replace_file
from fukayomi.nn.config import FEATURES1, FEATURES2, NetworkConfig
from fukayomi.nn.folding import FoldedNetwork
from fukayomi.nn.network import PolicyValueNetwork, evaluation_mode
from fukayomi.nn.parameters import ExportError, require_finite

INPUT_NAMES = ["input1", "input2"]
OUTPUT_NAMES = ["output_policy", "output_value"]
OPSET = 18
HALF_MAX = 65504.0
MAX_LOGIT_ERROR = {False: 1e-3, True: 0.1}  # those of the embedded network reach -152
MAX_VALUE_ERROR = {False: 1e-4, True: 5e-3}


@dataclass(frozen=True)
class Agreement:
    """Agreement of an exported file with the network in torch, float32."""

    positions: int
    """Positions compared."""
    max_logit_error: float
    """Largest difference of a policy logit."""
    value_error: float
    """Mean difference of the win probabilities."""
    max_value_error: float
    """Largest difference of a win probability."""
    top1: float
    """Share of positions with the same most likely label."""
    kl: float
    """Mean Kullback-Leibler divergence of the file's policy over all labels from the network's, in nats."""

    def as_dict(self) -> dict[str, float]:
        """The fields by name, for JSON."""
        return asdict(self)


def export_onnx(network: PolicyValueNetwork, path: Path | str, *, half: bool = False) -> None:
    """Write a network as one ONNX file; an existing file is replaced once the new one is complete.

    Args:
        network: The network; BatchNorm is folded with its running statistics.
        path: The file to write.
        half: Store the weights as float16, which halves the file; they are cast back on loading, and everything is
            computed in float32.

    Raises:
        ExportError: Weights are not finite, or too large for float16.
    """
    folded = FoldedNetwork(network)
    require_finite(folded.state_dict())
    for name, tensor in folded.state_dict().items():
        if half and tensor.abs().max() > HALF_MAX:
            raise ExportError(f"the parameter {name} has values beyond {HALF_MAX:.0f}, the largest float16")
    model = _to_onnx(folded)
    if half:
        _store_as_half(model)
    model.producer_name = "fukayomi"
    helper.set_model_props(model, {key: str(value) for key, value in folded.config.as_dict().items()})
    onnx.checker.check_model(model)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    replace_file(Path(path), model.SerializeToString())


def export_module(module: nn.Module, path: Path | str, *, half: bool = False) -> None:
    """Write a module of any class as one ONNX file, as `export_onnx` does.

    Args:
        module: On the CPU, in float32 and in evaluation mode. It maps planes, float32 [N, 62, 9, 9] and [N, 57, 9, 9]
            (or as many as its attribute `features2` says), to the logits of policy [N, 2187] and value [N, 1].
        path: The file to write.
        half: Store the weights as float16.

    Raises:
        ExportError: Its weights are not finite, or torch cannot export it.
    """
    require_finite(module.state_dict())
    try:
        model = _run_exporter(_WithProbability(module), features2_of(module))
    except Exception as error:  # torch's exporter and the module raise anything
        raise ExportError(f"torch cannot export {type(module).__name__}: {error}") from error
    if half:
        _store_as_half(model)
    model.producer_name = "fukayomi"
    onnx.checker.check_model(model)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    replace_file(Path(path), model.SerializeToString())


def features2_of(module: nn.Module) -> int:
    """The number of constant planes that a module reads: its attribute `features2`, or 57."""
    return int(getattr(module, "features2", FEATURES2))


class _WithProbability(nn.Module):
    """A module whose value is a win probability instead of a logit."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, features1: torch.Tensor, features2: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        policy, value = self.module(features1, features2)[:2]
        return policy.flatten(1), torch.sigmoid(value.reshape(-1, 1))


def _to_onnx(folded: FoldedNetwork) -> onnx.ModelProto:
    model = onnx.ModelProto()
    model.CopyFrom(_graph(folded.config))  # pyright: ignore[reportArgumentType]  # pydantic makes its __hash__
    weights = folded.state_dict()
    for tensor in model.graph.initializer:
        if tensor.name in weights:
            tensor.CopyFrom(numpy_helper.from_array(weights[tensor.name].numpy(), tensor.name))
    return model


@lru_cache(maxsize=8)
def _graph(config: NetworkConfig) -> onnx.ModelProto:
    """All that the files of networks of one shape share: their weights are empty here.

    The exporter takes seconds. It stores equal weights once; those that it sees are all different, so that each is
    there under its name.
    """
    with torch.random.fork_rng(devices=[]):
        folded = FoldedNetwork(PolicyValueNetwork(config))
        for tensor in folded.state_dict().values():
            if tensor.is_floating_point():
                tensor.uniform_(1, 2)
    model = _run_exporter(folded, folded.config.features2)
    graph = model.graph
    weights = {name: tensor.numpy() for name, tensor in folded.state_dict().items() if tensor.is_floating_point()}
    for tensor in graph.initializer:
        if tensor.name in weights and np.array_equal(numpy_helper.to_array(tensor), weights.pop(tensor.name)):
            tensor.ClearField("raw_data")
    if weights:
        raise ExportError(f"the exporter has changed the parameters {', '.join(weights)}")
    return model


def _run_exporter(module: nn.Module, features2: int) -> onnx.ModelProto:
    example = (torch.zeros(2, FEATURES1, 9, 9), torch.zeros(2, features2, 9, 9))
    batch = torch.export.Dim("batch", min=1)
    with _quiet():
        program = torch.onnx.export(
            module,
            example,
            dynamo=True,
            verbose=False,
            opset_version=OPSET,
            input_names=INPUT_NAMES,
            output_names=OUTPUT_NAMES,
            dynamic_shapes=({0: batch}, {0: batch}),
        )
    if program is None:
        raise ExportError("torch.onnx.export returned no program")
    model = program.model_proto
    # The exporter notes the Python file and line of each node, with absolute paths.
    graph = model.graph
    for item in (model, graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        del item.metadata_props[:]
        item.doc_string = ""
    return model


@contextmanager
def _quiet() -> Generator[None]:
    """Suppress the exporter's log messages and warnings (torchvision not found, deprecated calls)."""
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
    """Store matrices and kernels as float16 initializers, each followed by a Cast to float32.

    ONNX Runtime folds the Casts when it loads the file. Biases are small and stay float32.
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


def compare(network: nn.Module, path: Path | str, features1: torch.Tensor, features2: torch.Tensor) -> Agreement:
    """Compare the outputs of an exported file in ONNX Runtime with those of the network in torch.

    Args:
        network: The exported network.
        path: The ONNX file.
        features1: Planes [N, 62, 9, 9], float32.
        features2: Planes [N, 57, 9, 9], float32, or 58 planes.
    """
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs = {"input1": features1.contiguous().numpy(), "input2": features2.contiguous().numpy()}
    outputs: list[NDArray[np.float32]] = cast("Any", session).run(OUTPUT_NAMES, inputs)
    policy, value = (torch.from_numpy(output) for output in outputs)
    with evaluation_mode(network), torch.inference_mode():
        expected_policy, expected_logit = network(features1, features2)[:2]
    expected_policy, expected_logit = expected_policy.flatten(1), expected_logit.reshape(-1, 1)
    errors = (value - torch.sigmoid(expected_logit)).abs()
    logs, expected_logs = policy.double().log_softmax(1), expected_policy.double().log_softmax(1)
    return Agreement(
        positions=len(features1),
        max_logit_error=(policy - expected_policy).abs().max().item(),
        value_error=errors.mean().item(),
        max_value_error=errors.max().item(),
        top1=(policy.argmax(1) == expected_policy.argmax(1)).float().mean().item(),
        kl=(expected_logs.exp() * (expected_logs - logs)).sum(1).mean().item(),
    )


def check_agreement(agreement: Agreement, *, half: bool) -> None:
    """Raise ExportError if a file differs from its network by more than its precision explains."""
    # In this form, NaN fails too.
    good = agreement.max_logit_error <= MAX_LOGIT_ERROR[half] and agreement.max_value_error <= MAX_VALUE_ERROR[half]
    if not good:
        raise ExportError(
            f"the exported file does not agree with torch: logits differ by up to {agreement.max_logit_error:.2g} "
            f"(at most {MAX_LOGIT_ERROR[half]:.2g}), win rates by up to {agreement.max_value_error:.2g} (at most "
            f"{MAX_VALUE_ERROR[half]:.2g}); nothing is written"
        )
