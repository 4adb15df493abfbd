"""Reanalyses that are stopped or killed on the way."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_runs import run_json
from listeners import Calling
from odd_evaluators import Failing
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
    share = 0.1 if stage == "scoring" else 0.7
    settings = ReanalysisSettings(nodes=nodes, share=share, selection="surprise")  # pyright: ignore
    outputs = []
    games = 80 if nodes == 0 or stage == "scoring" else 12  # a network alone evaluates 256 positions at once
    for name in ("whole", "stopped"):
        file = write_games(tmp_path / f"{name}.hcpe3", games, 3, 12)
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


HELD = """
import sys, time
from fukayomi.engine import Network
from fukayomi.learning import ReanalysisSettings, reanalyze
from fukayomi.listener import Listener

class Holding(Listener):
    def progress(self, stage, done, total):
        if stage == "labelling" and done >= int(sys.argv[2]):
            print("held", flush=True)
            time.sleep(1000)

with Network("<hash>", cache_mb=0) as network:
    reanalyze(sys.argv[1], network, ReanalysisSettings(nodes=20), layer="x", workers=1, listener=Holding())
"""


def run_to(file: Path, labels: int) -> None:
    """Reanalyse in a process that is killed when it has so many labels."""
    with subprocess.Popen([sys.executable, "-c", HELD, str(file), str(labels)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        process.kill()


def test_a_killed_reanalysis_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    outputs = []
    for name, kills in (("whole", ()), ("killed", (5, 40))):
        file = write_games(tmp_path / f"{name}.hcpe3", 20, 3, 15)
        layer = layer_path(file, "x")
        for labels in kills:
            run_to(file, labels)
            assert not layer.exists()
            state = json.loads((tmp_path / f".{layer.name}.work" / "state.json").read_text())
            assert state["stages"]["labelling"]["place"] >= labels
        command = ("reanalyze", file, "--network", "<hash>", "--nodes", 20, "--workers", 1, "--layer", "x")
        (info,) = run_json(*command)["layers"]
        assert info["changed"] == info["chosen"] > 40
        outputs.append([layer.read_bytes(), sidecar_of(layer).read_bytes()])
    assert outputs[0] == outputs[1]
    assert [path.name for path in tmp_path.glob(".*")] == []
