"""Openings: the positions that the games of a match start from, and their order.

A file has one opening per line, as in USI's ``position``, with or without that word: ``startpos moves ...``,
``sfen SFEN moves ...``, a bare SFEN, or bare moves. ``#`` begins a comment; empty lines are ignored.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from fukayomi.arena.game.rules import OpeningOrder
from fukayomi.errors import InvalidValueError
from fukayomi.files.inputs import read_input
from fukayomi.shogi import BLACK, START_SFEN, Move, Position, Repetition, ShogiError
from fukayomi.tabular import counted

LARGEST_FILE = 64 << 20
"""Bytes of a file of openings."""


class OpeningError(InvalidValueError):
    """An opening, or a file of openings, that cannot be used. The message names file and line."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A position and moves from it, after which the engines take over."""

    number: int = 0
    """Index in the file, from 0."""
    name: str = "startpos"
    """File and line, such as ``balanced.sfen:17``."""
    initial_sfen: str = START_SFEN
    moves: tuple[Move, ...] = ()
    round: int = 0
    """Number of times that all openings have been used before."""

    @classmethod
    def from_position(cls, position: Position, number: int = 0, name: str = "") -> "Opening":
        """The opening that leads to a position."""
        return cls(number, name or f"opening {number + 1}", position.start_sfen(), tuple(position.moves))

    def position(self) -> Position:
        """The position that it leads to, with its moves."""
        position = Position.from_sfen(self.initial_sfen)
        for move in self.moves:
            position.push(move)
        return position


def read_openings(path: Path, plies: int | None = None) -> list[Opening]:
    """Read a file of openings.

    Args:
        path: UTF-8, with any line ends, with or without a byte order mark; at most 64 MiB.
        plies: Cut each opening after this many moves; None: use them whole.

    Raises:
        OpeningError: A line is not an opening, a move is illegal, or the file has no opening.
        OSError: The file cannot be read.
    """
    openings: list[Opening] = []
    for line_number, raw in enumerate(read_input(path, LARGEST_FILE).splitlines(), 1):
        try:
            line = raw.decode("utf-8-sig" if line_number == 1 else "utf-8").partition("#")[0].strip()
            if not line or line.startswith("//"):
                continue
            position = read_opening(line)
        except UnicodeDecodeError as error:
            raise OpeningError(f"{path}, line {line_number}: not UTF-8 ({error.reason})") from error
        except ShogiError as error:
            raise OpeningError(f"{path}, line {line_number}: {error}") from error
        opening = Opening.from_position(position, len(openings), f"{path.name}:{line_number}")
        openings.append(opening if plies is None else replace(opening, moves=opening.moves[:plies]))
    if not openings:
        raise OpeningError(f"{path} has no openings")
    return openings


def check_playable(opening: Opening, max_plies: int) -> None:
    """Check that engines have a game to play from an opening.

    Args:
        opening: The opening.
        max_plies: Plies after which the game is a draw.

    Raises:
        OpeningError: The game is over.
    """
    position = Position.from_sfen(opening.initial_sfen)
    for move in opening.moves:
        position.push(move)
        if position.repetition() in (Repetition.DRAW, Repetition.WIN, Repetition.LOSE):
            raise OpeningError(f"{opening.name}: the game is over by repetition at ply {len(position.moves)}")
    if position.is_mated():
        mated = "Black" if position.turn == BLACK else "White"
        raise OpeningError(f"{opening.name}: the game is over: {mated} is mated")
    if len(opening.moves) >= max_plies:
        raise OpeningError(
            f"{opening.name} has {counted(len(opening.moves), 'ply', 'plies')}, and games end at ply {max_plies}: "
            "raise max_plies, or cut the openings with opening_plies"
        )


def arrange(openings: Sequence[Opening], order: OpeningOrder, seed: int = 0) -> Iterator[Opening]:
    """Repeat the openings forever; `Opening.round` counts the repetitions.

    In random order each round is shuffled differently. The seed alone decides the order, on every machine and with
    every version of Python.
    """

    def rank(opening: Opening) -> bytes:
        return hashlib.sha256(f"{seed} {opening.round} {opening.number}".encode()).digest()

    for number in count():
        again = [replace(opening, round=number) for opening in openings]
        yield from sorted(again, key=rank) if order is OpeningOrder.RANDOM else again


def read_opening(line: str) -> Position:
    """Parse a line of a file of openings.

    Raises:
        ShogiError: The line is not an opening, or a move is illegal.
    """
    line = re.sub(r"^position\s+", "", line.strip())
    first, *_ = line.split(maxsplit=1) or [""]
    if first not in ("startpos", "sfen"):
        line = f"sfen {line}" if "/" in first else f"startpos moves {line.removeprefix('moves ')}"
    return Position.from_usi(line)
