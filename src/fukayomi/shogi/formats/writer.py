"""Writing game records as files; the suffix names the format."""

import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import AtomicFile
from fukayomi.shogi.formats.csa.writer import write_csa
from fukayomi.shogi.formats.jkf import write_jkf
from fukayomi.shogi.formats.kif import write_kif
from fukayomi.shogi.formats.kif.writer import write_ki2
from fukayomi.shogi.formats.reader import Format
from fukayomi.shogi.formats.usi import write_usi
from fukayomi.shogi.record import Record, RecordError

TEXT_WRITERS: dict[Format, Callable[[Record], str]] = {
    Format.CSA: write_csa,
    Format.KIF: write_kif,
    Format.KI2: write_ki2,
    Format.JKF: write_jkf,
    Format.USI: write_usi,
}
"""The function that writes a record as text, by format."""


SUFFIXES = {**{text_format.value: text_format for text_format in Format}, "kifu": Format.KIF, "ki2u": Format.KI2}
"""The formats by the suffixes of files."""
UTF_8_SUFFIXES = (".kifu", ".ki2u")
"""Suffixes of files that are always in UTF-8."""

# Letters that EUC-JP and other tables decode to other code points than CP932
_IN_CP932 = str.maketrans("〜−—‖¢£¬", "～－―∥￠￡￢")
_REPLACEMENTS = {"☗": "▲", "☖": "△"}
_REPLACEMENT = "?"


def encode_record(
    record: Record, text_format: Format, encoding: str = "utf-8", *, replaced: Counter[str] | None = None
) -> bytes:
    """A record as the content of a file.

    Args:
        record: The record.
        text_format: The format.
        encoding: ``utf-8`` or ``shift_jis``; KIF and KI2 only.
        replaced: Counts the characters that the encoding lacks, which are then replaced: ☗ and ☖ by ▲ and △, others by
            a question mark. None: they are an error.

    Raises:
        RecordError: A variation has no place in the record, or the encoding lacks a character.
    """
    text = write_kif(record, encoding=encoding) if text_format is Format.KIF else TEXT_WRITERS[text_format](record)
    if encoding == "utf-8":
        codec = encoding
    else:
        codec, text = "cp932", text.translate(_IN_CP932)
    try:
        return text.encode(codec)
    except UnicodeEncodeError as error:
        if replaced is not None:
            return "".join(_encodable(letter, codec, replaced) for letter in text).encode(codec)
        letter, number = text[error.start], text.count("\n", 0, error.start) + 1
        called = name_of(letter)
        line = text.split("\n")[number - 1]
        what = f"{encoding} has no character {called}, in {line[:60]!r}"
        raise RecordError(record.name, number, what if encoding == "utf-8" else f"{what}; write UTF-8") from error


def name_of(letter: str) -> str:
    """A character and its name, for messages."""
    return f"{letter!r} ({unicodedata.name(letter, f'U+{ord(letter):04X}')})"


def _encodable(letter: str, codec: str, replaced: Counter[str]) -> str:
    """The character, or what stands for it in an encoding that lacks it."""
    try:
        letter.encode(codec)
    except UnicodeEncodeError:
        replaced[letter] += 1
        return _REPLACEMENTS.get(letter, _REPLACEMENT)
    return letter


def write_record(record: Record, path: Path | str, *, encoding: str = "utf-8") -> None:
    """Write a game record in the format that the suffix names: .csa, .kif, .kifu, .ki2, .ki2u, .jkf or .usi.

        >>> from fukayomi import read_record, write_record
        >>> write_record(read_record("game.csa"), "game.kif")  # doctest: +SKIP

    Args:
        record: The record.
        path: The file.
        encoding: ``utf-8`` or ``shift_jis``; for .kif and .ki2 only.

    Raises:
        RecordError: A variation has no place in the record, or the encoding lacks a character.
        ValueError: The suffix is not one of the formats, or its files are always in UTF-8.
        OSError: The file cannot be written; an existing file stays as it was.
    """
    suffix = Path(path).suffix.lower()
    text_format = SUFFIXES.get(suffix.removeprefix("."))
    if text_format is None:
        raise InvalidValueError(f"{path}: the suffix is not one of {', '.join(f'.{known}' for known in SUFFIXES)}")
    if encoding != "utf-8" and (text_format not in (Format.KIF, Format.KI2) or suffix in UTF_8_SUFFIXES):
        raise InvalidValueError(f"{path}: {suffix} is always UTF-8; only .kif and .ki2 may be {encoding}")
    data = encode_record(record, text_format, encoding)
    with AtomicFile(path) as file:
        file.write(data)
