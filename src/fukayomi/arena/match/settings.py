"""The settings of a match. The same fields are the keys of the TOML file.

An example:

    games = 200
    openings = "balanced.sfen"
    clock = "byoyomi=100ms"

    [[engine]]
    name = "new"
    command = ["fukayomi-usi"]
    options = { DNN_Model = "new.onnx" }

    [[engine]]
    name = "old"
    command = ["fukayomi-usi"]
    clock = "nodes=500000/600000/700000/800000"
"""

from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from fukayomi.arena.game import choices
from fukayomi.arena.game.choices import OpeningOrder, Tournament
from fukayomi.arena.game.rules import ConfigurationError, Count, EngineSettings, Positive, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.arena.statistics.sprt import SprtSettings
from fukayomi.errors import InvalidValueError
from fukayomi.settings import FromFile, Settings, in_folder


class MatchSettings(Settings):
    """A match. The same settings always give the same schedule."""

    ERROR: ClassVar = ConfigurationError

    engines: Annotated[tuple[EngineSettings, ...], Field(min_length=2, alias="engine")]
    games: Annotated[int, Field(ge=1, le=choices.MOST_GAMES)]
    """Games in total, at most 1,000,000; can be raised later. A round robin spreads them evenly over the pairs of
    engines."""
    clock: TimeControl
    """Time control: byoyomi=1s; main=5m,byoyomi=10s; main=5m,inc=5s; main=60s; movetime=100ms; nodes=5000,
    nodes=500000/600000 (in turn by opening); depth=4."""
    tournament: Tournament = Tournament.ROUND_ROBIN
    """Every engine meets every other, or the first engine meets all others."""
    openings: Annotated[Path | None, FromFile(in_folder)] = None
    """File of openings, a line in SFEN or of USI moves each; an opening is played twice with colours swapped. None: the
    start position."""
    opening_start: Count = 0
    """Openings to skip, in the order they are used."""
    opening_plies: Count | None = None
    """Cut openings at this ply; None: use them whole."""
    opening_order: OpeningOrder = OpeningOrder.SEQUENTIAL
    """Order of the openings: as in the file, or shuffled."""
    seed: Annotated[int, Field(ge=0)] = choices.SEED
    """Seed for shuffling the openings."""
    rules: Rules = Rules()
    ponder: bool = False
    """Let engines think in the opponent's time, about the answer that they expect."""
    sprt: SprtSettings | None = None
    """Stop when this test decides whether the first of two engines is stronger."""
    concurrency: Positive = choices.CONCURRENCY
    """Games played at once."""
    cores_per_game: Count = 0
    """Processor cores pinned to each game; 0: no pinning."""
    restart: bool = False
    """Restart an engine that died or hung; otherwise the rest of its games is left out."""
    log: bool = False
    """Keep all USI lines, one file per game."""
    event: str = ""
    """Name of the event, for the records."""

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        names = [engine.name for engine in self.engines]
        if len(set(names)) < len(names):
            raise InvalidValueError(f"engines need different names, not {', '.join(names)}")
        if self.sprt is not None and len(self.engines) != 2:
            raise InvalidValueError(f"a sequential test (sprt) compares two engines, not {len(self.engines)}")
        return self
