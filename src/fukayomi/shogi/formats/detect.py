"""Which format a record is in, by its content: names and extensions lie."""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice


class Format(StrEnum):
    """The formats of game records."""

    CSA = "csa"
    KIF = "kif"
    KI2 = "ki2"
    JKF = "jkf"
    USI = "usi"
    """Lines of USI's ``position`` command, one game each."""


_LOOKED_AT = 2000  # lines; long comments may stand before the first move
_CSA = re.compile(r"V[123]|N[+-]|PI|P[1-9+-]|[+-]\s*$|[+-][0-9]{4}[A-Z]{2}|\$[A-Z_+\-]+:|%[A-Z+\-]|'\*|'CSA encoding")
_USI = re.compile(r"(?:position\s|startpos\b|sfen\s)")
_KI2 = re.compile(r"\s*[▲△▼▽☗☖]")
_KIF = re.compile(r"手数-|\s*[0-9]{1,4}\s+[1-9]?[^\x00-\x7f]")
_KIF_HEADER = re.compile(r"[^\s|+]{1,12}[：:]")


def detect_format(text: str) -> Format:
    """The format of a record's text.

    Raises:
        ValueError: It is none that we read.
    """
    if text.lstrip().startswith("{"):
        return Format.JKF
    first_two = list(islice(_lines(text), 2))
    if first_two and all(_USI.match(line) for line in first_two):  # two: opening books have "sfen" lines as well
        return Format.USI
    may_be_csa, has_header = True, False
    for line in _lines(text):
        if may_be_csa and _CSA.match(line):
            return Format.CSA
        if line.startswith("'"):
            continue
        may_be_csa = False  # nothing but comments may stand before the first statement of CSA
        if _KI2.match(line):
            return Format.KI2
        if _KIF.match(line):
            return Format.KIF
        has_header = has_header or _KIF_HEADER.match(line) is not None
    if has_header and "手合割" in text:
        return Format.KIF
    raise ValueError(f"neither CSA, KIF, KI2, JKF nor USI lines: it begins {text.strip()[:40]!r}")


def _lines(text: str) -> Iterator[str]:
    """The lines that are looked at: neither blank nor comments of KIF."""
    begin = 0
    for _ in range(_LOOKED_AT):
        end = text.find("\n", begin)
        line = text[begin : end if end >= 0 else None]
        if line.strip() and line[0] not in "*#&":
            yield line
        if end < 0:
            return
        begin = end + 1
