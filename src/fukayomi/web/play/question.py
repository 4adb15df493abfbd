"""Question of the page when it begins a game: the start, the sides, the engine's strength, the clocks."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from fukayomi.arena.game.rules import KING_RULES, Declaration
from fukayomi.arena.game.time_control import TimeControl, TimeControlError
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import START_SFEN, Position, ShogiError
from fukayomi.web.answers import Question

if TYPE_CHECKING:
    from fukayomi.engine.settings import UsiSettings

MOST_PLIES = 512
"""A game is a draw after this many."""
DAY_MS = 24 * 60 * 60 * 1000


class PlayError(InvalidValueError):
    """The request cannot be carried out now; the text says why."""


class PlayQuestion(Question):
    """A game to begin: the start, the reader's side, the engine's strength, the clocks."""

    color: Literal["black", "white"] = "black"
    """The reader's side."""
    sfen: Annotated[str, Field(max_length=200)] = START_SFEN
    moves: Annotated[tuple[str, ...], Field(max_length=MOST_PLIES - 1)] = ()
    """Moves before the game begins, in USI form."""
    nodes: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Positions that the engine evaluates for each move."""
    time_ms: Annotated[int, Field(ge=50, le=600_000)] | None = None
    """Time that the engine takes for each move. Without nodes and time it has the reader's clock."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    """0: the best move; otherwise a move is drawn with a probability proportional to visits^(1/temperature)."""
    main_ms: Annotated[int, Field(ge=0, le=DAY_MS)] = 0
    byoyomi_ms: Annotated[int, Field(ge=0, le=DAY_MS)] = 0
    increment_ms: Annotated[int, Field(ge=0, le=DAY_MS)] = 0
    declaration: Declaration = Declaration.POINTS_27
    """The rule for declarations (入玉宣言), which the engine knows too."""
    name: Annotated[str, Field(max_length=60)] = ""
    """The reader's name in the record."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.nodes is not None and self.time_ms is not None:
            raise InvalidValueError("nodes and time_ms exclude each other")
        if self.nodes is None and self.time_ms is None and not self.has_clock:
            raise InvalidValueError("the engine needs nodes, time_ms or a clock")
        if self.has_clock:
            try:
                self.clock()
            except TimeControlError as error:
                raise InvalidValueError(str(error)) from error
        return self

    @property
    def has_clock(self) -> bool:
        """True if the reader's time is limited."""
        return bool(self.main_ms or self.byoyomi_ms or self.increment_ms)

    def clock(self) -> TimeControl:
        """The reader's clock."""
        return TimeControl(self.main_ms, self.byoyomi_ms, self.increment_ms)

    def engine_clock(self) -> TimeControl:
        """The engine's limits."""
        if self.nodes is not None:
            return TimeControl(nodes=(self.nodes,))
        return self.clock() if self.time_ms is None else TimeControl(movetime_ms=self.time_ms)

    def position(self) -> Position:
        """The position in which the game begins, with its past.

        Raises:
            PlayError: It is none, or a move is not legal.
        """
        try:
            position = Position.from_sfen(self.sfen)
            for usi in self.moves:
                position.push_usi(usi)
        except ShogiError as error:
            raise PlayError(str(error)) from error
        return position

    def options(self, settings: "UsiSettings") -> "UsiSettings":
        """The engine's options: it knows the rule; with a temperature its moves are drawn at random all the time."""
        settings = replace(settings, entering_king_rule=KING_RULES[self.declaration])
        if not self.temperature:
            return replace(settings, random_ply=0, random2_ply=0)
        return replace(
            settings,
            random_ply=1000,
            random_temperature=round(1000 * self.temperature),
            random_temperature_drop=0,
            random_cutoff=1000,
            random_cutoff_drop=0,
            random2_ply=0,
        )
