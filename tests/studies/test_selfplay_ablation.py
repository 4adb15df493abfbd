"""studies/selfplay_ablation.py with games, networks and matches that are tiny."""

import json
from pathlib import Path

import pytest
import selfplay_ablation
from inline_pool import InlinePool
from selfplay_ablation import BASE, CONTROL, OPTIONS, SCALES, CallsLog, Plan, arms_of, seed_of

from fukayomi.selfplay import find_chunks, read_chunk
from fukayomi.selfplay.journal import GameSummary


def test_an_option_is_measured_beside_the_base_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("work_folder.start_pool", InlinePool)
    out = tmp_path / "out"
    words = ["--out", str(out), "--network", "<hash>", "--only", "surprise", "--seeds", "1"]

    selfplay_ablation.main([*words, "--scale", "tiny", "--json"])

    base, surprise = json.loads(capsys.readouterr().out)
    assert (base["arm"], surprise["arm"]) == (BASE, "surprise")
    assert "elo" not in base
    assert surprise["match_games"] == 2
    assert len(surprise["elo_by_seed"]) == 1
    for row in (base, surprise):
        assert row["calls"] == pytest.approx(SCALES["tiny"].calls, rel=0.7)
        assert row["positions"] >= SCALES["tiny"].batch
    (first, *_) = find_chunks(out / "seed-1" / "surprise" / "games")
    chunk = read_chunk(first)
    assert chunk.weights is not None
    assert chunk.info.settings["surprise"] == 0.5
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.onnx")}
    assert len(before) == 2

    selfplay_ablation.main([*words, "--scale", "tiny"])

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| self-play | settings | calls | games |")
    assert lines[2].startswith("| base | `playouts=4` | ")
    assert lines[3].startswith("| surprise | `surprise=0.5` | ")
    assert "600 evaluator calls for each arm and seed" in lines[-1]
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.onnx")} == before
    with pytest.raises(SystemExit, match="other settings"):
        selfplay_ablation.main([*words, "--scale", "small"])


def test_all_options_of_the_documentation_are_arms_with_valid_settings(tmp_path: Path) -> None:
    plan = Plan(tmp_path, SCALES["small"], "<hash>", ())
    base = plan.settings(BASE)
    found = arms_of(plan.scale)

    assert tuple(found) == OPTIONS
    for option in found.values():
        for arm, changes in option.items():
            settings = plan.settings(arm)
            assert (settings != base) == (arm != CONTROL)
            assert {name: getattr(settings, name) for name in changes} == changes


def test_the_control_is_the_base_with_other_seeds() -> None:
    assert [seed_of(arm, 2) for arm in (BASE, "forks", CONTROL)] == [2, 2, 1002]


def test_calls_of_games_are_known_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "calls.txt"
    path.write_text("\n0 100\n1 300\n2", encoding="utf-8")  # cut off

    log = CallsLog(path)
    log.game(
        GameSummary(
            number=2, winner=None, reason="mate", plies=1, opening_plies=0, random_plies=0, positions=1, searches=1,
            playouts=1, evaluations=200, is_played_out=False, is_wrong_resignation=False,
        )
    )  # fmt: skip
    log.close()

    again = CallsLog(path)
    again.close()
    assert again.calls == {0: 100, 1: 300, 2: 200}
    assert again.mean == 200
