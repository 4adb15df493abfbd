"""Players made of engines that misbehave, and a look at what they leave behind."""

import sys
import time
import uuid
from pathlib import Path

from patience import PATIENCE_S

from fukayomi.arena.game.openings import Opening
from fukayomi.arena.game.referee import PlayedGame, play_game
from fukayomi.arena.game.rules import EngineSettings, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.game.usi_player import UsiPlayer

ENGINE = (sys.executable, "-S", "-E", str(Path(__file__).with_name("hostile_engine.py")))

# A few quiet moves, and the fastest mate of an obliging opponent.
QUIET = ["7g7f", "3c3d", "2g2f", "8c8d", "2f2e", "8d8e", "6i7h", "4a3b"]


def patient(**changes: object) -> Rules:
    """Rules with which nothing but the engine is slow, on however busy a machine."""
    return Rules.model_validate(
        {"margin_ms": 60_000, "start_timeout_ms": 60_000, "ready_timeout_ms": 60_000, **changes}
    )


class Players:
    """Creates players, and closes them all."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self._players: list[UsiPlayer] = []

    def __call__(
        self, name: str, mode: str = "ok", moves: list[str] | str = QUIET, clock: str = "nodes=1", **settings: object
    ) -> UsiPlayer:
        """A player that is not started yet."""
        text = moves if isinstance(moves, str) else ",".join(moves)
        command = (*ENGINE, mode, text, self.mark)
        player = UsiPlayer(
            EngineSettings.model_validate({"name": name, "command": command, **settings}), TimeControl.from_text(clock)
        )
        player.stop_grace_s = 0.3
        player.quit_grace_s = PATIENCE_S
        self._players.append(player)
        return player

    def close(self) -> None:
        for player in self._players:
            player.close()

    def left_behind(self) -> list[str]:
        """Command lines of the engines that still run; they may take a moment to disappear."""
        if not Path("/proc/self/cmdline").exists():
            return []
        deadline = time.monotonic() + PATIENCE_S
        while found := [line for line in map(_command_line, Path("/proc").glob("[0-9]*")) if self.mark in line]:
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        return found


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:  # it ended
        return ""


def game(black: UsiPlayer, white: UsiPlayer, opening: Opening | None = None, rules: Rules | None = None) -> PlayedGame:
    """A game that nobody stops."""
    played = play_game(black, white, opening or Opening(), rules or patient())
    assert played is not None
    return played
