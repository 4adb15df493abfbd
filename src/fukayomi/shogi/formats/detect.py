"""The format of a game record, detected from its content."""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice

from fukayomi.errors import InvalidValueError
from fukayomi.shogi.formats.kif.board import is_row
from fukayomi.shogi.formats.kif.header import without_mark
from fukayomi.shogi.formats.kif.tokens import is_moves, is_western


class Format(StrEnum):
    """Format of game records; the values are file suffixes."""

    CSA = "csa"
    KIF = "kif"
    KI2 = "ki2"
    JKF = "jkf"
    USI = "usi"
    """Arguments of USI's ``position`` command, or SFEN, one game per line."""


_LOOKED_AT = 2000  # lines; a long comment may precede the first move
_CSA = re.compile(
    r"\s*(?:V[123]|N[+-]|PI|P[1-9+-]|[+-]\s*$|[+-][0-9]{4}[A-Z]{2}|\$[A-Z_+\-]+:|%[A-Z+\-]|'CSA encoding"
    r"|BEGIN Game_Summary)"
)
_RANK = "[1-9+PLNSGBRKplnsgbrk]+"
USI_LINE = re.compile(rf"(?:position\s|startpos\b|sfen\s|{_RANK}(?:/{_RANK})+\s)")
"""Beginning of a line with a game or a position."""
_KI2 = re.compile(r"\s*[▲△▼▽☗☖⛊⛉]")
_KIF = re.compile(r"手数-|\s*[0-9]{1,4}\s+[1-9]?[^\x00-\x7f]")
_KIF_HEADER = re.compile(r"[^\s|+]{1,12}[：:]")
_BOARD = re.compile(r"[\s　]*(?:先手|下手|後手|上手)の?持ち?駒[\s　]*[：:]")


def detect_format(text: str) -> Format:
    """Detect the format of a record.

    Raises:
        ValueError: The text is in no supported format.
    """
    if text.lstrip().startswith("{"):
        return Format.JKF
    first_two = list(islice(_lines(text), 2))
    if first_two and all(
        USI_LINE.match(line) for line in first_two
    ):  # one line could be of an opening book, which has "sfen" lines too
        return Format.USI
    may_be_csa, has_csa_comment, has_header, has_board = True, False, False, False
    for line in _lines(text):
        if may_be_csa and _CSA.match(line):
            return Format.CSA
        if line.startswith("'"):
            has_csa_comment = has_csa_comment or line.startswith("'*")
            continue
        may_be_csa = False  # only comments may precede the first CSA statement
        if _KI2.match(line) and without_mark(line) == line:
            return Format.KI2
        if _KIF.match(line):
            return Format.KIF
        if is_moves(line) and (has_header or not is_western(line)):
            return Format.KI2  # without marks
        has_header = has_header or _KIF_HEADER.match(line) is not None
        has_board = has_board or is_row(line) or _BOARD.match(line) is not None
    if has_board or (has_header and "手合割" in text):  # no move: a diagram (BOD), or a game that has not begun
        return Format.KIF
    if may_be_csa and has_csa_comment:
        return Format.CSA
    if not text.strip():
        raise InvalidValueError("empty: it holds no game")
    raise InvalidValueError(f"neither CSA, KIF, KI2, JKF nor USI lines: it begins {text.strip()[:40]!r}")


def _lines(text: str) -> Iterator[str]:
    """The first lines that are neither blank nor KIF comments."""
    begin = 0
    for _ in range(_LOOKED_AT):
        end = text.find("\n", begin)
        line = text[begin : end if end >= 0 else None]
        if line.strip() and line[0] not in "*#&":
            yield line
        if end < 0:
            return
        begin = end + 1
