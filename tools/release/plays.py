"""Check that the fukayomi which this Python has installed plays: python tools/release/plays.py

It starts the engine as a GUI does, asks for moves, and analyses examples/game.csa; before that it looks for what every
wheel must hold. The exit code is 0 only if all of that went well.
"""

import importlib.metadata
import json
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

GAME = Path(__file__).parents[2] / "examples" / "game.csa"
SCRIPTS = Path(sysconfig.get_path("scripts"))
SUFFIX = ".exe" if sys.platform == "win32" else ""


def answers(engine: subprocess.Popen[str], command: str, last: str) -> list[str]:
    """What the engine says to a command, up to the line that begins with `last`."""
    assert engine.stdin is not None
    assert engine.stdout is not None
    engine.stdin.write(command + "\n")
    engine.stdin.flush()
    lines: list[str] = []
    for line in engine.stdout:
        lines.append(line.rstrip())
        if line.startswith(last):
            return lines
    raise SystemExit(f"fukayomi-usi ended after {command!r}: exit code {engine.wait()}, {lines}")


def play() -> None:
    with subprocess.Popen(
        [SCRIPTS / f"fukayomi-usi{SUFFIX}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as engine:
        print(answers(engine, "usi", "usiok")[0])
        answers(engine, "isready", "readyok")
        answers(engine, "usinewgame\nposition startpos moves 7g7f\ngo nodes 500", "bestmove")
        print(*answers(engine, "position startpos moves 7g7f 3c3d\ngo nodes 500", "bestmove")[-2:], sep="\n")
        engine.communicate("quit\n")
    if engine.returncode != 0:
        raise SystemExit(f"fukayomi-usi: exit code {engine.returncode}")


def analyse() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [SCRIPTS / f"fukayomi{SUFFIX}", "analyse", GAME, "--nodes", "50", "--out", folder, "--json"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        moves = json.loads(done.stdout)["moves"]
        written = ", ".join(sorted(path.name for path in Path(folder).iterdir()))
        print(f"{len(moves)} moves of {GAME.name} analysed, written: {written}")


def holds() -> None:
    wheel = importlib.metadata.distribution("fukayomi")
    names = {path.as_posix() for path in wheel.files or ()}
    for part in (
        "sboms/fukayomi.cdx.json",
        "licenses/LICENSE",
        "licenses/licenses/nanobind.LICENSE",
        "licenses/licenses/robin-map.LICENSE",
    ):
        if not any(name.endswith(f".dist-info/{part}") for name in names):
            raise SystemExit(f"the wheel lacks {part}")
    print(f"fukayomi {wheel.version}, Python {sys.version.split()[0]} on {sysconfig.get_platform()}")


if __name__ == "__main__":
    holds()
    play()
    analyse()
