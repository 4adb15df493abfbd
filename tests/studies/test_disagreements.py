"""studies/disagreements.py with a network, games and searches that are tiny; the disagreements are given."""

import json
from pathlib import Path
from typing import Any

import disagreements
import pytest
import torch
from disagree_run import random_game
from verb_runs import make_games

from fukayomi._native import encode_hcp
from fukayomi.arena.results.sources import read_game_records
from fukayomi.disagreement import Disagreement, Verdict, View
from fukayomi.disagreement.games import ScoredGame
from fukayomi.disagreement.starts import Start, write_starts
from fukayomi.learning import export_network
from fukayomi.nn import NetworkConfig, PolicyValueNetwork
from fukayomi.shogi.formats import write_csa


def mine(study: disagreements.Study) -> dict[str, Any]:
    """A disagreement in each game, in which b was right."""
    found: list[Disagreement] = []
    for record in read_game_records(study.options.games_in):
        (at,) = ScoredGame.of(record).at({20: (None, None)})
        moves = [move.usi() for move in at.position().legal_moves[:2]]
        views = [
            View(player=name, score_cp=0, win_rate=rate, move=move)
            for name, rate, move in zip("ab", (0.8, 0.2), moves, strict=True)
        ]
        known: dict[str, Any] = {"a": views[0], "b": views[1], "verdict": Verdict.A_BLIND, "score": 0.1}
        found.append(Disagreement(**at.model_dump() | known))
    study.mined.mkdir(exist_ok=True)
    lines = "".join(each.model_dump_json(exclude_none=True) + "\n" for each in found)
    (study.mined / "disagreements.jsonl").write_text(lines)
    held = {each.line for each in study.held_out()}
    write_starts(
        [
            Start(each.line, 1.0, "disagreement", each.game_key, encode_hcp(each.position()))
            for each in found
            if each.line not in held
        ],
        study.mined / "starts",
    )
    return {"searched": len(found)}


def test_three_networks_learn_on_and_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disagreements.Study, "mine", mine)
    torch.set_num_threads(1)
    torch.manual_seed(1)  # pyright: ignore[reportUnknownMemberType]
    network, base, openings = (tmp_path / name for name in ("small.onnx", "base.hcpe3", "openings.sfen"))
    export_network(PolicyValueNetwork(NetworkConfig.from_name("resnet1x8")).eval(), network)
    base.write_bytes(make_games(8, 40, 16).write())
    openings.write_text("startpos moves 7g7f 3c3d\nstartpos moves 2g2f 8c8d\n")
    (tmp_path / "games").mkdir()
    for seed in range(12):
        (tmp_path / "games" / f"{seed}.csa").write_text(write_csa(random_game(seed)), encoding="utf-8")
    words = [
        str(tmp_path / "games"), "--base", str(base), "--openings", str(openings), "--out", str(tmp_path / "out"),
        "--network", str(network), "--playouts", "4", "--positions", "64", "--steps", "2", "--batch", "16",
        "--most", "4", "--match", "2",
    ]  # fmt: skip
    disagreements.main(words)
    found = json.loads((tmp_path / "out" / "disagreements.json").read_text())
    assert set(found["solved"]) == {"before", *disagreements.ARMS}
    assert set(found["matches"]) == set(disagreements.ARMS)
    assert (tmp_path / "out" / "random.hcp").stat().st_size == 32 * found["data"]["random"]["positions"] > 0
    files = [(tmp_path / "out" / f"{arm}.onnx").read_bytes() for arm in disagreements.ARMS]
    assert len({*files, network.read_bytes()}) == 4
    learnt = found["data"]["random"]["positions"]
    for each in found["solved"].values():
        assert {part: each[part]["positions"] for part in each} == {"held-out": 12 - learnt, "learnt": learnt}
        assert [row["nodes"] for row in each["learnt"]["rows"]] == [2, 4]
        assert len(each["learnt"]["nodes_to_move"]) == learnt
    printed = capsys.readouterr().out
    assert printed.count("nodes") >= 4
    before = (tmp_path / "out" / "disagreements.json").read_bytes()
    disagreements.main(words)  # nothing is left to do
    assert (tmp_path / "out" / "disagreements.json").read_bytes() == before
    with pytest.raises(SystemExit, match="other settings"):
        disagreements.main([*words, "--gap", "0.5"])
