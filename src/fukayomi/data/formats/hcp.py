"""Positions alone: hcp (32 bytes each) and SFEN lines (start positions for self-play, for example).

hcp is dlshogi's Huffman-coded position: 256 bits, the least significant bit of each byte first.

| bits | meaning |
|---|---|
| 1 | side to move: 0 Black, 1 White |
| 7, 7 | squares of Black's and White's king: (file - 1) * 9 + (rank - 1) |
| 1 to 8 each | the other 79 squares in order, a code for each |
| the rest | pieces in Black's hand, in White's, and those set aside in a handicap game, a code for each |

docs/formats.md lists the codes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.format import (
    ROWS_AT_ONCE,
    SAMPLES,
    START,
    Advance,
    DataFileError,
    Format,
    Part,
    Place,
    RowFormat,
    ignore,
)
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.shogi import Position, ShogiError

HCP_BYTES = 32
HCP = np.dtype([("hcp", "u1", (HCP_BYTES,))])
_ALONE = "it has no moves, evaluations or results"

FORMAT = RowFormat(
    kind=DataFormat.HCP,
    suffixes=(".hcp",),
    contents="positions alone (hcp)",
    used_by=_ALONE,
    stores="positions",
    dtype=HCP,
    position="hcp",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class SfenFormat(Format):
    """One SFEN per line, perhaps after the word sfen; empty lines and lines that begin with # do not count."""

    def is_text(self, text: str) -> bool:
        """True if the first lines are SFENs."""
        begin = text.split("\n", SAMPLES)[:SAMPLES]
        first = islice((line for part in begin for line in part.splitlines() or [""]), SAMPLES)
        lines = (line for line in first if line.strip() and not line.startswith("#"))
        line = next(lines, None)
        return line is not None and _is_sfen(line) and all(_is_sfen(line) for line in lines)

    def read(self, path: Path, begin: Place = START, advance: Advance = ignore) -> Iterator[Part]:
        """Yield HCP [N]; `Place` counts bytes and lines."""
        place, number = begin
        hcps: list[NDArray[np.uint8]] = []
        with path.open("rb") as file:
            file.seek(place)
            advance(place)
            for line in file:
                place, number = place + len(line), number + 1
                advance(len(line))
                try:
                    text = line.decode("utf-8-sig").strip().removeprefix("sfen ")
                    hcps += [hcps_from_sfens([text])] if text and not text.startswith("#") else []
                except (ShogiError, UnicodeDecodeError) as error:
                    raise DataFileError(f"{path}, line {number}: {error}") from error
                if len(hcps) >= ROWS_AT_ONCE:
                    yield Part(np.concatenate(hcps).view(HCP).reshape(-1), Place(place, number))
                    hcps = []
        if hcps:
            yield Part(np.concatenate(hcps).view(HCP).reshape(-1), Place(place, number))

    def encode(self, items: Any) -> bytes:
        """A line per position; the ply number is 1."""
        return "".join(f"{sfen}\n" for sfen in sfens_from_hcps(items)).encode()


SFEN_FORMAT = SfenFormat(
    kind=DataFormat.SFEN,
    suffixes=(".sfen",),
    contents="positions as SFEN lines",
    used_by=f"fukayomi data convert makes hcp of them; {_ALONE}",
    stores="positions",
)


def _is_sfen(line: str) -> bool:
    if line.count("/") != 8 or "moves" in line:
        return False
    try:
        Position.from_sfen(line.strip().removeprefix("sfen "))
    except ShogiError:
        return False
    return True


def hcps_from_sfens(sfens: Iterable[str]) -> NDArray[np.uint8]:
    """Pack positions: uint8 [N, 32].

    Raises:
        ShogiError: A text is not an SFEN, or its position has no hcp.
    """
    packed = [_native.encode_hcp(Position.from_sfen(sfen)) for sfen in sfens]
    return np.frombuffer(b"".join(packed), np.uint8).reshape(-1, HCP_BYTES)


def sfens_from_hcps(hcps: NDArray[np.uint8]) -> list[str]:
    """The SFEN of each position (uint8 [N, 32]) with ply number 1: hcp does not store it.

    Raises:
        DataFileError: A row is not a position; the message has its index.
    """
    sfens: list[str] = []
    for index, hcp in enumerate(hcps):
        try:
            sfens.append(_native.position_from_hcp(hcp.tobytes()).sfen())
        except _native.InvalidPackedError as error:
            raise DataFileError(f"record {index}: {error}") from error
    return sfens


def white_to_move(packed: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """True where White is to move: hcp or packed sfen, uint8 [N, 32] to bool [N]."""
    return (packed[:, 0] & 1).astype(np.bool_)
