"""Networks from files of any kind, to be evaluated or exported: checkpoints, parameter files, ONNX files."""

# pyright: reportUnknownMemberType=false

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fukayomi import _native
from fukayomi.learning.batches import Batch
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.positions import PACKED1_BYTES, PACKED2_BYTES
from fukayomi.nn.export import INPUT_NAMES, OUTPUT_NAMES
from fukayomi.nn.network import PolicyValueNetwork
from fukayomi.nn.parameters import load_parameters
from fukayomi.shogi import Position


class ModelFileError(ValueError):
    """A file that holds no network."""


class OnnxNetwork(nn.Module):
    """An ONNX file with dlshogi's names behind the face of a network in torch; computes on the CPU."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        if not path.is_file():
            raise ModelFileError(f"{path}: no such file")
        try:
            self.session: Any = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime's errors have no base class of their own
            raise ModelFileError(f"{path}: ONNX Runtime cannot load it: {error}") from error
        names: set[str] = {node.name for node in [*self.session.get_inputs(), *self.session.get_outputs()]}
        if missing := {*INPUT_NAMES, *OUTPUT_NAMES} - names:
            raise ModelFileError(f"{path}: lacks {', '.join(sorted(missing))}; it has {', '.join(sorted(names))}")

    def forward(self, features1: Tensor, features2: Tensor) -> tuple[Tensor, Tensor]:
        """As `PolicyValueNetwork.forward`: the file's win probability is turned back into a logit."""
        inputs = dict(zip(INPUT_NAMES, (features1.contiguous().numpy(), features2.contiguous().numpy()), strict=True))
        outputs: list[NDArray[np.float32]] = self.session.run(OUTPUT_NAMES, inputs)
        policy, value = (torch.from_numpy(output) for output in outputs)
        return policy, torch.logit(value, eps=1e-7)


def load_network(path: Path) -> PolicyValueNetwork:
    """The network of a checkpoint or, if its name ends in .safetensors, of a parameter file, on the CPU.

    Raises:
        CheckpointError, ParameterFileError: the file is missing, damaged or something else.
    """
    if path.suffix == ".safetensors":
        return load_parameters(path)
    checkpoint = load_checkpoint(path)
    network = PolicyValueNetwork(checkpoint.network)
    network.load_state_dict(checkpoint.model)
    return network.eval()


def load_model(path: Path) -> nn.Module:
    """As `load_network`, and ONNX files too (.onnx)."""
    return OnnxNetwork(path) if path.suffix == ".onnx" else load_network(path)


def random_game_features(count: int, seed: int = 0, plies: int = 120) -> tuple[Tensor, Tensor]:
    """Input planes of positions from games of random moves: float32 [count, 62, 9, 9] and [count, 57, 9, 9]."""
    random = np.random.default_rng(seed)
    planes1 = np.empty((count, PACKED1_BYTES), np.uint8)
    planes2 = np.empty((count, PACKED2_BYTES), np.uint8)
    position, ply = Position(), 0
    for row in range(count):
        planes1[row], planes2[row] = _native.encode_position(position)
        moves = position.legal_moves
        if not moves or ply == plies:
            position, ply = Position(), 0
            moves = position.legal_moves
        position.push(moves[random.integers(len(moves))])
        ply += 1
    nothing = torch.empty(0)
    return Batch(torch.from_numpy(planes1), torch.from_numpy(planes2), nothing, nothing, nothing).features()
