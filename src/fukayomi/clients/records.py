"""The records of games against others: each as CSA and KIF as soon as it ends, and what a kill left of a game.

A game in play is a file with the ending ``.part``, to which each move is added. Whoever opens the folder next makes a
record of it, as an interrupted game.
"""

import contextlib
import re
from pathlib import Path
from typing import IO, Self

from fukayomi.arena.results.match_files import write_both
from fukayomi.files.lock import FolderLock
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import Position
from fukayomi.shogi.formats import csa_moves, read_record, write_csa
from fukayomi.shogi.record import Record, RecordedMove, RecordError, Termination, now

PART = ".part"
_UNSAFE = re.compile(r"[^A-Za-z0-9_+.@-]")
_LONGEST = 180


class RecordFolder:
    """A folder with the records of games, for one process at a time. Use it as a context manager, or call `close`."""

    def __init__(self, folder: Path, listener: Listener = SILENT) -> None:
        """Create the folder if it is missing, lock it, and save what a kill left.

        Args:
            folder: The folder.
            listener: Gets a note for each game that a kill left.

        Raises:
            LockedError: Another process works in the folder.
            OSError: The folder cannot be created, or a file not be written.
        """
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(folder)
        try:
            for part in sorted(folder.glob(f"*{PART}")):
                self._recover(part, listener)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let other processes work in the folder."""
        self._lock.release()

    def begin(self, game_id: str, record: Record) -> "GameFile":
        """Begin a game.

        Args:
            game_id: Names the files; a name that is taken gets a number.
            record: The record so far, which grows by `GameFile.add` and ends by `GameFile.finish`.

        Raises:
            OSError: The file cannot be written.
        """
        stem = _UNSAFE.sub("_", game_id)[:_LONGEST].lstrip(".") or "game"
        number, name = 1, stem
        while any((self.folder / f"{name}{suffix}").exists() for suffix in (".csa", ".kif", PART)):
            number += 1
            name = f"{stem}-{number}"
        return GameFile(self.folder / name, record)

    def _recover(self, part: Path, listener: Listener) -> None:
        """Make a record of what a kill left of a game; the last line may be half written."""
        whole = part.read_bytes().rpartition(b"\n")[0] + b"\n"
        path = part.with_name(part.name.removesuffix(PART))
        if not whole.strip():  # the kill came before the first line
            part.unlink()
            return
        try:
            record = read_record(whole, name=part.name)
        except RecordError as error:
            part.replace(path.with_name(f"{path.name}.damaged"))
            listener.note(f"{part.name} cannot be recovered: {error}; it is kept as {path.name}.damaged")
            return
        record.name = ""
        record.termination = Termination.INTERRUPTED
        record.moves = [_without_pv(played) for played in record.moves]
        write_both(record, *paths(path))
        part.unlink()
        listener.note(f"{path.name}.csa: the game was broken off after {len(record)} moves")


class GameFile:
    """A game in play: its file with the moves so far, which becomes its record."""

    def __init__(self, path: Path, record: Record) -> None:
        self.path = path
        """Path of the record without its suffix."""
        self.record = record
        self._is_broken = False
        self._part = path.with_name(path.name + PART)
        self._file: IO[bytes] | None = self._part.open("wb")
        self._file.write(write_csa(record).encode())
        self._file.flush()

    def add(self, position: Position, played: RecordedMove) -> None:
        """Add a move.

        Args:
            position: The position before it.
            played: The move; its expected line is in USI.

        Raises:
            OSError: The file cannot be written; nothing more is added, and `finish` tries again.
        """
        if self._file is None or self._is_broken:
            return
        lines = [csa_moves(position.sfen(), [played.move.usi()])[0]]
        if played.time_ms is not None:
            lines.append(f"T{played.time_ms / 1000:.3f}".rstrip("0").rstrip("."))
        if played.score_cp is not None:
            lines.append(f"'** {played.score_cp}")
        try:
            self._file.write("".join(f"{line}\n" for line in lines).encode())
            self._file.flush()
        except OSError:
            self._is_broken = True
            raise

    def finish(self) -> Path:
        """Write the records, with the end that the record has now; returns the path of the CSA file.

        Raises:
            OSError: A file cannot be written; what was played so far stays.
        """
        self.record.end_time = self.record.end_time or now()
        csa, kif = paths(self.path)
        write_both(self.record, csa, kif)
        self.close()
        self._part.unlink(missing_ok=True)
        return csa

    def close(self) -> None:
        """Add no more moves. Without `finish` the next `RecordFolder` makes a record of those that were added."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # the last flush fails on a full disk
                file.close()


def paths(stem: Path) -> tuple[Path, Path]:
    """The CSA and the KIF file of a game."""
    return stem.with_name(f"{stem.name}.csa"), stem.with_name(f"{stem.name}.kif")


def _without_pv(played: RecordedMove) -> RecordedMove:
    return RecordedMove(played.move, played.score_cp, time_ms=played.time_ms, comment=played.comment)
