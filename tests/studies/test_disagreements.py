"""studies/disagreements.py with a network, games and searches that are tiny."""

import json
from pathlib import Path

import disagreements
import pytest
import torch
from disagree_run import random_game
from verb_runs import make_games

from fukayomi.learning import export_network
from fukayomi.nn import NetworkConfig, PolicyValueNetwork
from fukayomi.shogi.formats import write_csa


def test_three_networks_learn_on_and_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(1)
    network, base, openings = (tmp_path / name for name in ("small.onnx", "base.hcpe3", "openings.sfen"))
    export_network(PolicyValueNetwork(NetworkConfig.from_name("resnet1x8")).eval(), network)
    base.write_bytes(make_games(1, 40, 16).write())
    openings.write_text("startpos moves 7g7f 3c3d\nstartpos moves 2g2f 8c8d\n")
    (tmp_path / "games").mkdir()
    for seed in range(24):
        (tmp_path / "games" / f"{seed}.csa").write_text(write_csa(random_game(seed)), encoding="utf-8")
    words = [
        str(tmp_path / "games"), "--base", str(base), "--openings", str(openings), "--out", str(tmp_path / "out"),
        "--network", str(network), "--few", "2", "--many", "16", "--gap", "0.05", "--confirm", "0", "--pairs", "4",
        "--per-game", "2", "--playouts", "4", "--positions", "64", "--steps", "2", "--batch", "16", "--most", "4",
        "--match", "2",
    ]  # fmt: skip
    disagreements.main(words)
    found = json.loads((tmp_path / "out" / "disagreements.json").read_text())
    assert set(found["solved"]) == {"before", *disagreements.ARMS}
    assert set(found["matches"]) == set(disagreements.ARMS)
    assert found["data"]["mining"]["searched"] > 24
    assert (tmp_path / "out" / "random.hcp").stat().st_size == 32 * found["data"]["random"]["positions"]
    files = [(tmp_path / "out" / f"{arm}.onnx").read_bytes() for arm in disagreements.ARMS]
    assert len({*files, network.read_bytes()}) == 4
    for each in found["solved"].values():
        assert [row["nodes"] for row in each["rows"]] == [2, 4]
    printed = capsys.readouterr().out
    assert printed.count("nodes") >= 4
    before = (tmp_path / "out" / "disagreements.json").read_bytes()
    disagreements.main(words)  # nothing is left to do
    assert (tmp_path / "out" / "disagreements.json").read_bytes() == before
    with pytest.raises(SystemExit, match="other settings"):
        disagreements.main([*words, "--gap", "0.5"])
