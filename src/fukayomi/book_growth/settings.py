"""The settings of a book that grows.

The fields are the keys of the TOML file, for example:

    start = "lr5nl/3g1kg2/2n1ppsp1/p1pps1p1p/1p5P1/P1PPSPP1P/1PS1P1N2/2GK1G3/LN5RL w Bb 38"
    clock = "nodes=1000000"

    [[engine]]
    name = "engine"
    command = ["fukayomi-usi"]

    [black]
    th = 100

    [white]
    th = 50
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from fukayomi.arena.game.rules import EngineSettings, Positive, Resignation, Rules
from fukayomi.arena.game.time_control import LARGEST, TimeControl
from fukayomi.book.minmax.settings import MinmaxSettings
from fukayomi.engine.settings import network_in_folder
from fukayomi.errors import InvalidValueError
from fukayomi.settings import FromFile, Settings, SettingsFile, plain, toml_text
from fukayomi.shogi import BLACK, START_SFEN, Color, Position


class GrowthError(InvalidValueError):
    """A book cannot grow: settings, folder or engines do not fit. The message says what to do."""


class GamesFrom(StrEnum):
    """Where the games of a round begin."""

    TRUNK = "trunk"
    """At the start, all: the engines follow the book, and what they try beside it becomes branches."""
    FRONTIER = "frontier"
    """Half of them there, and half at positions whose results may change the choice at the start."""


class SideSettings(MinmaxSettings):
    """How the results of games become the book of a side, as for ``fukayomi book minmax``."""

    uniq: bool = True
    """Count games with the same start, moves and result once."""


class BlackSettings(SideSettings):
    """How the book of Black is made."""

    th: Annotated[int, Field(ge=1)] = 100
    """Least number of games of a position: only moves to such positions count."""


class WhiteSettings(SideSettings):
    """How the book of White is made."""

    th: Annotated[int, Field(ge=1)] = 50
    """Least number of games of a position: only moves to such positions count."""


class GrowRules(Rules):
    """Conditions that end a game: engines resign early."""

    max_plies: Positive = 320
    """The game is a draw after this many plies, unless the last one mates."""
    resign: Resignation | None = Resignation(score_cp=500, moves=1, both_sides=False)
    """When a side resigns."""


class GrowSettings(Settings):
    """A book that grows. The same settings and engines that do not leave their moves to chance give the same book."""

    ERROR: ClassVar = GrowthError

    engines: Annotated[tuple[EngineSettings, ...], Field(min_length=1, max_length=2, alias="engine")]
    """Two USI engines, or one that plays itself. A book of the growing side is added to their options."""
    clock: TimeControl
    """Time control, as of a match: nodes=1000000; byoyomi=1s; movetime=100ms; depth=10."""
    start: str | None = None
    """Position that the games begin from: SFEN, or USI with or without moves; None: the start of a game."""
    games: Annotated[int, Field(ge=2, le=1_000_000)] = 20
    """Games of a round for the book of each side; an even number: engines change colours."""
    rounds: Annotated[int, Field(ge=1)] | None = None
    """Rounds in all; can be raised later. None: without end, until Ctrl-C."""
    games_from: GamesFrom = GamesFrom.TRUNK
    """Where games begin: trunk, all at the start, from where the engines follow the book; frontier, half of them at
    positions whose results may change the choice at the start."""
    spread: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Largest difference of the node limits of games from those of the clock, as a share of them: so that games of the
    same engines differ."""
    sides: Annotated[tuple[str, ...], Field(min_length=1)] = ("black", "white")
    """The sides whose books grow."""
    black: BlackSettings = BlackSettings()
    white: WhiteSettings = WhiteSettings()
    network: Annotated[Path | None, FromFile(network_in_folder)] = None
    """Network whose values and probabilities count where prior_games and candidates of a side say so; None: the
    embedded one."""
    rules: GrowRules = GrowRules()
    concurrency: Positive | None = None
    """Games played at once; None: one on each processor core."""
    restart: bool = True
    """Restart an engine that died or hung; otherwise the run ends there."""
    log: bool = False
    """Keep all USI lines, one file per game."""

    @field_validator("start")
    @classmethod
    def _start_is_a_position(cls, text: str | None) -> str | None:
        return None if text is None else position_of(text).sfen()

    @field_validator("sides")
    @classmethod
    def _sides_are_sides(cls, sides: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [side for side in sides if side not in ("black", "white")] or len(set(sides)) < len(sides):
            raise InvalidValueError(f"there are black and white, each once, not {unknown or sides}")
        return tuple(side for side in ("black", "white") if side in sides)

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        if self.games % 2:
            raise InvalidValueError(f"games is an even number, as engines change colours, not {self.games}")
        names = [engine.name for engine in self.engines]
        if len(set(names)) < len(names):
            raise InvalidValueError(f"engines need different names, not {', '.join(names)}")
        if any(not engine.command for engine in self.engines):
            raise InvalidValueError("engines are USI programs: give a command")
        if any(nodes > LARGEST // 2 for nodes in self.clock.nodes):
            raise InvalidValueError(f"nodes are at most {LARGEST // 2}")
        return self

    @property
    def start_sfen(self) -> str:
        """The position that the games begin from."""
        return self.start or START_SFEN

    def of(self, side: Color) -> MinmaxSettings:
        """How the book of a side is made."""
        return self.black if side == BLACK else self.white

    @property
    def colors(self) -> tuple[Color, ...]:
        """The sides whose books grow."""
        return tuple(Color[side.upper()] for side in self.sides)

    @property
    def needs_network(self) -> bool:
        """Whether values and probabilities of a network are used."""
        return any(self.of(side).needs_network for side in self.colors)

    def text(self) -> str:
        """The settings as TOML."""
        return toml_text(plain(self))


def _by_engine(settings: GrowSettings) -> dict[str, Any]:
    """Plain values, with those of each engine under its name."""
    return plain(settings, without={"engines"}) | {
        "engine": {engine.name: plain(engine, without={"name"}) for engine in settings.engines}
    }


GROW_FILE = SettingsFile(
    GrowSettings,
    "grow.toml",
    "no book grows here",
    frozenset({"rounds", "concurrency", "restart", "log"}),
    _by_engine,
)
"""The settings in a book's folder, and which of them may change from run to run."""


def position_of(text: str) -> Position:
    """A position from SFEN, or from USI with or without moves; without its past."""
    is_usi = text.split()[:1] in (["position"], ["startpos"], ["sfen"])
    position = Position.from_usi(text) if is_usi else Position.from_sfen(text)
    return Position.from_sfen(position.sfen())


def book_path(folder: Path, side: Color) -> Path:
    """The book of a side. YaneuraOu knows books by a few names only, and this is one of them."""
    return folder / side.name.lower() / "user_book1.db"
