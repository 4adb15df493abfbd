"""Distillation: another network's policy and value as targets."""

import hashlib

import torch
from torch import Tensor, nn

from fukayomi._native import POLICY_LABELS
from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.loss import TeacherTargets
from fukayomi.learning.models import OnnxNetwork
from fukayomi.nn.sparse import SparseNetwork


class Teacher:
    """Evaluates each batch with another network, without gradients, just before the step.

    The targets are probabilities over all 2187 labels; a good network leaves little to illegal moves, and a sparse one
    nothing to others than those that the search tries.

    Args:
        network: A network in torch, or an ONNX file; this and a sparse one compute on the CPU.
        device: Where the batches are.
        weight: Share of the teacher in the loss, 0 to 1.
        temperature: The policy is softmax(logits / temperature).
    """

    def __init__(self, network: nn.Module, device: torch.device, *, weight: float, temperature: float) -> None:
        self._device = device
        self._where = torch.device("cpu") if isinstance(network, OnnxNetwork | SparseNetwork) else device
        self._network = network.to(self._where).eval()
        self._weight, self._temperature = weight, temperature

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that tell networks apart: of the SHA-256 of its weights, or of an ONNX file."""
        if isinstance(self._network, OnnxNetwork):
            return self._network.digest
        sha = hashlib.sha256()
        for name, tensor in self._network.state_dict().items():
            sha.update(name.encode())
            sha.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        return sha.hexdigest()[:16]

    def __call__(self, batch: TensorBatch) -> TeacherTargets:
        """Targets [N, 2187] and [N] for the positions of a batch."""
        with torch.no_grad():
            policy, value = self._outputs(batch)
        return TeacherTargets(policy.to(self._device), torch.sigmoid(value.to(self._device).float()), self._weight)

    def _outputs(self, batch: TensorBatch) -> tuple[Tensor, Tensor]:
        """Probabilities of all labels, [N, 2187], and the value's logits, [N]."""
        if isinstance(self._network, SparseNetwork):
            positions, moves = batch.moves()
            logits, value = self._network(positions)
            policy = torch.zeros(len(batch), POLICY_LABELS)
            policy.flatten()[moves.places] = moves.log_softmax(logits / self._temperature).exp()
            return policy, value
        policy, value = self._network(*(each.to(self._where) for each in batch.features_for(self._network)))
        return torch.softmax(policy.float() / self._temperature, dim=1), value.squeeze(1)
