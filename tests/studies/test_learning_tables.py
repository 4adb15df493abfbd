"""studies/learning_tables.py with tiny networks: the tables, resuming, and the figures."""

import json
from pathlib import Path
from typing import Any

import learning_tables
import pytest
from inline_pool import InlinePool
from learning_report import fit_curve, mean_of, text_of
from verb_runs import make_games

from fukayomi.data.convert.convert import convert_data
from fukayomi.learning import Dataset
from fukayomi.learning.checkpoint import load_checkpoint


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """A command line for small files."""
    (tmp_path / "train.hcpe3").write_bytes(make_games(60, 1, 20).write())
    (tmp_path / "test.hcpe3").write_bytes(make_games(8, 2, 20).write())
    files = [str(tmp_path / "train.hcpe3"), "--test", str(tmp_path / "test.hcpe3")]
    return [*files, "--out", str(tmp_path / "out"), "--tiny", "--seeds", "2"]


def write(path: Path, games: int) -> Path:
    """An hcpe3 file of random games."""
    path.write_bytes(make_games(games, 1, 20).write())
    return path


def without_seconds(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for table in tables:
        for row in table["rows"]:
            row.pop("CPU_s_a_run", None)
    return tables


@pytest.mark.slow
def test_runs_are_made_once_and_resumed(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("work_folder.start_pool", InlinePool)
    learning_tables.main([*words, "--only", "val-lambda", "duplicates"])
    first = capsys.readouterr()
    names = [line.split("|")[1].strip() for line in first.out.splitlines() if line.startswith("| val")]
    arms = [f"val_lambda {value}" for value in ("1/3", "0", "0.7", "1")]
    assert names == [*arms, *(f"{arm} − {arms[0]}" for arm in arms[1:])]
    assert "averaged − as they are | plies 1 to 4 |" in first.out
    assert first.err.count("trained: ") == 2 * (4 + 1)  # the run with 1/3 is in both tables
    results = tmp_path / "out" / "results"
    found = {file: json.loads(file.read_text()) for file in results.iterdir()}
    trained = next(file for file, each in found.items() if each["job"] == "trained: val_lambda 1, seed 0")
    tested = next(file for file, each in found.items() if each["job"].startswith("tested: val_lambda 1/3"))
    before = json.loads(tested.read_text())
    trained.unlink()  # as after a kill between the last checkpoint and the result
    tested.unlink()
    learning_tables.main([*words, "--only", "val-lambda", "--json"])
    again = capsys.readouterr()
    assert again.err.count("trained: ") == again.err.count("tested: ") == 1
    assert json.loads(tested.read_text()) == before
    assert trained.exists()  # it was repeated, to the bit
    learning_tables.main([*words, "--only", "val-lambda", "--json"])
    third = capsys.readouterr()
    assert third.err == ""
    tables = [json.loads(text)["val-lambda"] for text in (again.out, third.out)]
    assert without_seconds(tables[0]) == without_seconds(tables[1])
    Path(words[0]).write_bytes(make_games(61, 1, 20).write())
    with pytest.raises(SystemExit, match="other settings or data"):
        learning_tables.main(words)


@pytest.mark.soak
def test_networks_of_two_targets_play_themselves(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learning_tables.main([*words, "--only", "visits", "--json", "--seeds", "1"])
    accuracy, games = json.loads(capsys.readouterr().out)["visits"]
    names = ["single moves", "shares of visits", "shares of visits − single moves"]
    assert [row["name"] for row in accuracy["rows"]] == [row["name"] for row in games["rows"]] == names
    labels = tmp_path / "out" / "data" / "labelled-16-4.hcpe3"
    assert max(len(Dataset(labels)[number].policy) for number in range(16)) > 1
    for row in games["rows"][:2]:
        assert 0 < row["distinct games"]["value"] <= 1
        assert 0 <= row["commonest strategy"]["value"] <= row["3 commonest"]["value"] <= 1


@pytest.mark.soak
def test_heads_learn_from_whole_games_and_from_visits(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learning_tables.main([*words, "--only", "heads", "--json", "--seeds", "1"])
    played, searched = json.loads(capsys.readouterr().out)["heads"]
    names = ["short-term-value", "wdl", "plies-left", "reply"]
    assert [row["name"] for row in played["rows"]] == ["none", *names, *(f"{name} − none" for name in names)]
    assert [row["name"] for row in searched["rows"]] == ["none", "soft-policy", "soft-policy − none"]
    assert 16 < len(Dataset(tmp_path / "out" / "data" / "games-64.hcpe3")) < 256
    trained = [load_checkpoint(file).network.heads for file in tmp_path.glob("out/runs/*/checkpoint.pt")]
    assert sorted(trained) == [(), (), *((name,) for name in sorted([*names, "soft-policy"]))]


def test_heads_do_not_learn_from_rows(tmp_path: Path) -> None:
    rows = tmp_path / "rows.hcpe"
    convert_data(write(tmp_path / "games.hcpe3", 20), rows)
    words = [str(rows), "--test", str(rows), "--out", str(tmp_path / "out"), "--tiny", "--only", "heads"]
    with pytest.raises(SystemExit, match="heads learn from whole games: give hcpe3 files"):
        learning_tables.main(words)


def test_means_have_students_interval_and_the_error_of_the_test() -> None:
    assert text_of(mean_of([0.1, 0.2, 0.3]), False) == "0.2000 ± 0.2484"  # 4.303 x 0.1 / sqrt(3)
    assert text_of(mean_of([0.2, 0.2, 0.2], [0.03, 0.05, 0.04]), True) == "+0.2000 ± 0.0400"
    assert mean_of([0.2, 0.2], [0.3, 0.3]).in_noise
    assert text_of(mean_of([0.25], [0.1]), True) == "+0.2500 ± ? (noise)"  # one seed says nothing about others


def test_the_curve_that_made_figures_is_found() -> None:
    sizes = [25, 50, 100, 200, 400, 800]
    a, b, c = fit_curve(sizes, [0.5 - 0.1 * (size / 800) ** -0.3 for size in sizes])
    assert (a, b, c) == pytest.approx((0.5, 0.1, 0.3), rel=0.03)
