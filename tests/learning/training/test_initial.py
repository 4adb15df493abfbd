"""Training that begins from another network's weights."""

from pathlib import Path

import pytest
import torch
from learning_samples import tensors

from fukayomi.learning import Dataset, TrainingSettings, train
from fukayomi.learning.models import load_network
from fukayomi.learning.settings import TrainingError
from fukayomi.nn import NetworkConfig, PolicyValueNetwork, export_onnx, save_parameters

TINY = NetworkConfig(blocks=1, channels=16, activation="relu", value_hidden=8)
STILL = TrainingSettings(steps=1, batch=32, optimizer="sgd", lr=1e-12, warmup=0, amp="off")


@pytest.fixture
def initial() -> PolicyValueNetwork:
    torch.manual_seed(5)
    network = PolicyValueNetwork(TINY).eval()
    network.policy.conv.weight.detach().mul_(50)
    return network


def test_training_begins_from_the_weights(initial: PolicyValueNetwork, tmp_path: Path, train_file: Path):
    save_parameters(initial, tmp_path / "initial.safetensors")
    data = Dataset(train_file)
    for number, given in enumerate((initial, tmp_path / "initial.safetensors")):
        result = train(TINY, data, tmp_path / str(number), initial=given, settings=STILL, device="cpu")
        trained = load_network(result.checkpoint)
        torch.testing.assert_close(trained.blocks.state_dict()["0.conv1.weight"], initial.blocks[0].conv1.weight)
        assert not torch.equal(trained.policy.conv.weight, PolicyValueNetwork(TINY).policy.conv.weight)
    assert str(tmp_path / "initial.safetensors") in (tmp_path / "1" / "config.toml").read_text()


def test_a_network_from_an_onnx_file_goes_on_learning(
    initial: PolicyValueNetwork, tmp_path: Path, train_file: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("fukayomi.learning.models.NORMALISED_POSITIONS", 64)
    export_onnx(initial, tmp_path / "initial.onnx")
    data = Dataset(train_file)
    settings = STILL.changed(steps=30, optimizer="adamw", lr=0.01)
    result = train(TINY, data, tmp_path / "run", initial=tmp_path / "initial.onnx", settings=settings, device="cpu")
    batch = tensors(data, range(len(data)))
    with torch.inference_mode():
        before, after = (
            torch.nn.functional.cross_entropy(network(*batch.features())[0], batch.targets.labels)
            for network in (initial, load_network(result.checkpoint))
        )
    assert after < before - 0.3


def test_further_heads_may_be_added(initial: PolicyValueNetwork, tmp_path: Path, train_file: Path):
    config = TINY.changed(heads=("wdl",))
    result = train(config, Dataset(train_file), tmp_path / "run", initial=initial, settings=STILL, device="cpu")
    torch.testing.assert_close(load_network(result.checkpoint).policy.conv.weight, initial.policy.conv.weight)


def test_a_smaller_network_grows(initial: PolicyValueNetwork, tmp_path: Path, train_file: Path):
    config, data = TINY.changed(blocks=2, channels=24), Dataset(train_file)
    result = train(config, data, tmp_path / "run", initial=initial, settings=STILL, device="cpu")
    grown = load_network(result.checkpoint)
    assert grown.config == config
    kernel = grown.policy.conv.weight  # what was there, deaf to the new channels
    torch.testing.assert_close(kernel[:, :16], initial.policy.conv.weight)
    torch.testing.assert_close(kernel[:, 16:], torch.zeros(27, 8, 1, 1))


def test_another_shape_is_refused(initial: PolicyValueNetwork, tmp_path: Path, train_file: Path):
    config = TINY.changed(channels=8)
    with pytest.raises(TrainingError, match=r"the initial network: it is .*channels=16.*channels=8.*would shrink"):
        train(config, Dataset(train_file), tmp_path / "run", initial=initial, settings=STILL, device="cpu")
