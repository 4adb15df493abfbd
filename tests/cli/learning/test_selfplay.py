"""``fukayomi selfplay``."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_runs import run, run_json
from patience import PATIENCE_S, until
from rich.console import Console
from toy_network import write_network

from fukayomi.cli.learning.selfplay_progress import SelfplayTable, selfplay_table
from fukayomi.engine.network import Network
from fukayomi.selfplay import SelfplayProgress, SelfplayRun, find_chunks, read_chunk

FAST = ("--playouts", 4, "--max-move", 24, "--out-max-move", "--chunk-games", 4)


def test_it_makes_chunks_and_says_so(tmp_path: Path) -> None:
    result = run_json("selfplay", "<hash>", "-o", tmp_path, "--games", 5, *FAST)
    assert result["finished"]
    assert result["games"] == 5
    assert [read_chunk(path).info.games for path in find_chunks(tmp_path)] == [4, 1]
    code, printed, said = run("selfplay", "<hash>", "-o", tmp_path, "--games", 6, *FAST)
    assert code == 0
    assert printed.startswith("6 games, 6 kept, ")
    assert "[info] Made " in said


def test_settings_come_from_a_file_and_options_change_them(tmp_path: Path) -> None:
    config = tmp_path / "selfplay.toml"
    config.write_text("playouts = 3\nmax_move = 20\nout_max_move = true\nroot_rule = 'gumbel'\n", encoding="utf-8")
    run_json("selfplay", "<hash>", "-o", tmp_path, "-n", 2, "--config", config, "--playouts", 5, "--seed", 8)
    (chunk,) = find_chunks(tmp_path)
    info = read_chunk(chunk).info
    assert {name: info.settings[name] for name in ("playouts", "max_move", "root_rule")} == {
        "playouts": 5, "max_move": 20, "root_rule": "gumbel",
    }  # fmt: skip
    assert info.seed == 8


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ((), 2, "--games N or --positions N"),
        (("--games", 3, "--positions", 4), 2, "--games N or --positions N"),
        (("--games", 3, "--playouts", 0), 2, "error: --playouts: Input should be greater than or equal to 1"),
        (("--games", 3, "--openings", "missing.sfen"), 1, "missing.sfen"),
        (
            ("--games", 3, "--config", "missing.toml"),
            1,
            "error: cannot read the settings in missing.toml: No such file",
        ),
    ],
)
def test_mistakes_are_explained(tmp_path: Path, options: tuple[object, ...], code: int, message: str) -> None:
    exit_code, _, said = run("selfplay", "<hash>", "-o", tmp_path, *options)
    assert exit_code == code
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM cannot be handled there")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_after_the_games_in_play_and_is_in_the_exit_code(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    words = ["selfplay", "<hash>", "-o", tmp_path, "--games", 100_000, *FAST]
    with subprocess.Popen(
        [sys.executable, "-m", "fukayomi", *map(str, words)], stderr=subprocess.PIPE, text=True
    ) as process:
        until(lambda: len(find_chunks(tmp_path)) > 2, PATIENCE_S)
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code
    assert "[warning] stopping after the games in play" in said
    assert said.splitlines()[-1].startswith("stopped after ")
    assert said.endswith("Run the same command to resume\n")


def test_the_end_says_how_many_resignations_were_wrong(tmp_path: Path) -> None:
    checked = ("--threshold", 0.2, "--play-out", 1)
    _, printed, _ = run("selfplay", "<hash>", "-o", tmp_path, "--games", 5, *FAST, *checked)
    counts = [read_chunk(path).info.wrong_resignations for path in find_chunks(tmp_path)]
    played_out, wrong = (sum(each[which] for each in counts) for which in (0, 1))
    assert played_out > 0
    assert f"; wrong resignations: {wrong} of {played_out} played out: " in printed


def test_a_set_for_measuring_is_kept_apart(tmp_path: Path) -> None:
    openings = tmp_path / "openings"
    openings.write_text("startpos moves 7g7f\n", encoding="utf-8")
    options = ("--games", 1, "--openings", openings, "--keep-apart", openings)
    code, _, said = run("selfplay", "<hash>", "-o", tmp_path / "games", *options)
    assert code == 1
    assert "kept apart" in said


def test_the_table_shows_counts_and_rates() -> None:
    state = SelfplayProgress(games=10, kept=9, positions=900, plies=1000, draws=1, done=0.5, elapsed_s=60, new_games=10)
    state.reasons = {"mate": 4, "max_plies": 6}
    state.played_out, state.wrong_resignations = 4, 1
    state.opponents = {"engine": [5, 2, 1]}
    console = Console(width=120)
    with console.capture() as capture:
        console.print(selfplay_table(SelfplayRun(Path("games"), 20, None, 64, 1, "net"), state))
    shown = capture.get()
    for text in ("50.0 %", "600 an hour", "max plies 60.0 %", "25.0 %", "15 to 85 %, 95 % interval; 5 games, 1 draw"):
        assert text in shown
    with SelfplayTable(Console(force_terminal=True, quiet=True)) as table:
        table.started(SelfplayRun(Path("games"), 20, None, 64, 1, "net"))
        table.state(state)


def test_a_league_plays_a_share_of_the_games(tmp_path: Path) -> None:
    program = Path(__file__).parents[2] / "helpers" / "random_engine.py"
    (tmp_path / "league.toml").write_text(
        f"share = 1.0\nclock = 'nodes=1'\n[[engine]]\nname = 'random'\ncommand = '{sys.executable} {program}'\n",
        encoding="utf-8",
    )
    words = ["selfplay", "<hash>", "-o", tmp_path / "out", "--games", 2, "--playouts", 2, "--max-move", 16]
    end = run_json(*words, "--league", tmp_path / "league.toml")
    assert end["opponents"]["random"][0] == 2
    code, _, said = run(*words, "--league", tmp_path / "other.toml")
    assert code == 1
    assert "other.toml" in said


def test_opponents_compute_as_the_network_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []

    def network(file: str, **options: Any) -> Network:
        given.append(options)
        return Network(file, **options)

    monkeypatch.setattr("fukayomi.selfplay.league.Network", network)
    (tmp_path / "league.toml").write_text(
        "share = 1.0\nclock = 'nodes=1'\n[[network]]\nname = 'other'\nfile = 'other.onnx'\n", encoding="utf-8"
    )
    write_network(tmp_path / "other.onnx")
    words = ["selfplay", "<hash>", "-o", tmp_path / "out", "--games", 1, "--playouts", 2, "--max-move", 16]
    device = ["--device", "cpu", "--precision", "fp32", "--threads", 1, "--batch-size", 4]

    run_json(*words, *device, "--league", tmp_path / "league.toml")

    assert given == [{"device": "cpu", "precision": "fp32", "threads": 1, "batch_size": 4}]


def test_a_missing_network_is_an_error_that_names_it(tmp_path: Path) -> None:
    code, _, said = run("selfplay", tmp_path / "missing.onnx", "-o", tmp_path / "games", "--games", 1)
    assert code == 1
    assert said == f"error: no file {tmp_path / 'missing.onnx'}\n"
    assert not (tmp_path / "games").exists()
