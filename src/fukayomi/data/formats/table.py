"""The table of formats, the detection of a file's format, and the content of any format as games, rows or positions.

Detection does not look at the name. Of the binary formats only avg has a mark. For the others up to 16 rows spread over
the file, or its first 64 KiB, are tried as each format, and the one that explains most is taken if that is at least a
half. Random bytes hardly ever pass: 256 bits must give the 40 pieces of a shogi set, and the move must be legal.

Records and hcpe3 hold games; hcpe, hcpe2, psv, plain and avg hold rows (positions with targets); hcp and SFEN lines
hold positions. A game gives a row for each move with candidates and a position for each move; a row is also a game of
one move; positions give nothing else. Rows without a move (psv, plain) become rows of formats that have such rows, and
positions; other formats leave them out.
"""

from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats import averages, book, cache, games, hcp, hcpe, hcpe3, plain, psv
from fukayomi.data.formats.averages import Averages, averages_to_records
from fukayomi.data.formats.book import BOOK_ENTRY
from fukayomi.data.formats.cache import CachedPositions
from fukayomi.data.formats.format import DataFileError, Format
from fukayomi.data.formats.games import TARGETS, PlayedGame, Targets, make_games, read_played
from fukayomi.data.formats.hcp import HCP
from fukayomi.data.formats.hcpe import HCPE, Rows
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.psv import PSV, psv_to_hcpe
from fukayomi.data.records.reading import Dropped
from fukayomi.data.records.sources import FileHead, is_archive
from fukayomi.shogi.formats.text import decode_text
from fukayomi.shogi.record import Record

# Of equally likely binary formats the first is taken; of text formats the first that fits.
FORMATS: dict[DataFormat, Format] = {
    found.kind: found
    for found in (
        averages.FORMAT, hcpe3.FORMAT, hcpe.FORMAT, hcpe.FLAGGED_FORMAT, psv.FORMAT, hcp.FORMAT, cache.FORMAT,
        book.FORMAT, plain.FORMAT, hcp.SFEN_FORMAT, games.FORMAT,
    )
}  # fmt: skip
"""Every format by its name."""
_BINARY = ("hcpe3", "hcpe", "psv", "hcp", "cache", "book", "avg")
# Text has no other bytes; binary rows and games do, since each has a zero or a small number somewhere.
_TEXT_BYTES = b"\t\n\r\x0c" + bytes(range(0x20, 0x100))


class UnknownDataError(DataFileError):
    """A file is in none of the formats."""


def detect_data(file: Path | str | FileHead) -> DataFormat:
    """The format of a file by its content; RECORDS for a folder.

    Raises:
        UnknownDataError: The file is in none of the formats.
        OSError: The file cannot be read.
    """
    if isinstance(file, Path | str):
        if Path(file).is_dir():
            return DataFormat.RECORDS
        file = FileHead.of(Path(file))
    path, head = file.path, file.data
    if not head:
        raise UnknownDataError(f"{path}: the file is empty, so its format is unknown")
    if is_archive(head):
        return DataFormat.RECORDS
    if not head.translate(None, _TEXT_BYTES) and (found := _detect_text(head)) is not None:
        return found
    best, likeness = DataFormat.RECORDS, 0.0
    for kind, description in FORMATS.items():
        if (share := description.likeness(path, head)) > likeness:
            best, likeness = kind, share
        if likeness > 1:
            break
    if likeness >= 0.5:
        return best
    found = _detect_text(head)
    if found is None:
        raise UnknownDataError(
            f"{path}: not positions or games ({', '.join(_BINARY)}), nor rows as text, SFEN lines or a game record: "
            f"it begins {_beginning(head)}"
        )
    return found


def _beginning(head: bytes) -> str:
    if not head.translate(None, _TEXT_BYTES):
        try:
            return repr(decode_text(head).strip()[:40])
        except ValueError:
            pass
    return head[:16].hex(" ")


def _detect_text(head: bytes) -> DataFormat | None:
    try:
        text = decode_text(head.rpartition(b"\n")[0] or head)
    except ValueError:
        return None
    return next((kind for kind, description in FORMATS.items() if description.is_text(text)), None)


def refusal(path: Path, kind: DataFormat, taken: str) -> str:
    """The message for a command that does not read files of this format.

    Args:
        path: The file.
        kind: Its format.
        taken: The formats that the command reads.
    """
    return FORMATS[kind].refusal(path, taken)


Content: TypeAlias = NDArray[np.void] | Games | Averages | CachedPositions | list[Record] | Rows
"""Content of a part of a file; arrays are rows of HCP, HCPE, PSV or BOOK_ENTRY."""


def as_games(content: Content, targets: Targets = TARGETS) -> Games:
    """Convert to games; records that give no training positions, and rows without a move, are left out.

    Raises:
        DataFileError: The content is positions alone, or averaged.
    """
    if isinstance(content, Games):
        return content
    if isinstance(content, list):
        found = (read_played(record, targets) for record in content)
        return make_games([game for game in found if isinstance(game, PlayedGame)], targets)
    if isinstance(content, np.ndarray) and content.dtype == HCP:
        raise DataFileError("positions alone, without moves, make no games")
    return games_of_rows(as_rows(content))


def games_of_rows(rows: Rows) -> Games:
    """Each row as a game of one move, which is its only candidate."""
    count = len(rows)
    hcps = np.ascontiguousarray(rows.records["hcp"])
    moves = np.ascontiguousarray(rows.records["bestMove16"])
    each = np.arange(count + 1, dtype=np.uint64)
    return Games(
        Path("rows"), 0, np.zeros(count, np.uint64), hcps, np.array(rows.records["gameResult"]),
        np.zeros(count, np.uint8), each, hcps, moves, np.array(rows.records["eval"]), each, moves,
        np.ones(count, np.uint16),
    )  # fmt: skip


def as_rows(content: Content, targets: Targets = TARGETS, *, moveless: bool = False) -> Rows:
    """Convert to rows; of games, the moves that have candidates.

    Args:
        content: What a part of a file holds.
        targets: How the moves of records become training positions.
        moveless: Keep rows without a move, whose bestMove16 is 0; otherwise they are left out.

    Raises:
        DataFileError: The content is positions alone, or entries of a book or a cache.
    """
    if isinstance(content, Averages):
        content = averages_to_records(content)
    if isinstance(content, np.ndarray):
        content = _rows_of_array(content)
    if isinstance(content, Rows):
        return content if moveless else _with_moves(content)
    if isinstance(content, CachedPositions):
        raise DataFileError("a cache has no moves and results that could become rows")
    games = as_games(content, targets)
    chosen = games.candidate_counts() > 0
    records = np.zeros(int(chosen.sum()), HCPE)
    records["hcp"], records["bestMove16"] = games.hcps[chosen], games.moves[chosen]
    records["eval"] = games.evals[chosen]
    records["gameResult"] = games.results[games.game_of_ply()[chosen]]
    return Rows(records, (games.ply_in_game()[chosen] + 1).astype(np.uint16))


def _with_moves(rows: Rows) -> Rows:
    has_move = rows.records["bestMove16"] != 0
    return rows if has_move.all() else Rows(rows.records[has_move], rows.plies[has_move])


def count_moveless(content: Content) -> int:
    """Rows without a move."""
    if not isinstance(content, np.ndarray) or content.dtype not in (HCPE, PSV):
        return 0
    return int(np.count_nonzero(content["move" if content.dtype == PSV else "bestMove16"] == 0))


def _rows_of_array(rows: NDArray[np.void]) -> Rows:
    if rows.dtype == HCPE:
        return Rows(rows, np.zeros(len(rows), np.uint16))
    if rows.dtype == PSV:
        return Rows(psv_to_hcpe(rows), np.array(rows["gamePly"]))
    if rows.dtype == BOOK_ENTRY:
        raise DataFileError("a book has keys instead of positions")
    raise DataFileError("positions alone, without evaluations and results, make no training data")


def as_positions(content: Content) -> NDArray[np.uint8]:
    """The positions: uint8 [N, 32], hcp. Of games, those before each move.

    Raises:
        DataFileError: The content is entries of a book.
    """
    if isinstance(content, list):
        content = as_games(content)
    if isinstance(content, Games):
        return content.hcps
    if isinstance(content, Averages | CachedPositions):
        return np.ascontiguousarray(content.positions["hcp"])
    if isinstance(content, np.ndarray) and content.dtype == HCP:
        return np.ascontiguousarray(content["hcp"])
    return np.ascontiguousarray(as_rows(content, moveless=True).records["hcp"])


def positions_after(games: Games, ply: int | None) -> NDArray[np.uint8]:
    """The position of each game after `ply` moves, None: after the last; a game with fewer moves has none.

    Returns:
        uint8 [N, 32], hcp, in the order of the games.
    """
    lengths, begins = games.lengths(), games.plies.astype(np.int64)[:-1]
    at = lengths if ply is None else np.full(len(games), ply)
    found = np.array(games.starts)
    inside = (at > 0) & (at < lengths)
    found[inside] = games.hcps[(begins + at)[inside]]
    for game in np.flatnonzero((at > 0) & (at == lengths)).tolist():
        last = int(begins[game] + lengths[game]) - 1
        before = _native.position_from_hcp(games.hcps[last].tobytes())
        found[game] = _native.encode_game_hcps(before, games.moves[last : last + 1])[1]
    return found[at <= lengths]


def split_dropped(found: list[Record | Dropped]) -> tuple[list[Record], list[Dropped]]:
    """Records, and what could not be read, of a part of a records file."""
    return (
        [record for record in found if isinstance(record, Record)],
        [record for record in found if isinstance(record, Dropped)],
    )
