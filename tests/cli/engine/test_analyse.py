"""`fukayomi analyse` from a record to the report, with an evaluator that needs no network."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import command_runs
import pytest
from places import ROOT

from fukayomi.shogi.formats import read_records

EXAMPLE = ROOT / "examples" / "game.csa"
SHORT = "V2.2\nN+alice\nN-bob\nPI\n+\n+7776FU\n-3334FU\n'** -30 +2726FU\n+8822UM\n-3122GI\n%TORYO\n"
MATE_PROBLEM = """手合割：詰将棋
後手の持駒：飛二 角二 金三 銀四 桂四 香四 歩十八
  ９ ８ ７ ６ ５ ４ ３ ２ １
+---------------------------+
| ・ ・ ・ ・v玉 ・ ・ ・ ・|一
| ・ ・ ・ ・ ・ ・ ・ ・ ・|二
| ・ ・ ・ ・ 金 ・ ・ ・ ・|三
| ・ ・ ・ ・ ・ ・ ・ ・ ・|四
| ・ ・ ・ ・ ・ ・ ・ ・ ・|五
| ・ ・ ・ ・ ・ ・ ・ ・ ・|六
| ・ ・ ・ ・ ・ ・ ・ ・ ・|七
| ・ ・ ・ ・ ・ ・ ・ ・ ・|八
| ・ ・ ・ ・ ・ ・ ・ ・ ・|九
+---------------------------+
先手の持駒：なし
手数----指手---------消費時間--
   1 ５二金(53)   ( 0:00/00:00:00)
"""
MATED = "7k1/7G1/7P1/9/9/9/9/9/K8 w - 2"
SHORT_POSITION = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
FAST = ("--evaluator", "hash", "--nodes", "20")

run = partial(command_runs.invoke, "analyse", COLUMNS="100", NO_COLOR="1")


@pytest.fixture
def short(tmp_path: Path) -> Path:
    path = tmp_path / "short.csa"
    path.write_text(SHORT)
    return path


def test_a_game_becomes_tables_and_files(short: Path, tmp_path: Path) -> None:
    result = run(short, *FAST, "--out", tmp_path / "out", "--png")
    assert result.exit_code == 0, result.output
    assert "☗ alice" in result.stdout
    assert "☖ bob" in result.stdout
    assert "4手で後手の勝ち（投了）" in result.stdout
    rows = re.findall(r"^ +([1-4])  +(\S+)", result.stdout, re.MULTILINE)
    assert rows == [("1", "☗７六歩"), ("2", "☖３四歩"), ("3", "☗２二角成"), ("4", "☖同銀")]
    paths = [Path(line) for line in result.stdout.splitlines() if line.startswith(str(tmp_path))]
    names = ["analysis.html", "analysis.svg", "analysis.kifu", "analysis.csa", "analysis.png", "analysis.json"]
    assert [path.name for path in paths] == names
    assert all(path.stat().st_size > 500 for path in paths)


def test_files_go_to_a_folder_here_by_default(short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(short, *FAST).exit_code == 0
    assert (tmp_path / "short-analysis" / "analysis.html").is_file()


def test_json_is_one_document_and_writes_nothing_unasked(
    short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(short, *FAST, "--json", "--multipv", 3)
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert [move["move"] for move in document["moves"]] == ["7g7f", "3c3d", "8h2b+", "3a2b"]
    assert document["moves"][1]["recorded_cp"] == -30
    assert all(len(position["lines"]) == 3 for position in document["positions"])
    assert all(0 <= move["loss"] <= 1 for move in document["moves"])
    assert all(move["loss"] == 0 for move in document["moves"] if move["move"] == move["best"])
    assert document["limits"] == "20 nodes per position"
    assert document["files"] == []
    assert [path.name for path in tmp_path.iterdir()] == ["short.csa"]


def test_the_same_game_is_judged_alike_twice(short: Path) -> None:
    assert run(short, *FAST, "--json").stdout == run(short, *FAST, "--json").stdout


def test_the_example_game(tmp_path: Path) -> None:
    result = run(EXAMPLE, *FAST, "--json", "--out", tmp_path)
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert len(document["moves"]) == 118
    assert document["moves"][-1]["mate"] == 0  # the game was played out
    (record,) = read_records(EXAMPLE)
    (annotated,) = read_records(tmp_path / "analysis.kifu")
    assert annotated.usi_moves() == record.usi_moves()


SFEN = "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2"


def test_a_position_has_its_best_moves_and_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(SFEN, *FAST, "--multipv", 2)
    assert result.exit_code == 0, result.output
    assert len(re.findall(r"^ *[12] +\d+ .*☖", result.stdout, re.MULTILINE)) == 2
    assert not list(tmp_path.iterdir())
    (document,) = map(json.loads, run("startpos moves 7g7f", *FAST, "--json").stdout.splitlines())
    assert [move["move"] for move in document["moves"]] == ["7g7f"]


def test_a_position_gets_its_whole_limit() -> None:
    document = json.loads(run("startpos", "--evaluator", "hash", "--nodes", 500, "--json").stdout)
    assert document["limits"] == "500 nodes per position"
    assert document["positions"][0]["nodes"] >= 500


def test_a_position_that_is_mate() -> None:
    result = run(MATED, *FAST)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [MATED, "hash (hash-0)", "詰み、先手の勝ち mate, Black wins"]


def test_a_file_of_positions(tmp_path: Path) -> None:
    path = tmp_path / "positions.sfen"
    path.write_text(f"{SFEN}\nstartpos moves 7g7f 3c3d\n{MATED}\n")
    result = run(path, SHORT_POSITION, *FAST, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert re.search(r"^positions.sfen$", result.stdout, re.MULTILINE)
    assert re.search(r"^positions.sfen#3$", result.stdout, re.MULTILINE)
    assert re.search(r"^ positions-2 .* 2 ", result.stdout, re.MULTILINE)
    assert len(list((tmp_path / "out").glob("*/analysis.html"))) == 4


def test_what_is_no_position_is_refused() -> None:
    result = run("9/9/9 b - 1", *FAST)
    assert result.exit_code == 1
    assert "9/9/9 b - 1: the first position is impossible" in result.output


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_argument_is_refused(empty: str) -> None:
    result = run(empty, *FAST)
    assert result.exit_code == 1
    assert f"the argument {empty!r} is empty: give a position or a file" in result.stderr


def test_a_range_of_plies(short: Path) -> None:
    document = json.loads(run(short, *FAST, "--json", "--range", "2:3").stdout)
    assert [move["ply"] for move in document["moves"]] == [2, 3]
    assert document["is_complete"] is False
    assert [move["ply"] for move in json.loads(run(short, *FAST, "--json", "--range", "4:").stdout)["moves"]] == [4]


def test_one_game_of_several(tmp_path: Path) -> None:
    path = tmp_path / "two.csa"
    path.write_text(f"{SHORT}/\n{SHORT.replace('alice', 'carol')}")
    assert json.loads(run(path, *FAST, "--json", "--game", 1).stdout)["black"] == "alice"
    assert json.loads(run(path, *FAST, "--json", "--game", 2).stdout)["black"] == "carol"
    missing = run(path, *FAST, "--game", 3)
    assert missing.exit_code == 1
    assert "no game 3" in missing.stderr
    assert "it has 2" in missing.stderr
    for sources in ([path, path], [tmp_path]):
        assert run(*sources, *FAST, "--game", 1).exit_code == 2


@pytest.mark.parametrize("moves", ["", "+7776FU\n"])
def test_games_of_no_moves_or_one(tmp_path: Path, moves: str) -> None:
    path = tmp_path / "game.csa"
    path.write_text(f"V2.2\nPI\n+\n{moves}%CHUDAN\n")
    result = run(path, *FAST, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "analysis.html").is_file()


def test_errors_name_what_is_wrong(short: Path, tmp_path: Path) -> None:
    missing = run(tmp_path / "no.csa", *FAST)
    assert missing.exit_code == 1
    assert "no.csa" in missing.stderr

    damaged = tmp_path / "damaged.csa"
    damaged.write_text("V2.2\nPI\n+\n+7776FU\n-3335FU\n%TORYO\n")
    result = run(damaged, *FAST)
    assert result.exit_code == 1
    assert "damaged.csa, line 5" in result.stderr

    nothing = tmp_path / "nothing.txt"
    nothing.write_text("hello\n")
    assert "nothing.txt" in run(nothing, *FAST).stderr

    problem = tmp_path / "problem.kif"
    problem.write_text(MATE_PROBLEM, encoding="utf-8")
    result = run(problem, *FAST)
    assert result.exit_code == 1
    assert "problem.kif: only games can be analysed" in result.stderr
    assert "Black has no king" in result.stderr

    long_name = run(short, "--model", "x" * 300 + ".onnx")
    assert long_name.exit_code == 1
    assert "xxx.onnx" in long_name.stderr
    assert "report" not in long_name.stderr

    no_model = run(short, "--model", tmp_path / "no.onnx")
    assert no_model.exit_code == 1
    assert "no.onnx" in no_model.stderr

    folder = tmp_path / "report"
    assert run(short, "--model", tmp_path / "no.onnx", "--out", folder).exit_code == 1
    assert not folder.exists()

    no_network = run(short, "--model", damaged)
    assert no_network.exit_code == 1
    assert "damaged.csa" in no_network.stderr

    for wrong in ("3", "a:b", "5:9", "3:2", "0:2"):
        result = run(short, *FAST, "--range", wrong)
        assert result.exit_code == 2
        assert wrong in result.stderr
    assert not any("Traceback" in each.stderr for each in (missing, no_model, no_network, result))


@pytest.mark.parametrize(("text", "words"), [("1s", "1000 ms"), ("20ms", "20 ms"), ("20", "20 ms"), ("0.02s", "20 ms")])
def test_times_are_written_as_in_the_clocks_of_matches(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "empty.csa"
    path.write_text("V2.2\nPI\n+\n%CHUDAN\n")
    document = json.loads(run(path, "--evaluator", "hash", "--time", text, "--json").stdout)
    assert document["limits"] == f"{words} per position"


@pytest.mark.parametrize("text", ["0", "0s", "-1", "1h", "soon", "1.5ms", "1s 5", "99999999999s", ""])
def test_what_is_no_time_is_refused(short: Path, text: str) -> None:
    result = run(short, "--evaluator", "hash", f"--time={text}", "--json")
    assert result.exit_code == 2
    assert "--time" in result.stderr


def test_games_that_are_too_large_are_refused_by_name(tmp_path: Path) -> None:
    moves = ("+2838HI", "-8272HI", "+3828HI", "-7282HI")
    long = tmp_path / "long.csa"
    long.write_text("V2.2\nPI\n+\n" + "\n".join(moves * 25_000) + "\n")
    result = run(long, *FAST)
    assert result.exit_code == 1
    assert "long.csa, line 10004: a game may have at most 10000 plies" in result.stderr
    large = tmp_path / "large.csa"
    with large.open("wb") as file:
        file.truncate(2 << 30)
    result = run(large, *FAST)
    assert result.exit_code == 1
    assert "large.csa: larger than 64 MiB" in result.stderr


def test_a_folder_that_cannot_be_written(short: Path) -> None:
    result = run(short, *FAST, "--out", short / "under-a-file")
    assert result.exit_code == 1
    assert "under-a-file" in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_ctrl_c_ends_a_running_search(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "fukayomi", "analyse", str(EXAMPLE), "--evaluator", "hash", "--time", "300"]
    command += ["--json", "--out", str(tmp_path)]
    environment = os.environ | {"TERM": "xterm"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        try:
            said = b""
            while b"2/119" not in said:  # the progress bar
                said += os.read(ours, 1000)
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=600)
        finally:
            process.kill()
            os.close(ours)
    assert process.returncode == 130
    document = json.loads(output)
    assert 1 <= len(document["moves"]) < 118
    assert (tmp_path / "analysis.html").is_file()
