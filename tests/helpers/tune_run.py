"""A tuning run that ends its own process: ``tune_run.py DIR SETTINGS [N]``.

SETTINGS is the JSON of the settings. Kills itself after the Nth game of this process.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from fukayomi.arena.game.player import Failure
from fukayomi.arena.results.game import Game
from fukayomi.tuning import TuneListener, TuneSettings, Tuning, tune

ENGINE = (sys.executable, "-S", "-E", str(Path(__file__).with_name("tunable_engine.py")))


def small(*words: str, **changes: object) -> dict[str, Any]:
    """Settings of a run that takes seconds, as plain values."""
    values: dict[str, Any] = {
        "engine": {"name": "own", "command": [*ENGINE, *words]},
        "parameter": {"Aim": {"low": 20, "high": 100, "c_end": 12, "r_end": 0.1}},
        "games": 24,
        "clock": "nodes=1",
        "batch": 4,
        "seed": 1,
        "concurrency": 2,
        "rules": {"start_timeout_ms": 60_000, "ready_timeout_ms": 60_000},
    }
    return values | changes


class Killer(TuneListener):
    """Ends the process after some games."""

    def __init__(self, games: int) -> None:
        self._left = games

    def game_ended(self, tuning: Tuning, number: int, game: Game, failure: Failure | None) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    folder, values, *games = sys.argv[1:]
    tune(TuneSettings(**json.loads(values)), folder, listener=Killer(int(games[0]) if games else 0))


if __name__ == "__main__":
    main()
