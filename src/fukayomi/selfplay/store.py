"""The chunks of a worker in a folder: which games they have, which are missing, and writing the next ones."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fukayomi import __version__, _native
from fukayomi.files.inputs import file_sha256
from fukayomi.selfplay.chunk import SUFFIX as CHUNK_SUFFIX
from fukayomi.selfplay.chunk import (
    ChunkDetails,
    ChunkError,
    ChunkInfo,
    Part,
    ResultCounts,
    opponents_chunk_of,
    read_chunk_info,
    settings_sha256,
    sidecar_of,
    write_chunk,
)
from fukayomi.selfplay.journal import SUFFIX as JOURNAL_SUFFIX
from fukayomi.selfplay.journal import GameJournal, GameSummary, StoredGame

_COUNTS = {
    "mate": "mates", "resignation": "resignations", "repetition": "repetitions", "declaration": "declarations",
    "max_plies": "max_plies",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Worker:
    """Worker that plays, and what its games depend on."""

    name: str
    seed: int
    network: str
    """SHA-256 of the network's file."""
    settings: Mapping[str, Any]
    """All settings of the self-play."""
    chunk_games: int
    is_split: bool = False
    """True if games that have an opponent go to chunks of their own."""
    device: str = ""
    """Device that runs the network."""
    precision: str = ""
    """Precision in which it is computed."""


@dataclass(slots=True)
class _Range:
    """A chunk that is not complete."""

    sequence: int
    first: int
    end: int
    """The number after its last game."""
    journal: GameJournal


class ChunkStore:
    """Store of a worker's games.

    Args:
        out: The folder; it exists.
        worker: The worker.
        first: Number of the first game of this run.
        end: Number after the last one; None: there is no last one.

    Raises:
        ChunkError: The folder has chunks or a journal of another run under this name.
        OSError: A file cannot be read.
    """

    def __init__(self, out: Path, worker: Worker, first: int, end: int | None) -> None:
        self._out, self._worker, self._first, self._end = out, worker, first, end
        self._run = {
            "network": worker.network,
            "seed": str(worker.seed),
            "settings": settings_sha256(worker.settings),
            "build": __version__,
        }
        pattern = re.compile(re.escape(worker.name) + r"-\d{6,}\.json")
        infos = [read_chunk_info(path) for path in sorted(out.iterdir()) if pattern.fullmatch(path.name)]
        for info in infos:
            if info.seed != worker.seed:
                raise ChunkError(
                    f"{out}: the chunks of {worker.name} were made with the seed {info.seed}, not {worker.seed}; "
                    "use that seed, or another name or folder"
                )
        self._done = {info.first_game: info for info in infos}
        self._before = [info for info in infos if info.first_game < first]
        self._parts: dict[int, _Range] = {}  # by the number of each game that is being played or waits
        pattern = re.compile(re.escape(worker.name) + r"-\d{6,}" + re.escape(JOURNAL_SUFFIX))
        self._journals: dict[Path, GameJournal] = {}
        for path in sorted(out.iterdir()):
            if pattern.fullmatch(path.name) and sidecar_of(path).exists():
                path.unlink()  # a kill came between writing the chunk and this
            elif pattern.fullmatch(path.name):
                self._journals[path] = GameJournal(path, self._run)
        self.highest_waiting = max((max(journal.games, default=-1) for journal in self._journals.values()), default=-1)
        """Highest number of a game that waited for its chunk at the beginning; -1: there was none."""

    @property
    def written(self) -> list[ChunkInfo]:
        """The chunks of this run that were there at the beginning."""
        mine = [
            info for first, info in sorted(self._done.items())
            if first >= self._first and (self._end is None or first < self._end)
        ]  # fmt: skip
        beside = [sidecar_of(opponents_chunk_of(self._path(info.sequence))) for info in mine if info.part != "all"]
        return mine + [read_chunk_info(sidecar) for sidecar in beside if sidecar.exists()]

    def check_players(self) -> str:
        """Check who played the last games, and how, if those of this run were all there at the beginning.

        Returns:
            What to tell the user: that they were played with other settings; empty if they were not.

        Raises:
            ChunkError: Another network played them.
        """
        last = max(self.written, key=lambda info: info.first_game, default=None)
        if last is not None and last.network != self._worker.network:
            raise ChunkError(
                f"{self._out}: all games asked for are there, but of the network {last.network[:12]}, not of "
                f"{self._worker.network[:12]}; ask for more games to go on with it, or choose another name or folder"
            )
        if last is not None and last.settings_sha256 != self._run["settings"]:
            return "all games asked for are there, but played with other settings; ask for more games to use these"
        return ""

    def numbers(self, finished: "list[GameSummary]") -> Iterator[int]:
        """The numbers of the games to play, in order, as far as they are asked for.

        Args:
            finished: Games that are finished already, in journals, are appended to it on the way.

        Raises:
            ChunkError: The size of the chunks was changed.
        """
        for sequence, first, end in self._ranges():
            path = self._path(sequence)
            if sidecar_of(path).exists():
                raise ChunkError(f"{path} has other games than were expected; was chunk_games changed?")
            waiting = path.with_suffix(JOURNAL_SUFFIX)
            part = _Range(sequence, first, end, self._journals.pop(waiting, None) or GameJournal(waiting, self._run))
            if part.journal.games and not first <= min(part.journal.games) <= max(part.journal.games) < end:
                raise ChunkError(
                    f"{waiting} has games of other numbers than {first} to {end - 1}; was chunk_games changed?"
                )
            finished += [part.journal.games[number].summary for number in sorted(part.journal.games)]
            for number in range(first, end):
                self._parts[number] = part
            for number in range(first, end):
                if number not in part.journal.games:
                    yield number

    def add(self, game: StoredGame) -> None:
        """Store a game that is over; from now on a kill cannot lose it."""
        self._parts[game.summary.number].journal.add(game)

    def write_complete(self, *, up_to: int | None = None) -> list[tuple[Path, ChunkInfo]]:
        """Write the chunks whose games are all over.

        Args:
            up_to: No game of this number or a higher one will be played, so that a chunk ends before it; None: unknown.

        Raises:
            DiskError: The disk is full.
            OSError: A file cannot be written.
        """
        written: list[tuple[Path, ChunkInfo]] = []
        for part in {part.sequence: part for part in self._parts.values()}.values():
            end = part.end if up_to is None else min(part.end, up_to)
            if end <= part.first or not all(number in part.journal.games for number in range(part.first, end)):
                continue
            games = [part.journal.games[number] for number in range(part.first, end)]
            path = part.journal.path.with_suffix(CHUNK_SUFFIX)
            for file, which, mine in reversed(self._files(path, games)):  # the first says that all are there
                details = self._details(part, which, len(games), mine)
                data = b"".join(game.data for game in mine)
                written.append((file, write_chunk(file, data, details, _weights(mine))))
            self._done[part.first] = written[-1][1]
            part.journal.remove()
            for number in range(part.first, part.end):
                self._parts.pop(number, None)
        return written

    def _path(self, sequence: int) -> Path:
        return self._out / f"{self._worker.name}-{sequence:06d}{CHUNK_SUFFIX}"

    def _files(self, path: Path, games: list[StoredGame]) -> list[tuple[Path, Part, list[StoredGame]]]:
        """The files of a chunk, with their games; that which is always there comes first."""
        others = [game for game in games if game.summary.opponent]
        if not self._worker.is_split:
            return [(path, "all", games)]
        files: list[tuple[Path, Part, list[StoredGame]]] = [
            (path, "without_opponents", [game for game in games if not game.summary.opponent])
        ]
        return [*files, (opponents_chunk_of(path), "with_opponents", others)] if others else files

    def chunk_of(self, number: int) -> Path | None:
        """The chunk that covers a number; None if there is none."""
        for first, info in self._done.items():
            if first <= number < first + (info.numbers or info.games):
                return self._path(info.sequence)
        return None

    def is_missing(self, number: int) -> bool:
        """True if the game of that number is being played, or waits for its chunk."""
        return number in self._parts

    @property
    def is_complete(self) -> bool:
        """True if no game is missing among the numbers that were asked for."""
        return not self._parts

    @property
    def waiting(self) -> int:
        """Games that are over and wait for their chunk."""
        return sum(number in part.journal.games for number, part in self._parts.items())

    def close(self) -> None:
        """Close the journals."""
        for part in self._parts.values():
            part.journal.close()

    def _ranges(self) -> Iterator[tuple[int, int, int]]:
        """Sequence number, first game and the one after the last, of each chunk that is missing."""
        size = self._worker.chunk_games
        sequence = max((info.sequence for info in self._before), default=self._first // size) + 1
        first = self._first
        while self._end is None or first < self._end:
            info = self._done.get(first)
            if info is not None:
                first += info.numbers or info.games or 1
                sequence = info.sequence + 1
                continue
            end = min([first + size, *(other for other in self._done if other > first)])
            end = end if self._end is None else min(end, self._end)
            yield sequence, first, end
            first, sequence = end, sequence + 1

    def _details(self, part: _Range, which: Part, numbers: int, games: list[StoredGame]) -> ChunkDetails:
        kept = [game.summary for game in games if game.summary.is_kept]
        reasons = Counter(_COUNTS[game.reason] for game in kept)
        winners = Counter(game.winner for game in kept)
        every = [game.summary for game in games]
        return ChunkDetails(
            games=len(kept),
            positions=sum(game.positions for game in kept),
            plies=sum(game.plies for game in kept),
            worker=self._worker.name,
            sequence=part.sequence,
            first_game=part.first,
            numbers=numbers,
            part=which,
            seed=self._worker.seed,
            network=self._worker.network,
            build=build(),
            device=self._worker.device,
            precision=self._worker.precision,
            settings=self._worker.settings,
            results=ResultCounts(
                black_wins=winners["black"], white_wins=winners["white"], draws=winners[None], **reasons
            ),
            opponents=_opponents(every),
            wrong_resignations=(
                sum(game.is_played_out for game in every),
                sum(game.is_wrong_resignation for game in every),
            ),
        )


@cache
def build() -> str:
    """The version of fukayomi with the beginning of the SHA-256 of its native core, which plays the games.

    >>> build().startswith(f"{__version__}+core.")
    True
    """
    assert _native.__file__ is not None
    return f"{__version__}+core.{file_sha256(_native.__file__)[:12]}"


def _opponents(games: list[GameSummary]) -> dict[str, tuple[int, int, int]]:
    """Wins, draws and losses against each opponent, by name."""
    names = sorted({game.opponent_name for game in games if game.opponent})
    results: dict[str, tuple[int, int, int]] = {}
    for name in names:
        mine = [game for game in games if game.opponent and game.opponent_name == name]
        draws = sum(game.winner is None for game in mine)
        losses = sum(game.winner == game.opponent for game in mine)
        results[name] = len(mine) - draws - losses, draws, losses
    return results


def _weights(games: list[StoredGame]) -> "np.ndarray[Any, np.dtype[np.float32]] | None":
    """The weights of all positions; None if all are 1."""
    if all(game.weights is None for game in games):
        return None
    return np.concatenate(
        [
            np.ones(game.summary.positions, np.float32) if game.weights is None else game.weights
            for game in games
            if game.summary.is_kept
        ]
    )
