"""The formats of book files, told by their content."""

import re
from enum import StrEnum
from pathlib import Path

from fukayomi.book.moves import BookError

HEAD_BYTES = 4096
TEXT_BEGINS = (b"#", b"//", b"sfen ", b"\xef\xbb\xbf")
APERY_ENTRY_BYTES = 16
YBB_MAGIC = b"YANE-BINBOOK-V1\0"
_SBK_BEGINS = (b"\x0a", b"\x12", b"\x1a")  # author, description or a position: protobuf's texts and messages
_SFEN = re.compile(rb"(?:[1-9KRBGSNLPkrbgsnlp+]+/){8}[1-9KRBGSNLPkrbgsnlp+]+ [bw] ")


class BookKind(StrEnum):
    """A format of book files."""

    DB = "db"
    """YaneuraOu's text book."""
    BIN = "bin"
    """Apery's book, which dlshogi plays from."""
    YBB = "ybb"
    """YaneuraOu's binary book."""
    SBK = "sbk"
    """ShogiGUI's book."""


def kind_of(path: Path) -> BookKind:
    """The format of a book file.

    Raises:
        BookError: The file is not a book of a known format.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    size = path.stat().st_size
    if not head:
        raise BookError(f"{path} is empty")
    if head.startswith(YBB_MAGIC):
        return BookKind.YBB
    if head.startswith(TEXT_BEGINS) and b"\0" not in head:
        return BookKind.DB
    if head.startswith(_SBK_BEGINS) and _SFEN.search(head):
        return BookKind.SBK
    if size % APERY_ENTRY_BYTES == 0:
        return BookKind.BIN
    raise BookError(
        f"{path} ({size} bytes) is neither a book of YaneuraOu (.db, .ybb) or ShogiGUI (.sbk), nor Apery's (.bin, "
        f"entries of {APERY_ENTRY_BYTES} bytes); a file that was cut must be copied again"
    )


def kind_to_write(path: Path) -> BookKind:
    """The format that a name asks for.

    Raises:
        BookError: No book of this name can be written.
    """
    kind = {".db": BookKind.DB, ".bin": BookKind.BIN}.get(path.suffix.lower())
    if kind is None:
        raise BookError(f"{path}: a book to write is named .db (YaneuraOu) or .bin (Apery)")
    return kind
