"""Reanalyses that are stopped or killed on the way."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from listeners import Calling
from odd_evaluators import Failing
from patience import PATIENCE_S, until
from reanalysis_runs import exact_network, write_games

from fukayomi.data.jobs import job
from fukayomi.engine import EvaluatorError, Network
from fukayomi.learning import ReanalysisSettings, reanalyze
from fukayomi.learning.layers import layer_path, sidecar_of, weights_of


class StoppedError(Exception):
    """Stands for whatever stops a program."""


@pytest.mark.parametrize("nodes", [0, 20])
@pytest.mark.parametrize("stage", ["reading", "scoring", "labelling", "writing"])
def test_stopped_work_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, nodes: int) -> None:
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    settings = ReanalysisSettings(nodes=nodes, share=0.7, selection="surprise")  # pyright: ignore
    outputs = []
    for name in ("whole", "stopped"):
        file = write_games(tmp_path / f"{name}.hcpe3", 12, 3, 12)
        seen: list[int] = []

        def stop(now: str, done: int, total: int | None, seen: list[int] = seen) -> None:
            if now == stage:
                seen.append(done)
                if len(seen) == 2 or stage in ("reading", "writing"):
                    raise StoppedError

        with exact_network() as network:
            if name == "stopped":
                with pytest.raises(StoppedError):
                    reanalyze(file, network, settings, layer="x", workers=1, listener=Calling(stop))
                assert not layer_path(file, "x").exists()
            assert reanalyze(file, network, settings, layer="x", workers=1).made == 1
        layer = layer_path(file, "x")
        outputs.append([path.read_bytes() for path in (layer, weights_of(layer), sidecar_of(layer))])
    assert outputs[0] == outputs[1]
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_a_network_that_fails_ends_the_work_which_can_go_on(tmp_path: Path) -> None:
    file = write_games(tmp_path / "games.hcpe3", 12)
    for settings in (ReanalysisSettings(nodes=0), ReanalysisSettings(nodes=20)):
        with Network(Failing(2)) as network, pytest.raises(EvaluatorError, match="caught fire"):
            reanalyze(file, network, settings, layer=f"n{settings.nodes}")
        with Network(Failing(100_000)) as network:
            assert reanalyze(file, network, settings, layer=f"n{settings.nodes}").made == 1


def start(file: Path, *words: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "fukayomi", "reanalyze", str(file), "--network", "<hash>", "--nodes", "600",
         "--workers", "1", "--layer", "x", "--json", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_labels(layer: Path, count: int) -> None:
    """Wait until so many labels are safe."""
    state = layer.with_name(f".{layer.name}.work") / "state.json"

    def labelled() -> int:
        stages = json.loads(state.read_text())["stages"] if state.exists() else {}
        return stages.get("labelling", {}).get("place", 0)

    until(lambda: labelled() >= count, 5 * PATIENCE_S)


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_a_killed_command_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    outputs = []
    for name, kills in (("whole", ()), ("killed", (signal.SIGKILL, signal.SIGINT))):
        file = write_games(tmp_path / f"{name}.hcpe3", 40, 3, 30)
        layer = layer_path(file, "x")
        for number, sent in enumerate(kills):
            with start(file) as process:
                wait_for_labels(layer, 20 * (number + 1))
                process.send_signal(sent)
                _, said = process.communicate(timeout=600)
            assert process.returncode == (-signal.SIGKILL if sent is signal.SIGKILL else 130), said
            assert not layer.exists()
        with start(file) as process:
            printed, said = process.communicate(timeout=600)
        assert process.returncode == 0, said
        (info,) = json.loads(printed)["layers"]
        assert info["changed"] == info["chosen"] > 100
        outputs.append([layer.read_bytes(), sidecar_of(layer).read_bytes()])
    assert outputs[0] == outputs[1]
    assert [path.name for path in tmp_path.glob(".*")] == []
