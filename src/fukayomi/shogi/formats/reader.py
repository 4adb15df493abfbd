"""Game records of any format from files and bytes; the format is detected from the content."""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path

from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import read_input
from fukayomi.shogi.formats.csa.reader import read_csa
from fukayomi.shogi.formats.jkf import read_jkf
from fukayomi.shogi.formats.kif import read_ki2, read_kif
from fukayomi.shogi.formats.kif.board import is_row
from fukayomi.shogi.formats.kif.header import without_mark
from fukayomi.shogi.formats.kif.tokens import is_moves, is_western
from fukayomi.shogi.formats.text import LARGEST_RECORD, decode_text
from fukayomi.shogi.formats.usi import read_usi
from fukayomi.shogi.record import Record, RecordError, UnknownFormatError


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


def read_record(source: Path | str | bytes, *, name: str = "") -> Record:
    """Read a game record; the format is detected from the content. Of several games in a file this is the first.

        >>> from fukayomi import read_record
        >>> record = read_record("game.kif")  # doctest: +SKIP
        >>> read_record(b"position startpos moves 7g7f 3c3d").usi_moves()
        ['7g7f', '3c3d']

    Args:
        source: Path of a CSA, KIF, KI2, JKF or USI file, or the content of one as bytes.
        name: Name of the record and in errors; by default the path.

    Raises:
        RecordError: The game is damaged or has an illegal move, or the file has no game.
        OSError: The file cannot be read, is larger than 64 MiB, or is no regular file.
    """
    return next(read_records(source, name=name))


def read_records(source: Path | str | bytes, *, name: str = "") -> Iterator[Record]:
    """Read every game of a file; the format is detected from the content. `fukayomi.read_records` reads folders and
    archives too.

    Args:
        source: Path of a CSA, KIF, KI2, JKF or USI file, or the content of one as bytes.
        name: Name of the records and in errors; by default the path.

    Raises:
        RecordError: A game is damaged or has an illegal move, or the file has no game.
        OSError: The file cannot be read, is larger than 64 MiB, or is no regular file.
    """
    for record in scan_records(source, name=name):
        if isinstance(record, RecordError):
            raise record
        yield record


def is_usi_position(text: str) -> bool:
    """True if a text is a position as in USI's `position` command, and no path: it begins with its words."""
    return text.split(maxsplit=1)[:1] in (["startpos"], ["sfen"], ["position"])


def scan_records(
    source: Path | str | bytes, *, name: str = "", text_format: Format | None = None
) -> Iterator[Record | RecordError]:
    """As `read_records`, but a damaged game yields its error, and reading goes on with the next game.

    Args:
        source: Path of a file, or the content of one as bytes.
        name: Name of the records and in errors; by default the path.
        text_format: Format of the text; by default detected.

    Raises:
        OSError: The file cannot be read, is larger than 64 MiB, or is no regular file.
    """
    data = source if isinstance(source, bytes) else read_input(source, LARGEST_RECORD)
    name = name or ("record" if isinstance(source, bytes) else str(source))
    try:
        text = decode_text(data)
        text_format = text_format or detect_format(text)
    except ValueError as error:
        yield UnknownFormatError(name, None, str(error))
        return
    games = 0
    for games, record in enumerate(_scan(text, text_format, name), 1):  # noqa: B007
        yield record
    if games == 0:
        yield RecordError(name, None, "the file has no game")


def _scan(text: str, text_format: Format, name: str) -> Iterator[Record | RecordError]:
    if text_format is Format.CSA:
        yield from read_csa(text, name)
    elif text_format is Format.USI:
        yield from read_usi(text, name)
    else:
        yield _read_one(text, text_format, name)


def _read_one(text: str, text_format: Format, name: str) -> Record | RecordError:
    try:
        if text_format is Format.KIF:
            return read_kif(text, name)
        return read_ki2(text, name) if text_format is Format.KI2 else read_jkf(text, name)
    except RecordError as error:
        return error
