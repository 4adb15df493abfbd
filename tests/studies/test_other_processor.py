"""studies/other_processor.py: networks compute with the instructions that are named."""

import subprocess
import sys
from typing import Any

import other_processor
import pytest

from fukayomi import Network
from fukayomi._native import ResidualNetwork, SparseInferenceNetwork, cpu_instructions
from fukayomi.engine.evaluators.backends import native_model

pytestmark = pytest.mark.skipif("AVX2" not in cpu_instructions("int16"), reason="needs a processor with AVX2")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The instructions of the networks that are made; the defaults are as before afterwards."""
    made: list[str] = []

    def residual(**given: Any) -> ResidualNetwork:
        network = ResidualNetwork(**given)
        made.append(network.instructions)
        return network

    def sparse(*given: Any) -> SparseInferenceNetwork:
        network = SparseInferenceNetwork(*given)
        made.append(network.instructions)
        return network

    monkeypatch.setattr(native_model, "ResidualNetwork", residual)
    monkeypatch.setattr(native_model, "SparseInferenceNetwork", sparse)
    for model in other_processor.MODELS:
        monkeypatch.setattr(model.__init__, "__kwdefaults__", dict(model.__init__.__kwdefaults__ or {}))
    return made


def test_both_networks_compute_with_them(made: list[str]) -> None:
    other_processor.take("AVX2")
    with Network("<sparse>", device="native", threads=1, batch_size=8):
        assert made == ["AVX2", "AVX2"]  # its own and that of the reviewer


def test_the_engine_plays() -> None:
    command = [sys.executable, other_processor.__file__, "AVX2"]
    words = "setoption name DNN_Provider value native\nisready\nposition startpos\ngo nodes 20\n"
    answer = subprocess.run(command, input=words, capture_output=True, text=True, check=True, timeout=300).stdout
    assert answer.splitlines()[-1].startswith("bestmove ")


def test_other_instructions_are_refused() -> None:
    command = [sys.executable, other_processor.__file__, "MMX"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert answer.returncode == 2
    assert "AVX2" in answer.stderr
