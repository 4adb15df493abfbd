"""Rows as text (`plain`), as YaneuraOu's learner and its relatives do: a field a line, and `e` after each row.

An example:

    sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1
    move 2g2f
    score 10
    ply 1
    result 1
    e

Score and result (1 won, 0 drawn, -1 lost) are the side to move's, as in psv: the two hold the same.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.psv import PSV, psv_move, psv_record
from fukayomi.data.formats.rows import DataFileError
from fukayomi.files.atomic import AtomicFile
from fukayomi.shogi import ShogiError

FIELDS = ("sfen", "move", "score", "ply", "result")
"""What a row has, in the order in which they are written; they may be read in any."""
_ROWS_AT_ONCE = 1 << 14
_LONGEST_LINE = 1 << 12  # bytes; the longest SFEN has fewer than 200


def read_plain(path: Path, advance: Callable[[int], None] = lambda _: None) -> Iterator[NDArray[np.void]]:
    """The rows of a file, a batch at a time: PSV [N].

    Args:
        path: The file.
        advance: Called with the number of bytes that were read since the last call.

    Raises:
        DataFileError: A line is no field, or a row is not whole or not possible; the message names the line.
        OSError: The file cannot be read.
    """
    rows: list[NDArray[np.void]] = []
    fields: dict[str, str] = {}
    number = 0
    with path.open("rb") as file:
        while line := file.readline(_LONGEST_LINE):
            number += 1
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
                yield np.concatenate(rows)
                rows = []
    if fields:
        raise DataFileError(f"{path}, line {number}: the file ends inside a row, before its `e`")
    if rows:
        yield np.concatenate(rows)


def is_plain(text: str) -> bool:
    """Whether text begins like a file of rows: the first lines are `sfen` and `move`."""
    lines = [line.split(maxsplit=1)[0] for line in text.lstrip("\ufeff").split("\n", 4)[:4] if line.strip()]
    return lines[:2] == ["sfen", "move"]


def _add_field(fields: dict[str, str], text: str) -> None:
    name, _, value = text.partition(" ")
    if name not in FIELDS:
        raise ValueError(f"{text[:80]!r} is neither {', '.join(FIELDS)} with a value, nor the `e` after a row")
    if name in fields:
        raise ValueError(f"a second {name!r} in a row; an `e` has to stand between rows")
    fields[name] = value.strip()


def _row(fields: dict[str, str]) -> NDArray[np.void]:
    missing = [name for name in FIELDS if name not in fields]
    if missing:
        raise ValueError(f"the row has no {', '.join(missing)}")
    numbers = {name: _number(name, fields[name]) for name in ("score", "ply", "result")}
    return psv_record(fields["sfen"], fields["move"], numbers["score"], numbers["ply"], numbers["result"])


def _number(name: str, text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise ValueError(f"{name} {text[:80]!r} is no whole number")
    return int(text)


class PlainWriter(AtomicFile):
    """Writes rows as text; see AtomicFile."""

    def append(self, rows: NDArray[np.void]) -> None:
        """Add rows, PSV [N].

        Raises:
            DataFileError: A position or a move is none.
        """
        try:
            self.write("".join(map(_text_of, rows)).encode())
        except ShogiError as error:
            raise DataFileError(str(error)) from error


def _text_of(row: np.void) -> str:
    assert row.dtype == PSV
    board, turn, hands, _ = _native.position_from_psfen(row["sfen"].tobytes()).sfen().split()
    ply = int(row["gamePly"])
    return (
        f"sfen {board} {turn} {hands} {max(1, ply)}\nmove {psv_move(int(row['move'])).usi()}\n"
        f"score {int(row['score'])}\nply {ply}\nresult {int(row['game_result'])}\ne\n"
    )
