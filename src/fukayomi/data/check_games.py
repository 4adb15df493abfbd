"""What is wrong with games of hcpe3, beyond what their reader refuses (illegal moves and candidates)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.findings import Finding, Level
from fukayomi.data.hcpe import EVAL_LIMIT, RESULT_BITS, ResultFlag
from fukayomi.data.hcpe3 import Games
from fukayomi.shogi import Repetition
from fukayomi.shogi.record import Result

_OPPONENTS = 3


def judge_games(games: Games) -> Iterator[Finding]:
    """Findings about games, in no particular order."""
    found = [*_judge_moves(games), *_judge_heads(games)]
    endings = _native.judge_endings(games.starts, games.plies, games.moves)
    for index, ending in enumerate(endings):
        result = Result(int(games.results[index]) & RESULT_BITS)
        flags = ResultFlag(int(games.results[index]) & ~RESULT_BITS)
        found += [(Level.ERROR, index, None, reason) for reason in _contradictions(result, flags, ending)]
        if ending.fourfold_before >= 0:
            reason = "the position has occurred four times before this move, but the game goes on"
            found.append((Level.ERROR, index, ending.fourfold_before, reason))
    for level, index, ply, reason in found:
        yield Finding(level, games.path, games.first + index, ply, int(games.offsets[index]), reason)


def _contradictions(result: Result, flags: ResultFlag, ending: _native.GameEnding) -> Iterator[str]:
    """Why the result cannot be what the last position says."""
    mover, other = Result.BLACK_WIN, Result.WHITE_WIN
    if not ending.black_to_move:
        mover, other = other, mover
    if ending.is_mated and result != other:
        yield f"the last move mates, but the result is {result.name}"
    fourfold = {Repetition.DRAW: Result.DRAW, Repetition.WIN: mover, Repetition.LOSE: other}.get(ending.repetition)
    if fourfold is not None and result != fourfold:
        yield f"fourfold repetition makes it {fourfold.name}, but the result is {result.name}"
    if flags & ResultFlag.REPETITION and ending.occurrences == 1:
        yield "flagged as a repetition, but the last position occurs once"
    if flags & ResultFlag.DECLARATION:
        if result != mover:
            yield f"flagged as a declaration, but the side to move did not win: the result is {result.name}"
        elif not ending.can_declare:
            yield "flagged as a declaration, but the side to move has not the points or the pieces for one"
    if flags & ResultFlag.MAX_PLIES and result != Result.DRAW:
        yield f"flagged as stopped at the maximum of plies, but the result is {result.name}"


def _judge_heads(games: Games) -> Iterator[tuple[Level, int, int | None, str]]:
    for index in np.flatnonzero(np.diff(games.plies.astype(np.int64)) == 0):
        yield Level.REMARK, int(index), None, "a game without moves"
    for index in np.flatnonzero(games.opponents >= _OPPONENTS):
        yield Level.REMARK, int(index), None, f"opponent {games.opponents[index]} is not 0, 1 or 2"


def _judge_moves(games: Games) -> Iterator[tuple[Level, int, int | None, str]]:
    """What can be seen without a board."""
    counts = games.candidate_counts()
    owner = np.repeat(np.arange(len(games.moves)), counts)  # the move that each candidate belongs to
    sums = np.bincount(owner, games.candidate_visits, len(games.moves))
    same = np.unique(owner.astype(np.int64) << 16 | games.candidate_moves, return_counts=True)
    repeated = np.unique(same[0][same[1] > 1] >> 16)
    is_selected = games.candidate_moves == games.moves[owner]
    selected = np.bincount(owner[is_selected], minlength=len(games.moves)) > 0
    kinds: list[tuple[Level, NDArray[np.intp], str]] = [
        (Level.ERROR, np.flatnonzero((counts > 0) & (sums == 0)), "candidates without a single visit"),
        (Level.ERROR, repeated, "a move is among the candidates more than once"),
        (Level.REMARK, np.flatnonzero((counts > 0) & ~selected), "the move that was played is no candidate"),
        (Level.REMARK, np.flatnonzero(games.evals < -EVAL_LIMIT), "evaluation -32768 has no opposite"),
    ]
    game_of, ply_of = games.game_of_ply(), games.ply_in_game()
    for level, moves, reason in kinds:
        for move in moves:
            yield level, int(game_of[move]), int(ply_of[move]), reason
