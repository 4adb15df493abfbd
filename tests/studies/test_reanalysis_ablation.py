"""studies/reanalysis_ablation.py with games, searches and networks that are tiny."""

import json
from pathlib import Path

import pytest
import reanalysis_ablation
import torch
from verb_runs import make_games

from fukayomi.learning import Dataset
from fukayomi.learning.layers import layers_of


@pytest.mark.parametrize("match_nodes", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_the_table_compares_all_data_over_the_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], match_nodes: int
) -> None:
    torch.set_num_threads(1)
    for name, count in (("games", 40), ("test", 20)):
        (tmp_path / f"{name}.hcpe3").write_bytes(make_games(count, count, 16).write())
    out = tmp_path / "out"
    words = [
        str(tmp_path / "games.hcpe3"), "--test", str(tmp_path / "test.hcpe3"), "--new", "<hash>", "--out", str(out),
        "--scale", "0.005", "--seeds", "2", "--nodes", "4", "--batch", "16", "--network", "resnet1x8",
        "--match-nodes", str(match_nodes), "--preset", "reanalyze", "--device", "cpu", "--root", "gumbel",
    ]  # fmt: skip
    reanalysis_ablation.main(words)
    printed = capsys.readouterr().out
    names = [line.split("|")[1].strip() for line in printed.splitlines() if line.startswith("|")]
    assert names[0] == "data"
    assert names[2:6] == list(reanalysis_ablation.ARMS)
    assert names[6:] == [f"{arm} - stale" for arm in reanalysis_ablation.ARMS[1:]]
    assert printed.count("Elo |") == (3 if match_nodes else 0)
    found = json.loads((out / "reanalysis.json").read_text())
    assert set(found["data"]) == set(reanalysis_ablation.ARMS)
    assert len(found["runs"]) == 8
    assert {key: sum(match["pairs"]) for key, match in found["matches"].items()} == {
        f"{arm}, seed {seed}": 1 for arm in reanalysis_ablation.ARMS[1:] for seed in (0, 1) if match_nodes
    }
    assert layers_of(out / "games.hcpe3") == ["relabelled", "searched"]
    assert len(Dataset(out / "games.hcpe3")) == found["data"]["stale"]["positions"]
    assert found["data"]["fresh"]["positions"] >= found["data"]["searched"]["positions"] > 0
    before = (out / "reanalysis.json").read_bytes()
    reanalysis_ablation.main(words)  # nothing is left to do
    assert (out / "reanalysis.json").read_bytes() == before
    assert capsys.readouterr().out == printed
    with pytest.raises(SystemExit, match="other settings"):
        reanalysis_ablation.main([*words, "--share", "0.5"])
