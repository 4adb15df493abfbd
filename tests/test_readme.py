"""README's commands run as they are written, in a checkout whose .venv is not on PATH."""

import os
import re
import subprocess
import sys
from pathlib import Path

import learn_run
import pytest
import tomli_w
from places import RECORDS, ROOT

import fukayomi
from fukayomi.shogi.formats import read_record, write_kif

ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
JAPANESE = (ROOT / "README.ja.md").read_text(encoding="utf-8")
SHORT = {
    "--hold-out 50": "--hold-out 2",
    "--config examples/train.toml": "--config examples/train.toml --steps 2 --batch 16",
    "--games 200 --clock byoyomi=1s": "--games 2 --clock nodes=2 --max-plies 20",
    "--preset tiny": "small.toml",
}
"""What takes hours is replaced; the rest is README's own text."""
MORE = {"analyse": "--nodes 2 --range 1:4", "bench": "--nodes 100"}
"""Options that commands get in addition, by their first word."""


def commands(text: str) -> list[str]:
    """The lines of the code blocks that call the program, and what is called in the text between them."""
    lines = re.findall(r"^    \.venv/bin/(fukayomi .*)$", text.replace("\\\n", " "), re.MULTILINE)
    inline = re.findall(r"`(?:\.venv/bin/)?(fukayomi (?:analyse|bench|perft|eval-model) ?[^`\n]*)`", text)
    return [re.sub(r" +", " ", line.partition(" # ")[0]).strip() for line in [*lines, *inline]]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what README's commands read."""
    folder = tmp_path / "my checkout"
    folder.mkdir()
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "games").mkdir()
    for path in (*RECORDS.glob("*.csa"), ROOT / "examples" / "game.csa"):
        (folder / "games" / path.name).write_bytes(path.read_bytes())
    game = write_kif(read_record(ROOT / "examples" / "game.csa"))
    (folder / "game.kif").write_text(game, encoding="utf-8")
    (folder / "small.toml").write_text(tomli_w.dumps(learn_run.SMALL), encoding="utf-8")
    (folder / "balanced.sfen").write_text("startpos moves 2g2f 8c8d\nstartpos moves 7g7f 3c3d\n", encoding="utf-8")
    return folder


def test_both_languages_show_the_same_commands() -> None:
    assert len(commands(ENGLISH)) > 8
    assert {line.replace("棋譜.kif", "game.kif") for line in commands(JAPANESE)} <= set(commands(ENGLISH))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(os.name != "posix", reason="README's commands are for a shell of POSIX")
def test_the_commands_run_as_written(checkout: Path) -> None:
    if not (checkout / ".venv/bin/fukayomi").exists():
        pytest.skip("needs the installed program (make install)")
    environment = {
        **{name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"},
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(Path(fukayomi.__file__).parent.parent),  # what is tested, wherever the program lies
    }
    for line in commands(ENGLISH):
        if "NETWORK" in line:  # a form, not a command
            continue
        command = f".venv/bin/{line} {MORE.get(line.split()[1], '')}"
        for long, short in SHORT.items():
            command = command.replace(long, short)
        done = subprocess.run(
            command, shell=True, cwd=checkout, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert (checkout / "strategies.svg").exists()
    assert (checkout / "run" / "report.html").exists()
