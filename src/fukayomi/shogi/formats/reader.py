"""Reading game records of any format from files and bytes."""

from collections.abc import Iterator
from pathlib import Path

from fukayomi.files.inputs import read_input
from fukayomi.shogi.formats.csa.reader import read_csa
from fukayomi.shogi.formats.detect import Format, detect_format
from fukayomi.shogi.formats.jkf import read_jkf
from fukayomi.shogi.formats.kif import read_ki2, read_kif
from fukayomi.shogi.formats.limits import LARGEST_RECORD
from fukayomi.shogi.formats.text import decode_text
from fukayomi.shogi.formats.usi import read_usi
from fukayomi.shogi.record import Record, RecordError, UnknownFormatError


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
