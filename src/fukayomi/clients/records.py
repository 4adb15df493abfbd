"""The records of games against others: each as CSA and KIF as soon as it ends, and what a kill left of a game.

A game in play is a file with the ending ``.part``, to which each move is added. Whoever opens the folder next makes a
record of it, as an interrupted game; or, where servers keep games, goes on with it.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Self

from fukayomi.arena.results.match_files import write_both
from fukayomi.clients.listener import OnlineGame, OnlineListener
from fukayomi.files.atomic import replace_file
from fukayomi.files.lock import FolderLock
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import Color, Position
from fukayomi.shogi.formats import csa_moves, read_record, write_csa, write_kif
from fukayomi.shogi.record import Record, RecordedMove, RecordError, Termination, now

PART = ".part"
_UNSAFE = re.compile(r"[^A-Za-z0-9_+.@-]")
_LONGEST = 180


class RecordFolder:
    """A folder with the records of games, for one process at a time. Use it as a context manager, or call `close`."""

    def __init__(self, folder: Path, listener: Listener = SILENT, *, goes_on: bool = False) -> None:
        """Create the folder if it is missing, lock it, and save what a kill left.

        Args:
            folder: The folder.
            listener: Gets a note for each game that a kill left.
            goes_on: What a kill left is not saved yet: `left` names those games, `begin` goes on with them, and
                `give_up` saves them as interrupted ones. The names of games are then unique.

        Raises:
            LockedError: Another process works in the folder.
            OSError: The folder cannot be created, or a file not be written.
        """
        self.folder = folder
        self._listener, self._goes_on = listener, goes_on
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = FolderLock(folder)
        try:
            if not goes_on:
                for part in sorted(folder.glob(f"*{PART}")):
                    self._recover(part)
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
        stem = _stem(game_id)
        if self._goes_on:
            part = self.folder / f"{stem}{PART}"
            if part.exists() and (known := self._read(part)) is not None:
                _take_over(known, record)
            return GameFile(self.folder / stem, record)
        number, name = 1, stem
        while any((self.folder / f"{name}{suffix}").exists() for suffix in (".csa", ".kif", PART)):
            number += 1
            name = f"{stem}-{number}"
        return GameFile(self.folder / name, record)

    def left(self) -> list[str]:
        """The games that have begun and not ended here, by their names."""
        return sorted(part.name.removesuffix(PART) for part in self.folder.glob(f"*{PART}"))

    def has(self, game_id: str) -> bool:
        """True if the record of a game is here, complete."""
        stem = self.folder / _stem(game_id)
        return stem.with_name(f"{stem.name}.csa").exists() and not stem.with_name(f"{stem.name}{PART}").exists()

    def give_up(self, game_id: str) -> None:
        """Save a game of `left` as an interrupted one.

        Raises:
            OSError: A file cannot be written.
        """
        self._recover(self.folder / f"{_stem(game_id)}{PART}")

    def recent(self, seconds: float) -> Iterator[Record]:
        """The records that were written within so many seconds; those that cannot be read are passed over."""
        since_s = time.time() - seconds
        for path in self.folder.glob("*.csa"):
            if path.stat().st_mtime >= since_s:
                with contextlib.suppress(RecordError):
                    yield read_record(path)

    def _read(self, part: Path) -> Record | None:
        """What a kill left of a game, whose last line may be half written; None: nothing that can be read."""
        whole = part.read_bytes().rpartition(b"\n")[0] + b"\n"
        if not whole.strip():  # the kill came before the first line
            part.unlink()
            return None
        try:
            record = read_record(whole, name=part.name)
        except RecordError as error:
            damaged = f"{part.name.removesuffix(PART)}.damaged"
            part.replace(part.with_name(damaged))
            self._listener.note(f"{part.name} cannot be recovered: {error}; it is kept as {damaged}")
            return None
        return _without_pvs(record)

    def _recover(self, part: Path) -> None:
        """Make a record of what a kill left of a game. A CSA file that is there is the record: only the rest failed."""
        path = part.with_name(part.name.removesuffix(PART))
        csa, kif = paths(path)
        if csa.exists():
            if not kif.exists():
                replace_file(kif, write_kif(_without_pvs(read_record(csa))).encode())
            part.unlink()
            return
        record = self._read(part)
        if record is None:
            return
        if record.termination is Termination.NONE:
            record.termination = Termination.INTERRUPTED
        write_both(record, csa, kif)
        part.unlink()
        self._listener.note(f"{path.name}.csa: the game was broken off after {len(record)} moves")


class GameFile:
    """A game in play: its file with the moves so far, which becomes its record."""

    def __init__(self, path: Path, record: Record) -> None:
        self.path = path
        """Path of the record without its suffix."""
        self.record = record
        self._is_broken = False
        self._part = path.with_name(path.name + PART)
        self._file: IO[bytes] | None = None
        self.rewrite()

    def rewrite(self) -> None:
        """Begin the file again, with the moves that the record has now: some were taken back.

        Raises:
            OSError: The file cannot be written.
        """
        self.close()
        replace_file(self._part, write_csa(self.record).encode())
        self._file = self._part.open("ab")

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
        self.close()
        csa, kif = paths(self.path)
        write_both(self.record, csa, kif)
        self._part.unlink(missing_ok=True)
        return csa

    def close(self) -> None:
        """Add no more moves. Without `finish` the next `RecordFolder` makes a record of those that were added."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # the last flush fails on a full disk
                file.close()


class PlayedGame:
    """A game while it is played: its record grows, its file follows, and a listener hears of it.

    A file that cannot be written, as on a full disk, is noted and does not end the game.

    Args:
        game: The game, with the record so far.
        records: Where it is saved; None: nowhere.
        listener: Hears of the game.
    """

    def __init__(self, game: OnlineGame, records: RecordFolder | None, listener: OnlineListener) -> None:
        self.game = game
        self._records, self._listener = records, listener
        self._file: GameFile | None = None

    @property
    def record(self) -> Record:
        """The record so far."""
        return self.game.record

    @property
    def is_over(self) -> bool:
        """True if the record has its end."""
        return self.record.termination is not Termination.NONE

    def begin(self) -> None:
        """Begin the file."""
        with self._noting():
            if self._records is not None:
                self._file = self._records.begin(self.game.game_id, self.record)

    def add(self, before: Position, played: RecordedMove, left_ms: Mapping[Color, int]) -> None:
        """Add a move.

        Args:
            before: The position before it.
            played: The move; its expected line is in USI.
            left_ms: Main time left to each side.
        """
        self.record.moves.append(played)
        with self._noting():
            if self._file is not None:
                self._file.add(before, played)
        self._listener.moved(self.game, len(self.record), played, dict(left_ms))

    def take_back(self, plies: int) -> None:
        """Keep so many moves."""
        del self.record.moves[plies:]
        with self._noting():
            if self._file is not None:
                self._file.rewrite()

    async def end(self) -> None:
        """Write the record, with the end that it has now; `game` then has its path."""
        self.record.end_time = now()
        with self._noting():
            if self._file is None and self._records is not None:  # the disk was full, and may have room now
                self._file = self._records.begin(self.game.game_id, self.record)
            if self._file is not None:
                self.game = replace(self.game, path=await asyncio.to_thread(self._file.finish))

    def leave(self) -> None:
        """Leave the file as it is: the game goes on later."""
        if self._file is not None:
            self._file.close()

    @contextlib.contextmanager
    def _noting(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            self._listener.note(f"{self.game.game_id} is not saved: {error}")


def paths(stem: Path) -> tuple[Path, Path]:
    """The CSA and the KIF file of a game."""
    return stem.with_name(f"{stem.name}.csa"), stem.with_name(f"{stem.name}.kif")


def _stem(game_id: str) -> str:
    """The name of the files of a game."""
    return _UNSAFE.sub("_", game_id)[:_LONGEST].lstrip(".") or "game"


def _take_over(known: Record, record: Record) -> None:
    """Take over what the file knows of the moves that are the same: times and scores."""
    if known.initial_sfen != record.initial_sfen:
        return
    record.start_time = known.start_time or record.start_time
    for index, (old, new) in enumerate(zip(known.moves, record.moves, strict=False)):
        if old.move != new.move:
            break
        record.moves[index] = old


def _without_pvs(record: Record) -> Record:
    """A record that was read, without the expected lines, which are not in USI."""
    record.name = ""
    record.moves = [replace(played, pv="") for played in record.moves]
    return record
