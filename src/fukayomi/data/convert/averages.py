"""Averaged positions (``.avg``) as what others read: rows of hcpe, and dlshogi's hcpe3 cache.

Both lose something, so nothing leads back: a row keeps one move and whole centipawns, a cache rounds its sums.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.formats.averages import POSITION, VALUE_ONE, Averages, AveragesError, check_averages, read_averages
from fukayomi.data.formats.cache import CANDIDATE, CachedPositions
from fukayomi.data.formats.cache import POSITION as CACHED
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.shogi.record import Result

_AT_ONCE = 1 << 16  # positions


def iter_averages(path: Path, advance: Callable[[int], None] = lambda _: None) -> Iterator[Averages]:
    """The positions of a file with their moves, a part at a time, after its checksum has been compared.

    Args:
        path: The file.
        advance: Called with the number of bytes that were read since the last call.

    Raises:
        AveragesError: The file is damaged, or a position or its most visited move is none; the message says which.
        OSError: It cannot be read.
    """
    check_averages(path)
    whole = read_averages(path)
    for begin in range(0, len(whole), _AT_ONCE):
        part = whole.part(begin, begin + _AT_ONCE)
        check_part(path, begin, part)
        yield part
        advance(part.positions.nbytes + part.moves.nbytes)


def check_part(path: Path, begin: int, part: Averages) -> None:
    """Look at positions and their most visited moves.

    Args:
        path: The file, for the message.
        begin: The number of the first position in it.
        part: One position or more.

    Raises:
        AveragesError: A position or its most visited move is none, or its moves are not there.
    """
    ends = np.cumsum(part.positions["moves"].astype(np.uint64))
    bad = (part.positions["moves"] == 0) | (part.counts() == 0)
    bad |= part.positions["first_move"] != ends - part.positions["moves"]
    if bad.any() or ends[-1] != len(part.moves):
        raise AveragesError(f"{path}, position {begin + int(np.argmax(bad))}: it has no moves, or those of another")
    moves = np.ascontiguousarray(part.moves["move"][_most_visited(part)])
    for index, reason in _native.find_bad_records(np.ascontiguousarray(part.positions["hcp"]), moves)[:1]:
        offset = 64 + (begin + index) * POSITION.itemsize
        raise AveragesError(f"{path}, position {begin + index} (offset {offset}): {reason}")


def averages_to_records(averages: Averages) -> NDArray[np.void]:
    """Averaged positions as rows of hcpe.

    The evaluation is the one that means the mean value. The move is the most visited one, of a position without visits
    the one most often played; of equal ones that with the least number. The result is the most frequent one, a draw
    where two are equally frequent, as `fukayomi data uniq --mode mode` has it.

    Args:
        averages: P positions with all of their moves.

    Returns:
        HCPE [P].
    """
    positions = averages.positions
    records = np.zeros(len(positions), HCPE)
    records["hcp"], records["eval"] = positions["hcp"], averages.evals()
    records["bestMove16"] = averages.moves["move"][_most_visited(averages)]
    draws, black, white = (positions[name] for name in ("draws", "black_wins", "white_wins"))
    black_won, white_won = (black > draws) & (black > white), (white > draws) & (white > black)
    records["gameResult"] = np.where(white_won, Result.WHITE_WIN, np.where(black_won, Result.BLACK_WIN, Result.DRAW))
    return records


def averages_to_cache(averages: Averages, temperature: float = 1.0) -> CachedPositions:
    """Averaged positions as those of an hcpe3 cache.

    A cache has sums: of the values, of the results, and of each move's share as often as the position was seen. They
    are rounded to float32, 24 bits, once; an .avg has them exactly.

    Args:
        averages: P positions with all of their moves.
        temperature: Of the shares, see `Averages.shares`.

    Raises:
        AveragesError: A position was seen more often than the cache can count.
    """
    counts = averages.counts()
    if len(counts) and counts.max() > np.iinfo(np.int32).max:
        raise AveragesError(f"a position was seen {counts.max()} times, which no hcpe3 cache can count")
    positions = np.zeros(len(averages), CACHED)
    positions["hcp"], positions["count"] = averages.positions["hcp"], counts
    positions["value"] = averages.positions["value"] / VALUE_ONE
    positions["result"] = counts * averages.results()
    owners = averages.positions["moves"].astype(np.int64)
    candidates = np.zeros(len(averages.moves), CANDIDATE)
    candidates["move16"] = averages.moves["move"]
    candidates["prob"] = averages.shares(temperature) * np.repeat(counts, owners)
    return CachedPositions(positions, np.concatenate([[0], np.cumsum(owners)]), candidates)


def _most_visited(averages: Averages) -> NDArray[np.intp]:
    """Where each position's most visited move is, the first of equal ones: [P]."""
    return np.flatnonzero(averages.shares(temperature=0))
