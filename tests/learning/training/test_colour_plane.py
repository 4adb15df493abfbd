"""A network that sees the colour to move, from training to play."""

from pathlib import Path

import pytest
import torch

from fukayomi import Network
from fukayomi.learning import Dataset, TrainingSettings, evaluate, train
from fukayomi.learning.int8 import export_int8
from fukayomi.learning.models import export_network, load_network
from fukayomi.nn import NetworkConfig, save_parameters
from fukayomi.shogi import Position


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_network_with_the_plane_of_the_colour_to_move(
    precision: str, train_file: Path, test_file: Path, tmp_path: Path
) -> None:
    shape = NetworkConfig.from_name("resnet1x8_fcl8_turn")
    settings = TrainingSettings(steps=2, batch=32)
    run = train(shape, Dataset(train_file), tmp_path / "run", test=Dataset(test_file), settings=settings)
    network = load_network(run.checkpoint)
    with torch.no_grad():
        network.stem.conv2_1x1.weight[:, 57] = 3.0
    save_parameters(network, tmp_path / "network.safetensors")
    file = tmp_path / "network.onnx"
    if precision == "int8":
        export_int8(tmp_path / "network.safetensors", file, [train_file])
    else:
        export_network(network, file)
    expected = evaluate(network, Dataset(test_file))
    found = evaluate(file, Dataset(test_file))
    assert found.policy_loss == pytest.approx(expected.policy_loss, rel=1e-4 if precision == "fp32" else 0.05)
    with Network(file, device="cpu", precision="fp32") as engine:
        turns = [Position.from_sfen(f"4k4/9/9/9/9/9/9/9/4K4 {turn} P 1") for turn in "bw"]
        black, white = engine.evaluate(turns).winrates
    assert black != white
