"""Positions where games begin: sets of positions, with weights."""

import bisect
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fukayomi._native import encode_hcp, find_bad_records, judge_endings, position_from_hcp
from fukayomi.arena.game.openings import Opening, OpeningError, read_openings
from fukayomi.book import BookReader
from fukayomi.engine.network import Network
from fukayomi.files.inputs import read_input
from fukayomi.shogi import Move, Position, Repetition
from fukayomi.tabular import counted

HCP_SUFFIX = ".hcp"
HCP_BYTES = 32
LARGEST_FILE = 8 << 30
"""Bytes of a file of hcp."""
_NO_MOVE = "a position without legal moves, where no game can begin"
_BLOCK = 1 << 16
"""Positions that are judged at once."""
WEIGHTS = (1e-6, 1e6)
"""Smallest and largest weight of a set."""


@dataclass(frozen=True, slots=True, eq=False)
class OpeningSet:
    """Positions of one source."""

    name: str
    """The file, for messages."""
    hcps: NDArray[np.uint8] | None = None
    """uint8 [N, 32]; or"""
    lines: tuple[Position, ...] = ()
    """positions with their past, whose moves become the first of the game; without a past that has a repetition."""
    weight: float = 1.0
    """Weight of each position."""

    @classmethod
    def read(cls, path: Path | str, weight: float = 1.0) -> Self:
        """Read a file: hcp if it is called ``*.hcp``, else a line for each opening, as SFEN or as USI moves.

        All positions are checked, which takes a second for some 500,000 of hcp.

        Raises:
            OpeningError: It holds no positions, a line is not an opening, the bytes of a position are damaged, or one
                has no legal move, so that no game can begin there.
            OSError: It cannot be read.
        """
        path = Path(path)
        if path.suffix != HCP_SUFFIX:
            return cls(str(path), None, tuple(map(_played, read_openings(path))), weight)
        data = read_input(path, LARGEST_FILE)
        if not data or len(data) % HCP_BYTES:
            raise OpeningError(f"{path}: {len(data)} bytes are not a number of positions of {HCP_BYTES} bytes (hcp)")
        hcps = np.frombuffer(data, np.uint8).reshape(-1, HCP_BYTES)
        if bad := find_bad_records(hcps, None):
            number, reason = bad[0]
            raise OpeningError(
                f"{path}, position {number + 1}: {reason}; {counted(len(bad), 'position')} of {len(hcps):,} are "
                "damaged: make the file again"
            )
        if mates := find_mates(hcps):
            raise OpeningError(
                f"{path}, position {mates[0] + 1}: {_NO_MOVE}; {counted(len(mates), 'position')} of {len(hcps):,} have "
                "none: leave them out"
            )
        return cls(str(path), hcps, (), weight)

    def __len__(self) -> int:
        return len(self.lines) if self.hcps is None else len(self.hcps)

    def position(self, number: int) -> Position:
        """A position of the set."""
        return self.lines[number].copy() if self.hcps is None else position_from_hcp(self.hcps[number].tobytes())

    @property
    def suffix(self) -> str:
        """Suffix of a file with `content`."""
        return ".sfen" if self.hcps is None else HCP_SUFFIX

    def content(self) -> bytes:
        """A file that `read` reads as this set, the same whatever file it came from."""
        if self.hcps is None:
            return "".join(f"{position.usi()}\n" for position in self.lines).encode()
        return self.hcps.tobytes()

    def keys(self) -> set[bytes]:
        """The positions that games begin with, as hcp."""
        if self.hcps is None:
            return {encode_hcp(position) for position in self.lines}
        return {row.tobytes() for row in self.hcps}


class Openings:
    """The openings of a run: each game draws one, by its number and the seed alone.

    >>> Openings().draw(seed=1, number=7).usi()
    'startpos'

    Args:
        sets: Sets of positions; without any, games begin at the start position.
    """

    def __init__(self, sets: Sequence[OpeningSet] = ()) -> None:
        self.sets = tuple(sets)
        """The sets."""
        self._ends = list(accumulate(len(each) * each.weight for each in sets))
        """Up to which share of the draws each set comes."""

    @classmethod
    def read(cls, sources: Sequence[str]) -> Self:
        """Read the sets of some files; ``FILE*2`` gives its positions twice the weight of others.

        Raises:
            OpeningError: A file holds no openings (`OpeningSet.read`), or a weight is not a number, or out of range
                (`WEIGHTS`).
            OSError: A file cannot be read.
        """
        return cls([OpeningSet.read(*_source(source)) for source in sources])

    @property
    def settings(self) -> list[dict[str, str | float]]:
        """Plain values that tell these openings from others: hash of each set's content, and its weight."""
        return [{"sha256": hashlib.sha256(each.content()).hexdigest(), "weight": each.weight} for each in self.sets]

    @property
    def most_plies(self) -> int:
        """Moves of the longest line."""
        return max((len(position.moves) for each in self.sets for position in each.lines), default=0)

    def draw(self, seed: int, number: int) -> Position:
        """The opening of a game."""
        if not self.sets:
            return Position()
        digest = hashlib.sha256(f"opening {seed} {number}".encode()).digest()
        place = int.from_bytes(digest[:7]) / (1 << 56) * self._ends[-1]  # 56 bits: below 1
        which = min(bisect.bisect_right(self._ends, place), len(self.sets) - 1)
        chosen = self.sets[which]
        begin = self._ends[which - 1] if which else 0.0
        return chosen.position(min(int((place - begin) / chosen.weight), len(chosen) - 1))

    def keep_apart(self, others: Sequence[OpeningSet]) -> None:
        """Refuse positions that a set for measuring has too; without sets, the start position.

        Raises:
            OpeningError: A position is in both, and the message names the files and how many there are.
        """
        for each in self.sets:
            _refuse_shared(each.name, each.keys(), others)
        if not self.sets:
            _refuse_shared("the start position, where games begin,", {encode_hcp(Position())}, others)


class BookOpenings:
    """Openings along the moves of a book, each drawn with the network's probability among the book's moves.

    Moves that mate are left out. Of moves that repeat a position a game gets the last position alone, without its past.

    Args:
        book: The book.
        network: The network; its policy decides.
        plies: Number of moves at most; an opening ends where the book does.
    """

    def __init__(self, book: BookReader, network: Network, plies: int) -> None:
        self._book, self._network, self._plies = book, network, plies

    def draw(self, seed: int, number: int) -> Position:
        """The opening of a game, by its number and the seed."""
        position, repeats = Position(), False
        for ply in range(self._plies):
            known = _moves_of(self._book, position)
            if not known:
                break
            policy = self._network.evaluate(position).policies[0]
            ends = list(accumulate(policy.get(move, 0.0) for move in known))
            digest = hashlib.sha256(f"book {seed} {number} {ply}".encode()).digest()
            place = int.from_bytes(digest[:6]) / (1 << 48) * ends[-1]
            position.push(known[min(bisect.bisect_right(ends, place), len(known) - 1)])
            repeats |= position.first_recurrence() is not Repetition.NONE
        return Position.from_sfen(position.sfen()) if repeats else position


def keep_book_apart(book: BookReader, plies: int, others: Sequence[OpeningSet]) -> None:
    """Refuse a book if a game can begin with its moves where a set for measuring has a position.

    It walks through all positions that the book leads to from the start position, which takes about as long as looking
    up each of them.

    Args:
        book: The book.
        plies: Number of its moves at most.
        others: The sets for measuring.

    Raises:
        OpeningError: A position is in both, and the message names the files and how many there are.
        OSError: The book cannot be read any more.
    """
    ends: set[bytes] = set()
    layer = {encode_hcp(Position()): Position()}  # after the same number of moves
    for _ in range(plies):
        following: dict[bytes, Position] = {}
        for key, position in layer.items():
            moves = _moves_of(book, position)
            if not moves:
                ends.add(key)
            for move in moves:
                after = Position.from_sfen(position.sfen())  # without its past
                after.push(move)
                following.setdefault(encode_hcp(after), after)
        layer = following
    _refuse_shared(str(book.path), ends | layer.keys(), others)


def _moves_of(book: BookReader, position: Position) -> list[Move]:
    """The moves of a book after which a game can go on."""
    moves: list[Move] = []
    for entry in book.moves(position):
        position.push(entry.move)
        if not position.is_mated():
            moves.append(entry.move)
        position.pop()
    return moves


def find_mates(hcps: NDArray[np.uint8]) -> list[int]:
    """The positions without a legal move, by index."""
    mated: list[int] = []
    no_moves = np.zeros(0, np.uint16)
    for begin in range(0, len(hcps), _BLOCK):
        block = hcps[begin : begin + _BLOCK]
        ends = judge_endings(block, np.zeros(len(block) + 1, np.uint64), no_moves)
        mated += [begin + index for index, end in enumerate(ends) if end.is_mated]
    return mated


def _played(opening: Opening) -> Position:
    """The position after an opening's moves, without its past if that has a repetition, which would end a game.

    Raises:
        OpeningError: It has no legal move.
    """
    position, repeats = Position.from_sfen(opening.initial_sfen), False
    for move in opening.moves:
        position.push(move)
        repeats |= position.first_recurrence() is not Repetition.NONE
    if not position.legal_moves:
        raise OpeningError(f"{opening.name}: {_NO_MOVE}")
    return Position.from_sfen(position.sfen()) if repeats else position


def _refuse_shared(name: str, keys: set[bytes], others: Sequence[OpeningSet]) -> None:
    for other in others:
        if shared := keys & other.keys():
            example = position_from_hcp(min(shared)).sfen()
            raise OpeningError(
                f"{name} shares {counted(len(shared), 'position')} with {other.name}, which is to be kept apart, "
                f"such as {example}: remove them from one of the two"
            )


def _source(text: str) -> tuple[Path, float]:
    name, star, weight = text.rpartition("*")
    if not star:
        return Path(text), 1.0
    try:
        value = float(weight)
    except ValueError:
        value = 0.0
    if not WEIGHTS[0] <= value <= WEIGHTS[1]:
        raise OpeningError(f"{text}: the weight after '*' must be a number from {WEIGHTS[0]:g} to {WEIGHTS[1]:,.0f}")
    return Path(name), value
