"""Items of training data as dictionaries, for people and programs: ``fukayomi data print``."""

import sys
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.convert.blocks import Block, Cursor, open_inputs, read_blocks
from fukayomi.data.formats.averages import AveragesError, check_part, read_averages
from fukayomi.data.formats.book import BOOK_ENTRY, read_book
from fukayomi.data.formats.cache import CacheError, read_cache
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.formats.hcp import HCP
from fukayomi.data.formats.hcpe import RESULT_BITS, ResultFlag
from fukayomi.data.formats.hcpe3 import Game, Games
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.formats.psv import PSV, psv_move
from fukayomi.data.formats.table import detect_data
from fukayomi.data.records.reading import Skipped
from fukayomi.shogi import Move, Position, ShogiError
from fukayomi.shogi.record import Record, Result

RESULTS = {Result.DRAW: "draw", Result.BLACK_WIN: "black", Result.WHITE_WIN: "white", Result.UNKNOWN: "unknown"}


def describe(
    path: Path | str,
    start: int = 0,
    end: int | None = None,
    kind: DataFormat | None = None,
    skipped: Skipped | None = None,
) -> Iterator[dict[str, Any]]:
    """Describe items of a file as dictionaries.

    Rows have `index`, `sfen`, `move`, `eval` and `result`; games also `moves`. Evaluations are in centipawns from the
    side to move. Results are black, white, draw, and unknown in records. Averaged positions (avg, caches) have `count`,
    the means `value` and `result` (0 to 1, for the side to move), and the `shares` of moves, the largest first; entries
    of a book have `key`, `move`, `count` and `score`. Records also have the times of their moves (`time_ms`), the
    illegal move that ended the game, the word for the end (`end_word`), and their variations.

    Args:
        path: hcp, hcpe, hcpe2, hcpe3, psv, avg, a cache, a book, or records.
        start: First item, from 0.
        end: End of the range, not described; None for the end of the file.
        kind: Format of the file; found by its content if None.
        skipped: Receives the records that cannot be read.

    Raises:
        DataFileError: The file is damaged, or has another format.
        OSError: The file cannot be read.
    """
    path, end = Path(path), sys.maxsize if end is None else end
    kind = kind or detect_data(path)
    if kind in _OTHERS:
        yield from _OTHERS[kind](path, start, end)
        return
    inputs = open_inputs([path], kind)
    begin = Cursor(0, start, 0, start) if inputs.rows is not None else Cursor()
    for block in read_blocks(inputs, begin, skipped):
        first, last = max(start, block.first) - block.first, min(end, block.first + len(block)) - block.first
        for offset in range(first, last):
            yield {"index": block.first + offset, **_describe(block, offset)}
        if block.first + len(block) >= end:
            return


def _describe(block: Block, offset: int) -> dict[str, Any]:
    content = block.content
    if isinstance(content, Games):
        return _game(content[offset])
    if isinstance(content, list):
        return _record(content[offset])
    try:
        return _row(content[offset])
    except ShogiError as error:
        number = block.after.outer - len(block) + offset
        place = f"{block.path}, record {number} (offset {number * content.dtype.itemsize})"
        raise DataFileError(f"{place}: {error}") from error


def _row(row: np.void) -> dict[str, Any]:
    if row.dtype == PSV:
        position = _native.position_from_psfen(row["sfen"].tobytes())
        sign = 0 if row["game_result"] == 0 else 1 if (row["game_result"] == 1) == (position.turn == 0) else 2
        move = psv_move(int(row["move"]))
        return {
            "sfen": _sfen(position, int(row["gamePly"])), "move": None if move is None else move.usi(),
            "eval": int(row["score"]), "result": RESULTS[Result(sign)], "ply": int(row["gamePly"]),
        }  # fmt: skip
    position = _native.position_from_hcp(row["hcp"].tobytes())
    if row.dtype == HCP:
        return {"sfen": position.sfen()}
    result = int(row["gameResult"])
    return {
        "sfen": position.sfen(), "move": Move.from_raw(int(row["bestMove16"])).usi(), "eval": int(row["eval"]),
        "result": RESULTS[Result(result & RESULT_BITS)], **_flags(ResultFlag(result & ~RESULT_BITS)),
    }  # fmt: skip


def _sfen(position: Position, ply: int) -> str:
    fields = position.sfen().split()
    return " ".join([*fields[:3], str(max(1, ply))])


def _flags(flags: ResultFlag) -> dict[str, Any]:
    names = [flag.name.lower() for flag in ResultFlag if flag in flags and flag.name]
    return {"flags": names} if names else {}


def _game(game: Game) -> dict[str, Any]:
    candidates = game.candidates.astype(np.int64)
    return {
        "sfen": _native.position_from_hcp(game.start).sfen(), "result": RESULTS[game.result], **_flags(game.flags),
        "opponent": game.opponent,
        "moves": [
            {
                "ply": ply + 1, "move": Move.from_raw(int(move)).usi(), "eval": int(game.evals[ply]),
                "visits": {
                    Move.from_raw(int(game.candidate_moves[at])).usi(): int(game.candidate_visits[at])
                    for at in range(candidates[ply], candidates[ply + 1])
                },
            }
            for ply, move in enumerate(game.moves)
        ],
    }  # fmt: skip


def _record(record: Record) -> dict[str, Any]:
    black_first = record.initial_sfen.split()[1] == "b"
    moves: list[dict[str, Any]] = []
    for ply, played in enumerate(record.moves):
        score = played.score_cp
        if score is not None and black_first != (ply % 2 == 0):
            score = -score
        moves.append({"ply": ply + 1, "move": played.move.usi(), "eval": score, "time_ms": played.time_ms})
    return {
        "name": record.name, "black": record.black_name, "white": record.white_name,
        "ratings": [_finite(record.black_rating), _finite(record.white_rating)], "sfen": record.initial_sfen,
        "result": RESULTS[record.result], "end": str(record.termination), "end_word": record.ending_word,
        "end_time_ms": record.ending_time_ms, "illegal_move": record.illegal_move,
        "illegal_move_time_ms": record.illegal_move_time_ms, "moves": moves,
        "variations": [
            {"ply": each.ply, "parent": each.parent, "moves": [played.move.usi() for played in each.moves]}
            for each in record.variations
        ],
    }  # fmt: skip


def _averages(path: Path, start: int, end: int) -> Iterator[dict[str, Any]]:
    averages = read_averages(path)
    for index in range(start, min(end, len(averages))):
        try:
            one = averages.take(np.array([index]))
            check_part(path, index, one)
            yield {
                "index": index, "sfen": _native.position_from_hcp(one.positions["hcp"].tobytes()).sfen(),
                "count": int(one.counts()[0]), "eval": int(one.evals()[0]),
                "value": round(float(one.values()[0]), 6), "result": round(float(one.results()[0]), 6),
                "shares": _shares(one.moves["move"], one.shares()),
                "played": {_usi(row["move"]): int(row["played"]) for row in one.moves if row["played"]},
            }  # fmt: skip
        except (AveragesError, ShogiError) as error:
            raise AveragesError(f"{path}, position {index}: {error}") from error


def _cache(path: Path, start: int, end: int) -> Iterator[dict[str, Any]]:
    for index, one in zip(range(start, end), read_cache(path, 1, start), strict=False):
        position, count = one.positions[0], int(one.positions[0]["count"])
        try:
            yield {
                "index": index, "sfen": _native.position_from_hcp(position["hcp"].tobytes()).sfen(), "count": count,
                "value": round(float(position["value"]) / count, 6),
                "result": round(float(position["result"]) / count, 6),
                "shares": _shares(one.candidates["move16"], one.candidates["prob"] / count),
            }  # fmt: skip
        except ShogiError as error:
            raise CacheError(f"{path}, position {index}: {error}") from error


def _book(path: Path, start: int, end: int) -> Iterator[dict[str, Any]]:
    for index, entry in enumerate(read_book(path)[start:end], start):
        try:
            move = _usi(entry["fromToPro"])
        except ShogiError as error:
            raise DataFileError(f"{path}, entry {index} (offset {index * BOOK_ENTRY.itemsize}): {error}") from error
        # A string, because JSON readers round 64-bit integers.
        yield {"index": index, "key": str(entry["key"]), "move": move, "count": int(entry["count"]),
               "score": int(entry["score"])}  # fmt: skip


_OTHERS = {DataFormat.AVERAGES: _averages, DataFormat.CACHE: _cache, DataFormat.BOOK: _book}


def _usi(move: np.uint16) -> str:
    return Move.from_raw(int(move)).usi()


def _shares(moves: NDArray[np.uint16], shares: NDArray[np.floating[Any]]) -> dict[str, float]:
    """Shares by move, the largest first."""
    order: list[int] = np.argsort(-shares, kind="stable").tolist()
    return {_usi(moves[at]): round(float(shares[at]), 6) for at in order}


def _finite(rating: float | None) -> float | None:
    """The rating, or None if JSON cannot hold it: a record may have any digits."""
    return rating if rating is not None and isfinite(rating) else None
