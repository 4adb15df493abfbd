"""plain: psv as text, as YaneuraOu's learner writes it. One field per line, and `e` after each row:

    sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1
    move 2g2f
    score 10
    ply 1
    result 1
    e

Score and result (1 won, 0 drawn, -1 lost) are from the side to move, as in psv. A row without a move has `move none`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.format import START, Advance, DataFileError, Format, Part, Place, ignore
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.psv import PSV, hcpe_to_psv, psv_move, psv_record
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import ShogiError

FIELDS = ("sfen", "move", "score", "ply", "result")
"""Fields of a row in the order of writing; they may be read in any order."""
_NO_MOVE = "none"
_ROWS_AT_ONCE = 1 << 14
_LONGEST_LINE = 1 << 12  # bytes; the longest SFEN has fewer than 200


@dataclass(frozen=True, kw_only=True, eq=False)
class PlainFormat(Format):
    """psv as text."""

    def is_text(self, text: str) -> bool:
        """True if the first lines are `sfen` and `move`."""
        lines = [line.split(maxsplit=1)[0] for line in text.lstrip("\ufeff").split("\n", 4)[:4] if line.strip()]
        return lines[:2] == ["sfen", "move"]

    def read(self, path: Path, begin: Place = START, advance: Advance = ignore) -> Iterator[Part]:
        """Yield PSV [N]; `Place` counts bytes and lines.

        Raises:
            DataFileError: A line is not a field, or a row is incomplete or impossible; the message names the line.
            OSError: The file cannot be read.
        """
        place, number = begin
        rows: list[NDArray[np.void]] = []
        fields: dict[str, str] = {}
        with path.open("rb") as file:
            file.seek(place)
            advance(place)
            while line := file.readline(_LONGEST_LINE):
                place, number = place + len(line), number + 1
                advance(len(line))
                try:
                    text = line.decode("utf-8-sig").strip()
                    if text == "e":
                        rows.append(_row(fields))
                        fields = {}
                    elif text:
                        _add_field(fields, text)
                except ValueError as error:  # also of the codec, and of SFEN, move and numbers
                    raise DataFileError(f"{path}, line {number}: {error}") from error
                if len(rows) >= _ROWS_AT_ONCE:
                    yield Part(np.concatenate(rows), Place(place, number))
                    rows = []
        if fields:
            raise DataFileError(f"{path}, line {number}: the file ends inside a row, before its `e`")
        if rows:
            yield Part(np.concatenate(rows), Place(place, number))

    def encode(self, items: Any) -> bytes:
        """The lines of `Rows`."""
        try:
            return "".join(map(_text_of, hcpe_to_psv(items.records, items.plies))).encode()
        except ShogiError as error:
            raise DataFileError(str(error)) from error


FORMAT = PlainFormat(
    kind=DataFormat.PLAIN,
    suffixes=(".plain",),
    contents="rows as text (plain)",
    used_by="fukayomi data convert makes hcpe or psv of them",
    stores="rows",
)


def _add_field(fields: dict[str, str], text: str) -> None:
    name, _, value = text.partition(" ")
    if name not in FIELDS:
        raise InvalidValueError(f"{text[:80]!r} is not a field ({', '.join(FIELDS)}), nor the `e` after a row")
    if name in fields:
        raise InvalidValueError(f"a second {name!r} in a row; rows must be separated by `e`")
    fields[name] = value.strip()


def _row(fields: dict[str, str]) -> NDArray[np.void]:
    missing = [name for name in FIELDS if name not in fields]
    if missing:
        raise InvalidValueError(f"the row has no {', '.join(missing)}")
    numbers = {name: _number(name, fields[name]) for name in ("score", "ply", "result")}
    move = None if fields["move"] == _NO_MOVE else fields["move"]
    return psv_record(fields["sfen"], move, numbers["score"], numbers["ply"], numbers["result"])


def _number(name: str, text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise InvalidValueError(f"{name} {text[:80]!r} is not a whole number")
    return int(text)


def _text_of(row: np.void) -> str:
    assert row.dtype == PSV
    board, turn, hands, _ = _native.position_from_psfen(row["sfen"].tobytes()).sfen().split()
    ply, move = int(row["gamePly"]), psv_move(int(row["move"]))
    return (
        f"sfen {board} {turn} {hands} {max(1, ply)}\nmove {_NO_MOVE if move is None else move.usi()}\n"
        f"score {int(row['score'])}\nply {ply}\nresult {int(row['game_result'])}\ne\n"
    )
