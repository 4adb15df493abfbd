"""The games of a chunk one by one: a line about each, and any of them as a record.

>>> import tempfile
>>> from fukayomi.selfplay import SelfplaySettings, find_chunks, generate
>>> out = Path(tempfile.mkdtemp())
>>> _ = generate(SelfplaySettings(playouts=4, max_move=12, out_max_move=True), "<hash>", out, games=2)
>>> (chunk,) = find_chunks(out)
>>> lines = list_games(chunk)
>>> record = read_game(chunk, lines[1])
>>> len(lines), record.name, len(record) == lines[1].plies
(2, 'selfplay-000001 #2', True)
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from fukayomi import _native
from fukayomi.data.formats.format import Place
from fukayomi.data.formats.hcpe import RESULT_BITS, ResultFlag
from fukayomi.data.formats.hcpe3 import Game, Games, Hcpe3Error, read_hcpe3, scan_hcpe3
from fukayomi.files.inputs import require_file
from fukayomi.shogi import Color, Move
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination


class GameLine(NamedTuple):
    """A game of a chunk."""

    place: Place
    """Its offset in the file in bytes, and the number of games before it."""
    result: Result
    termination: Termination
    plies: int
    opponent: Color | None
    """The side of which another player moved; None if one network played both."""


def list_games(chunk: Path) -> list[GameLine]:
    """The games of a chunk, in the order of the file; damaged ones are left out.

    Raises:
        OSError: It cannot be read.
    """
    require_file(chunk)
    return [line for games in scan_hcpe3(chunk) if not isinstance(games, Hcpe3Error) for line in _lines(games)]


def read_game(chunk: Path, line: GameLine) -> Record:
    """A game of a chunk as a record, with the evaluations of the search as scores.

    Args:
        chunk: The chunk, which has not changed since.
        line: What `list_games` said about the game.

    Raises:
        Hcpe3Error: There is no game at this place.
        OSError: It cannot be read.
    """
    require_file(chunk)
    for games in read_hcpe3(chunk, begin=line.place):
        return _record(games[0], line, f"{chunk.stem} #{line.place[1] + 1}")
    raise Hcpe3Error(chunk, line.place[1], None, line.place[0], 0, "the file ends before this game")


def _lines(games: Games) -> list[GameLine]:
    endings = _native.judge_endings(games.starts, games.plies, games.moves)
    lengths = games.lengths().tolist()
    sides = {1: Color.BLACK, 2: Color.WHITE}
    return [
        GameLine(
            Place(int(games.offsets[index]), games.first + index),
            Result(int(games.results[index]) & RESULT_BITS),
            _termination(int(games.results[index]), is_mated=ending.is_mated),
            lengths[index],
            sides.get(int(games.opponents[index])),
        )
        for index, ending in enumerate(endings)
    ]


def _termination(result_byte: int, *, is_mated: bool) -> Termination:
    """Termination of a game. A game that the file gives no reason for, and that is no mate, was resigned."""
    flags, is_draw = ResultFlag(result_byte & ~RESULT_BITS), result_byte & RESULT_BITS == Result.DRAW
    if flags & ResultFlag.REPETITION:
        return Termination.REPETITION if is_draw else Termination.PERPETUAL_CHECK
    if flags & ResultFlag.DECLARATION:
        return Termination.DECLARATION
    if flags & ResultFlag.MAX_PLIES:
        return Termination.MAX_PLIES
    if is_mated:
        return Termination.MATE
    return Termination.DRAW if is_draw else Termination.RESIGN


def _record(game: Game, line: GameLine, name: str) -> Record:
    start = _native.position_from_hcp(game.start)
    sign = 1 if start.turn == Color.BLACK else -1
    signs = np.where(np.arange(len(game)) % 2 == 0, sign, -sign)
    searched = (np.diff(game.candidates.astype(np.int64)) > 0) | (game.evals != 0)
    scores = (game.evals.astype(int) * signs).tolist()
    moves = [
        RecordedMove(Move.from_raw(int(raw)), score if has_score else None)
        for raw, score, has_score in zip(game.moves, scores, searched, strict=True)
    ]
    return Record(
        name=name, initial_sfen=start.sfen(), moves=moves, termination=line.termination, result=line.result
    )  # fmt: skip
