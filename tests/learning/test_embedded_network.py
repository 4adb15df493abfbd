"""The embedded network by its name, where commands take a network."""

from pathlib import Path

import pytest
import torch

from fukayomi.engine import Network
from fukayomi.engine.network import embedded_network
from fukayomi.learning import load_model
from fukayomi.learning.models import load_network
from fukayomi.learning.training.configuration import RunConfiguration
from fukayomi.nn import NetworkConfig
from fukayomi.settings import build, read


def test_its_name_loads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fukayomi.learning.models.NORMALISED_POSITIONS", 64)
    planes = torch.zeros(1, 62, 9, 9), torch.zeros(1, 57, 9, 9)
    with torch.inference_mode():
        assert all(
            torch.equal(one, other)
            for one, other in zip(load_model("embedded")(*planes), load_model(embedded_network())(*planes), strict=True)
        )
    config = load_network("embedded").config
    assert isinstance(config, NetworkConfig)
    assert f"{config.blocks}x{config.channels}" in embedded_network().name
    with Network("embedded", device="cpu", precision="fp32", threads=1, batch_size=1) as network:
        assert network.name in ("embedded network", "embedded network 5x64")


def test_configurations_keep_its_name(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('train = ["a.hcpe"]\n[run]\ninitial = "embedded"\nteacher = "other.onnx"\n', encoding="utf-8")
    found = build(RunConfiguration, read(RunConfiguration, path))
    assert found.run.initial == "embedded"
    assert found.run.teacher == str(tmp_path / "other.onnx")
