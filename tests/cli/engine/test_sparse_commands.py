"""Commands that search or measure, with the file of a sparse network; the USI engine too."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import sparse_files
from command_runs import invoke, run, run_json
from patience import PATIENCE_S
from places import ROOT

from fukayomi.engine.measuring import doctor, speed
from fukayomi.usi.client import UsiClient
from fukayomi.usi.text import Go

ENGINE = (sys.executable, "-m", "fukayomi", "usi")
GAME = ROOT / "tests" / "samples" / "records" / "resign.csa"


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small sparse network."""
    return sparse_files.write(tmp_path_factory.mktemp("sparse"), sparse_files.SMALL).path


def talk(*lines: str) -> list[str]:
    """What the engine says to these lines."""
    given = "\n".join(["usi", *lines, ""])
    done = subprocess.run(ENGINE, input=given, capture_output=True, encoding="utf-8", check=False, timeout=PATIENCE_S)
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


def test_a_gui_plays_with_it(network: Path) -> None:
    with UsiClient(ENGINE, timeout_s=PATIENCE_S) as client:
        client.handshake()
        client.set_option("DNN_Model", str(network))
        client.new_game()
        client.wait_ready()
        client.position()
        answer = client.go(Go(nodes=300), PATIENCE_S)
    assert answer.bestmove is not None
    assert answer.best_info is not None


def test_the_engine_reads_the_options_beside_it(network: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.sparse"
    own.write_bytes(network.read_bytes())
    (tmp_path / "own.sparse.ini").write_text("MultiPV=2\nNo_Such_Option=1\n")
    said = talk(f"setoption name DNN_Model value {own}", "isready", "position startpos", "go nodes 1", "quit")
    assert any("own.sparse.ini" in line and "No_Such_Option" in line for line in said), said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"DNN_Precision": "fp32"}, "DNN_Precision fp32 is not possible here"),
        ({"DNN_Provider": "cpu"}, "only DNN_Provider native runs sparse networks"),
    ],
)
def test_the_engine_says_what_it_cannot_do(network: Path, options: dict[str, str], message: str) -> None:
    lines = [f"setoption name {name} value {value}" for name, value in {"DNN_Model": network, **options}.items()]
    (said,) = (line for line in talk(*lines, "isready", "quit") if "Error" in line)
    assert message in said


def test_a_game_is_analysed(network: Path, tmp_path: Path) -> None:
    result = invoke("analyse", GAME, "--model", network, "--nodes", 20, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert "network.sparse" in (tmp_path / "out" / "analysis.json").read_text(encoding="utf-8")


def test_programs_are_served(network: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fukayomi", "serve", "--model", network],
        input='{"id": "a", "moves": ["7g7f"], "visits": 100}\n',
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["id"] == "a"
    assert answer["visits"] >= 100
    assert 0 < answer["win_rate"] < 1


def test_the_worth_of_pieces(network: Path) -> None:
    (found,) = run_json("worth", "startpos moves 7g7f", "--model", network)["positions"]
    assert len(found["pieces"]) == 38
    assert all(piece["worth_cp"] is not None for piece in found["pieces"])
    assert found["network"].startswith("network.sparse")


def test_speeds_are_measured(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "measure_speed", partial(speed.measure_speed, seconds=0.05))
    found = run_json("bench", "--model", network, "--nodes", 500)
    assert found["network"] == "network.sparse"
    assert found["evaluations_per_s"] > 0
    code, printed, said = run(
        "bench",
        "nps",
        "--model",
        network,
        "--model",
        "<5x64>",
        "--records",
        GAME,
        "--positions",
        2,
        "--nodes",
        200,
        "--json",
    )
    assert code == 0, said
    assert {row["name"] for row in json.loads(printed)["rates"]} == {"network.sparse", "<5x64>"}


def test_the_doctor_names_all_backends(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SECONDS", 0.02)
    found = run_json("doctor", network)
    assert (found["plan"]["backend"], found["plan"]["precision"], found["int8"]) == ("native", "int8", None)
    rows = {row["backend"]: row for row in found["backends"]}
    assert rows["native"]["evaluations_per_s"] > 0
    assert all(row["problem"] for name, row in rows.items() if name != "native")
    printed = invoke("doctor", network).stdout
    assert "Taken:     native int8" in printed
    assert "export --int8" not in printed


def test_a_match_of_both_families(network: Path, tmp_path: Path) -> None:
    out = tmp_path / "match"
    short = ("--playouts", 2, "--max-plies", 20, "--games", 2, "--out", out)
    found = run_json("match", "networks", network, "<5x64>", *short)
    assert {engine["name"] for engine in found["players"]} == {"network", "<5x64>"}
    assert found["games"] == 2


def test_a_file_that_is_damaged_is_named(network: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.sparse"
    damaged.write_bytes(network.read_bytes()[:-64])
    for arguments in (["worth", "startpos", "--model"], ["bench", "--model"], ["doctor"]):
        found = invoke(*arguments, damaged)
        assert found.exit_code == 1
        assert "damaged.sparse: no sparse network that can be used" in found.stderr + found.stdout
