"""Distillation: another network's policy and value as targets."""

import hashlib

import torch
from torch import nn

from fukayomi.learning.data.tensors import TensorBatch
from fukayomi.learning.loss import TeacherTargets
from fukayomi.learning.models import OnnxNetwork


class Teacher:
    """Evaluates each batch with another network, without gradients, just before the step.

    The targets are probabilities over all 2187 labels; a good network leaves little to illegal moves.

    Args:
        network: A network in torch, or an ONNX file, which computes on the CPU.
        device: Where the batches are.
        weight: Share of the teacher in the loss, 0 to 1.
        temperature: The policy is softmax(logits / temperature).
    """

    def __init__(self, network: nn.Module, device: torch.device, *, weight: float, temperature: float) -> None:
        self._device = device
        self._where = torch.device("cpu") if isinstance(network, OnnxNetwork) else device
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
            policy, value = self._network(*(each.to(self._where) for each in batch.features_for(self._network)))
        return TeacherTargets(
            torch.softmax(policy.to(self._device).float() / self._temperature, dim=1),
            torch.sigmoid(value.to(self._device).float().squeeze(1)),
            self._weight,
        )
