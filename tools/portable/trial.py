"""Start the programs of the portable folder as GUIs do: python tools/portable/trial.py [FOLDER]

The folder (default: dist/portable/fukayomi) is copied to a place whose name has spaces and Japanese letters, and made
read-only. Its engine is started by its full path from another folder, without a home and without this Python's
variables, on pipes. The exit code is 0 only if all went well.
"""

import os
import queue
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUFFIX = ".exe" if sys.platform == "win32" else ""
LARGEST_MB = 150
STARTS = 10
PATIENCE_S = 120.0
NETWORK = "別の network.onnx"
"""Name of a network that is put beside the programs."""
KEPT = ("PATH", "SYSTEMROOT", "TEMP", "TMP")
"""Variables of the environment that the programs get: Windows needs them."""


class Engine:
    """A USI engine on pipes, and what it says."""

    def __init__(self, program: Path, cwd: Path) -> None:
        self.started_s = time.perf_counter()
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.process = subprocess.Popen(
            [program], cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.decode("utf-8").rstrip("\r\n"))
        self._lines.put(None)

    def send(self, *commands: str) -> None:
        """Send commands."""
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{command}\n" for command in commands).encode())
        self.process.stdin.flush()

    def until(self, word: str) -> list[str]:
        """The lines up to the one that begins with a word."""
        lines: list[str] = []
        while not lines or not lines[-1].startswith(word):
            line = self._lines.get(timeout=PATIENCE_S)
            if line is None:
                assert self.process.stderr is not None
                raise SystemExit(f"the engine ended before {word}: {lines[-3:]} {self.process.stderr.read().decode()}")
            lines.append(line)
        return lines

    def seconds(self) -> float:
        """Time since the start."""
        return time.perf_counter() - self.started_s

    def close_input(self) -> None:
        """End the input, as a GUI that dies does."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def is_silent(self) -> bool:
        """Whether the output ends, once what was said has been read."""
        while self._lines.get(timeout=PATIENCE_S) is not None:
            pass
        return True

    def wait(self) -> int:
        """The exit code, once the engine has ended."""
        return self.process.wait(PATIENCE_S)


def started(program: Path, cwd: Path) -> Engine:
    """An engine that has said usiok."""
    engine = Engine(program, cwd)
    engine.send("usi")
    engine.until("usiok")
    return engine


def play(program: Path, cwd: Path, options: dict[str, str]) -> str:
    """The move that an engine finds with options, after which it quits."""
    engine = started(program, cwd)
    engine.send(*(f"setoption name {name} value {value}" for name, value in options.items()), "isready")
    said = engine.until("readyok")
    engine.send("usinewgame", "position startpos moves 7g7f 3c3d", "go nodes 200")
    answer = engine.until("bestmove")[-1]
    engine.send("quit")
    check(engine.wait() == 0, "quit ends the engine with exit code 0")
    for name, value in options.items():
        check(not any("refused" in line or "unknown" in line for line in said), f"the engine takes {name}={value}")
    return answer.split()[1]


def check(is_true: bool, what: str) -> None:
    """Fail unless something holds."""
    if not is_true:
        raise SystemExit(f"failed: {what}")


def measure(program: Path, cwd: Path) -> None:
    """How long the engine takes to say usiok, and readyok once the network has been measured."""
    usiok: list[float] = []
    readyok: list[float] = []
    for _ in range(STARTS):
        engine = started(program, cwd)
        usiok.append(engine.seconds())
        engine.send("isready")
        engine.until("readyok")
        readyok.append(engine.seconds())
        engine.send("quit")
        engine.wait()
    for name, values in (("usiok", usiok), ("readyok", readyok)):
        span = f"{min(values):.2f} to {max(values):.2f}"
        print(f"{name}: {statistics.median(values):.2f} s, the median of {STARTS} starts ({span})")


def try_engine(engine: Path, cwd: Path) -> None:
    """Let an engine play with the networks that it finds, and end in each way in which GUIs end it."""
    print("move:", play(engine, cwd, {}))
    print("move with a network beside the program:", play(engine, cwd, {"DNN_Model": NETWORK}))
    print("move with ONNX Runtime:", play(engine, cwd, {"DNN_Model": NETWORK, "DNN_Provider": "cpu"}))
    closed = started(engine, cwd)
    closed.send("isready", "position startpos", "go infinite")
    closed.close_input()
    check(closed.wait() == 0, "the engine ends when its input ends")
    killed = started(engine, cwd)
    killed.send("isready")
    killed.process.kill()
    killed.wait()
    check(killed.is_silent(), "a kill ends all of the engine: nothing keeps its output open")


def try_commands(program: Path, cwd: Path) -> None:
    """Analyse a game."""
    words = ["analyse", ROOT / "examples" / "game.csa", "--nodes", "4", "--out", cwd / "report"]
    subprocess.run([program, *words], cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    check(any((cwd / "report").rglob("analysis.html")), "analyse writes its page")


def set_writable(folder: Path, is_writable: bool) -> None:
    """Let everything in a folder be changed, or nothing."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | 0o200 if is_writable else mode & ~0o222)


def files(folder: Path) -> list[Path]:
    """The files in a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist" / "portable" / "fukayomi").resolve()
    megabytes = sum(path.stat().st_size for path in files(folder) if not path.is_symlink()) / 1e6
    print(f"size: {megabytes:.1f} MB in {len(files(folder))} files")
    check(megabytes <= LARGEST_MB, f"the folder has at most {LARGEST_MB} MB")
    check(
        (folder / "README.txt").is_file() and any((folder / "LICENSES").iterdir()), "README.txt and LICENSES are there"
    )
    with tempfile.TemporaryDirectory(prefix="深読み エンジン ") as place:
        cwd = Path(place) / "elsewhere"
        cwd.mkdir()
        copy = Path(shutil.copytree(folder, Path(place) / "将棋 AI" / "fukayomi", symlinks=True))
        shutil.copy(next(copy.rglob("fukayomi-5x64.onnx")), copy / NETWORK)
        before = files(copy)
        set_writable(copy, False)
        try:
            for part in (try_engine, measure, try_commands):
                part(copy / f"fukayomi-usi{SUFFIX}", cwd)
            check(files(copy) == before, "nothing is written into the folder")
        finally:
            set_writable(copy, True)
    print("all went well")


if __name__ == "__main__":
    main()
