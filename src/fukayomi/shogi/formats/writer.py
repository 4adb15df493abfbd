"""Writing game records as files; the suffix names the format."""

from collections.abc import Callable
from pathlib import Path

from fukayomi.files.atomic import AtomicFile
from fukayomi.shogi.formats.csa.writer import write_csa
from fukayomi.shogi.formats.detect import Format
from fukayomi.shogi.formats.library import write_jkf, write_ki2, write_kif
from fukayomi.shogi.formats.usi import write_usi
from fukayomi.shogi.record import Record

TEXT_WRITERS: dict[Format, Callable[[Record], str]] = {
    Format.CSA: write_csa,
    Format.KIF: write_kif,
    Format.KI2: write_ki2,
    Format.JKF: write_jkf,
    Format.USI: write_usi,
}
"""The function that writes a record as text, by format."""


def write_record(record: Record, path: Path | str) -> None:
    """Write a game record as UTF-8, in the format that the suffix names: .csa, .kif, .ki2, .jkf or .usi.

        >>> from fukayomi import read_record, write_record
        >>> write_record(read_record("game.csa"), "game.kif")  # doctest: +SKIP

    Raises:
        RecordError: The format cannot express how the game ended.
        ValueError: The suffix is not one of the formats.
        OSError: The file cannot be written; an existing file stays as it was.
    """
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in list(Format):
        raise ValueError(f"{path}: the suffix is not one of {', '.join(f'.{known}' for known in Format)}")
    text = TEXT_WRITERS[Format(suffix)](record)
    with AtomicFile(path) as file:
        file.write(text.encode())
