"""The text of game records, whole or, where a file holds many games, in parts; and the games in it.

AobaZero's archives have 10 000 games and some 100 MB of text each, and a conversion to CSA or USI lines may have any
size. Such files come in parts that end between two games; numbers of lines and games go on from part to part.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fukayomi.shogi.formats import Format, detect_format, scan_records
from fukayomi.shogi.formats.text import decode_text
from fukayomi.shogi.record import Record, RecordError

MEMBER_LIMIT = 64 << 20  # bytes; a game of more than so many is none
PART = 4 << 20  # bytes; so many of a long file are read at a time
_HEAD = 1 << 16
_FIRST = 1 << 14  # bytes that are read first, and hold most games: to ask for a whole part costs more than to read them
# What makes a part of a CSA file a game: anything but comments, the version and information about the game.
_HAS_CSA = re.compile(rb"^(?!['V$]).*\S", re.MULTILINE)
_USI_GAMES = re.compile(rb"^(?!#).*\S", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Source:
    """One file, a part of one, or one member of an archive."""

    name: str
    """Path of the file; for a member, path of the archive and of the member inside: ``games.zip/2025/a.csa``."""
    data: bytes
    problem: str = ""
    """Why there is no data, where it could not be read."""
    lines_before: int = 0
    """Of the same file, in earlier parts."""
    games_before: int = 0
    """Of the same file, in earlier parts; damaged ones included."""
    format: Format | None = None
    """Of a part of a file, whose own beginning need not tell."""

    @property
    def base_name(self) -> str:
        """The last part of the name."""
        return self.name.rpartition("/")[2]


def scan_source(source: Source) -> Iterator[Record | RecordError]:
    """The games of a source, or what is wrong with them, with the names and lines that they have in the whole file."""
    for index, found in enumerate(
        scan_records(source.data, name=source.name, text_format=source.format), source.games_before
    ):
        if source.games_before:
            found.name = f"{source.name}#{index + 1}"
            if isinstance(found, RecordError):
                line = None if found.line is None else found.line + source.lines_before
                found = type(found)(found.name, line, found.reason)
        yield found


def read_source(name: str, read: Callable[[int], bytes]) -> Iterator[Source]:
    """The text of a file as one source, or as several if it is long and of a format that holds many games.

    Args:
        name: The file.
        read: Gives so many bytes, fewer only at the end.
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
    """What is wrong with what is too large."""
    return f"larger than {MEMBER_LIMIT >> 20} MiB"


def _many_games_format(head: bytes) -> Format | None:
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
    """Where the last game that is followed by another one ends; 0 if there is none."""
    at = len(data)
    while (at := data.rfind(b"\n/", 0, at)) >= 0:
        end = data.find(b"\n", at + 1)
        if end >= 0 and data[at:end].strip() == b"/":
            return end + 1
    return 0


def _end_of_line(data: bytes) -> int:
    return data.rfind(b"\n") + 1


def _count_csa(part: bytes) -> int:
    return sum(_HAS_CSA.search(game) is not None for game in re.split(rb"^/[ \t\r]*$", part, flags=re.MULTILINE))


def _count_usi(part: bytes) -> int:
    return sum(1 for _ in _USI_GAMES.finditer(part))
