"""The engines of a game, the rules it is played by, and the options that tell engines of them.

The fields of the settings are the keys of the TOML file of a match.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import BeforeValidator, Field, model_validator

from fukayomi.arena.game.time_control import LARGEST, TimeControl
from fukayomi.errors import InvalidValueError
from fukayomi.settings import FromFile, Settings, in_folder
from fukayomi.usi.engine import option_text, split_words
from fukayomi.usi.options import Option, OptionError

MARGIN_MS = 100
"""Tolerance for late answers."""
STALL_MS = 600_000
"""Time for a move without a clock (nodes, depth)."""
RESIGN_MOVES = 3
"""Moves in a row with a lost score before a loss is adjudicated."""
DRAW_MOVES = 8
"""Moves in a row with a level score before a draw is adjudicated."""
DRAW_PLY = 160
"""No draw is adjudicated before this ply."""


class Tournament(StrEnum):
    """Pairing scheme of the engines."""

    ROUND_ROBIN = "round-robin"
    """Every engine meets every other."""
    GAUNTLET = "gauntlet"
    """The first engine meets each of the others."""
    PAIRS = "pairs"
    """The first engine meets the second, the third the fourth, and so on, each pair from openings of its own."""


class OpeningOrder(StrEnum):
    """The order of the openings."""

    SEQUENTIAL = "sequential"
    """As in the file."""
    RANDOM = "random"
    """Shuffled by the seed; every opening is used once before any is repeated."""


class Declaration(StrEnum):
    """The rule for a declaration (入玉宣言); docs/usi-options.md has a table of them."""

    POINTS_27 = "27"
    """28 points for Black, 27 for White."""
    POINTS_24 = "24"
    """31 points; with 24 to 30 the game is a draw."""
    POINTS_27_HANDICAP = "27H"
    """27, where the pieces that a handicap leaves out count for White."""
    POINTS_24_HANDICAP = "24H"
    """24, where the pieces that a handicap leaves out count for White."""
    TRY = "try"
    """The side that moves its king to the square on which the enemy's king starts wins (トライルール)."""
    NONE = "none"


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


def command_of_file(value: Any, folder: Path) -> Any:
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
    command: Annotated[tuple[str, ...], FromFile(command_of_file)] = ()
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
    moves: Positive = RESIGN_MOVES
    both_sides: bool = True


class DrawAdjudication(Settings):
    """Adjudication of a level game as a draw: from ply `ply` on, if both sides have scored within ±`score_cp` for
    their last `moves` moves."""

    score_cp: Count
    moves: Positive = DRAW_MOVES
    ply: Count = DRAW_PLY


class Rules(Settings):
    """Conditions that end a game. Fourfold repetition and perpetual check always apply."""

    ERROR: ClassVar = ConfigurationError

    max_plies: Positive = 320
    """The game is a draw after this many plies (the opening's included), unless the last one mates. Engines are told if
    they have MaxMovesToDraw or Draw_Ply."""
    declaration: Declaration = Declaration.POINTS_27
    """Rule for declarations (入玉宣言): 27 or 24 points; with H the pieces that a handicap leaves out count for White;
    the try rule; or none. Engines are told if they have EnteringKingRule."""
    resign: Resignation | None = None
    draw: DrawAdjudication | None = None
    margin_ms: Count = MARGIN_MS
    """Tolerance for late answers, ms."""
    start_timeout_ms: Positive = 10_000
    """Time limit for usiok, ms."""
    ready_timeout_ms: Positive = 120_000
    """Time limit for readyok, ms."""
    stall_ms: Positive = STALL_MS
    """Time for a move without a clock (nodes, depth); an engine that takes longer counts as hanging."""


KING_RULE = "EnteringKingRule"
"""The option for declarations, YaneuraOu's and ours."""
KING_RULES = {
    Declaration.POINTS_27: "CSARule27",
    Declaration.POINTS_24: "CSARule24",
    Declaration.POINTS_27_HANDICAP: "CSARule27H",
    Declaration.POINTS_24_HANDICAP: "CSARule24H",
    Declaration.TRY: "TryRule",
    Declaration.NONE: "NoEnteringKing",
}
PLY_LIMITS = ("MaxMovesToDraw", "Draw_Ply")
"""The options for the ply after which a game is a draw: YaneuraOu's, and that of Apery, dlshogi and ours."""
PONDER = "USI_Ponder"
"""USI's option for pondering, which GUIs send whether it is declared or not."""
OTHER_PONDER = "Ponder"
"""The same by the name of UCI engines."""


@dataclass(frozen=True, slots=True)
class GameTerms:
    """Terms of a game for which engines have options."""

    declaration: Declaration
    """The rule for a declaration."""
    max_plies: int
    """The game is a draw after this ply, as engines count them: from the number in the SFEN of the start."""
    ponder: bool = False
    """True if the engine thinks in the opponent's time."""
    is_limit_chosen: bool = True
    """True if somebody chose the limit of plies, so that an engine that cannot be told of it is worth a warning."""

    @classmethod
    def of(cls, rules: Rules, *, ponder: bool, first_ply: int = 1) -> "GameTerms":
        """The terms of a game that starts with this ply number."""
        return cls(rules.declaration, rules.max_plies + first_ply - 1, ponder, "max_plies" in rules.model_fields_set)


@dataclass(frozen=True, slots=True)
class Told:
    """Options that tell an engine of the terms, and warnings."""

    options: dict[str, str]
    """Options to set, in order."""
    warnings: tuple[str, ...]
    """Terms that it cannot be told, or has been told otherwise by the user."""


def tell(declared: Mapping[str, Option], given: Mapping[str, str], terms: GameTerms) -> Told:
    """Options that tell an engine of the terms of a game, and warnings.

    Args:
        declared: The options that it declares, by name.
        given: The options that the user sets, which stay as they are.
        terms: The terms.
    """
    own = {name.lower(): text.strip() for name, text in given.items()}
    known = {name.lower(): option for name, option in declared.items()}
    options: dict[str, str] = {}
    warnings: list[str] = []

    def set_or_warn(name: str, text: str, what: str) -> None:
        option = known[name.lower()]
        if name.lower() in own:
            if own[name.lower()].lower() != text.lower():
                warnings.append(f"{option.name} is {own[name.lower()]}, as was asked for, but {what}")
            return
        try:
            option.value(text)
        except OptionError as error:
            warnings.append(f"it cannot be told that {what}: {error}")
        else:
            options[option.name] = text

    rule = f"the rule for declarations is {terms.declaration} ({KING_RULES[terms.declaration]})"
    if KING_RULE.lower() in known:
        set_or_warn(KING_RULE, KING_RULES[terms.declaration], rule)
    elif KING_RULE.lower() not in own and terms.declaration is not Declaration.POINTS_27:
        warnings.append(f"it cannot be told that {rule}: it has no option {KING_RULE}")
    limit = f"games are drawn after ply {terms.max_plies}"
    limits = [name for name in PLY_LIMITS if name.lower() in known]
    for name in limits:
        set_or_warn(name, str(terms.max_plies), limit)
    if not limits and terms.is_limit_chosen and not any(name.lower() in own for name in PLY_LIMITS):
        warnings.append(f"it cannot be told that {limit}: it has no option {' or '.join(PLY_LIMITS)}")
    for name in (PONDER, OTHER_PONDER) if terms.ponder else ():
        if name.lower() not in own and (name.lower() in known or name == PONDER):
            options[known[name.lower()].name if name.lower() in known else name] = "true"
    return Told(options, tuple(warnings))
