"""The clocks of the CSA protocol: units, rounding, the least time of a move, delay, increment and byoyomi.

Time_Unit:1sec  Total_Time:600  Increment:10      ten minutes plus ten seconds a move, the first one included
Time_Unit:1sec  Total_Time:900  Byoyomi:60        fifteen minutes, then a minute a move
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from fukayomi.arena.game.time_control import LARGEST, GameClock, TimeControl
from fukayomi.clients.clock import DAY_MS, usi_time
from fukayomi.errors import InvalidValueError
from fukayomi.shogi.formats.clock import TimeLimit

_UNIT = re.compile(r"([0-9]{0,6})(msec|sec|min)")
_UNITS_MS = {"msec": 1, "sec": 1000, "min": 60_000}
_GAME_NAME = re.compile(r".+-([0-9]{1,6})-([0-9]{1,5})(F?)")


class CsaTimeError(InvalidValueError):
    """A time of a game summary that cannot be read."""


@dataclass(frozen=True, slots=True)
class CsaTime:
    """The time of one side."""

    total_ms: int = 0
    byoyomi_ms: int = 0
    """For each move, after the total time has run out."""
    increment_ms: int = 0
    """Added for each move, the first one included."""
    delay_ms: int = 0
    """At the beginning of each move, not deducted."""
    unit_ms: int = 1000
    """All times are whole units."""
    least_units: int = 0
    """The least time of a move, in units."""
    is_rounded_up: bool = False
    """Whether a part of a unit counts as one; otherwise it is free."""

    @property
    def is_limited(self) -> bool:
        """False if the side has all the time it wants."""
        return bool(self.total_ms or self.byoyomi_ms or self.increment_ms or self.delay_ms)

    @classmethod
    def from_fields(cls, fields: Mapping[str, str]) -> Self:
        """Read the fields of ``BEGIN Time``.

        Raises:
            CsaTimeError: A time is not a number, or too large.
        """
        found = _UNIT.fullmatch(fields.get("Time_Unit", "1sec"))
        if found is None or found[1] == "0":
            raise CsaTimeError(f"Time_Unit:{fields['Time_Unit'][:40]}")
        unit_ms = int(found[1] or 1) * _UNITS_MS[found[2]]

        def units(name: str) -> int:
            text = fields.get(name) or "0"
            if not re.fullmatch("[0-9]{1,10}", text) or int(text) * unit_ms > LARGEST // 4:
                raise CsaTimeError(f"{name}:{text[:40]}")
            return int(text)

        return cls(
            units("Total_Time") * unit_ms,
            units("Byoyomi") * unit_ms,
            units("Increment") * unit_ms,
            units("Delay") * unit_ms,
            unit_ms,
            units("Least_Time_Per_Move"),
            fields.get("Time_Roundup", "NO") == "YES",
        )

    @classmethod
    def of_game(cls, name: str) -> Self | None:
        """The clock that the name of a game means, as on floodgate; None if it means none.

        >>> CsaTime.of_game("floodgate-600-10F")
        CsaTime(total_ms=600000, byoyomi_ms=0, increment_ms=10000, delay_ms=0, unit_ms=1000, least_units=0, is_rounded_up=False)
        """  # noqa: E501
        found = _GAME_NAME.fullmatch(name)
        if found is None:
            return None
        total_ms, more_ms = 1000 * int(found[1]), 1000 * int(found[2])
        if not total_ms and not more_ms:
            return None
        return cls(total_ms, 0, more_ms) if found[3] else cls(total_ms, more_ms)

    @classmethod
    def of_control(cls, control: TimeControl) -> Self:
        """The same as a time control of ours, in seconds if it is whole seconds, otherwise in milliseconds."""
        times = (control.main_ms, control.byoyomi_ms, control.increment_ms)
        return cls(*times, unit_ms=1000 if all(time_ms % 1000 == 0 for time_ms in times) else 1)

    def lines(self) -> list[str]:
        """The fields as a server sends them."""
        units = ((self.unit_ms // size, word) for word, size in reversed(_UNITS_MS.items()) if not self.unit_ms % size)
        count, word = next(units)
        fields = {
            "Time_Unit": f"{count}{word}",
            "Total_Time": self.total_ms // self.unit_ms,
            "Byoyomi": self.byoyomi_ms // self.unit_ms,
            "Least_Time_Per_Move": self.least_units,
        }
        for name, time_ms in (("Increment", self.increment_ms), ("Delay", self.delay_ms)):
            if time_ms:
                fields[name] = time_ms // self.unit_ms
        if self.is_rounded_up:
            fields["Time_Roundup"] = "YES"
        return [f"{name}:{value}" for name, value in fields.items()]

    def units_of(self, used_ms: float) -> int:
        """The units that a move is charged which took so long."""
        whole = int(used_ms // self.unit_ms)
        if self.is_rounded_up and used_ms > whole * self.unit_ms:
            whole += 1
        return max(whole, self.least_units)

    def control(self) -> TimeControl:
        """The nearest time control of USI, which gives an engine the right time for its next move.

        USI knows no delays: they count as byoyomi.
        """
        if not self.is_limited:
            return TimeControl(main_ms=DAY_MS)
        return usi_time(self.total_ms, self.byoyomi_ms + self.delay_ms, self.increment_ms)

    def text(self) -> str:
        """The time limit as CSA 3.0 writes it, in seconds: ``900+60+0``."""
        return TimeLimit(self.total_ms, self.byoyomi_ms, self.increment_ms).csa_3() if self.is_limited else ""


class CsaClock(GameClock):
    """One side's clock in a game of the CSA protocol."""

    def __init__(self, time: CsaTime, margin_ms: int = 0) -> None:
        """Set the clock.

        Args:
            time: The time of the side.
            margin_ms: How late an answer may be.
        """
        super().__init__(time.control(), margin_ms=margin_ms)
        self.time = time

    def latest_ms(self) -> int | None:
        """Time for the next move with the margin; None: unlimited."""
        return super().latest_ms() if self.time.is_limited else None

    def charge(self, units: int) -> None:
        """Deduct the time of a move, in units: what the server says it took."""
        if self.time.is_limited:
            used_ms = max(0, units * self.time.unit_ms - self.time.delay_ms)
            self.main_ms = max(0, self.main_ms + self.time.increment_ms - used_ms)
