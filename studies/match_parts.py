"""What studies with matches share: openings, settings of the engine from options, lines of progress."""

import sys
from pathlib import Path

from fukayomi.arena import MatchListener, MatchState
from fukayomi.arena.game.player import Failure
from fukayomi.arena.results.game import Game
from fukayomi.engine.settings import UsiSettings, usi_options

MEMORY_MB = 64
"""Memory of a tree: far more than the nodes of a move need."""
REPORT_GAMES = 20
"""Games between two lines on stderr."""

OptionValues = dict[str, bool | int | str]


class Log(MatchListener):
    """A line on stderr every few games."""

    def __init__(self, name: str) -> None:
        self._name = name

    def game_ended(self, state: MatchState, game: Game, failure: Failure | None) -> None:
        """See `MatchListener`."""
        if state.played % REPORT_GAMES == 0 or failure is not None:
            first = next(iter(state.standings.players.values()))
            test = state.sprt()
            llr = "" if test is None else f", LLR {test.llr:+.2f} ({test.lower:.2f} to {test.upper:.2f})"
            pace = state.games_an_hour() or 0
            failed = "" if failure is None else f", {failure}"
            print(f"{self._name}: {first.total}{llr}, {pace:.0f} games/h{failed}", file=sys.stderr, flush=True)


def settings_of(options: OptionValues) -> UsiSettings:
    """The settings with these options.

    Raises:
        OptionError: An option does not exist, or does not take its value.
    """
    declared = usi_options()
    for name, value in options.items():
        declared.set(name, str(value).lower() if isinstance(value, bool) else str(value))
    return declared.settings


def read_openings(path: Path, plies: int) -> list[str]:
    """The lines of a file of USI positions, cut after some plies, each once."""
    words = [line.partition("#")[0].split() for line in path.read_text("utf-8").splitlines()]
    return list(dict.fromkeys(" ".join(line[: 2 + plies]) for line in words if line))
