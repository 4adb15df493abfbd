"""Networks from files (checkpoints, parameter files, ONNX), and their export."""

# pyright: reportUnknownMemberType=false

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fukayomi import _native
from fukayomi._native import FEATURES2, encode_hcp, sparse_batch
from fukayomi.engine.choice import load
from fukayomi.engine.evaluation import sample_positions
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import Plan
from fukayomi.engine.evaluators.backends.machine import usable_cpus
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.onnx_model import OnnxModel
from fukayomi.engine.evaluators.timing import probe_positions
from fukayomi.engine.network import find_network
from fukayomi.engine.settings import is_network_name
from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import problem_of
from fukayomi.files.sparse_network import SUFFIX as SPARSE_SUFFIX
from fukayomi.learning.checkpoint import CheckpointError, load_checkpoint
from fukayomi.learning.data.batch import Batch
from fukayomi.learning.settings import ModelFileError
from fukayomi.nn.config import Activation, NetworkConfigError
from fukayomi.nn.dlshogi import SUFFIXES as DLSHOGI_SUFFIXES
from fukayomi.nn.dlshogi import load_dlshogi, save_dlshogi
from fukayomi.nn.export import Agreement, check_agreement, compare, export_module, export_onnx, features2_of
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.parameters import AnyNetwork, ExportError, build_network, load_parameters, save_parameters
from fukayomi.nn.sparse import SparseNetwork, SparsePositions
from fukayomi.nn.sparse_file import load_sparse, save_sparse
from fukayomi.nn.unfolding import load_onnx, normalise
from fukayomi.shogi import Position

NORMALISED_POSITIONS = 512
"""Positions for the statistics of a network from an ONNX file."""
ROUNDING_POSITIONS = 4096
"""Positions for the rounding of a sparse network."""
LARGEST_DIFFERENCE = 0.01
"""Between logits of a network and of the ONNX file that it was read from; rounding is a thousandth of that."""


class OnnxNetwork(nn.Module):
    """An ONNX file with dlshogi's inputs and outputs, called like a network in torch; computes on the CPU."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        if (problem := problem_of(path)) is not None:
            raise ModelFileError(f"{path}: {problem}")
        try:
            self._model = OnnxModel(path)
        except EvaluatorError as error:
            raise ModelFileError(str(error)) from error
        self.digest = NetworkFile(path).digest
        """The first 16 digits of the SHA-256 of the file."""

    @property
    def features2(self) -> int:
        """Constant planes that it takes: 57, or 58 with the plane of the colour to move."""
        return self._model.shapes["input2"][0]

    def forward(self, features1: Tensor, features2: Tensor) -> tuple[Tensor, Tensor]:
        """As `PolicyValueNetwork.forward`; the file's win probability is turned back into a logit."""
        try:
            policy, values = self._model.evaluate(features1.contiguous().numpy(), features2.contiguous().numpy())
            self._model.check_numbers(policy, values)
        except EvaluatorError as error:
            raise ModelFileError(str(error)) from error
        return torch.from_numpy(policy), torch.logit(torch.from_numpy(values).unsqueeze(1), eps=1e-7)


def load_network(path: Path | str, *, activation: Activation | None = None) -> AnyNetwork:
    """The network of a checkpoint, a parameter file or an ONNX file, on the CPU, in evaluation mode; it can be trained.

    A checkpoint with averaged weights gives those.

    Args:
        path: By its name, a parameter file (.safetensors), a file of dlshogi (.npz, .pth), an ONNX file that
            `export_network` wrote, a sparse network's file (.sparse), or else a checkpoint. "embedded": the
            residual network that comes with the package, on every computer; "<5x64>": the one of this name.
        activation: Activation of a network of dlshogi whose file does not say it (`fukayomi.nn.load_dlshogi`).

    Raises:
        CheckpointError, ParameterFileError, ModelFileError, SparseFileError: The file is missing, damaged or something
            else.
    """
    path = network_path(path)
    suffix = path.suffix.lower()
    if suffix in DLSHOGI_SUFFIXES:
        return load_dlshogi(path, activation=activation)
    if suffix == ".safetensors":
        return load_parameters(path)
    if suffix == ".onnx":
        return _load_onnx(path)
    if suffix == SPARSE_SUFFIX:
        return load_sparse(path)
    checkpoint = load_checkpoint(path)
    try:
        return build_network(checkpoint.network, checkpoint.exported)
    except NetworkConfigError as error:
        raise CheckpointError(f"{path}: {error}") from error


def _load_onnx(path: Path) -> PolicyValueNetwork:
    """As `load_onnx`, with the statistics of positions from games of the network against itself."""
    network = load_onnx(path)
    try:
        evaluator = load(NetworkFile(path), Plan("cpu", "fp32", threads=usable_cpus(), slots=1, batch_size=64))
        positions = sample_positions(evaluator, NORMALISED_POSITIONS)
    except EvaluatorError as error:
        raise ModelFileError(str(error)) from error
    planes1, planes2 = features_of(positions, network.features2)
    features1, features2 = torch.from_numpy(planes1), torch.from_numpy(planes2)
    normalise(network, features1, features2)
    agreement = compare(network, path, features1[::8], features2[::8])
    if agreement.max_logit_error > LARGEST_DIFFERENCE:
        raise ModelFileError(
            f"{path}: its parameters give other outputs than the file does (largest difference of a logit: "
            f"{agreement.max_logit_error:.2g}); use the checkpoint that it was made from"
        )
    return network


def load_model(path: Path | str) -> nn.Module:
    """The network of an .onnx file or of any that `load_network` reads, on the CPU.

    It maps planes, float32 [N, 62, 9, 9] and [N, 57, 9, 9], to the logits of policy [N, 2187] and value [N, 1].
    A sparse network maps `SparsePositions` to those of the moves and the value.

    Raises:
        CheckpointError, ParameterFileError, ModelFileError: The file is missing, damaged or something else.
    """
    path = network_path(path)
    return OnnxNetwork(path) if path.suffix.lower() == ".onnx" else load_network(path)


def network_path(path: Path | str) -> Path:
    """The file of a network: of an embedded one by its name.

    Raises:
        ModelFileError: There is no embedded network of this name.
    """
    try:
        return find_network(str(path)) if is_network_name(str(path)) else Path(path)
    except EvaluatorError as error:
        raise ModelFileError(str(error)) from error


def export_network(network: nn.Module | Path | str, path: Path | str, *, half: bool = False) -> Agreement | None:
    """Write a network to a file of any kind; the outputs of an ONNX file are compared with torch's.

    Args:
        network: A trained network, or a file that `load_network` reads, such as a checkpoint. To ONNX also any module
            in torch that maps planes, float32 [N, 62, 9, 9] and [N, 57, 9, 9], to the logits of policy [N, 2187] and
            value [N, 1].
        path: File to write, with a name in .onnx, .safetensors, or dlshogi's .npz and .pth.
        half: Store the weights of an ONNX file as float16.

    Returns:
        How the ONNX file agrees with torch, on positions of a game and others; None for other files.

    Raises:
        ExportError: Weights that cannot be stored, outputs that differ, another name, or one that the family has not.
        NetworkConfigError: dlshogi has no such network.
        CheckpointError, ParameterFileError, ModelFileError, SparseFileError: The file to read is missing, damaged or
            something else.
    """
    network = network if isinstance(network, nn.Module) else load_network(network)
    path = Path(path)
    require_kind(network, path, half=half)
    if isinstance(network, SparseNetwork):
        SPARSE_WRITERS[path.suffix](network, path)
        return None
    if not isinstance(network, PolicyValueNetwork):
        return _export_onnx(copy.deepcopy(network).cpu().float().eval(), path, half=half)
    if path.suffix == ".safetensors":
        save_parameters(network, path)
        return None
    if path.suffix in DLSHOGI_SUFFIXES:
        save_dlshogi(network, path)
        return None
    return _export_onnx(network, path, half=half)


def _export_onnx(network: nn.Module, path: Path, *, half: bool) -> Agreement:
    features1, features2 = features_of(probe_positions(), features2_of(network))
    with TemporaryDirectory() as folder:  # a file that disagrees must not take the place of a good one
        made = Path(folder) / "network.onnx"
        if isinstance(network, PolicyValueNetwork):
            export_onnx(network, made, half=half)
        else:
            export_module(network, made, half=half)
        agreement = compare(network, made, torch.from_numpy(features1), torch.from_numpy(features2))
        check_agreement(agreement, half=half)
        replace_file(path, made.read_bytes())
    return agreement


def sparse_positions(positions: Sequence[Position]) -> SparsePositions:
    """The rows and moves of positions, for a sparse network."""
    hcps = np.frombuffer(b"".join(encode_hcp(position) for position in positions), np.uint8).reshape(-1, 32)
    none = np.empty(0, np.uint16)
    rows, row_offsets, labels, groups, move_offsets, _ = sparse_batch(
        hcps, np.zeros(len(hcps) + 1, np.int64), none, none, 1
    )
    return SparsePositions(rows, row_offsets, labels, groups, move_offsets)


def _save_sparse(network: SparseNetwork, path: Path) -> None:
    """Write a network in integers, rounded for positions of games that it plays against itself."""
    with TemporaryDirectory() as folder:
        roughly = Path(folder) / path.name
        save_sparse(network, roughly, sparse_positions(probe_positions()))
        plan = Plan("native", "int8", threads=usable_cpus(), slots=1, batch_size=64)
        found = sample_positions(load(NetworkFile(roughly), plan), ROUNDING_POSITIONS)
    save_sparse(network, path, sparse_positions(found))


SPARSE_WRITERS: dict[str, Callable[[SparseNetwork, Path], None]] = {
    SPARSE_SUFFIX: _save_sparse,
    ".safetensors": save_parameters,
}
"""Writers of a sparse network, by the end of the file's name."""


def require_kind(network: nn.Module, path: Path, *, half: bool = False) -> None:
    """Raise ExportError, with the kinds that there are, if `export_network` cannot write the network to such a file."""
    if isinstance(network, SparseNetwork):
        _require_sparse_kind(path, half=half)
    elif path.suffix not in (".onnx", ".safetensors", *DLSHOGI_SUFFIXES):
        only = f"; {SPARSE_SUFFIX} files hold sparse networks alone" if path.suffix == SPARSE_SUFFIX else ""
        raise ExportError(f"{path}: the name must end in .onnx, .safetensors, .npz or .pth{only}")
    elif not isinstance(network, PolicyValueNetwork) and path.suffix != ".onnx":
        kind = type(network).__name__
        raise ExportError(f"{path}: a {kind} can be written as ONNX only; other files hold networks of fukayomi.nn")


def _require_sparse_kind(path: Path, *, half: bool) -> None:
    kinds = " or ".join(SPARSE_WRITERS)
    if path.suffix not in SPARSE_WRITERS:
        raise ExportError(
            f"{path}: the network is a sparse one, which reads rows and moves: neither ONNX nor dlshogi's files can "
            f"hold it; give a name in {kinds}"
        )
    if half:
        raise ExportError(f"{path}: only ONNX files can be stored as float16, and a sparse network has none")


def residual(network: AnyNetwork, path: Path | str, purpose: str) -> PolicyValueNetwork:
    """The network, which must be a residual one.

    Args:
        network: A network of any family.
        path: Its file.
        purpose: What a sparse one cannot do, for the message.

    Raises:
        ModelFileError: It is a sparse one.
    """
    if isinstance(network, SparseNetwork):
        raise ModelFileError(f"{path}: a sparse network cannot {purpose}; give a residual one")
    return network


def features_of(
    positions: Sequence[Position], constants: int = FEATURES2
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Network inputs of positions: float32 [N, 62, 9, 9] and [N, constants, 9, 9].

    Args:
        positions: N positions.
        constants: Constant planes, 57, or 58 with the plane of the colour to move (`NetworkConfig.features2`).
    """
    batch = Batch.empty(len(positions))
    for row, position in enumerate(positions):
        batch.planes1[row], batch.planes2[row] = _native.encode_position(position)
    return batch.features(constants)
