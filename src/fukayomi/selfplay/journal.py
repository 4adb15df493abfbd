"""The journal of finished games that wait for their chunk, and the interface of opponents besides the newest network.

A chunk has the games of a fixed range of numbers, in order, so its bytes do not depend on which game ends first. Until
all of them are over, each game that ends is appended to ``NAME-000001.games`` beside the chunk at once. A process that
is killed loses at most the games in play: the next one reads the journal, and plays the numbers that are missing.
"""

import errno
import json
import os
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import FinishedGame, SelfplayPlayer, SelfplayPool, WaitingGame
from fukayomi.engine.network import Network
from fukayomi.files.disk import raise_if_full
from fukayomi.selfplay.chunk import ChunkError
from fukayomi.shogi import BLACK

SUFFIX = ".games"
Reason = Literal["mate", "resignation", "repetition", "declaration", "max_plies"]
_HEAD = struct.Struct("<4sIIII")  # magic, bytes of the summary, of the game, of the weights; CRC-32 of the three
_MAGIC = b"fkg1"
_LARGEST = 64 << 20


@dataclass(frozen=True, slots=True)
class GameSummary:
    """A game that is over, without its moves."""

    number: int
    """Among the games of the worker and its seed."""
    winner: Literal["black", "white"] | None
    reason: Reason
    plies: int
    opening_plies: int
    random_plies: int
    """Moves drawn at random."""
    positions: int
    """Positions with targets."""
    searches: int
    """Moves that were searched for."""
    playouts: int
    """Visits of all searches."""
    evaluations: int
    """Positions that a network evaluated."""
    is_played_out: bool
    """True if a side would have resigned, but the game was played on."""
    is_wrong_resignation: bool
    """True if that side did not lose."""
    opponent: Literal["", "black", "white"] = ""
    """The side that another program or network played, and whose moves have no targets."""
    opponent_name: str = ""
    """Its name."""
    is_kept: bool = True
    """True if it is written: it is long enough, and not drawn by the maximum of moves unless that is wanted."""

    @classmethod
    def of(cls, game: FinishedGame, *, is_kept: bool, opponent_name: str = "") -> Self:
        """Summary of a game of the pool."""
        winner = None if game.winner is None else "black" if game.winner == BLACK else "white"
        return cls(
            number=game.index, winner=winner, reason=cast(Reason, game.reason.name.lower()), plies=game.plies,
            opening_plies=game.opening_plies, random_plies=game.random_plies, positions=game.positions,
            searches=game.searches, playouts=game.playouts, evaluations=game.evaluations,
            is_played_out=game.is_played_out, is_wrong_resignation=game.is_wrong_resignation,
            opponent=("", "black", "white")[game.data[35]],
            opponent_name=opponent_name, is_kept=is_kept,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class StoredGame:
    """A game with its bytes."""

    summary: GameSummary
    data: bytes
    """hcpe3; empty if it is not kept."""
    weights: NDArray[np.float32] | None
    """Weight of each position with targets: float32 [positions]; None if all are 1."""


class GameJournal:
    """The finished games of a chunk that is not complete.

    Args:
        path: The file; it is made with the first game.
        run: What makes its games what they are (network, settings, seed). A journal of another run is refused.

    Raises:
        ChunkError: The file is no journal, or of another run.
        OSError: It cannot be read.
    """

    def __init__(self, path: Path, run: dict[str, str]) -> None:
        self.path = path
        self.games: dict[int, StoredGame] = {}
        """By number."""
        self._run = json.dumps(run, sort_keys=True).encode()
        self._file: BinaryIO | None = None
        self._end = 0
        if path.is_file():
            self._read()

    def add(self, game: StoredGame) -> None:
        """Append a game; it is safe from a kill when the method returns.

        Raises:
            DiskError: The disk is full.
            OSError: It cannot be written.
        """
        try:
            self._append(game)
        except OSError as error:
            raise_if_full(error, f"game {game.summary.number} was not written to {self.path}", self.path.parent)
            raise
        self.games[game.summary.number] = game

    def _append(self, game: StoredGame) -> None:
        if self._file is None:
            self._file = self.path.open("r+b" if self.path.is_file() else "w+b", buffering=0)
            self._file.truncate(self._end)  # the rest of a game that was being written
            self._file.seek(self._end)
            if self._end == 0:
                self._write(self._run, b"", b"")
        weights = b"" if game.weights is None else np.asarray(game.weights, "<f4").tobytes()
        self._write(json.dumps(asdict(game.summary)).encode(), game.data, weights)

    def close(self) -> None:
        """Close the file. The games stay."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """Remove the file: the chunk is written."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _write(self, *parts: bytes) -> None:
        assert self._file is not None
        body = b"".join(parts)
        entry = _HEAD.pack(_MAGIC, *map(len, parts), zlib.crc32(body)) + body
        if self._file.write(entry) != len(entry):  # a full disk may take a part
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        self._end += len(entry)

    def _read(self) -> None:
        data = self.path.read_bytes()
        first = self._entry(data)
        if data and first is None and not data.startswith(_MAGIC[: len(data)]):
            raise ChunkError(f"{self.path}: not a journal of games; move it elsewhere")
        if first is not None and first[0] != self._run:
            raise ChunkError(
                f"{self.path}: games of another network, seed or other settings wait here for their chunk; "
                "end that run first, remove the file to lose its games, or choose another name or folder"
            )
        while first is not None and (entry := self._entry(data)) is not None:
            text, game, weights = entry
            summary = GameSummary(**json.loads(text))
            if summary.reason not in get_args(Reason):
                raise ChunkError(f"{self.path}: unknown reason {summary.reason!r}")
            stored = StoredGame(summary, game, np.frombuffer(weights, "<f4") if weights else None)
            self.games[summary.number] = stored

    def _entry(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        """The next entry; None at the end, or where one was cut off."""
        begin = self._end + _HEAD.size
        if len(data) < begin:
            return None
        magic, *lengths, checksum = _HEAD.unpack_from(data, self._end)
        body = data[begin : begin + sum(lengths)] if sum(lengths) <= _LARGEST else b""
        if magic != _MAGIC or len(body) != sum(lengths) or zlib.crc32(body) != checksum:
            return None
        self._end = begin + sum(lengths)
        first, second = lengths[0], lengths[0] + lengths[1]
        return body[:first], body[first:second], body[second:]


class Opponents(Protocol):
    """Players besides the newest network."""

    @property
    def networks(self) -> Sequence[Network]:
        """Networks of the numbers 1, 2, ...; each runs on as many devices as the newest."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Plain values that tell these opponents from others; they go into the sidecars."""
        ...

    @property
    def has_own_files(self) -> bool:
        """True if games that have an opponent go to chunks of their own."""
        ...

    def players(self, number: int) -> tuple[SelfplayPlayer, SelfplayPlayer]:
        """Black and White of a game, by its number."""
        ...

    def name(self, number: int) -> str:
        """Name of the opponent of that game; empty without one."""
        ...

    def think(self, pool: SelfplayPool, game: WaitingGame) -> None:
        """Find a move for a game in which another program is to move, and call `SelfplayPool.answer` from any thread.

        It returns at once. A game that cannot be played on begins again by `SelfplayPool.restart`.
        """
        ...

    def over(self, game: GameSummary) -> None:
        """Called after each game."""
        ...

    def notes(self) -> Iterable[str]:
        """Notes for the user since the last call. An error that ends the run is raised here."""
        ...
