"""The engines of a game and the rules it is played by. The same fields are the keys of the TOML file of a match."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import BeforeValidator, Field, model_validator

from fukayomi.arena.game import choices
from fukayomi.arena.game.choices import Declaration
from fukayomi.arena.game.time_control import LARGEST, TimeControl
from fukayomi.errors import InvalidValueError
from fukayomi.settings import FromFile, Settings, in_folder
from fukayomi.usi.engine import option_text, split_words

Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]


class ConfigurationError(InvalidValueError):
    """Invalid settings of a match. The message names the setting and what it should be."""


def split_command(text: str, folder: Path) -> list[str]:
    """Split a command line into words. A program given by a path relative to `folder` gets its full path.

    Raises:
        ConfigurationError: A quote is not closed.
    """
    try:
        words = split_words(text, folder)
    except ValueError as error:
        raise ConfigurationError(f"{text!r} is not a command: {error}") from error
    return _with_full_path(words, folder)


def has_folder(program: str) -> bool:
    """True if this is a path, such as ``./engine``, rather than a name."""
    return os.sep in program or bool(os.altsep and os.altsep in program)


def _with_full_path(command: list[Any], folder: Path) -> list[Any]:
    """Resolve ``bin/engine`` from `folder`, whatever folder the engine runs in; a bare name is searched in PATH."""
    if command and isinstance(command[0], str) and has_folder(command[0]):
        path = folder.absolute() / command[0]
        if path.exists():
            return [str(path), *command[1:]]
    return command


def _command_of_file(value: Any, folder: Path) -> Any:
    """A command line, or the words of one."""
    if isinstance(value, str):
        return split_command(value, folder)
    return _with_full_path(cast("list[Any]", value), folder) if isinstance(value, list) else value


def _as_text(options: Any) -> Any:
    """Values of USI options as text: files may have numbers and truth values."""
    if not isinstance(options, Mapping):
        return options
    items = cast("Mapping[str, Any]", options).items()
    return {name: option_text(value) if isinstance(value, str | int | float) else value for name, value in items}


UsiOptions = Annotated[dict[str, str], BeforeValidator(_as_text)]
"""USI options by name."""


class EngineSettings(Settings):
    """An engine that takes part: a USI program, or a player in this process (`identity`)."""

    name: Annotated[str, Field(max_length=64, pattern=r"^[^\x00-\x1f\x7f\s]([^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\s])?$")]
    """One line of text; records and tables show it."""
    command: Annotated[tuple[str, ...], FromFile(_command_of_file)] = ()
    """The program and its arguments."""
    identity: str = ""
    """Instead of a command: what plays in this process (`MovePlayer.identity`)."""
    directory: Annotated[Path | None, FromFile(in_folder)] = None
    """Working directory; None: the current one."""
    options: UsiOptions = Field(default_factory=dict)
    """USI options, sent before ``isready``."""
    undeclared_options: bool = False
    """Send options and values all the same that the engine does not declare; otherwise they are an error."""
    clock: TimeControl | None = None
    """The engine's own clock; None: the match's."""

    @model_validator(mode="after")
    def _can_play(self) -> Self:
        if not self.command and not self.identity:
            raise InvalidValueError("the command is missing")
        if self.command and self.identity:
            raise InvalidValueError("an engine has a command or an identity, not both")
        return self


class Resignation(Settings):
    """Adjudication of a lost game: the losing side has scored -`score_cp` or worse for its last `moves` moves, and
    with `both_sides` the winning side has scored `score_cp` or better for as many. The referee resigns for the loser,
    when it is to move, unless its first score was lost already."""

    score_cp: Positive
    moves: Positive = choices.RESIGN_MOVES
    both_sides: bool = True


class DrawAdjudication(Settings):
    """Adjudication of a level game as a draw: from ply `ply` on, if both sides have scored within ±`score_cp` for
    their last `moves` moves."""

    score_cp: Count
    moves: Positive = choices.DRAW_MOVES
    ply: Count = choices.DRAW_PLY


class Rules(Settings):
    """Conditions that end a game. Fourfold repetition and perpetual check always apply."""

    ERROR: ClassVar = ConfigurationError

    max_plies: Positive = choices.MAX_PLIES
    """The game is a draw after this many plies (the opening's included), unless the last one mates. Engines are told if
    they have MaxMovesToDraw or Draw_Ply."""
    declaration: Declaration = Declaration.POINTS_27
    """Rule for declarations (入玉宣言): 27 or 24 points; with H the pieces that a handicap leaves out count for White;
    the try rule; or none. Engines are told if they have EnteringKingRule."""
    resign: Resignation | None = None
    draw: DrawAdjudication | None = None
    margin_ms: Count = choices.MARGIN_MS
    """Tolerance for late answers, ms."""
    start_timeout_ms: Positive = choices.START_TIMEOUT_MS
    """Time limit for usiok, ms."""
    ready_timeout_ms: Positive = choices.READY_TIMEOUT_MS
    """Time limit for readyok, ms."""
    stall_ms: Positive = choices.STALL_MS
    """Time for a move without a clock (nodes, depth); an engine that takes longer counts as hanging."""
