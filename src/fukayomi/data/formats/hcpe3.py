"""hcpe3 files: whole games with what the search thought of each move, as dlshogi writes them.

A game is a header (hcp of the start, number of moves, result with flags, opponent) and for each move the evaluation
from the side to move and the candidates with their visits. No candidates means that the move was played without a
search worth learning from. The files have neither index nor checksum, so reading one means replaying its games: only
games whose every move and candidate is legal come out.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.hcpe import RESULT_BITS, ResultFlag
from fukayomi.data.formats.rows import DataFileError
from fukayomi.files.atomic import AtomicFile
from fukayomi.shogi.record import Result

MOST_MOVES = 65_535
MOST_VISITS = 65_535
_READ_AT_ONCE = 4 << 20  # bytes


class Hcpe3Error(DataFileError):
    """Bytes of a file that are no whole game.

    Attributes:
        path: The file.
        game: How many whole or damaged games stand before it in the file.
        ply: The move with which something is wrong, from 0; None where it is the header.
        offset: Where the damaged game begins in the file.
        size: How many bytes from there on are no game.
        reason: What is wrong.
    """

    def __init__(self, path: Path, game: int, ply: int | None, offset: int, size: int, reason: str) -> None:
        self.path, self.game, self.ply, self.offset, self.size, self.reason = path, game, ply, offset, size, reason
        place = "" if ply is None else f", move {ply}"
        super().__init__(f"{path}, game {game}{place} (offset {offset}): {reason}; {size} bytes are left out")

    def longer(self, more: int) -> "Hcpe3Error":
        """The same damage, as it goes on for so many more bytes."""
        return Hcpe3Error(self.path, self.game, self.ply, self.offset, self.size + more, self.reason)


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """One game of M moves with C candidates in all."""

    start: bytes
    """hcp of the first position."""
    result_byte: int
    """Result and flags, as the file has them."""
    opponent: int
    """0 self-play; 1 Black, 2 White was another program."""
    hcps: NDArray[np.uint8]
    """[M, 32]: the position before each move."""
    moves: NDArray[np.uint16]
    """[M]: the moves played, as `Move.raw`."""
    evals: NDArray[np.int16]
    """[M]: centipawns from the side to move."""
    candidates: NDArray[np.uint64]
    """[M + 1]: the candidates of move i are candidates[i] to candidates[i + 1]."""
    candidate_moves: NDArray[np.uint16]
    """[C]."""
    candidate_visits: NDArray[np.uint16]
    """[C]."""

    def __len__(self) -> int:
        """Number of moves."""
        return len(self.moves)

    @property
    def result(self) -> Result:
        """Who won."""
        return Result(self.result_byte & RESULT_BITS)

    @property
    def flags(self) -> ResultFlag:
        """How it ended."""
        return ResultFlag(self.result_byte & ~RESULT_BITS)


@dataclass(frozen=True, slots=True, eq=False)
class Games:
    """G games as columns, with P moves and C candidates in all."""

    path: Path
    """The file that they come from."""
    first: int
    """How many games, damaged ones included, stand before them in the file."""
    offsets: NDArray[np.uint64]
    """[G]: where each game begins in the file."""
    starts: NDArray[np.uint8]
    """[G, 32]."""
    results: NDArray[np.uint8]
    """[G]: result and flags."""
    opponents: NDArray[np.uint8]
    """[G]."""
    plies: NDArray[np.uint64]
    """[G + 1]: the moves of game g are plies[g] to plies[g + 1]."""
    hcps: NDArray[np.uint8]
    """[P, 32]: the position before each move."""
    moves: NDArray[np.uint16]
    """[P]."""
    evals: NDArray[np.int16]
    """[P]: from the side to move."""
    candidates: NDArray[np.uint64]
    """[P + 1]: the candidates of move p are candidates[p] to candidates[p + 1]."""
    candidate_moves: NDArray[np.uint16]
    """[C]."""
    candidate_visits: NDArray[np.uint16]
    """[C]."""

    def __len__(self) -> int:
        """Number of games."""
        return len(self.results)

    def __getitem__(self, index: int) -> Game:
        """One game; its arrays are views."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        begin, end = int(self.plies[index]), int(self.plies[index + 1])
        first, last = int(self.candidates[begin]), int(self.candidates[end])
        return Game(
            self.starts[index].tobytes(),
            int(self.results[index]),
            int(self.opponents[index]),
            self.hcps[begin:end],
            self.moves[begin:end],
            self.evals[begin:end],
            self.candidates[begin : end + 1] - self.candidates[begin],
            self.candidate_moves[first:last],
            self.candidate_visits[first:last],
        )

    def __iter__(self) -> Iterator[Game]:
        """The games one by one."""
        return (self[index] for index in range(len(self)))

    def game_of_ply(self) -> NDArray[np.int64]:
        """The game that each move belongs to: int64 [P]."""
        return np.repeat(np.arange(len(self)), np.diff(self.plies.astype(np.int64)))

    def ply_in_game(self) -> NDArray[np.int64]:
        """How many moves of its game stand before each move: int64 [P]."""
        return np.arange(len(self.moves)) - self.plies.astype(np.int64)[self.game_of_ply()]

    def candidate_counts(self) -> NDArray[np.int64]:
        """How many candidates each move has: int64 [P]."""
        return np.diff(self.candidates.astype(np.int64))

    def write(self) -> bytes:
        """The games as a file has them."""
        return _native.encode_hcpe3(
            self.starts, self.results, self.opponents, self.plies, self.moves, self.evals,
            self.candidates, self.candidate_moves, self.candidate_visits,
        )  # fmt: skip


def scan_hcpe3(
    path: Path | str,
    advance: Callable[[int], None] = lambda _: None,
    read_at_once: int = _READ_AT_ONCE,
    begin: tuple[int, int] = (0, 0),
) -> Iterator[Games | Hcpe3Error]:
    """All whole games of a file, a batch at a time, and what is no whole game as its error, in the order of the file.

    Memory is bounded by `read_at_once` (bytes) and the largest game. After damage reading goes on with the next whole
    game, wherever it begins.

    Args:
        path: The file.
        advance: Called with the number of bytes that were read since the last call.
        read_at_once: How much is read and decoded at a time.
        begin: Where to begin: the offset of a game, and how many games stand before it.

    Raises:
        OSError: The file cannot be read.
    """
    path = Path(path)
    offset, games = begin
    damage: Hcpe3Error | None = None  # held back until its end is known
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(read_at_once)
        while data:
            more = file.read(max(read_at_once, len(data)))  # an unfinished game is met with twice the data
            found = _native.decode_hcpe3(np.frombuffer(data, np.uint8), not more, damage is not None)
            if damage is not None and found.gap:
                damage = damage.longer(found.gap)
            for item in _in_order(found, path, games, offset):
                games += len(item) if isinstance(item, Games) else 1
                if damage is not None:
                    yield damage
                    damage = None
                if isinstance(item, Hcpe3Error):
                    damage = item
                else:
                    yield item
            if damage is not None and not found.searching:
                yield damage
                damage = None
            advance(found.consumed)
            offset += found.consumed
            data = data[found.consumed :] + more
            if not more:
                break
    if damage is not None:
        yield damage


def _in_order(found: _native.DecodedGames, path: Path, first: int, offset: int) -> Iterator[Games | Hcpe3Error]:
    offsets = found.offsets
    begin = 0
    for at, size, ply, reason in found.damages:
        end = int(np.searchsorted(offsets, at))
        if end > begin:
            yield _part(found, path, first, offset, begin, end)
            first += end - begin
        yield Hcpe3Error(path, first, ply if ply >= 0 else None, offset + at, size, reason)
        first += 1
        begin = end
    if len(offsets) > begin:
        yield _part(found, path, first, offset, begin, len(offsets))


def _part(found: _native.DecodedGames, path: Path, first: int, offset: int, begin: int, end: int) -> Games:
    plies = found.plies[begin : end + 1]
    ply, last_ply = int(plies[0]), int(plies[-1])
    candidates = found.candidates[ply : last_ply + 1]
    low, high = int(candidates[0]), int(candidates[-1])
    return Games(
        path,
        first,
        found.offsets[begin:end] + np.uint64(offset),
        found.starts[begin:end],
        found.results[begin:end],
        found.opponents[begin:end],
        plies - plies[0],
        found.hcps[ply:last_ply],
        found.moves[ply:last_ply],
        found.evals[ply:last_ply],
        candidates - candidates[0],
        found.candidate_moves[low:high],
        found.candidate_visits[low:high],
    )


def read_hcpe3(
    path: Path | str, advance: Callable[[int], None] = lambda _: None, begin: tuple[int, int] = (0, 0)
) -> Iterator[Games]:
    """As scan_hcpe3, but the first damage is raised.

    Raises:
        Hcpe3Error: Some bytes are no whole game.
        OSError: The file cannot be read.
    """
    for found in scan_hcpe3(path, advance, begin=begin):
        if isinstance(found, Hcpe3Error):
            raise found
        yield found


def join_games(games: Iterable[Game], path: Path | str = "games") -> Games:
    """Single games as columns, in their order."""
    games = list(games)
    plies = np.cumsum([0, *(len(game) for game in games)]).astype(np.uint64)
    counts = np.concatenate([np.zeros(0, np.uint64), *(np.diff(game.candidates) for game in games)])
    return Games(
        Path(path),
        0,
        np.zeros(len(games), np.uint64),
        np.frombuffer(b"".join(game.start for game in games), np.uint8).reshape(-1, 32),
        np.array([game.result_byte for game in games], np.uint8),
        np.array([game.opponent for game in games], np.uint8),
        plies,
        np.concatenate([np.zeros((0, 32), np.uint8), *(game.hcps for game in games)]),
        np.concatenate([np.zeros(0, np.uint16), *(game.moves for game in games)]),
        np.concatenate([np.zeros(0, np.int16), *(game.evals for game in games)]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64),
        np.concatenate([np.zeros(0, np.uint16), *(game.candidate_moves for game in games)]),
        np.concatenate([np.zeros(0, np.uint16), *(game.candidate_visits for game in games)]),
    )


class Hcpe3Writer(AtomicFile):
    """Writes an hcpe3 file that appears under its name only when it is whole; a context manager, as AtomicFile says."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        self.games = 0
        """Games written so far."""

    def append(self, games: Games) -> None:
        """Add games.

        Raises:
            ValueError: The columns do not fit together, or the format cannot hold their numbers.
        """
        self.write(games.write())
        self.games += len(games)
