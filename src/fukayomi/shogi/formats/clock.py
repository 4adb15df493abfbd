"""Time limits (持ち時間) in the forms of CSA 2.2 (``00:15+60``), CSA 3.0 (``900+60+0``) and KIF (``15分+60秒``)."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Self

_SECONDS = r"([0-9]{1,9}(?:\.[0-9]{1,3})?)"
_CSA_2 = re.compile(r"([0-9]{1,6}):([0-5]?[0-9])\+([0-9]{1,9})")
_CSA_3 = re.compile(rf"{_SECONDS}\+{_SECONDS}\+{_SECONDS}")
_KIF = re.compile(
    r"各?(?=[0-9])(?:([0-9]{1,6})時間)?(?:([0-9]{1,9})分)?(?:([0-9]{1,9})秒)?"
    r"(?:(?:\+|[、,]?(?:秒読み)?)([0-9]{1,9})秒)?(?:[、,]?1手([0-9]{1,9})秒加算)?"
)


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """The time that each side has, in milliseconds."""

    main_ms: int
    byoyomi_ms: int
    increment_ms: int = 0

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The time limit that a text in one of the forms means; None for other texts."""
        text = "".join(unicodedata.normalize("NFKC", text).split())
        if found := _CSA_2.fullmatch(text):
            hours, minutes, seconds = map(int, found.groups())
            return cls((hours * 60 + minutes) * 60_000, seconds * 1000)
        if found := _CSA_3.fullmatch(text):
            return cls(*(round(float(part) * 1000) for part in found.groups()))
        if found := _KIF.fullmatch(text):
            hours, minutes, seconds, byoyomi, increment = (int(part or 0) for part in found.groups())
            return cls(((hours * 60 + minutes) * 60 + seconds) * 1000, byoyomi * 1000, increment * 1000)
        return None

    def csa_2(self) -> str:
        """As CSA 2.2 writes it: ``00:15+60``; empty if that form cannot express it."""
        if self.increment_ms or self.main_ms % 60_000 or self.byoyomi_ms % 1000:
            return ""
        hours, minutes = divmod(self.main_ms // 60_000, 60)
        return f"{hours:02}:{minutes:02}+{self.byoyomi_ms // 1000:02}"

    def csa_3(self) -> str:
        """As CSA 3.0 writes it, in seconds: ``900+60+0``."""
        return "+".join(f"{part / 1000:.3f}".rstrip("0").rstrip(".") for part in self._parts())

    def kif(self) -> str:
        """As KIF writes it: ``15分+60秒``; empty if that form cannot express it."""
        if any(part % 1000 for part in self._parts()):
            return ""
        minutes, seconds = divmod(self.main_ms // 1000, 60)
        hours, minutes = divmod(minutes, 60)
        units = ((hours, "時間"), (minutes, "分"), (seconds, "秒"))
        main = "".join(f"{number}{unit}" for number, unit in units if number) or "0分"
        byoyomi = f"+{self.byoyomi_ms // 1000}秒" if self.byoyomi_ms else ""
        return main + byoyomi + (f"、1手{self.increment_ms // 1000}秒加算" if self.increment_ms else "")

    def _parts(self) -> tuple[int, int, int]:
        return self.main_ms, self.byoyomi_ms, self.increment_ms


def kif_time_limit(text: str) -> str:
    """A time limit of a record in KIF's form; a text in no known form as it is."""
    limit = TimeLimit.parse(text)
    return (limit.kif() if limit else "") or text
