"""Games that are given more than once: in two formats, in a folder and in an archive of it.

Two records are of one game if they have the same players, start, moves and time of start. A record that does not tell
the time of day must also have the same name but for folders and suffix: ``a.csa`` and ``a.kif``. Engines that do not
vary can play a game again within a second, so records of one folder or archive in one format are different games.
"""

import hashlib
import ntpath
import re
import zlib

from fukayomi.data.records.columns import RecordColumns, start_key
from fukayomi.shogi.record import Record
from fukayomi.tabular import counted

_TIME = re.compile(r"(\d{4})\D(\d{1,2})\D(\d{1,2})\D.*?(\d{1,2}):(\d{2})(?::(\d{2}))?", re.ASCII)
_NUMBER = re.compile(r"#\d+$")


class SeenGames:
    """Remembers the games of a collection, in about 200 bytes each.

    Attributes:
        copies: Records of games that had been seen before.
    """

    def __init__(self) -> None:
        self.copies = 0
        self._firsts: dict[bytes, int] = {}

    def is_copy(self, record: Record, *, in_collection: bool = False) -> bool:
        """Remember the game of a record; True if a record of it was seen before.

        Args:
            record: The record; its name says where it is from.
            in_collection: Whether its file has several games.
        """
        file, number = _NUMBER.sub("", record.name), _NUMBER.search(record.name)
        folder, name = ntpath.split(file)  # takes both separators
        stem, suffix = ntpath.splitext(name)
        time = _TIME.search(record.start_time)
        fields = [record.black_name.strip(), record.white_name.strip()]
        if time is not None:
            fields += [f"{int(part):02}" for part in time.groups(default="0")]
        else:
            fields += [record.start_time, stem, number[0] if number else ""]
        content = hashlib.blake2b(_bytes("\n".join(fields)), digest_size=16)
        content.update(start_key(record.initial_sfen))
        content.update(RecordColumns.of(record).moves.astype("<u2").tobytes())
        place = zlib.crc32(_bytes(file if in_collection else f"{folder}/*{suffix}"))
        here = place << 32 | zlib.crc32(_bytes(record.name))
        key = content.digest()
        first = self._firsts.get(key)
        if first is None:
            self._firsts[key] = here
            return False
        if first >> 32 == place and first != here:
            return False  # repeated by engines that do not vary
        self.copies += 1
        return True


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def copies_text(count: int) -> str:
    """What became of copies, for people."""
    return f"{counted(count, 'record')} of games given before; each game counts once"
