"""Networks from files (checkpoints, parameter files, ONNX), and their export."""

# pyright: reportUnknownMemberType=false

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from fukayomi import _native
from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.onnx_model import OnnxModel
from fukayomi.learning.checkpoint import CheckpointError, load_checkpoint
from fukayomi.learning.data.batch import Batch
from fukayomi.nn.config import NetworkConfigError
from fukayomi.nn.export import Agreement, check_agreement, compare, export_onnx
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.parameters import build_network, load_parameters, save_parameters
from fukayomi.shogi import Position

COMPARED_POSITIONS = 256


class ModelFileError(ValueError):
    """A file cannot be used as a network."""

    __module__ = "fukayomi.learning"


class OnnxNetwork(nn.Module):
    """An ONNX file with dlshogi's inputs and outputs, called like a network in torch; computes on the CPU."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        if not path.is_file():
            raise ModelFileError(f"{path}: no such file")
        try:
            self._model = OnnxModel(path)
        except EvaluatorError as error:
            raise ModelFileError(str(error)) from error

    def forward(self, features1: Tensor, features2: Tensor) -> tuple[Tensor, Tensor]:
        """As `PolicyValueNetwork.forward`; the file's win probability is turned back into a logit."""
        try:
            policy, values = self._model.evaluate(features1.contiguous().numpy(), features2.contiguous().numpy())
            self._model.check_numbers(policy, values)
        except EvaluatorError as error:
            raise ModelFileError(str(error)) from error
        return torch.from_numpy(policy), torch.logit(torch.from_numpy(values).unsqueeze(1), eps=1e-7)


def load_network(path: Path | str) -> PolicyValueNetwork:
    """The network of a checkpoint or, for a name in .safetensors, of a parameter file; on the CPU, evaluation mode.

    A checkpoint with averaged weights gives those.

    Raises:
        CheckpointError, ParameterFileError: The file is missing, damaged or something else.
    """
    path = Path(path)
    if path.suffix == ".safetensors":
        return load_parameters(path)
    checkpoint = load_checkpoint(path)
    try:
        return build_network(checkpoint.network, checkpoint.exported)
    except NetworkConfigError as error:
        raise CheckpointError(f"{path}: {error}") from error


def load_model(path: Path | str) -> nn.Module:
    """The network of a checkpoint, a .safetensors or an .onnx file, on the CPU.

    It maps planes, float32 [N, 62, 9, 9] and [N, 57, 9, 9], to the logits of policy [N, 2187] and value [N, 1].

    Raises:
        CheckpointError, ParameterFileError, ModelFileError: The file is missing, damaged or something else.
    """
    return OnnxNetwork(Path(path)) if Path(path).suffix == ".onnx" else load_network(path)


def export_network(network: PolicyValueNetwork, path: Path | str, *, half: bool = False) -> Agreement | None:
    """Write a network as an ONNX or .safetensors file; the outputs of an ONNX file are compared with torch's.

    Args:
        network: A trained network, for example of `load_network`.
        path: File to write, with a name in .onnx or .safetensors.
        half: Store the weights of an ONNX file as float16.

    Returns:
        How the ONNX file agrees with torch on positions of random games; None for .safetensors.

    Raises:
        ExportError: Another name, weights that cannot be stored, or outputs that differ.
    """
    path = Path(path)
    if path.suffix == ".safetensors":
        save_parameters(network, path)
        return None
    export_onnx(network, path, half=half)
    agreement = compare(network, path, *random_game_features(COMPARED_POSITIONS))
    check_agreement(agreement, half=half)
    return agreement


def random_game_features(count: int, seed: int = 0, plies: int = 120) -> tuple[Tensor, Tensor]:
    """Network inputs of positions from random games: float32 [count, 62, 9, 9] and [count, 57, 9, 9]."""
    random = np.random.default_rng(seed)
    batch = Batch.empty(count)
    position, ply = Position(), 0
    for row in range(count):
        batch.planes1[row], batch.planes2[row] = _native.encode_position(position)
        moves = position.legal_moves
        if not moves or ply == plies:
            position, ply = Position(), 0
            moves = position.legal_moves
        position.push(moves[random.integers(len(moves))])
        ply += 1
    features1, features2 = batch.features()
    return torch.from_numpy(features1), torch.from_numpy(features2)
