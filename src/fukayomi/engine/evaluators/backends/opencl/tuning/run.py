"""The tuning of a network's file on a device, whose result is kept."""

import time
from dataclasses import dataclass
from pathlib import Path

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.graphs.graph import GraphError
from fukayomi.engine.evaluators.backends.graphs.reader import read_graph
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.opencl.devices import OpenClDevice
from fukayomi.engine.evaluators.backends.opencl.translation import translate
from fukayomi.engine.evaluators.backends.opencl.tuning.kept import alone, can_run, remember
from fukayomi.engine.evaluators.backends.opencl.tuning.parameter_file import read_parameters
from fukayomi.engine.evaluators.backends.opencl.tuning.shapes import Shapes
from fukayomi.engine.evaluators.backends.opencl.tuning.tuned import Tuned
from fukayomi.engine.evaluators.backends.opencl.tuning.tuner import BUDGET_S, tune
from fukayomi.listener import SILENT, Listener


@dataclass(frozen=True, slots=True)
class Tuning:
    """A tuning that is done."""

    device: OpenClDevice
    network: Path
    shapes: Shapes
    tuned: Tuned
    seconds: float
    kept: Path | None
    """File from which the backend takes it; None: it could not be written."""


def tune_network(
    network: Path,
    device: OpenClDevice,
    *,
    budget_s: float = BUDGET_S,
    is_full: bool = False,
    seed: int = 0,
    listener: Listener = SILENT,
) -> Tuning:
    """Tune a device for a network; from then on the backend uses what was found, for all networks of these shapes.

    Args:
        network: An ONNX file.
        device: The device.
        budget_s: Seconds, about.
        is_full: Search larger ranges.
        seed: Seed of the order and the numbers.
        listener: Hears of it; a `TuningListener` of everything.

    Raises:
        EvaluatorError: The file holds no network that OpenCL computes, another process is tuning, or the device fails.
    """
    shapes = _shapes(network)
    began = time.monotonic()
    with alone():
        tuned = tune(device, shapes, budget_s=budget_s, is_full=is_full, seed=seed, listener=listener)
        kept = remember(device, shapes, tuned)
    return Tuning(device, network, shapes, tuned, time.monotonic() - began, kept)


def keep_file(network: Path, device: OpenClDevice, parameters: Path) -> Tuning:
    """Keep the parameters of a file of KataGo's format for a network on a device, without measuring.

    Args:
        network: An ONNX file.
        device: The device.
        parameters: The file.

    Raises:
        EvaluatorError: The device cannot run them, or the network's file holds none that OpenCL computes.
        InvalidValueError: It is no such file.
    """
    shapes, tuned = _shapes(network), read_parameters(parameters)
    if not can_run(tuned, device):
        raise EvaluatorError(
            f"{parameters}: work-groups or tiles are too large for {device.name}: tune it, without this file"
        )
    return Tuning(device, network, shapes, tuned, 0.0, remember(device, shapes, tuned))


def _shapes(network: Path) -> Shapes:
    if NetworkFile(network).is_sparse:
        raise EvaluatorError(f"{network}: a sparse network; OpenCL computes networks in ONNX alone")
    try:
        return Shapes.of_layers(translate(read_graph(network)))
    except GraphError as error:
        raise EvaluatorError(f"{network}: {error}; OpenCL computes networks in ONNX alone") from error
