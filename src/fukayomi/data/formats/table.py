"""The table of formats, and detection: which format a file is in, whatever its name.

Of the binary formats only avg has a mark. For the others up to 16 rows spread over the file, or its first 64 KiB, are
tried as each format, and the one that explains most is taken if that is at least a half. Random bytes hardly ever pass:
256 bits must give the 40 pieces of a shogi set, and the move must be legal.
"""

from pathlib import Path

from fukayomi.data.formats import averages, book, cache, games, hcp, hcpe, hcpe3, plain, psv
from fukayomi.data.formats.format import Format
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.rows import DataFileError
from fukayomi.data.records.sources import FileHead, is_archive
from fukayomi.shogi.formats.text import decode_text

# Of equally likely binary formats the first is taken; of text formats the first that fits.
FORMATS: dict[DataFormat, Format] = {
    found.kind: found
    for found in (
        averages.FORMAT, hcpe3.FORMAT, hcpe.FORMAT, hcpe.FLAGGED_FORMAT, psv.FORMAT, hcp.FORMAT, cache.FORMAT,
        book.FORMAT, plain.FORMAT, hcp.SFEN_FORMAT, games.FORMAT,
    )
}  # fmt: skip
"""Every format by its name."""
_BINARY = ("hcpe3", "hcpe", "psv", "hcp", "cache", "book", "avg")
# Text has no other bytes; binary rows and games do, since each has a zero or a small number somewhere.
_TEXT_BYTES = b"\t\n\r\x0c" + bytes(range(0x20, 0x100))


class UnknownDataError(DataFileError):
    """A file is in none of the formats."""


def detect_data(file: Path | FileHead) -> DataFormat:
    """The format of a file by its content; RECORDS for a folder.

    Raises:
        UnknownDataError: The file is in none of the formats.
        OSError: The file cannot be read.
    """
    if isinstance(file, Path):
        if file.is_dir():
            return DataFormat.RECORDS
        file = FileHead.of(file)
    path, head = file.path, file.data
    if not head:
        raise UnknownDataError(f"{path}: the file is empty, so its format is unknown")
    if is_archive(head):
        return DataFormat.RECORDS
    if not head.translate(None, _TEXT_BYTES) and (found := _detect_text(head)) is not None:
        return found
    best, likeness = DataFormat.RECORDS, 0.0
    for kind, description in FORMATS.items():
        if (share := description.likeness(path, head)) > likeness:
            best, likeness = kind, share
        if likeness > 1:
            break
    if likeness >= 0.5:
        return best
    found = _detect_text(head)
    if found is None:
        raise UnknownDataError(
            f"{path}: not positions or games ({', '.join(_BINARY)}), nor rows as text, SFEN lines or a game record: "
            f"it begins {_beginning(head)}"
        )
    return found


def _beginning(head: bytes) -> str:
    if not head.translate(None, _TEXT_BYTES):
        try:
            return repr(decode_text(head).strip()[:40])
        except ValueError:
            pass
    return head[:16].hex(" ")


def _detect_text(head: bytes) -> DataFormat | None:
    try:
        text = decode_text(head.rpartition(b"\n")[0] or head)
    except ValueError:
        return None
    return next((kind for kind, description in FORMATS.items() if description.is_text(text)), None)


def refusal(path: Path, kind: DataFormat, taken: str) -> str:
    """The message for a command that does not read files of this format.

    Args:
        path: The file.
        kind: Its format.
        taken: The formats that the command reads.
    """
    return FORMATS[kind].refusal(path, taken)
