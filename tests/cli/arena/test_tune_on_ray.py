"""``fukayomi tune --ray``: the same values, their games played by processes of a Ray cluster."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ray_cluster import ENVIRONMENT, START_S, Cluster, cluster, needs_ray
from tune_run import small

from fukayomi.arena.match.store import read_settings
from fukayomi.loop.settings import OPENINGS
from fukayomi.settings import toml_text
from fukayomi.tuning import TuneSettings, read_tuning, tune

__all__ = ["cluster"]  # the fixture


@needs_ray
@pytest.mark.soak
def test_a_run_on_a_cluster_finds_the_same_values(tmp_path: Path, cluster: Cluster) -> None:
    values = small(games=16, openings=str(OPENINGS))
    del values["concurrency"]
    whole, folder, file = tmp_path / "whole", tmp_path / "tuned", tmp_path / "tune.toml"
    file.write_text(toml_text(values), encoding="utf-8")
    words = ["tune", str(folder), "--config", str(file), "--ray", cluster.address, "--json"]
    run = subprocess.run(
        [sys.executable, "-m", "fukayomi", *words], capture_output=True, text=True, timeout=START_S, env=ENVIRONMENT,
        check=False,
    )  # fmt: skip
    assert (run.returncode, "Traceback" in run.stderr) == (0, False), run.stderr
    assert json.loads(run.stdout)["new_games"] == 16
    match = read_settings(folder / "rounds" / "00001")
    assert match is not None
    assert match.concurrency > 1  # as many as the cluster has CPUs for
    assert read_tuning(folder).course == tune(TuneSettings(**values), whole).course
