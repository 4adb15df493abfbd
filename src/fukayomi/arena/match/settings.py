"""What a match is: its engines, clocks, openings and rules. The same fields are the keys of the TOML file.

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
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fukayomi.arena.match.choices import Declaration, OpeningOrder, Tournament
from fukayomi.arena.match.time_control import TimeControl
from fukayomi.arena.statistics.sprt import SprtSettings

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class _Model(BaseModel):
    """Unknown keys are errors: a misspelt option must not be passed over."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class EngineSettings(_Model):
    """A USI engine that takes part."""

    name: Annotated[str, Field(max_length=64, pattern=r"^[^\x00-\x1f\x7f\s]([^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\s])?$")]
    """Any text of one line; records and tables show it."""
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    directory: Path | None = None
    options: dict[str, str] = {}
    """USI options, sent before ``isready``."""
    clock: TimeControl | None = None
    """None: the match's."""


class Resignation(_Model):
    """Ends a game that is decided: for `moves` moves of its own in a row the loser saw `score_cp` or worse for itself
    and, with `both_sides`, the winner as much for itself. The referee resigns for the loser, at its turn."""

    score_cp: Positive
    moves: Positive = 3
    both_sides: bool = True


class DrawAdjudication(_Model):
    """Ends a game that is level: after `ply` plies or more, if both sides saw at most `score_cp`, for either side, for
    their last `moves` moves each."""

    score_cp: Count
    moves: Positive = 8
    ply: Count = 160


class Rules(_Model):
    """When a game ends. Fourfold repetition and perpetual check always count."""

    max_plies: Positive = 320
    """A draw when so many plies were played (the opening's moves count), unless the last of them mates."""
    declaration: Declaration = Declaration.POINTS_27
    resign: Resignation | None = None
    draw: DrawAdjudication | None = None
    margin_ms: Count = 100
    """How much later than its time an answer may come."""
    start_timeout_ms: Positive = 10_000
    """For ``usiok``."""
    ready_timeout_ms: Positive = 120_000
    """For ``readyok``."""
    stall_ms: Positive = 600_000
    """For a move without a clock (nodes, depth); an engine that takes longer hangs."""


class MatchSettings(_Model):
    """A match. Two runs of the same settings play the same schedule."""

    engines: Annotated[tuple[EngineSettings, ...], Field(min_length=2, alias="engine")]
    games: Positive
    """Games in all. A round robin spreads them evenly over the pairs of engines."""
    clock: TimeControl
    tournament: Tournament = Tournament.ROUND_ROBIN
    openings: Path | None = None
    """``.sfen`` or USI lines; None: the start position."""
    opening_start: Count = 0
    """Leave out so many openings at first, in the order in which they come."""
    opening_plies: Count | None = None
    """Cut openings at this ply; None: as they are."""
    opening_order: OpeningOrder = OpeningOrder.SEQUENTIAL
    seed: Count = 0
    rules: Rules = Rules()
    sprt: SprtSettings | None = None
    """Stop when this test decides whether the first of two engines is the stronger one."""
    concurrency: Positive = 1
    cores_per_game: Count = 0
    """Processor cores pinned to each game in play; 0: none are pinned."""
    restart: bool = False
    """Start an engine again that died or hung; otherwise the rest of its games is left out."""
    log: bool = False
    """Keep what engines and referee say to each other, a file a game."""
    event: str = ""
    """The name of the event, for the records."""

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        names = [engine.name for engine in self.engines]
        if len(set(names)) < len(names):
            raise ValueError(f"engines need different names, not {', '.join(names)}")
        if self.sprt is not None and len(self.engines) != 2:
            raise ValueError(f"a sequential test (sprt) is of two engines, not {len(self.engines)}")
        return self
