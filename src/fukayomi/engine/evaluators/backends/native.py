"""Networks in the native core, on the CPU."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fukayomi._native import cpu_instructions
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.files.sparse_network import SparseFile

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.native_model import NativeModel


class Native:
    """Kernels of our own on the CPU.

    Residual networks are computed by Winograd's algorithm, in float32 or with 16-bit products; sparse networks in
    integers.
    """

    name = "native"
    title = "fukayomi, CPU"
    on_gpu = False
    is_automatic = True
    libraries = ("fukayomi",)
    batches = (2, 4, 8, 16, 32)

    def problem(self) -> None:
        """None: it runs everywhere."""

    def precisions(self, network: NetworkFile) -> Sequence[str]:
        """Of a residual network fp32, and int16 where the CPU gains from it; int8 of a sparse one."""
        if network.is_sparse:
            return () if isinstance(network.sparse, Exception) else ("int8",)
        if not network.is_onnx or isinstance(network.residual, Exception):
            return ()
        return ("fp32", "int16") if cpu_instructions("int16") else ("fp32",)

    def open(self, network: NetworkFile, plan: Plan) -> "NativeModel":
        """The network, with the threads of the plan for each batch."""
        from fukayomi.engine.evaluators.backends.native_model import ResidualModel, SparseModel

        content = network.sparse if network.is_sparse else network.residual
        if isinstance(content, Exception):
            raise EvaluatorError(refusal(network)) from content
        if isinstance(content, SparseFile):
            return SparseModel(content, threads=plan.threads)
        return ResidualModel(network.path, content, precision=plan.precision, threads=plan.threads)


def refusal(network: NetworkFile) -> str:
    """Reason why this backend cannot run a file."""
    from fukayomi.engine.evaluators.backends.residual_file import DamagedFileError

    if network.is_sparse:
        return str(network.sparse)
    needs = f"{network.path}: DNN_Provider native runs sparse networks, and residual networks in ONNX files, alone"
    if not network.is_onnx:
        return needs
    if isinstance(network.residual, DamagedFileError):
        return f"{network.path}: {network.residual}"
    return f"{needs}: {network.residual}; cpu runs others"
