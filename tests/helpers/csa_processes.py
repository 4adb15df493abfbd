"""A CSA server and its clients as processes that are killed and started again, and their records."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from patience import PATIENCE_S
from places import HELPERS

from fukayomi.shogi.formats import read_record
from fukayomi.shogi.record import Record, Termination

ENGINE = f"{sys.executable} {HELPERS / 'random_engine.py'}"
KINDS = ("server", "one", "two", "engine")


class Program:
    """A command of fukayomi that plays outside, which writes JSON lines. The secret is in the environment."""

    def __init__(self, log: Path, *arguments: object, secret: tuple[str, str] = ("CSA_PASSWORD", "moonlight")) -> None:
        self.arguments = [sys.executable, "-m", "fukayomi", *map(str, arguments), "--json"]
        self.secret = secret
        self.log = log
        self.start()

    def start(self) -> None:
        environment = {**os.environ, f"FUKAYOMI_{self.secret[0]}": self.secret[1]}
        with self.log.open("a", encoding="utf-8") as out:
            self.process = subprocess.Popen(self.arguments, stdout=out, stderr=out, env=environment)

    def events(self) -> list[dict[str, object]]:
        """What it has said so far; a kill may leave half a line."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        found: list[dict[str, object]] = []
        for line in lines:
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found

    def engine(self) -> int | None:
        """Process ID of its engine; None if it does not run."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == self.process.pid and b"random_engine" in (process / "cmdline").read_bytes():
                    return int(process.name)
            except (OSError, ValueError):
                continue
        return None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """End it after its game, as systemd does; its exit code."""
        self.process.terminate()
        return self.process.wait(PATIENCE_S)


class Table:
    """A server and two clients, which play until they are ended."""

    def __init__(self, folder: Path, port: int, plies: int = 30) -> None:
        self.folder, self.port = folder, port
        self.kills = Counter[str]()
        self.server = Program(
            folder / "server.log", "csa", "serve", "--port", port, "--out", folder / "server", "--max-plies", plies
        )
        self.clients = {name: self._client(name) for name in ("one", "two")}

    def _client(self, name: str) -> Program:
        return Program(
            self.folder / f"{name}.log", "csa", "play", "127.0.0.1", "--port", self.port, "--name", name, "--game",
            "kill-20-1F", "--engine", ENGINE, "--out", self.folder / name, "--margin", "50",
        )  # fmt: skip

    def played(self) -> int:
        """Records of the server."""
        return len(list((self.folder / "server").glob("*.csa")))

    def play(self, games: int, kill_every: int, seed: int, limit_s: float) -> None:
        """Play at least so many games; each time after so many something is killed, each kind once or more.

        Two games more show that what was killed last is there again.
        """
        chooser, due, index = random.Random(seed), kill_every, 0
        deadline = time.monotonic() + limit_s
        while self.played() < games or len(self.kills) < len(KINDS):
            assert time.monotonic() < deadline, f"{self.played()} games in {limit_s} s"
            if self.played() >= due:
                time.sleep(chooser.uniform(0, 0.3))
                self.kill(KINDS[index % len(KINDS)], chooser)
                index += 1
                due, games = self.played() + kill_every, max(games, self.played() + 2)
            time.sleep(0.02)

    def kill(self, kind: str, chooser: random.Random) -> None:
        """Kill a part; all but the engine, which its client starts, are started again."""
        self.kills[kind] += 1
        if kind == "engine":
            engine = chooser.choice([*self.clients.values()]).engine()
            if engine is not None:
                os.kill(engine, signal.SIGKILL)
            return
        program = self.server if kind == "server" else self.clients[kind]
        program.kill()
        program.start()

    def end(self) -> list[int]:
        """End all of them after their games; the exit codes."""
        codes = [self.server.end()]
        return codes + [program.end() for program in self.clients.values()]

    def close(self) -> None:
        for program in (self.server, *self.clients.values()):
            program.kill()


def records(folder: Path) -> dict[str, Record]:
    """The records of a folder by game."""
    found: dict[str, Record] = {}
    for path in sorted(folder.glob("*.csa")):
        record = read_record(path.read_bytes(), name=path.name)
        assert record.event not in found, f"{record.event} is there twice"
        assert path.with_suffix(".kif").exists()
        found[record.event] = record
    assert not list(folder.glob("*.damaged"))
    return found


def played(record: Record) -> list[tuple[str, int | None]]:
    """Moves and times."""
    return [(move.move.usi(), move.time_ms) for move in record.moves]


def differences(server: dict[str, Record], client: dict[str, Record], name: str) -> list[str]:
    """How the records of a client differ from those of the server, beyond what a kill explains."""
    wrong = [f"{name}: the server does not know {game}" for game in client if game not in server]
    for game, record in server.items():
        own = client.get(game)
        is_cut = record.termination in (Termination.INTERRUPTED, Termination.PROTOCOL)
        if own is None:
            first = record.black_name == name
            if not is_cut or len(record) > (0 if first else 1):
                wrong.append(f"{name}: {game} is lost ({record.termination}, {len(record)} moves)")
            continue
        if own.termination is Termination.INTERRUPTED:  # the client was killed, or the server
            # The server may have had its last move, and the answer to it, before the kill was noticed.
            short = min(len(record), len(own))
            is_same = played(record)[:short] == played(own)[:short] and abs(len(record) - len(own)) <= 2
        else:
            ends = [(each.termination, each.result) for each in (record, own)]
            is_same = played(record) == played(own) and ends[0] == ends[1]
        if not is_same:
            text = f"{len(own)} moves, {own.termination}, {own.result!r}"
            wrong.append(f"{name}: {game} is {text}; the server has {len(record)}, {record.termination}")
    return wrong


def until_waiting(program: Program, ready: Callable[[dict[str, object]], bool]) -> None:
    """Wait for an event."""
    deadline = time.monotonic() + PATIENCE_S
    while not any(map(ready, program.events())):
        assert time.monotonic() < deadline
        assert program.process.poll() is None, program.log.read_text()
        time.sleep(0.02)
