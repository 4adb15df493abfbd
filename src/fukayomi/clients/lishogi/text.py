"""The messages of lishogi's API, checked as they are read. No I/O.

https://lishogi.org/api describes it. Streams are lines of JSON. Fields that are not known are passed over, as are
messages of other types; what is known must have the right type.
"""

import json
from typing import Annotated, Any, TypeVar, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from fukayomi.errors import FukayomiError
from fukayomi.settings import first_problem
from fukayomi.shogi import BLACK, START_SFEN, WHITE, Color, Position, ShogiError
from fukayomi.shogi.record import Result, Termination, winner_is
from fukayomi.tabular import printable

MOST_MS = 2**31 - 1
SHOWN = 200
"""Letters of a message that an error quotes."""
STANDARD = "standard"
"""The variant with the rules of shogi."""
Model = TypeVar("Model", bound="Message")
GameId = Annotated[str, Field(pattern=r"^[A-Za-z0-9]{4,32}$")]
Milliseconds = Annotated[int, Field(ge=0, le=MOST_MS)]
Seconds = Annotated[float, Field(ge=0, le=MOST_MS / 1000)]
Word = Annotated[str, Field(max_length=64)]

_TERMINATIONS = {
    "aborted": Termination.INTERRUPTED,
    "noStart": Termination.INTERRUPTED,
    "mate": Termination.MATE,
    "stalemate": Termination.MATE,
    "resign": Termination.RESIGN,
    "outoftime": Termination.TIME_UP,
    "draw": Termination.DRAW,
    "repetition": Termination.REPETITION,
    "perpetualCheck": Termination.PERPETUAL_CHECK,
    "impasse27": Termination.DECLARATION,
    "tryRule": Termination.DECLARATION,
}
_IN_PLAY = ("created", "started")
_SIDES = {"sente": BLACK, "gote": WHITE}


class LishogiProtocolError(FukayomiError):
    """The server sent something that its API does not have. The message quotes it."""


class Message(BaseModel):
    """Something the server sends."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class User(Message):
    """A player, in a challenge or in a game."""

    id: Word = ""
    name: Word = ""
    title: Word | None = None
    rating: Annotated[float, Field(ge=0, le=10_000)] | None = None
    ai_level: int | None = Field(None, alias="aiLevel")

    @property
    def is_bot(self) -> bool:
        """True for accounts of bots, and for the server's own engine."""
        return self.title == "BOT" or self.ai_level is not None

    @property
    def shown(self) -> str:
        """The name in records and messages."""
        if self.ai_level is not None:
            return f"AI level {self.ai_level}"
        return printable(self.name or self.id) or "?"


class Variant(Message):
    """The rules of a game."""

    key: Word


class Account(User):
    """The account of a token."""

    username: Word
    count: dict[str, Any] = {}

    @property
    def games(self) -> int:
        """Games that the account has played."""
        played = self.count.get("all", 0)
        return played if isinstance(played, int) else 0


class TimeControl(Message):
    """The clock of a challenge, in seconds."""

    type: Word
    limit: Seconds = 0
    increment: Seconds = 0
    byoyomi: Seconds = 0
    periods: Annotated[int, Field(ge=0, le=1000)] = 1


class Challenge(Message):
    """Somebody wants to play."""

    id: GameId
    challenger: User | None = None
    variant: Variant
    rated: bool
    time: TimeControl = Field(alias="timeControl")
    initial_sfen: Annotated[str, Field(max_length=300)] | None = Field(None, alias="initialSfen")
    direction: Word | None = None

    def text(self) -> str:
        """The challenge in one line, for people."""
        time = self.time
        if time.type == "clock":
            clock = f"{time.limit:g} s" + "".join(
                f" + {seconds:g} s {word}"
                for seconds, word in ((time.increment, "increment"), (time.byoyomi, "byoyomi"))
                if seconds
            )
        else:
            clock = printable(time.type)
        who = "?" if self.challenger is None else self.challenger.shown
        rating = "" if self.challenger is None or self.challenger.rating is None else f" ({self.challenger.rating:g})"
        rated = "rated" if self.rated else "casual"
        return f"challenge {self.id} of {who}{rating}: {printable(self.variant.key)}, {clock}, {rated}"


class Compat(Message):
    """Who may play a game."""

    bot: bool = True


class GameInfo(Message):
    """A game that begins or goes on."""

    id: GameId = Field(validation_alias=AliasChoices("gameId", "id"))
    compat: Compat = Compat()


class GameState(Message):
    """What changes in a game."""

    moves: Annotated[str, Field(max_length=100_000)]
    btime: Milliseconds = 0
    wtime: Milliseconds = Field(0, validation_alias=AliasChoices("wtime", "qtime"))
    binc: Milliseconds = 0
    winc: Milliseconds = 0
    byo: Milliseconds = 0
    status: Word
    winner: Word | None = None
    bdraw: bool = False
    wdraw: bool = False
    btakeback: bool = False
    wtakeback: bool = Field(False, validation_alias=AliasChoices("wtakeback", "qtakeback"))

    @property
    def is_over(self) -> bool:
        """True if the game has ended."""
        return self.status not in _IN_PLAY

    def left_ms(self, color: Color) -> int:
        """Main time left to a side."""
        return self.btime if color == BLACK else self.wtime

    def increment_ms(self, color: Color) -> int:
        """Increment of a side."""
        return self.binc if color == BLACK else self.winc

    def offers_draw(self, color: Color) -> bool:
        """True if a side offers a draw."""
        return self.bdraw if color == BLACK else self.wdraw

    def wants_takeback(self, color: Color) -> bool:
        """True if a side asks to take its move back."""
        return self.btakeback if color == BLACK else self.wtakeback

    def ending(self) -> tuple[Termination, Result]:
        """How a game that is over has ended, and for whom."""
        termination = _TERMINATIONS.get(self.status, Termination.OTHER)
        if termination is Termination.INTERRUPTED:
            return termination, Result.UNKNOWN
        if self.winner in _SIDES:
            return termination, winner_is(_SIDES[self.winner])
        is_drawn = termination in (Termination.DRAW, Termination.REPETITION)
        return termination, Result.DRAW if is_drawn else Result.UNKNOWN


class Clock(Message):
    """The clock of a game, in milliseconds."""

    initial: Milliseconds = Field(0, validation_alias=AliasChoices("initial", "limit"))
    increment: Milliseconds = 0
    byoyomi: Milliseconds = 0


class GameFull(Message):
    """A game as a whole, the first message of its stream."""

    id: GameId
    variant: Variant
    clock: Clock | None = None
    rated: bool = False
    sente: User
    gote: User
    initial_sfen: Annotated[str, Field(max_length=300)] = Field("startpos", alias="initialSfen")
    state: GameState

    def player(self, color: Color) -> User:
        """A player."""
        return self.sente if color == BLACK else self.gote

    def sfen(self) -> str:
        """The first position.

        Raises:
            LishogiProtocolError: It is none.
        """
        try:
            return read_sfen(self.initial_sfen)
        except ShogiError as error:
            raise LishogiProtocolError(f"{self.id} begins with a position that cannot be read: {error}") from error


def read_sfen(text: str) -> str:
    """A first position as the API writes it, in full: ``startpos``, or an SFEN with or without the number.

    Raises:
        ShogiError: It is no position.
    """
    if text == "startpos":
        return START_SFEN
    return Position.from_sfen(text if len(text.split()) != 3 else f"{text} 1").sfen()


def read_line(line: str) -> tuple[str, dict[str, Any]]:
    """The type of a message of a stream, and the message.

    Raises:
        LishogiProtocolError: The line is not an object of JSON with a type.
    """
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LishogiProtocolError(f"the server sent {_quoted(line)}, which is not JSON") from error
    kind = cast("dict[str, Any]", found).get("type") if isinstance(found, dict) else None
    if not isinstance(kind, str):
        raise LishogiProtocolError(f"the server sent {_quoted(line)}, which has no type")
    return kind, cast("dict[str, Any]", found)


def read_message(model: type[Model], found: object) -> Model:
    """Check a message.

    Raises:
        LishogiProtocolError: A field is missing, or of the wrong type or size.
    """
    try:
        return model.model_validate(found)
    except ValidationError as error:
        raise LishogiProtocolError(f"the server sent a wrong {model.__name__}: {first_problem(error)}") from error


def _quoted(text: str) -> str:
    return repr(printable(text[:SHOWN]))
