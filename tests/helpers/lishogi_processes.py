"""The lishogi server in a thread, and the bot as a process that is killed and started again, and its records."""

import asyncio
import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self, TypeVar

from csa_processes import ENGINE, Program
from lishogi_server import TOKEN, LishogiServer, ServerGame, random_opponent
from patience import PATIENCE_S

from fukayomi import BLACK, WHITE, Result, Termination, read_record

T = TypeVar("T")
AT_ONCE = 2
KINDS = ("bot", "streams", "lost answer", "bot", "engine", "500", "bot", "lost request", "repeats")
"""What goes wrong, in turn."""
ENDS = {
    "resign": Termination.RESIGN,
    "mate": Termination.MATE,
    "repetition": Termination.REPETITION,
    "perpetualCheck": Termination.PERPETUAL_CHECK,
    "outoftime": Termination.TIME_UP,
    "aborted": Termination.INTERRUPTED,
}
WINNERS = {None: Result.DRAW, "sente": Result.BLACK_WIN, "gote": Result.WHITE_WIN}


class ServerThread:
    """A server in a thread of its own, while it is entered."""

    def __init__(self, server: LishogiServer) -> None:
        self.server = server
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.call(self.server.__aenter__)
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self.server.__aexit__)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    def call(self, function: Callable[[], T | Awaitable[T]]) -> T:
        """Call something in the thread; what can be awaited is."""

        async def run() -> T:
            found = function()
            return await found if isinstance(found, Awaitable) else found

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(PATIENCE_S)


class BotTable:
    """A server that always has a challenge for the bot, and the bot.

    Args:
        folder: For records and logs.
        games: How many games there will be.
        seed: For the opponents and what goes wrong.
    """

    def __init__(self, folder: Path, games: int, seed: int) -> None:
        self.folder, self.games = folder, games
        self.kills = Counter[str]()
        self.server = LishogiServer(keep_alive_s=2)
        self._chooser = random.Random(seed)
        self._thread = ServerThread(self.server)
        self._thread.__enter__()
        engine = f"{ENGINE} slow=0.01 moves=20"
        self.bot = Program(
            folder / "bot.log", "lishogi", "play", "--url", self.server.url, "--out", folder / "records",
            "--at-once", AT_ONCE, "--engine", engine, "--margin", 50, "--log", folder / "protocol.log",
            secret=("LISHOGI_TOKEN", TOKEN),
        )  # fmt: skip

    def _offer(self) -> int:
        """Have a challenge open as long as games are missing; returns how many games have ended."""
        games = self.server.games.values()
        ended = sum(game.is_over for game in games)
        if not self.server.challenges and len(games) < min(self.games, ended + AT_ONCE):
            color, last = self._chooser.choice((BLACK, WHITE)), self._chooser.choice(("resign", "flag", "abort"))
            opponent = random_opponent(self._chooser.randrange(10**9), self._chooser.randrange(4, 60), last)
            self.server.challenge(color, opponent, (60, 1, 0))
        return ended

    def play(self, kill_every: int, limit_s: float, pauses: int = 0) -> None:
        """Play all games; each time after so many something goes wrong, each kind once or more.

        Two games more show that what was killed last is there again.

        Args:
            kill_every: Games between two faults.
            limit_s: For all of it.
            pauses: How often the server asks for a pause (429); each takes a minute.
        """
        due, index, ended, wanted = kill_every, 0, 0, self.games
        deadline = time.monotonic() + limit_s
        faults = [*KINDS, "429"] if pauses else [*KINDS]
        while ended < self.games:
            assert time.monotonic() < deadline, f"{ended} games in {limit_s} s"
            ended = self._thread.call(self._offer)
            if ended >= due and (ended < wanted or index < len(faults)):
                time.sleep(self._chooser.uniform(0, 0.3))
                kind = faults[index % len(faults)]
                index += 1
                due, self.games = ended + kill_every, max(self.games, ended + 2)
                if kind != "429" or self.kills["429"] < pauses:
                    self.break_(kind)
            assert self.bot.process.poll() is None, self.bot.log.read_text(encoding="utf-8")[-2000:]
            time.sleep(0.01)

    def break_(self, kind: str) -> None:
        """Something goes wrong."""
        self.kills[kind] += 1
        faults = self.server.faults
        if kind == "bot":
            self.bot.kill()
            self.bot.start()
        elif kind == "engine":
            engine = self.bot.engine()
            if engine is not None:
                environment = Path(f"/proc/{engine}/environ").read_bytes()
                assert TOKEN.encode() not in environment
                with contextlib.suppress(ProcessLookupError):
                    os.kill(engine, signal.SIGKILL)
        elif kind == "streams":
            self._thread.call(self.server.cut)
        elif kind == "lost answer":
            faults.lost_answers.append("/move/")
        elif kind == "lost request":
            faults.lost_requests.append("/move/")
        elif kind == "repeats":
            faults.repeats = not faults.repeats
        else:
            faults.refusals.append(("/move/", int(kind)))

    def end(self) -> int:
        """End the bot after its games; its exit code."""
        return self.bot.end()

    def close(self) -> None:
        self.bot.kill()
        self._thread.__exit__()


def differences(games: dict[str, ServerGame], folder: Path) -> list[str]:
    """How the records of the bot differ from the games of the server."""
    found = {path.stem for path in folder.glob("*.csa")}
    wrong = [f"the server does not know {game_id}" for game_id in sorted(found - {*games})]
    for game_id, game in games.items():
        if game_id not in found:
            wrong.append(f"{game_id} is lost ({game.status}, {len(game.moves)} moves)")
            continue
        record = read_record(folder / f"{game_id}.csa")
        ends = ENDS[game.status], Result.UNKNOWN if game.status == "aborted" else WINNERS[game.winner]
        if (record.termination, record.result) != ends or record.usi_moves() != game.moves:
            text = f"{len(record)} moves, {record.termination}, {record.result!r}"
            wrong.append(f"{game_id} is {text}; the server has {len(game.moves)}, {game.status}, {game.winner}")
        if read_record(folder / f"{game_id}.kif").usi_moves() != game.moves:
            wrong.append(f"{game_id}.kif has other moves")
        if record.event != game_id:
            wrong.append(f"{game_id} calls itself {record.event}")
    return wrong
