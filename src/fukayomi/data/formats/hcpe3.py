"""hcpe3: games with the evaluation and the visits of each move, as dlshogi writes them.

| part | offset | type | meaning |
|---|---|---|---|
| game | 0 | uint8[32] | hcp of the first position |
| | 32 | uint16 | number of moves |
| | 34 | uint8 | result and flags, as in hcpe2 |
| | 35 | uint8 | opponent: 0 self-play; 1 Black, 2 White was another program |
| each move | 0 | uint16 | move played, as in hcpe |
| | 2 | int16 | evaluation in centipawns from the side to move |
| | 4 | uint16 | number of candidates |
| each candidate | 0 | uint16 | move |
| | 2 | uint16 | visits |

The candidates of a move follow it. A move without candidates was played without a search worth learning from. The files
have no index and no checksum. The reader replays every game and returns only games whose moves and candidates are all
legal.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.format import REMEDY, START, Advance, DataFileError, Format, Part, Place, ignore
from fukayomi.data.formats.hcpe import RESULT_BITS, ResultFlag
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.shogi.record import Result
from fukayomi.tabular import counted

MOST_MOVES = 65_535
"""Moves that a game can have."""
MOST_VISITS = 65_535
"""Visits that a candidate can have."""
_HEADER_BYTES, _MOVE_BYTES, _CANDIDATE_BYTES = 36, 6, 4
_READ_AT_ONCE = 4 << 20  # bytes


class Hcpe3Error(DataFileError):
    """Bytes of a file that are not a game.

    Attributes:
        path: The file.
        game: Number of games before it in the file, damaged ones included.
        ply: The move that is wrong, from 0; None if it is the header.
        offset: Where the damaged game begins, in bytes.
        size: Number of bytes that are not a game.
        reason: What is wrong.
    """

    def __init__(self, path: Path, game: int, ply: int | None, offset: int, size: int, reason: str) -> None:
        self.path, self.game, self.ply, self.offset, self.size, self.reason = path, game, ply, offset, size, reason
        place = "" if ply is None else f", move {ply}"
        super().__init__(f"{path}, game {game}{place} (offset {offset}): {reason}; {REMEDY}")

    def longer(self, more: int) -> "Hcpe3Error":
        """The same damage with `more` bytes added."""
        return Hcpe3Error(self.path, self.game, self.ply, self.offset, self.size + more, self.reason)


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """One game with M moves and C candidates in all."""

    start: bytes
    """hcp of the first position."""
    result_byte: int
    """Result and flags, as in the file."""
    opponent: int
    """0 self-play; 1 Black, 2 White was another program."""
    hcps: NDArray[np.uint8]
    """Position before each move: uint8 [M, 32]."""
    moves: NDArray[np.uint16]
    """Moves played, as `Move.raw`: uint16 [M]."""
    evals: NDArray[np.int16]
    """Centipawns from the side to move: int16 [M]."""
    candidates: NDArray[np.uint64]
    """Move i has the candidates from candidates[i] to candidates[i + 1]: uint64 [M + 1]."""
    candidate_moves: NDArray[np.uint16]
    """As `Move.raw`: uint16 [C]."""
    candidate_visits: NDArray[np.uint16]
    """uint16 [C]."""

    def __len__(self) -> int:
        """Number of moves."""
        return len(self.moves)

    @property
    def result(self) -> Result:
        """Result of the game."""
        return Result(self.result_byte & RESULT_BITS)

    @property
    def flags(self) -> ResultFlag:
        """Flags of the game's ending."""
        return ResultFlag(self.result_byte & ~RESULT_BITS)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Games:
    """G games as columns, with P moves and C candidates in all. Indexing gives a `Game`."""

    path: Path
    """File of the games."""
    first: int
    """Number of games before them in the file, damaged ones included."""
    offsets: NDArray[np.uint64]
    """Start of each game in the file, in bytes: uint64 [G]."""
    starts: NDArray[np.uint8]
    """hcp of each first position: uint8 [G, 32]."""
    results: NDArray[np.uint8]
    """Result and flags: uint8 [G]."""
    opponents: NDArray[np.uint8]
    """0 self-play; 1 Black, 2 White was another program: uint8 [G]."""
    plies: NDArray[np.uint64]
    """Game g has the moves from plies[g] to plies[g + 1]: uint64 [G + 1]."""
    hcps: NDArray[np.uint8]
    """Position before each move: uint8 [P, 32]."""
    moves: NDArray[np.uint16]
    """As `Move.raw`: uint16 [P]."""
    evals: NDArray[np.int16]
    """Centipawns from the side to move: int16 [P]."""
    candidates: NDArray[np.uint64]
    """Move p has the candidates from candidates[p] to candidates[p + 1]: uint64 [P + 1]."""
    candidate_moves: NDArray[np.uint16]
    """As `Move.raw`: uint16 [C]."""
    candidate_visits: NDArray[np.uint16]
    """uint16 [C]."""

    def __repr__(self) -> str:
        return f"<Games: {counted(len(self), 'game')} with {counted(len(self.moves), 'move')} of {self.path}>"

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
        """Index of the game of each move: int64 [P]."""
        return np.repeat(np.arange(len(self)), np.diff(self.plies.astype(np.int64)))

    def ply_in_game(self) -> NDArray[np.int64]:
        """Number of moves of the same game before each move: int64 [P]."""
        return np.arange(len(self.moves)) - self.plies.astype(np.int64)[self.game_of_ply()]

    def candidate_counts(self) -> NDArray[np.int64]:
        """Number of candidates of each move: int64 [P]."""
        return np.diff(self.candidates.astype(np.int64))

    def lengths(self) -> NDArray[np.int64]:
        """Number of moves of each game: int64 [G]."""
        return np.diff(self.plies.astype(np.int64))

    def sizes(self) -> NDArray[np.int64]:
        """Size of each game in a file, in bytes: int64 [G]."""
        candidates = self.candidates.astype(np.int64)[self.plies.astype(np.int64)]
        return _HEADER_BYTES + _MOVE_BYTES * self.lengths() + _CANDIDATE_BYTES * np.diff(candidates)

    def with_candidates(self, kept: NDArray[np.bool_]) -> "Games":
        """The same games with candidates for the chosen moves only (bool [P])."""
        counts = self.candidate_counts()
        of_kept = np.repeat(kept, counts)
        return replace(
            self, candidates=_starts(np.where(kept, counts, 0)), candidate_moves=self.candidate_moves[of_kept],
            candidate_visits=self.candidate_visits[of_kept],
        )  # fmt: skip

    def select(self, kept: NDArray[np.bool_]) -> "Games":
        """The chosen games (bool [G])."""
        lengths, counts = self.lengths(), self.candidate_counts()
        moves = np.repeat(kept, lengths)
        of_kept = np.repeat(moves, counts)
        return Games(
            self.path, self.first, self.offsets[kept], self.starts[kept], self.results[kept], self.opponents[kept],
            _starts(lengths[kept]), self.hcps[moves], self.moves[moves], self.evals[moves], _starts(counts[moves]),
            self.candidate_moves[of_kept], self.candidate_visits[of_kept],
        )  # fmt: skip

    def write(self) -> bytes:
        """The bytes of the games in a file."""
        return _native.encode_hcpe3(
            self.starts, self.results, self.opponents, self.plies, self.moves, self.evals,
            self.candidates, self.candidate_moves, self.candidate_visits,
        )  # fmt: skip


def _starts(counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Start of each of some runs, and the end: [N] to [N + 1]."""
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum(counts).astype(np.uint64)])


def scan_hcpe3(
    path: Path | str, advance: Advance = ignore, read_at_once: int = _READ_AT_ONCE, begin: Place = START
) -> Iterator[Games | Hcpe3Error]:
    """Read the games of a file in batches, and everything that is not a game as an error, in the order of the file.

    Memory is bounded by `read_at_once` and the largest game. After damage, reading continues with the next game,
    wherever it begins.

    Args:
        path: The file.
        advance: Called with the number of bytes read since the last call.
        read_at_once: Number of bytes to read and decode at a time.
        begin: Where to begin: the offset of a game, and the number of games before it.

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


def read_hcpe3(path: Path | str, advance: Advance = ignore, begin: Place = START) -> Iterator[Games]:
    """Read the games of a file in batches; arguments as for `scan_hcpe3`.

    Raises:
        Hcpe3Error: Some bytes are not a game.
        OSError: The file cannot be read.
    """
    for found in scan_hcpe3(path, advance, begin=begin):
        if isinstance(found, Hcpe3Error):
            raise found
        yield found


def join_games(games: Iterable[Game], path: Path | str = "games") -> Games:
    """Put single games into columns, in order."""
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Hcpe3Format(Format):
    """Games with visits."""

    @property
    def least_bytes(self) -> int:
        """Size of a game without moves."""
        return _HEADER_BYTES

    def likeness(self, path: Path, head: bytes) -> float:
        """The share of the head that decodes as games."""
        found = _native.decode_hcpe3(np.frombuffer(head, np.uint8), len(head) == path.stat().st_size)
        if len(found.results) == 0 and not found.damages:
            return 0.5  # the beginning of a game that is longer than the head
        # A good header before a bad move is half a game.
        left_out = sum(size * (1.0 if ply < 0 else 0.5) for _, size, ply, _ in found.damages)
        return 1 - left_out / max(1, found.consumed)

    def read(self, path: Path, begin: Place = START, advance: Advance = ignore) -> Iterator[Part]:
        """Yield `Games`, replayed; `Place` counts bytes and games."""
        advance(begin.outer)
        for games in read_hcpe3(path, advance, begin):
            yield Part(games, Place(int(games.offsets[-1]) + int(games.sizes()[-1]), games.first + len(games)))

    def encode(self, items: Any) -> bytes:
        """The bytes of `Games`."""
        return items.write()


FORMAT = Hcpe3Format(
    kind=DataFormat.HCPE3,
    suffixes=(".hcpe3",),
    contents="searched games (hcpe3)",
    used_by="fukayomi data convert makes hcpe of them",
    stores="games",
)
