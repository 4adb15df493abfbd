"""tools/label_ablation.py with positions, searches and networks that are tiny."""

import json
from pathlib import Path

import label_ablation
import multipv_engine
import pytest
import torch
from label_ablation import estimate
from verb_runs import make_games

from fukayomi.data import load_rows
from fukayomi.learning import Dataset


def test_the_table_compares_all_ways_over_the_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.set_num_threads(1)
    (tmp_path / "games.hcpe3").write_bytes(make_games(150, 1, 12).write())
    words = [
        str(tmp_path / "games.hcpe3"), "--out", str(tmp_path / "out"), "--engine",
        f"{label_ablation.sys.executable} {multipv_engine.__file__}", "--positions", "16", "--test-positions", "12",
        "--nodes", "4", "--test-nodes", "4", "--steps", "2", "--batch", "8", "--blocks", "1", "--channels", "8",
        "--seeds", "2",
    ]  # fmt: skip
    label_ablation.main(words)
    printed = capsys.readouterr().out
    names = [line.split("|")[1].strip() for line in printed.splitlines() if line.startswith("|")]
    ways = ["4 lines, shares", "4 lines, the best", "one line", "one line, 4x positions"]
    assert names[0] == "labels"
    assert names[2:6] == ways
    assert names[6:] == [f"{name} - one line" for name in ways if name != "one line"]
    found = json.loads((tmp_path / "out" / "ablation.json").read_text())
    assert sorted(found["runs"]) == sorted(f"{name}, seed {seed}" for name in ways for seed in (0, 1))
    files = ("test-labels", "test-lines", "lines-4", "single", "single-4x")
    assert set(found["seconds"]) == {f"{name}.hcpe3" for name in files}
    assert "among the lines at 100.0% of 12 positions" in printed  # this engine finds the same with any nodes
    data = {name: Dataset(tmp_path / "out" / f"{name}.hcpe3") for name in ("lines-4", "single", "single-4x")}
    assert [len(data[name]) for name in data] == [16, 16, 64]
    assert len(data["lines-4"][0].policy) == 4
    assert len(data["single"][0].policy) == 1
    trained, tested = (load_rows(tmp_path / "out" / f"{name}.hcpe3")["hcp"] for name in ("train", "test"))
    assert len(tested)
    assert len(trained) > 4 * len(tested)
    label_ablation.main(words)  # everything is known
    assert capsys.readouterr().out == printed
    with pytest.raises(SystemExit, match="other settings"):
        label_ablation.main([*words, "--nodes", "8"])


def test_an_estimate_is_a_mean_with_its_standard_error() -> None:
    assert estimate([0.1, 0.2, 0.3]) == "0.2000 ± 0.0577"
    assert estimate([0.1, 0.2, 0.3], "+") == "+0.2000 ± 0.0577"
    assert estimate([0.25]) == "0.2500"
