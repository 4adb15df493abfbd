"""Time controls (the time or nodes an engine has), their notation, and the clocks of a game.

    byoyomi=1s                  one second per move
    main=300s,byoyomi=10s       five minutes, then ten seconds per move
    main=300s,increment=10s     five minutes plus ten seconds per move (Fischer)
    300+10                      the same, in seconds, as other match runners write it
    main=60s                    sudden death
    movetime=100ms              ``go movetime``
    nodes=50000                 ``go nodes``, no clock
    nodes=500000/600000         alternates by opening, so that repeated openings give different games
    depth=4                     ``go depth``

Times have a unit (ms, s, m); a bare number is milliseconds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from fukayomi.errors import InvalidValueError
from fukayomi.shogi import BLACK, Color
from fukayomi.usi.text import Go

EXAMPLES = "byoyomi=1s, main=300s,byoyomi=10s, main=300s,increment=10s, 300+10, movetime=100ms, nodes=50000 or depth=4"
LARGEST = 2**31 - 1
"""Largest time (almost 25 days) and number of nodes: engines may keep them in a C int."""

_UNITS = {"ms": 1, "": 1, "s": 1000, "m": 60_000}
_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)"
_TIME = re.compile(rf"{_NUMBER} ?(ms|s|m|)")
_FISCHER = re.compile(rf"{_NUMBER}\+{_NUMBER}")
_TIME_FIELDS = {
    "main": "main_ms", "byoyomi": "byoyomi_ms", "increment": "increment_ms", "inc": "increment_ms",
    "movetime": "movetime_ms",
}  # fmt: skip
_WORDS = ("main", "byoyomi", "increment", "movetime", "nodes", "depth")


class TimeControlError(InvalidValueError):
    """A time control that cannot be read. The message quotes it and shows examples."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"time control {text!r}: {reason}; write for example {EXAMPLES}")


@dataclass(frozen=True, slots=True)
class TimeControl:
    """A clock in milliseconds, or a limit of nodes, depth or time for each move.

    Raises:
        TimeControlError: The fields contradict each other, or give no time at all.
    """

    main_ms: int = 0
    byoyomi_ms: int = 0
    increment_ms: int = 0
    movetime_ms: int | None = None
    nodes: tuple[int, ...] = ()
    """Node limits, used in turn by the number of the opening."""
    depth: int | None = None

    def __post_init__(self) -> None:
        if reason := _contradiction(self):
            raise TimeControlError(self.text(), reason)

    @property
    def has_clock(self) -> bool:
        """True if time runs down, rather than each move having a limit of its own."""
        return self.movetime_ms is None and not self.nodes and self.depth is None

    @classmethod
    def from_text(cls, text: str) -> "TimeControl":
        """Parse a time control such as ``main=300s,increment=10s``.

        Raises:
            TimeControlError: The text is not a time control.
        """
        values: dict[str, Any] = {}
        for name, value in _parse(text):
            if name in values:
                raise TimeControlError(text, f"{name.removesuffix('_ms')} is given twice")
            values[name] = value
        try:
            return cls(**values)
        except TimeControlError as error:
            raise TimeControlError(text, _contradiction_of(values)) from error

    def text(self) -> str:
        """The shortest text that `from_text` reads as this time control; `str` gives it, too."""
        if self.nodes:
            return "nodes=" + "/".join(map(str, self.nodes))
        if self.depth is not None:
            return f"depth={self.depth}"
        if self.movetime_ms is not None:
            return f"movetime={_time_text(self.movetime_ms)}"
        times = (("main", self.main_ms), ("byoyomi", self.byoyomi_ms), ("increment", self.increment_ms))
        return ",".join(f"{name}={_time_text(time_ms)}" for name, time_ms in times if time_ms)

    def __str__(self) -> str:
        return self.text()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Settings store a time control as its text."""

        def read(value: object) -> TimeControl:
            return value if isinstance(value, TimeControl) else TimeControl.from_text(str(value))

        return core_schema.no_info_plain_validator_function(
            read, serialization=core_schema.plain_serializer_function_ser_schema(lambda control: control.text())
        )


def _contradiction(control: TimeControl) -> str:
    return _contradiction_of({field.name: getattr(control, field.name) for field in fields(TimeControl)})


def _contradiction_of(values: dict[str, Any]) -> str:
    """Reason why the fields are not a time control; empty if they are one."""
    clock_ms: list[int] = [values.get(name) or 0 for name in ("main_ms", "byoyomi_ms", "increment_ms")]
    nodes: tuple[int, ...] = values.get("nodes") or ()
    limits: list[int] = [values[name] for name in ("movetime_ms", "depth") if values.get(name) is not None]
    kinds = any(clock_ms) + bool(nodes) + len(limits)
    if any(number < 0 for number in clock_ms) or any(number < 1 for number in (*limits, *nodes)):
        return "times must not be negative; movetime, nodes and depth must be at least 1"
    if any(number > LARGEST for number in (*clock_ms, *limits, *nodes)):
        return f"{LARGEST} is the largest number that engines can take"
    if kinds > 1:
        return "a clock, movetime, nodes and depth exclude each other"
    if kinds == 0:
        return "it gives no time at all"
    return "a clock has byoyomi or an increment, not both" if clock_ms[1] and clock_ms[2] else ""


def _parse(text: str) -> Iterator[tuple[str, int | tuple[int, ...]]]:
    """Name and value of each field in the text."""
    if found := _FISCHER.fullmatch(text.strip()):
        yield "main_ms", _milliseconds(text, f"{found[1]}s")
        yield "increment_ms", _milliseconds(text, f"{found[2]}s")
        return
    if not text.strip():
        raise TimeControlError(text, "it is empty")
    for part in text.split(","):
        name, separator, value = (word.strip() for word in re.sub(":", "=", part, count=1).partition("="))
        if not separator or (name not in _TIME_FIELDS and name not in _WORDS):
            raise TimeControlError(text, f"{part.strip()!r} is not one of {', '.join(f'{word}=' for word in _WORDS)}")
        if name in _TIME_FIELDS:
            yield _TIME_FIELDS[name], _milliseconds(text, value)
        else:
            numbers = value.split("/") if name == "nodes" else [value]
            if not all(re.fullmatch("[0-9]{1,15}", number) for number in numbers):
                raise TimeControlError(text, f"{value!r} is not a number")
            yield name, tuple(map(int, numbers)) if name == "nodes" else int(value)


def _milliseconds(text: str, value: str) -> int:
    try:
        return milliseconds(value)
    except ValueError as error:
        raise TimeControlError(text, str(error)) from error


def milliseconds(text: str) -> int:
    """Milliseconds of a time such as ``1s``, ``100ms`` or ``2m``; a bare number is milliseconds.

    >>> milliseconds("1.5s"), milliseconds("1000")
    (1500, 1000)

    Raises:
        ValueError: The text is not a time, or not a whole number of milliseconds.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        raise InvalidValueError(f"{text!r} is not a time (a number with ms, s or m)")
    exact = Decimal(found[1]) * _UNITS[found[2]]
    if exact != int(exact):
        raise InvalidValueError(f"{text} is not a whole number of milliseconds")
    return int(exact)


def _time_text(time_ms: int) -> str:
    unit = next(unit for unit in ("m", "s", "ms") if time_ms % _UNITS[unit] == 0)
    return f"{time_ms // _UNITS[unit]}{unit}"


class GameClock:
    """One side's clock in one game.

    Increments follow USI, where ``btime`` excludes the increment of the coming move: an engine that is told ``btime
    40000 binc 10000`` may think for 50 seconds, on its first move too.
    """

    def __init__(self, control: TimeControl, nodes_index: int = 0, margin_ms: int = 0) -> None:
        """Set the clock.

        Args:
            control: The time control.
            nodes_index: Index of the control's node limit for this game; it wraps around.
            margin_ms: How late an answer may be.
        """
        self.control = control
        self.main_ms = control.main_ms
        """Main time left; never below 0."""
        self._nodes = control.nodes[nodes_index % len(control.nodes)] if control.nodes else None
        self._margin_ms = margin_ms

    def limit_ms(self) -> int | None:
        """Time for the next move without the margin; None: unlimited."""
        if self.control.has_clock:
            return self.main_ms + self.control.byoyomi_ms + self.control.increment_ms
        return self.control.movetime_ms

    def latest_ms(self) -> int | None:
        """Time for the next move with the margin; None: unlimited."""
        limit_ms = self.limit_ms()
        return None if limit_ms is None else limit_ms + self._margin_ms

    def spend(self, used_ms: float) -> bool:
        """Deduct the time of a move; False if it exceeded the limit.

        Time within the margin is not deducted from later moves: the main time stops at 0.
        """
        latest_ms = self.latest_ms()
        if latest_ms is not None and used_ms > latest_ms:
            self.main_ms = 0
            return False
        if self.control.has_clock:
            self.main_ms = max(0, self.main_ms + self.control.increment_ms - round(used_ms))
        return True

    def go(self, turn: Color, opponent: "GameClock") -> Go:
        """The ``go`` command for the owner of this clock, who is to move.

        USI has one ``byoyomi`` for both sides and cannot say that the opponent has none, or plays by nodes. So each
        engine is sent its own kind of clock: its own byoyomi, or else both increments (0 for an opponent with
        byoyomi). An opponent without a clock appears with 0 time left.
        """
        control = self.control
        if not control.has_clock:
            return Go(nodes=self._nodes, depth=control.depth, movetime_ms=control.movetime_ms)
        sides = (self, opponent) if turn == BLACK else (opponent, self)
        black_ms, white_ms = (clock.main_ms for clock in sides)
        if control.increment_ms:
            black_inc_ms, white_inc_ms = (clock.control.increment_ms for clock in sides)
            return Go(btime_ms=black_ms, wtime_ms=white_ms, binc_ms=black_inc_ms, winc_ms=white_inc_ms)
        return Go(btime_ms=black_ms, wtime_ms=white_ms, byoyomi_ms=control.byoyomi_ms)
