"""The settings of the bot."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from fukayomi.arena.game.rules import DRAW_MOVES, DRAW_PLY, RESIGN_MOVES, Count, Positive, Rules
from fukayomi.errors import InvalidValueError
from fukayomi.settings import FromFile, Settings, SettingsError, in_folder

_URL = re.compile(r"(https?)://([A-Za-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]{1,5})?")
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
Seconds = Annotated[int, Field(ge=0, le=86_400)]
Rating = Annotated[int, Field(ge=0, le=5000)]


class BotError(SettingsError):
    """Invalid settings of a bot. The message names the setting."""


class GameKind(StrEnum):
    """Challenges by whether they count."""

    ANY = "any"
    """Rated and casual ones."""
    RATED = "rated"
    CASUAL = "casual"


class OpponentKind(StrEnum):
    """Challenges by who sends them."""

    ANY = "any"
    """Bots and people."""
    BOTS = "bots"
    PEOPLE = "people"


class BotSettings(Settings):
    """Which challenges a bot accepts, and how it plays."""

    ERROR: ClassVar = BotError

    url: str = "https://lishogi.org"
    """Address of the server."""
    games: Positive | None = None
    """Games to play. None: no end."""
    at_once: Annotated[int, Field(ge=1, le=64)] = 1
    """Games at the same time, each with an engine of its own."""
    out: Annotated[Path | None, FromFile(in_folder)] = None
    """Folder of the records. None: not saved."""
    kind: GameKind = GameKind.ANY
    """Accept rated games, casual games, or any."""
    opponents: OpponentKind = OpponentKind.ANY
    """Accept games with bots, with people, or any."""
    min_rating: Rating | None = None
    """Lowest rating of an opponent. None: any."""
    max_rating: Rating | None = None
    """Highest rating of an opponent. None: any."""
    min_main: Seconds = 0
    """Shortest main time, seconds."""
    max_main: Seconds = 3600
    """Longest main time, seconds."""
    min_extra: Seconds = 0
    """Shortest time for each move beside the main time, seconds: increment and byoyomi together."""
    max_extra: Seconds = 60
    """Longest time for each move beside the main time, seconds: increment and byoyomi together."""
    per_day: Positive | None = None
    """Games with one opponent in 24 hours. None: no limit."""
    avoid: tuple[str, ...] = ()
    """Players to decline."""
    ponder: bool = True
    """Think in the opponent's time."""
    margin_ms: Annotated[int, Field(ge=0, le=60_000)] = 500
    """The least time to keep for the network in each move, ms. It grows with the measured delay."""
    resign_cp: Positive | None = None
    """Resign when the engine scores -CP or worse for `resign_moves` moves in a row. None: the engine resigns."""
    resign_moves: Positive = RESIGN_MOVES
    """Moves for `resign_cp`."""
    draw_cp: Count | None = None
    """Accept a draw when the engine has scored within CP of 0 for its last `draw_moves` moves. None: never."""
    draw_moves: Positive = DRAW_MOVES
    """Moves for `draw_cp`."""
    draw_ply: Count = DRAW_PLY
    """Accept no draw before this ply."""
    offer_draws: bool = False
    """Offer a draw, too, when `draw_cp` holds."""
    takebacks: Count = 0
    """Takebacks that the opponent may have in a game."""
    reconnects: Count | None = None
    """Attempts to connect again, in a row, after a stream broke. None: no limit."""
    rules: Rules = Field(default_factory=Rules)
    """The time limits of the engine; the server has the rules of the game."""

    @field_validator("url")
    @classmethod
    def _is_safe(cls, url: str) -> str:
        found = _URL.fullmatch(url.rstrip("/"))
        if found is None:
            raise InvalidValueError(f"{url!r} is not an address such as https://lishogi.org")
        if found[1] == "http" and found[2] not in _LOOPBACK:
            raise InvalidValueError(f"{url} has no encryption: others could read the token; use https")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        for what in ("rating", "main", "extra"):
            least, most = getattr(self, f"min_{what}"), getattr(self, f"max_{what}")
            if least is not None and most is not None and least > most:
                raise InvalidValueError(f"min_{what} {least} is more than max_{what} {most}: every game is declined")
        if self.offer_draws and self.draw_cp is None:
            raise InvalidValueError("offer_draws needs draw_cp")
        return self
