"""Text of game records, in bounded parts.

An archive of AobaZero has 10 000 games and about 100 MB of text, and a conversion to CSA or USI lines may have any
size. Such files are read in parts that end between two games; lines and games are numbered through all parts.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fukayomi.shogi.formats import Format, detect_format
from fukayomi.shogi.formats.text import LARGEST_RECORD as MEMBER_LIMIT
from fukayomi.shogi.formats.text import decode_text, utf_16_codec

PART = 4 << 20  # bytes of a long file to read at a time
_HEAD = 1 << 16
_FIRST = 1 << 14  # bytes read first: they hold most games, and asking for a whole part would cost more than reading it
# A part of a CSA file is a game if it has more than comments, the version, information about the game and lines of the
# server's protocol (native/csa/protocol.cpp).
_HAS_CSA = re.compile(
    rb"^(?!(?:[ \t]|\xe3\x80\x80)*(?:['V$#]|BEGIN |END |[A-Za-z_]{2,}[+-]?:|[A-MOQ-SUW-Za-z_][+-])).*\S", re.MULTILINE
)
_BEGINS_CSA = re.compile(rb"^/[ \t\r]*$|^(?=V[1-3][.0-9]*[ \t\r]*$)", re.MULTILINE)
_USI_GAMES = re.compile(rb"^(?!#).*\S", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Source:
    """Text of one file, of a part of a file, or of one member of an archive."""

    name: str
    """Path of the file; for a member, path of the archive and of the member: ``games.zip/2025/a.csa``."""
    data: bytes
    problem: str = ""
    """Reason why the file could not be read; empty if it was."""
    lines_before: int = 0
    """Lines in earlier parts of the same file."""
    games_before: int = 0
    """Games in earlier parts of the same file, damaged ones included."""
    format: Format | None = None
    """Format of the text, if it is part of a file; a part does not always show it."""


def read_source(name: str, read: Callable[[int], bytes]) -> Iterator[Source]:
    """Read a file as one source, or as several if it is long and its format holds many games.

    Args:
        name: Name of the file.
        read: Returns the given number of bytes, fewer only at the end.
    """
    data = read(min(_FIRST, PART + 1))
    if len(data) >= _FIRST:
        data += read(PART + 1 - len(data))
    if len(data) <= PART:
        yield Source(name, data)
        return
    text_format = _many_games_format(data[:_HEAD])
    if text_format is not None:
        yield from _split(name, data, read, text_format)
        return
    data += read(MEMBER_LIMIT + 1 - len(data))
    yield Source(name, b"", too_large()) if len(data) > MEMBER_LIMIT else Source(name, data)


def too_large() -> str:
    """Reason why a file or game above the limit is not read."""
    return f"larger than {MEMBER_LIMIT >> 20} MiB"


def _many_games_format(head: bytes) -> Format | None:
    if utf_16_codec(head) is not None:  # its line breaks take two bytes
        return None
    try:
        found = detect_format(decode_text(head.rpartition(b"\n")[0]))
    except ValueError:
        return None
    return found if found in (Format.CSA, Format.USI) else None


def _split(name: str, data: bytes, read: Callable[[int], bytes], text_format: Format) -> Iterator[Source]:
    find_end, count_games = (_end_of_csa, _count_csa) if text_format is Format.CSA else (_end_of_line, _count_usi)
    lines = games = 0
    while data:
        more = read(PART)
        end = find_end(data) if more else len(data)
        if end:
            part, data = data[:end], data[end:]
            found = count_games(part)
            if found:
                yield Source(name, part, "", lines, games, text_format)
            lines, games = lines + part.count(b"\n"), games + found
        elif len(data) > MEMBER_LIMIT:
            yield Source(name, b"", f"the game from line {lines + 1} on is {too_large()}")
            return
        data += more


def _end_of_csa(data: bytes) -> int:
    """End of the last game that is followed by another one; 0 if there is none."""
    at = len(data)
    while (at := data.rfind(b"\n/", 0, at)) >= 0:
        end = data.find(b"\n", at + 1)
        if end >= 0 and data[at:end].strip() == b"/":
            return end + 1
    # Games without a slash between them: the last one begins with its version.
    at = len(data)
    while (at := data.rfind(b"\nV", 0, at)) >= 0:
        if data.find(b"\n", at + 1) >= 0 and _BEGINS_CSA.match(data, at + 1):
            return at + 1
    return 0


def _end_of_line(data: bytes) -> int:
    return data.rfind(b"\n") + 1


def _count_csa(part: bytes) -> int:
    return sum(_HAS_CSA.search(game) is not None for game in _BEGINS_CSA.split(part))


def _count_usi(part: bytes) -> int:
    return sum(1 for _ in _USI_GAMES.finditer(part))
