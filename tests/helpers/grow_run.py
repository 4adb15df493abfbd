"""A growth that ends its own process: ``grow_run.py DIR SETTINGS [games|files N]``.

SETTINGS is the JSON of the settings. Kills itself after the Nth game of this process, or in place of the Nth
replacement of a book, the journal, the page or the settings.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from fukayomi.arena.game.player import Failure
from fukayomi.arena.results.game import Game
from fukayomi.arena.results.match_db import read_games
from fukayomi.book_growth import GrowSettings, Growth, GrowthListener, grow_book

ENGINE = (sys.executable, str(Path(__file__).with_name("book_engine.py")))
FILES = (".db", ".jsonl", ".html", ".toml")


def small(**changes: object) -> dict[str, Any]:
    """Settings of a growth that takes seconds, as plain values."""
    values: dict[str, Any] = {
        "engine": [{"name": "own", "command": list(ENGINE)}],
        "clock": "nodes=1000",
        "games": 6,
        "rounds": 3,
        "black": {"th": 4},
        "white": {"th": 3},
        "concurrency": 2,
        "rules": {"margin_ms": 60_000, "start_timeout_ms": 60_000, "ready_timeout_ms": 60_000},
    }
    return values | changes


def result(folder: Path) -> dict[str, object]:
    """What a growth has made: digests of its files, and the moves of its games."""
    found: dict[str, object] = {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.suffix in FILES and path.name != "match.db"
    }
    for path in sorted((folder / "rounds").iterdir()):
        found[path.name] = [(game.black, game.moves, game.result) for game in read_games(path)]
    return found


class Killer(GrowthListener):
    """Ends the process after some games."""

    def __init__(self, games: int) -> None:
        self._left = games

    def game_ended(self, growth: Growth, number: int, game: Game, failure: Failure | None) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def kill_at_file(folder: Path, number: int) -> None:
    """End the process in place of the replacement of a file."""
    left = number

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event == "os.rename" and Path(arguments[1]).suffix in FILES:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def main() -> None:
    folder, values, *when = sys.argv[1:]
    settings: Mapping[str, Any] = json.loads(values)
    kind, number = (when[0], int(when[1])) if when else ("", 0)
    if kind == "files":
        kill_at_file(Path(folder), number)
    grow_book(GrowSettings(**settings), Path(folder), listener=Killer(number if kind == "games" else 0))


if __name__ == "__main__":
    main()
