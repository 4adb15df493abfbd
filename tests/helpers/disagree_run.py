"""A search for disagreements that ends its own process: ``disagree_run.py DIR GAMES SETTINGS EVENTS``.

SETTINGS is the JSON of the settings. Kills itself after so many reports of progress; 0: never.
"""

import json
import os
import random
import signal
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from fukayomi import Position, Record
from fukayomi.arena.results.match_db import read_games
from fukayomi.disagreement import DisagreementSettings, find_disagreements
from fukayomi.listener import Listener
from fukayomi.shogi.record import RecordedMove, Result, Termination


def small(**changes: object) -> dict[str, Any]:
    """Settings of a run that takes seconds, as plain values: a network that judges by chance, with few nodes."""
    values: dict[str, Any] = {
        "a": {"network": "<hash>", "clock": "nodes=4"},
        "b": {"network": "<hash>", "clock": "nodes=16"},
        "gap": 0.1,
        "kind": "either",
        "per_game": 2,
        "max_ply": 30,
        "confirm": 2,
        "pairs": 1,
        "max_plies": 40,
        "concurrency": 1,
    }
    return values | changes


def random_game(seed: int, plies: int = 60) -> Record:
    """A game of random moves with scores and a result."""
    chance, position = random.Random(seed), Position()
    moves: list[RecordedMove] = []
    for _ in range(plies):
        move = chance.choice(position.legal_moves)
        moves.append(RecordedMove(move, score_cp=chance.randrange(-500, 500)))
        position.push(move)
    won = Result.BLACK_WIN if seed % 2 else Result.WHITE_WIN
    return Record(
        moves=moves, black_name="one", white_name="two", start_time=f"2026/01/01 00:00:{seed:02}",
        termination=Termination.RESIGN, result=won,
    )  # fmt: skip


def result(folder: Path) -> dict[str, object]:
    """What a run has made: digests of its files, and the moves of its games."""
    found: dict[str, object] = {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".jsonl", ".sfen", ".hcp", ".hcpe3", ".toml") and path.parent.name != "judging"
    }
    found["games"] = [(game.black, game.moves, game.result) for game in read_games(folder / "judging")]
    return found


class Killer(Listener):
    """Ends the process after some reports."""

    def __init__(self, events: int) -> None:
        self._left = events

    def progress(self, stage: str, done: int, total: int | None) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    folder, games, values, events = sys.argv[1:]
    settings = DisagreementSettings(**json.loads(values))
    find_disagreements([Path(games)], Path(folder), settings, listener=Killer(int(events)))


if __name__ == "__main__":
    main()
