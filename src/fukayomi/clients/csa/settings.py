"""The settings of the client and of the server."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from fukayomi.arena.game.rules import Count, Positive, Rules
from fukayomi.arena.game.time_control import TimeControl
from fukayomi.clients.csa.text import GAME_NAME, NAME, PORT
from fukayomi.errors import InvalidValueError
from fukayomi.settings import FromFile, Settings, SettingsError, in_folder

Port = Annotated[int, Field(ge=1, le=65535)]


class CsaError(SettingsError):
    """Invalid settings of a CSA client or server. The message names the setting."""


class PlaySettings(Settings):
    """How a client plays."""

    ERROR: ClassVar = CsaError

    host: Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\s/]+$")]
    """Name or address of the server."""
    port: Port = PORT
    """Port of the server."""
    name: str
    """Name on the server (required): letters, digits, _ @ . and -."""
    game: str = ""
    """Game name, such as floodgate-600-10F: players with the same one meet. It is sent before the password. None: the
    server pairs players by itself."""
    games: Positive | None = None
    """Games to play, one after another. None: no end."""
    out: Annotated[Path | None, FromFile(in_folder)] = None
    """Folder of the records. None: not saved."""
    ponder: bool = True
    """Think in the opponent's time."""
    comments: bool = True
    """Send score and expected moves with each move, as floodgate shows them."""
    avoid: tuple[str, ...] = ()
    """Players to reject."""
    margin_ms: Annotated[int, Field(ge=0, le=60_000)] = 200
    """The least time to keep for the network in each move, ms. It grows with the measured delay."""
    keep_alive_s: Annotated[float, Field(ge=30, le=3600)] = 60
    """Seconds of silence after which an empty line keeps the connection open; the protocol allows none within 30 s."""
    reconnects: Count | None = None
    """Attempts to connect again, in a row, after the connection broke. None: no limit."""
    rules: Rules = Field(default_factory=Rules)
    """The time limits of the engine; the server has the rules of the game."""

    @field_validator("name", "game")
    @classmethod
    def _can_be_sent(cls, text: str, info: ValidationInfo) -> str:
        pattern, signs = (NAME, "_ @ .") if info.field_name == "name" else (GAME_NAME, "_ @ . +")
        if pattern.fullmatch(text) or (not text and pattern is GAME_NAME):
            return text
        raise InvalidValueError(f"{text[:100]!r} is not 1 to 64 letters, digits, {signs} and -")


class ServeSettings(Settings):
    """How a server pairs players and judges games."""

    ERROR: ClassVar = CsaError

    host: str = "127.0.0.1"
    """Address to listen at; 0.0.0.0: all, for other computers."""
    port: Annotated[int, Field(ge=0, le=65535)] = PORT
    """Port; 0: any that is free."""
    out: Annotated[Path | None, FromFile(in_folder)] = None
    """Folder of the records. None: not saved."""
    games: Positive | None = None
    """End after so many games. None: no end."""
    clock: TimeControl = TimeControl(main_ms=600_000, increment_ms=10_000)
    """Clock for games whose name gives none. A name such as lan-300-10F gives one."""
    rules: Rules = Field(default_factory=Rules)
    """The rules of the games."""
    connections: Annotated[int, Field(ge=2, le=5000)] = 200
    """Most connections at once."""
    connections_per_address: Annotated[int, Field(ge=2, le=5000)] = 32
    """Most connections at once from one address."""
    login_s: Annotated[float, Field(gt=0, le=3600)] = 30
    """Seconds for the login."""
    agree_s: Annotated[float, Field(gt=0, le=3600)] = 120
    """Seconds for AGREE."""
    idle_s: Annotated[float, Field(gt=0)] = 3600
    """Seconds that a player may wait for a game without a line, not even an empty one."""

    @field_validator("clock")
    @classmethod
    def _has_clock(cls, clock: TimeControl) -> TimeControl:
        if not clock.has_clock:
            raise InvalidValueError("a server needs a clock, such as main=600s,increment=10s")
        return clock
