"""The engines of a game and the rules it is played by. The same fields are the keys of the TOML file of a match."""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidatorFunctionWrapHandler, field_validator, model_validator
from pydantic_core import PydanticCustomError

from fukayomi.arena.game import choices
from fukayomi.arena.game.choices import Declaration
from fukayomi.arena.game.time_control import LARGEST, TimeControl

Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]


class KnownKeysModel(BaseModel):
    """Settings in which an unknown key is an error, so that a misspelt one is noticed."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class StrictModel(KnownKeysModel):
    """Settings in which numbers are numbers besides, neither text nor truth values."""

    @field_validator("*", mode="wrap")
    @classmethod
    def _numbers_are_numbers(cls, value: Any, check: ValidatorFunctionWrapHandler) -> Any:
        found = check(value)
        if isinstance(value, str | bool) and isinstance(found, int | float) and not isinstance(found, bool):
            raise PydanticCustomError("number", "Input should be a number")
        return found


class EngineSettings(StrictModel):
    """An engine that takes part: a USI program, or a player in this process (`identity`)."""

    name: Annotated[str, Field(max_length=64, pattern=r"^[^\x00-\x1f\x7f\s]([^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\s])?$")]
    """One line of text; records and tables show it."""
    command: tuple[str, ...] = ()
    """The program and its arguments."""
    identity: str = ""
    """Instead of a command: what plays in this process (`MovePlayer.identity`)."""
    directory: Path | None = None
    """Working directory; None: the current one."""
    options: dict[str, str] = {}
    """USI options, sent before ``isready``."""
    undeclared_options: bool = False
    """Send options and values all the same that the engine does not declare; otherwise they are an error."""
    clock: TimeControl | None = None
    """The engine's own clock; None: the match's."""

    @model_validator(mode="after")
    def _can_play(self) -> Self:
        if not self.command and not self.identity:
            raise ValueError("the command is missing")
        if self.command and self.identity:
            raise ValueError("an engine has a command or an identity, not both")
        return self


class Resignation(KnownKeysModel):
    """When a lost game is adjudicated: the losing side has scored -`score_cp` or worse for its last `moves` moves, and
    with `both_sides` the winning side has scored `score_cp` or better for as many. The referee resigns for the loser,
    when it is to move, unless its first score was lost already."""

    score_cp: Positive
    moves: Positive = choices.RESIGN_MOVES
    both_sides: bool = True


class DrawAdjudication(KnownKeysModel):
    """When a level game is adjudicated a draw: from ply `ply` on, if both sides have scored within ±`score_cp` for
    their last `moves` moves."""

    score_cp: Count
    moves: Positive = choices.DRAW_MOVES
    ply: Count = choices.DRAW_PLY


class Rules(StrictModel):
    """When a game ends. Fourfold repetition and perpetual check always apply."""

    max_plies: Positive = choices.MAX_PLIES
    """The game is a draw after this many plies (the opening's included), unless the last one mates."""
    declaration: Declaration = Declaration.POINTS_27
    resign: Resignation | None = None
    draw: DrawAdjudication | None = None
    margin_ms: Count = choices.MARGIN_MS
    """How late an answer may be."""
    start_timeout_ms: Positive = choices.START_TIMEOUT_MS
    """Time for ``usiok``."""
    ready_timeout_ms: Positive = choices.READY_TIMEOUT_MS
    """Time for ``readyok``."""
    stall_ms: Positive = choices.STALL_MS
    """Time for a move without a clock (nodes, depth); an engine that takes longer counts as hanging."""
