"""How much time or how many nodes an engine has, and how that is written.

    byoyomi=1s                  a second a move
    main=300s,byoyomi=10s       five minutes, then ten seconds a move
    main=300s,increment=10s     five minutes and ten seconds more a move (Fischer)
    main=60s                    sudden death
    movetime=100ms              exactly so long a move, by ``go movetime``
    nodes=50000                 by ``go nodes``, no clock
    nodes=500000/600000         cycles by opening, so that repeated openings give different games
    depth=4                     by ``go depth``

Times have a unit (ms, s, m); a bare number is milliseconds.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class TimeControlError(ValueError):
    """A time control that cannot be read. The message quotes it and says how one is written."""


@dataclass(frozen=True, slots=True)
class TimeControl:
    """Clock times in milliseconds, or a limit of nodes, depth or time a move."""

    main_ms: int = 0
    byoyomi_ms: int = 0
    increment_ms: int = 0
    movetime_ms: int | None = None
    nodes: tuple[int, ...] = ()
    """The opening's number chooses one of them, in turn."""
    depth: int | None = None

    @classmethod
    def from_text(cls, text: str) -> "TimeControl":
        """Read ``main=300s,increment=10s`` and the like.

        Raises:
            TimeControlError: The text is none.
        """
        raise NotImplementedError

    def text(self) -> str:
        """The time control as `from_text` reads it, in its shortest form."""
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """In settings a time control is its text."""

        def read(value: object) -> TimeControl:
            return value if isinstance(value, TimeControl) else TimeControl.from_text(str(value))

        return core_schema.no_info_plain_validator_function(
            read, serialization=core_schema.plain_serializer_function_ser_schema(lambda control: control.text())
        )
