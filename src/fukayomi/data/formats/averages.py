"""Averaged positions (``.avg``): each position once, with sums of all that was seen of it.

Everything is a whole number, so files that were made in parts, or of inputs in another order, are the same byte for
byte. The positions stand in the order of their hash, which scatters those of a game.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.dedup.modes import Weighing
from fukayomi.data.formats.evalfix import EVAL_SCALE
from fukayomi.data.formats.hcpe import MATE_EVAL
from fukayomi.data.formats.rows import DataFileError

POSITION = np.dtype(
    [
        ("hcp", "u1", (32,)),
        ("draws", "<u4"),
        ("black_wins", "<u4"),
        ("white_wins", "<u4"),
        ("moves", "<u4"),  # rows of MOVE
        ("value", "<u8"),  # sum of the chances of winning by evaluation, from the side to move; VALUE_ONE is certain
        ("first_move", "<u8"),  # of its rows of MOVE
    ]
)
MOVE = np.dtype([("move", "<u2"), ("unused", "<u2"), ("played", "<u4"), ("visits", "<u8")])
HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("crc32", "<u4"),  # of all that follows the header
        ("positions", "<u8"),
        ("moves", "<u8"),
        ("weighing", "<u4"),  # Weighing.number
        ("unused", "u1", (28,)),
    ]
)
MAGIC = b"fukayavg"
VERSION = 2
VALUE_ONE = 1 << 32
"""The unit of values, which are added up as whole numbers."""
_CHECKED_AT_ONCE = 1 << 24  # bytes
_MOST_MOVES = 593  # that a position can have


class AveragesError(DataFileError):
    """A file that holds no averaged positions; the message names the file and what is wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """P averaged positions with M moves in all; positions and moves may be memory maps."""

    positions: NDArray[np.void]
    """POSITION [P], in the order of (hash, hcp)."""
    moves: NDArray[np.void]
    """MOVE [M]; those of a position stand together, in the order of their numbers."""

    def __len__(self) -> int:
        """Number of positions."""
        return len(self.positions)

    def part(self, begin: int, end: int) -> "Averages":
        """Positions `begin` to `end` and their moves, which are counted from 0 there."""
        positions = np.array(self.positions[begin:end])
        if len(positions) == 0:
            return Averages(positions, self.moves[:0])
        first = positions["first_move"][0]
        last = positions["first_move"][-1] + positions["moves"][-1]
        positions["first_move"] -= first
        return Averages(positions, self.moves[int(first) : int(last)])

    def take(self, indices: NDArray[np.int64]) -> "Averages":
        """The positions of these numbers, in this order, and their moves, which are counted from 0 there.

        Raises:
            AveragesError: The moves of one are not there.
        """
        positions = np.array(self.positions[indices])
        firsts: NDArray[np.uint64] = positions["first_move"]
        counts: NDArray[np.int64] = positions["moves"].astype(np.int64)
        there = len(self.moves)
        if (counts > _MOST_MOVES).any() or (firsts > there).any() or (firsts + counts.astype(np.uint64) > there).any():
            raise AveragesError("its moves are not there")
        starts = np.cumsum(counts) - counts
        rows = np.repeat(firsts.astype(np.int64) - starts, counts) + np.arange(int(counts.sum()))
        positions["first_move"] = starts
        return Averages(positions, np.array(self.moves[rows]))

    def counts(self) -> NDArray[np.int64]:
        """How often each position was seen: int64 [P]."""
        games = self.positions
        return games["draws"].astype(np.int64) + games["black_wins"] + games["white_wins"]

    def values(self) -> NDArray[np.float64]:
        """Mean chance of winning by evaluation, for the side to move, 0 to 1: float64 [P]."""
        return self.positions["value"] / VALUE_ONE / self.counts()

    def evals(self) -> NDArray[np.int16]:
        """The evaluation that means such a chance, centipawns from the side to move: int16 [P]. 0 and 1 are mates."""
        values = self.values()
        with np.errstate(divide="ignore"):
            evals = np.rint(EVAL_SCALE * (np.log(values) - np.log1p(-values)))
        return np.clip(evals, -MATE_EVAL, MATE_EVAL).astype(np.int16)

    def results(self) -> NDArray[np.float64]:
        """Mean result for the side to move, 0 to 1, a draw as half: float64 [P]."""
        white_moves = (self.positions["hcp"][:, 0] & 1) != 0
        won = np.where(white_moves, self.positions["white_wins"], self.positions["black_wins"])
        return (won + self.positions["draws"] * 0.5) / self.counts()

    def shares(self, temperature: float = 1.0) -> NDArray[np.float64]:
        """The share of each move in its position: float64 [M].

        It is that of the visits; where a position has none, of how often its moves were played.

        Args:
            temperature: Shares are raised to 1 / temperature and add up to 1 again; at 0 the greatest takes all, the
                first of equal ones.

        Raises:
            ValueError: The temperature is negative, or these are the moves of other positions too.
        """
        if temperature < 0:
            raise ValueError(f"a temperature is 0 or more, not {temperature}")
        counts = self.positions["moves"].astype(np.int64)
        if counts.sum() != len(self.moves):
            raise ValueError("take a part of the positions by `part`, which takes their moves along")
        if len(counts) == 0:
            return np.zeros(0)
        starts = self.positions["first_move"].astype(np.int64)
        visits = self.moves["visits"].astype(np.float64)
        unsearched = np.repeat(np.add.reduceat(visits, starts) == 0, counts)
        weights = np.where(unsearched, self.moves["played"], visits)
        greatest = np.repeat(np.maximum.reduceat(weights, starts), counts)
        if temperature == 0:
            shares = np.zeros(len(weights))
            candidates = np.flatnonzero(weights == greatest)
            owner = np.repeat(np.arange(len(counts)), counts)[candidates]
            shares[candidates[np.unique(owner, return_index=True)[1]]] = 1
            return shares
        powers = (weights / greatest) ** (1 / temperature)
        return powers / np.repeat(np.add.reduceat(powers, starts), counts)


def read_averages(path: Path | str) -> Averages:
    """The positions of a file, memory-mapped and read-only. Only header and size are checked; check_averages does more.

    Raises:
        AveragesError: It is no file of averaged positions.
        OSError: It cannot be read.
    """
    path = Path(path)
    header = _read_header(path)
    positions, moves = int(header["positions"]), int(header["moves"])
    expected = HEADER.itemsize + positions * POSITION.itemsize + moves * MOVE.itemsize
    if (size := path.stat().st_size) != expected:
        raise AveragesError(f"{path}: {positions} positions and {moves} moves make {expected} bytes, not {size}")
    return Averages(
        _mapped(path, POSITION, HEADER.itemsize, positions),
        _mapped(path, MOVE, HEADER.itemsize + positions * POSITION.itemsize, moves),
    )


def read_weighing(path: Path | str) -> Weighing:
    """How the visits of a file were added up; those of another weighing cannot be added to them.

    Raises:
        AveragesError: It is no file of averaged positions.
        OSError: It cannot be read.
    """
    return Weighing.EVENLY if _read_header(Path(path))["weighing"] else Weighing.BY_VISITS


def _read_header(path: Path) -> np.void:
    with path.open("rb") as file:
        head = file.read(HEADER.itemsize)
    if len(head) < HEADER.itemsize or not head.startswith(MAGIC):
        raise AveragesError(f"{path} does not begin as a file of averaged positions does ({MAGIC.decode()!r})")
    header = np.frombuffer(head, HEADER)[0]
    if header["version"] != VERSION:
        raise AveragesError(f"{path} has version {header['version']} of the format; this program reads {VERSION}")
    if header["weighing"] not in {weighing.number for weighing in Weighing}:
        raise AveragesError(f"{path} is weighed in a way ({header['weighing']}) that this program does not know")
    return header


def check_averages(path: Path | str) -> None:
    """Read a file whole and compare its checksum.

    Raises:
        AveragesError: It is no file of averaged positions, or is damaged.
        OSError: It cannot be read.
    """
    read_averages(path)
    crc = 0
    with Path(path).open("rb") as file:
        header = np.frombuffer(file.read(HEADER.itemsize), HEADER)[0]
        while part := file.read(_CHECKED_AT_ONCE):
            crc = zlib.crc32(part, crc)
    if crc != header["crc32"]:
        raise AveragesError(f"{path} is damaged: its checksum is {crc:08x}, and should be {header['crc32']:08x}")


def header_bytes(positions: int, moves: int, crc32: int, weighing: Weighing = Weighing.EVENLY) -> bytes:
    """The 64 bytes at the beginning of a file."""
    header = np.zeros(1, HEADER)
    header["magic"], header["version"], header["crc32"] = MAGIC, VERSION, crc32
    header["positions"], header["moves"], header["weighing"] = positions, moves, weighing.number
    return header.tobytes()


def _mapped(path: Path, dtype: np.dtype[np.void], offset: int, count: int) -> NDArray[np.void]:
    if count == 0:
        return np.empty(0, dtype)  # nothing can be mapped
    return np.memmap(path, dtype, "r", offset, (count,))
