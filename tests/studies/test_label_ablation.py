"""studies/label_ablation.py with positions, searches and networks that are tiny."""

import json
from pathlib import Path

import label_ablation
import multipv_engine
import pytest
import torch
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
    assert names[2:6] == ways
    assert names[6:] == [f"{name} − one line" for name in ways if name != "one line"]
    known = tmp_path / "out" / "ablation.json"
    found = json.loads(known.read_text())
    assert sorted(found["rows"]) == ["0", "1"]
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
    checkpoints = {path: path.read_bytes() for path in (tmp_path / "out" / "runs").glob("*/checkpoint.pt")}
    assert len(checkpoints) == len(ways) * 2
    known.write_text(json.dumps(found | {"rows": {}}))  # as if killed after training, before the test
    label_ablation.main(words)
    assert capsys.readouterr().out == printed
    assert {path: path.read_bytes() for path in checkpoints} == checkpoints
    with pytest.raises(SystemExit, match="other settings"):
        label_ablation.main([*words, "--nodes", "8"])
