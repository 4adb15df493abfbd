"""Averaged weights and their BatchNorm statistics."""

from pathlib import Path

import torch

from fukayomi.learning import Dataset, TrainingListener, TrainingSettings, evaluate, load_model, train
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.optimization import AveragedWeights, estimate_batchnorm
from fukayomi.nn import NetworkConfig
from fukayomi.nn.network import PolicyValueNetwork

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)


def test_the_first_weights_are_copied_and_later_ones_mixed_in():
    network = PolicyValueNetwork(TINY)
    average = AveragedWeights(network, averages=10)
    first = network.policy.bias.detach().fill_(1.0).clone()
    average.update(network)
    assert torch.equal(average.network.policy.bias, first)
    network.policy.bias.detach().fill_(12.0)
    average.update(network)
    torch.testing.assert_close(average.network.policy.bias, torch.full((2187,), 10 / 11 + 12 / 11))
    assert network.policy.bias[0] == 12, "the network keeps its weights"


def test_batchnorm_statistics_are_the_means_over_all_batches():
    network = PolicyValueNetwork(TINY)
    inputs = [(torch.rand(16, 62, 9, 9), torch.rand(16, 57, 9, 9)) for _ in range(3)]
    seen: list[torch.Tensor] = []
    hook = network.stem.norm.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0].detach()))
    weights = [parameter.clone() for parameter in network.parameters()]
    estimate_batchnorm(network, inputs)
    hook.remove()
    channels = [batch.transpose(0, 1).flatten(1) for batch in seen]
    torch.testing.assert_close(network.stem.norm.running_mean, torch.stack([each.mean(1) for each in channels]).mean(0))
    torch.testing.assert_close(network.stem.norm.running_var, torch.stack([each.var(1) for each in channels]).mean(0))
    assert all(torch.equal(a, b) for a, b in zip(weights, network.parameters(), strict=True))
    assert not network.training
    assert network.stem.norm.momentum == 0.1, "training goes on as before"


class Weights(TrainingListener):
    """Keeps the policy's biases after some steps, read from the checkpoints."""

    def __init__(self) -> None:
        self.biases: dict[int, torch.Tensor] = {}

    def checkpoint(self, step: int, path: Path) -> None:
        self.biases[step] = load_checkpoint(path).model["policy.bias"]


def test_a_run_averages_its_weights_and_exports_the_average(tmp_path: Path, train_file: Path, test_file: Path):
    settings = TrainingSettings(steps=6, batch=16, lr=0.1, warmup=0, ema_interval=2, ema_averages=3, amp="off")
    weights, data, test = Weights(), Dataset(train_file), Dataset(test_file)
    result = train(
        TINY, data, tmp_path / "run", test=test, settings=settings, device="cpu", checkpoint_interval=1,
        listener=weights,
    )  # fmt: skip
    bias = weights.biases
    expected = 0.75 * (0.75 * bias[2] + 0.25 * bias[4]) + 0.25 * bias[6]
    checkpoint = load_checkpoint(result.checkpoint)
    torch.testing.assert_close(checkpoint.averaged["policy.bias"], expected)
    assert checkpoint.averages == 3
    exported = load_model(result.checkpoint)
    assert torch.equal(exported.state_dict()["policy.bias"], checkpoint.averaged["policy.bias"])
    assert evaluate(exported, test) == result.metrics
    # The statistics belong to the averaged weights.
    again = load_model(result.checkpoint)
    batches = [data.arrays(data.epoch_order(0, 0)[first : first + 16]) for first in range(0, 96, 16)]
    inputs = [tuple(torch.from_numpy(each) for each in batch.features()) for batch in batches]
    estimate_batchnorm(again, inputs)  # pyright: ignore[reportArgumentType]
    for name, tensor in again.state_dict().items():
        torch.testing.assert_close(tensor, exported.state_dict()[name], msg=name)


def test_resumed_averages_are_those_of_an_uninterrupted_run(tmp_path: Path, train_file: Path):
    settings = TrainingSettings(steps=8, batch=16, lr=0.1, warmup=0, ema_interval=2, schedule="constant", amp="off")
    data = Dataset(train_file)
    whole = train(TINY, data, tmp_path / "whole", settings=settings, device="cpu")
    first = TrainingSettings(**vars(settings) | {"steps": 5})
    train(TINY, data, tmp_path / "parts", settings=first, device="cpu")
    parts = train(TINY, data, tmp_path / "parts", settings=settings, device="cpu", resume=True)
    expected, found = load_checkpoint(whole.checkpoint), load_checkpoint(parts.checkpoint)
    assert found.averages == expected.averages == 4
    for name, tensor in expected.averaged.items():
        assert torch.equal(tensor, found.averaged[name]), name
