"""Files of every format to write to: batches of games, rows or positions go in, and it appears when it is whole."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from fukayomi.data.convert.streams import Batch, as_games, as_positions, as_rows
from fukayomi.data.formats.hcp import HcpWriter, sfens_from_hcps
from fukayomi.data.formats.hcpe import HcpeWriter, without_flags
from fukayomi.data.formats.hcpe3 import Hcpe3Writer
from fukayomi.data.formats.plain import PlainWriter
from fukayomi.data.formats.psv import PsvWriter, hcpe_to_psv
from fukayomi.data.formats.rows import DataFileError
from fukayomi.data.records.games import record_from_game
from fukayomi.files.atomic import AtomicFile
from fukayomi.shogi.formats import write_csa, write_jkf, write_ki2, write_kif
from fukayomi.shogi.record import Record


class Target(StrEnum):
    """What can be written; the names are the suffixes of files."""

    HCP = "hcp"
    HCPE = "hcpe"
    HCPE2 = "hcpe2"
    HCPE3 = "hcpe3"
    PSV = "psv"
    PLAIN = "plain"
    CACHE = "cache"
    """Of averages alone, by `fukayomi.data.convert.convert`."""
    SFEN = "sfen"
    CSA = "csa"
    USI = "usi"
    KIF = "kif"
    KI2 = "ki2"
    JKF = "jkf"

    @property
    def is_record(self) -> bool:
        """Whether it is a format of game records."""
        return self in _RECORDS

    @property
    def holds_one_game(self) -> bool:
        """Whether a file has one game."""
        return self in (Target.KIF, Target.KI2, Target.JKF)


def _usi_line(record: Record) -> str:
    return record.usi_position() + "\n"


_RECORDS: dict[Target, Callable[[Record], str]] = {
    Target.CSA: write_csa,
    Target.USI: _usi_line,
    Target.KIF: write_kif,
    Target.KI2: write_ki2,
    Target.JKF: write_jkf,
}


def target_of(path: Path) -> Target:
    """The format that a file's suffix stands for.

    Raises:
        DataFileError: It stands for none.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix == "bin":  # YaneuraOu's other name for it
        return Target.PSV
    if suffix not in list(Target):
        raise DataFileError(f"{path}: the suffix says no format ({', '.join(Target)}); choose one with --to")
    return Target(suffix)


class DataWriter:
    """Writes batches as one format. A context manager: the file appears when its block is left without an exception.

    KIF, KI2 and JKF have one game a file. A path without a suffix is then a folder, which gets a file for each game.
    """

    def __init__(self, path: Path, target: Target) -> None:
        self.path = path
        self.target = target
        self.count = 0
        """Games, rows or positions written so far."""
        self._folder = path if target.holds_one_game and not path.suffix else None
        if self._folder is not None:
            self._folder.mkdir(exist_ok=True)
            self._file = None
        else:
            self._file = _FILES.get(target, AtomicFile)(path)

    def append(self, batch: Batch) -> None:
        """Add a batch.

        Raises:
            DataFileError: The format cannot be made of it, or a second game comes to a file for one.
            RecordError: A record cannot be written in the format.
        """
        match self._file:
            case Hcpe3Writer() as file:
                games = as_games(batch)
                file.append(games)
                self.count += len(games)
            case HcpeWriter() as file:
                records = as_rows(batch).records
                file.append(without_flags(records) if self.target is Target.HCPE else records)
                self.count += len(records)
            case PsvWriter() | PlainWriter() as file:
                rows = as_rows(batch)
                file.append(hcpe_to_psv(rows.records, rows.plies))
                self.count += len(rows.records)
            case HcpWriter() as file:
                file.append(as_positions(batch))
                self.count += len(as_positions(batch))
            case AtomicFile() as file if self.target is Target.SFEN:
                for sfen in sfens_from_hcps(as_positions(batch)):
                    file.write(f"{sfen}\n".encode())
                    self.count += 1
            case _:
                for game in as_games(batch):
                    self.append_record(record_from_game(game))

    def append_record(self, record: Record) -> None:
        """Add a record; for formats of records only.

        Raises:
            DataFileError: A second game comes to a file for one.
            RecordError: The format has no words for it.
        """
        text = _RECORDS[self.target](record)
        self.count += 1
        if self._folder is not None:
            with AtomicFile(self._folder / f"{self.count:06}.{self.target}") as file:
                file.write(text.encode())
            return
        assert self._file is not None
        if self.count > 1 and self.target.holds_one_game:
            raise DataFileError(
                f"{self.path}: a {self.target} file holds one game; for more give a folder, and --to {self.target}"
            )
        separator = "/\n" if self.target is Target.CSA and self.count > 1 else ""
        self._file.write((separator + text).encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.__exit__(kind, error, traceback)


_FILES: dict[Target, type[AtomicFile] | type[HcpeWriter]] = {
    Target.HCP: HcpWriter,
    Target.HCPE: HcpeWriter,
    Target.HCPE2: HcpeWriter,
    Target.HCPE3: Hcpe3Writer,
    Target.PSV: PsvWriter,
    Target.PLAIN: PlainWriter,
}
