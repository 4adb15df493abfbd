"""Residual networks in the native core, on the CPU."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fukayomi._native import cpu_instructions
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.onnx import is_onnx

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.native_model import NativeModel


class Native:
    """Kernels of our own on the CPU: residual networks by Winograd's algorithm, in float32 or with 16-bit products."""

    name = "native"
    title = "fukayomi, CPU"
    on_gpu = False
    is_automatic = True
    libraries = ("fukayomi",)
    batches = (2, 4, 8, 16, 32)

    def problem(self) -> None:
        """None: it runs everywhere."""

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """fp32, and int16 where the CPU gains from it, if it is a residual network."""
        if not is_onnx(network) or isinstance(network.residual, Exception):
            return ()
        return ("fp32", "int16") if cpu_instructions("int16") else ("fp32",)

    def open(self, network: NetworkFile, plan: Plan) -> "NativeModel":
        """The network, with the threads of the plan for each batch."""
        from fukayomi.engine.evaluators.backends.native_model import NativeModel

        weights = network.residual
        if isinstance(weights, Exception):
            raise EvaluatorError(refusal(network)) from weights
        return NativeModel(network.path, weights, precision=plan.precision, threads=plan.threads)


def refusal(network: NetworkFile) -> str:
    """Why a file is none for this backend."""
    from fukayomi.engine.evaluators.backends.residual_file import DamagedFileError

    needs = f"{network.path}: DNN_Provider native runs residual networks in ONNX files alone"
    if not is_onnx(network):
        return needs
    if isinstance(network.residual, DamagedFileError):
        return f"{network.path}: {network.residual}"
    return f"{needs}: {network.residual}; cpu runs others"
