"""Observation of an ONNX network while it computes: any of its tensors."""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper


def tensor_values(
    model: ModelProto, tensors: Sequence[str], batches: Iterable[Mapping[str, NDArray[Any]]]
) -> Iterator[dict[str, NDArray[np.float32]]]:
    """Compute tensors of a network, batch by batch.

    Args:
        model: A network in float32.
        tensors: Their names; each [N, C, H, W].
        batches: Inputs of the network.
    """
    if not tensors:
        return
    watched = ModelProto()
    watched.CopyFrom(model)
    known = {node.name for node in watched.graph.output}
    watched.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in tensors if name not in known
    )
    options = cast(Any, onnxruntime).SessionOptions()
    options.log_severity_level = 4
    session = cast(Any, onnxruntime).InferenceSession(
        watched.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    for batch in batches:
        yield dict(zip(tensors, session.run(list(tensors), dict(batch)), strict=True))
