"""``fukayomi book grow --ray``: the same books, their games played by processes of a Ray cluster."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from grow_run import result, small
from ray_cluster import ENVIRONMENT, START_S, Cluster, cluster, needs_ray

from fukayomi.book_growth import GrowSettings, grow_book

__all__ = ["cluster"]  # the fixture


@needs_ray
@pytest.mark.soak
def test_a_growth_moves_to_a_cluster_and_back(tmp_path: Path, cluster: Cluster) -> None:
    values = small(games=4, rounds=1)
    whole, folder, file = tmp_path / "whole", tmp_path / "grown", tmp_path / "settings.toml"
    grow_book(GrowSettings(**values), folder)
    file.write_text(GrowSettings(**values).text(), encoding="utf-8")
    words = ["book", "grow", str(folder), "--config", str(file), "--rounds", "2", "--ray", cluster.address, "--json"]
    run = subprocess.run(
        [sys.executable, "-m", "fukayomi", *words], capture_output=True, text=True, timeout=START_S, env=ENVIRONMENT,
        check=False,
    )  # fmt: skip
    assert (run.returncode, "Traceback" in run.stderr) == (0, False), run.stderr
    assert json.loads(run.stdout)["new_games"] == 8
    grow_book(GrowSettings(**values).changed(rounds=3), folder)
    grow_book(GrowSettings(**values).changed(rounds=3), whole)
    assert result(folder) == result(whole)
