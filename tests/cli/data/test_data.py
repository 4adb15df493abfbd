"""``fukayomi data``: what it prints, its exit codes, and that it never leaves half a file."""

import json
import os
import signal
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import command_runs
import pytest
from places import RECORDS

from fukayomi.data.convert import positions as convert

run = partial(command_runs.run, "data")


def test_a_folder_becomes_a_file_of_positions(tmp_path: Path) -> None:
    out = tmp_path / "out.hcpe"
    code, printed, said = run("csa-to-hcpe", RECORDS, "-o", out)
    assert code == 0
    assert "kept for training" in printed
    assert "README.md" in said
    assert out.stat().st_size % 38 == 0
    code, printed, _ = run("csa-to-hcpe", RECORDS, "-o", out, "--json")  # once more: an hcpe file may be replaced
    assert code == 0
    found = json.loads(printed)
    assert found["games_read"] == 4
    assert found["training"]["games"] == 4
    assert found["training"]["positions"] * 38 == out.stat().st_size
    assert sum(found["training"]["positions_by_result"].values()) == found["training"]["positions"]
    assert found["games_dropped"] == {"no_record": 1}
    assert [problem["reason"] for problem in found["problems"]] == ["no_record"]
    code, printed, _ = run("stats", out, "--json")
    assert code == 0
    assert json.loads(printed)["positions"] == found["training"]["positions"]
    assert run("stats", out)[0] == 0


def test_a_zip_gives_the_same_bytes_as_its_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "games.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(RECORDS.glob("*.csa")):
            archive.write(path, f"2026/{path.name}")
    assert run("csa-to-hcpe", RECORDS, "-o", tmp_path / "a.hcpe")[0] == 0
    assert run("csa-to-hcpe", tmp_path / "games.zip", "-o", tmp_path / "b.hcpe")[0] == 0
    assert (tmp_path / "a.hcpe").read_bytes() == (tmp_path / "b.hcpe").read_bytes()


def test_options_reach_the_filters(tmp_path: Path) -> None:
    out = tmp_path / "out.hcpe"
    code, printed, _ = run(
        "csa-to-hcpe", RECORDS, "-o", out, "--min-rating", 3000, "--min-plies", 100, "--max-eval", 2000, "--no-draws",
        "--no-mates", "--hold-out", 2, "--hold-out-to", tmp_path / "test.hcpe", "--json",
    )  # fmt: skip
    found = json.loads(printed)
    assert found["games_dropped"]["plies"] == 2
    assert found["games_dropped"]["draw"] == 1
    assert found["training"]["games"] + found["held_out"]["games"] == 1
    assert code == (0 if found["training"]["games"] else 1)


def test_nothing_left_is_a_failure_with_its_summary(tmp_path: Path) -> None:
    out = tmp_path / "out.hcpe"
    code, printed, said = run("csa-to-hcpe", RECORDS, "-o", out, "--min-rating", 9000, "--json")
    assert code == 1
    assert json.loads(printed)["games_dropped"]["rating"] == 4
    assert "no position is left" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csa", "-o", "out.hcpe"], "nowhere.csa: no such file"),
        (["bad.zip", "-o", "out.hcpe"], "bad.zip: cannot be read"),
        (["game.csa", "-o", "missing/out.hcpe"], "cannot be written"),
        (["game.csa", "other.csa", "-o", "other.csa"], "other.csa is also an input"),
        (["game.csa", "-o", "out.hcpe", "--hold-out", "5"], "go together"),
        (["game.csa", "-o", "out.hcpe", "--hold-out", "5", "--hold-out-to", "out.hcpe"], "a file of their own"),
    ],
)
def test_unusable_input_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("bad.zip").write_bytes(b"PK\x03\x04 nonsense")
    for name in ("game.csa", "other.csa"):
        Path(name).write_bytes((RECORDS / "resign.csa").read_bytes())
    before = sorted(tmp_path.iterdir())
    code, _, said = run("csa-to-hcpe", *arguments)
    assert code in (1, 2)
    assert message in said
    assert sorted(tmp_path.iterdir()) == before


def test_many_problems_are_counted_and_all_in_the_json(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"bad{number:02}.csa").write_text("PI\n+\n+7775FU\n%TORYO\n")
    (tmp_path / "good.csa").write_bytes((RECORDS / "resign.csa").read_bytes())
    code, printed, said = run("csa-to-hcpe", tmp_path, "-o", tmp_path / "out.hcpe")
    assert code == 0
    assert said.count("skipped") == 21
    assert "skipped 10 more" in said
    assert "illegal move" in printed
    (tmp_path / "out.hcpe").unlink()
    _, printed, _ = run("csa-to-hcpe", tmp_path, "-o", tmp_path / "out.hcpe", "--json")
    assert len(json.loads(printed)["problems"]) == 30


def test_names_from_archives_cannot_steer_the_terminal(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "games.zip", "w") as archive:
        archive.writestr("\x1b[31m[bold]evil\n.csa", "nothing")
        archive.write(RECORDS / "resign.csa", "a.csa")
    code, _, said = run("csa-to-hcpe", tmp_path / "games.zip", "-o", tmp_path / "out.hcpe")
    assert code == 0
    assert "\x1b[31m" not in said
    assert "?[31m[bold]evil?.csa" in said


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(convert, "read_played", interrupt)
    out = tmp_path / "out.hcpe"
    out.write_bytes(b"before")
    code, _, said = run("csa-to-hcpe", RECORDS, "-o", out)
    assert code == 130
    assert "nothing was written" in said
    assert out.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [out]


# Holds still once the first bytes are in the temporary file.
HELD_PROGRAM = """
import sys, time
from fukayomi.files.atomic import AtomicFile
write = AtomicFile.write
def write_and_wait(self, data):
    write(self, data)
    self.flush()
    print("writing", flush=True)
    time.sleep(1000)
AtomicFile.write = write_and_wait
from fukayomi.cli.main import main
sys.argv[0] = "fukayomi"
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT], ids=["SIGKILL", "SIGINT"])
def test_a_killed_conversion_leaves_no_file_under_the_name(tmp_path: Path, stop: signal.Signals) -> None:
    out = tmp_path / "out.hcpe"
    command = [sys.executable, "-c", HELD_PROGRAM, "data", "csa-to-hcpe", str(RECORDS), "-o", str(out)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        (temporary,) = tmp_path.iterdir()
        assert temporary.stat().st_size > 0
        process.send_signal(stop)
        process.communicate()  # before the pipe is closed: it has something to say
    assert process.returncode == (-signal.SIGKILL if stop is signal.SIGKILL else 130)
    assert not out.exists()
    if stop is signal.SIGINT:
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("--min-rating", "nan", "Input should be a finite number, not nan"),
        ("--opponent", "300", "Input should be less than or equal to 255, not 300"),
        ("--results", "lost", "'lost' is not one of black, white, draw"),
    ],
)
def test_a_wrong_condition_is_named_as_typed_before_a_file_is_read(option: str, value: str, problem: str) -> None:
    code, _, said = run("filter", "nowhere.hcpe3", "-o", "strong.hcpe3", option, value)
    assert (code, said) == (2, f"error: {option}: {problem}\n")
