"""The door to records: bytes or a file in, games out, whatever the format."""

from collections.abc import Iterator
from pathlib import Path

from fukayomi.shogi.formats.csa import read_csa
from fukayomi.shogi.formats.detect import Format, detect_format
from fukayomi.shogi.formats.ki2 import read_ki2
from fukayomi.shogi.formats.library import read_library_record
from fukayomi.shogi.formats.text import decode_text
from fukayomi.shogi.record import Record, RecordError


class UnknownFormatError(RecordError):
    """A file that is no record at all, or in no format that we read."""


def read_records(source: Path | str | bytes, name: str = "") -> Iterator[Record]:
    """Every game of a file, or of its bytes; the format is found by the content.

    Args:
        source: A path, or the content of a file.
        name: What the records and the errors call it; the path if it is left out.

    Raises:
        RecordError: A game is damaged, there is none, or it has an illegal move.
        OSError: The file cannot be read.
    """
    for record in scan_records(source, name):
        if isinstance(record, RecordError):
            raise record
        yield record


def scan_records(
    source: Path | str | bytes, name: str = "", text_format: Format | None = None
) -> Iterator[Record | RecordError]:
    """As read_records, but a damaged game comes out as its error, and the games after it follow.

    Args:
        source: A path, or the content of a file.
        name: What the records and the errors call it; the path if it is left out.
        text_format: The format, where the content shall not decide.

    Raises:
        OSError: The file cannot be read.
    """
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
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
        yield RecordError(name, None, "there is no game in it")


def _scan(text: str, text_format: Format, name: str) -> Iterator[Record | RecordError]:
    if text_format is Format.CSA:
        yield from read_csa(text, name)
    elif text_format is Format.USI:
        yield from _scan_usi_lines(text, name)
    else:
        yield _read_one(text, text_format, name)


def _scan_usi_lines(text: str, name: str) -> Iterator[Record | RecordError]:
    games = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        games += 1
        record = _read_one(line, Format.USI, name if games == 1 else f"{name}#{games}")
        if isinstance(record, RecordError):
            record = type(record)(record.name, number, record.reason)
        yield record


def _read_one(text: str, text_format: Format, name: str) -> Record | RecordError:
    try:
        return read_ki2(text, name) if text_format is Format.KI2 else read_library_record(text, text_format, name)
    except RecordError as error:
        return error
