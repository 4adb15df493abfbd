"""Check games of hcpe3 beyond what their reader refuses (illegal moves and candidates)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi.data.check.findings import Level
from fukayomi.data.formats.format import EVAL_LIMIT
from fukayomi.data.formats.hcpe import RESULT_BITS, ResultFlag
from fukayomi.data.formats.hcpe3 import Games
from fukayomi.shogi import Color, Repetition
from fukayomi.shogi.record import Result, Termination

_OPPONENTS = 3
_PIECES = 40


class Judgement(NamedTuple):
    """A finding about one of several games."""

    level: Level
    game: int
    """Index of the game."""
    ply: int | None
    """Move of the game, from 0; None if it is not about a move."""
    reason: str


def judge_games(games: Games, terminations: Sequence[Termination] = ()) -> list[Judgement]:
    """Find errors and remarks, in the order of the games.

    Args:
        games: The games.
        terminations: How each game ended, if that is known beyond results and flags.
    """
    found = [*_judge_moves(games), *_judge_heads(games)]
    endings = _native.judge_endings(games.starts, games.plies, games.moves)
    for index, ending in enumerate(endings):
        result = Result(int(games.results[index]) & RESULT_BITS)
        flags = ResultFlag(int(games.results[index]) & ~RESULT_BITS)
        found += [Judgement(Level.ERROR, index, None, reason) for reason in _contradictions(result, flags, ending)]
        found += _judge_declaration(games, index, ending)
        if terminations and terminations[index] is Termination.MATE and not ending.is_mated:
            found.append(
                Judgement(Level.ERROR, index, None, "the record ends by mate, but the last position is not mate")
            )
        if ending.fourfold_before >= 0:
            reason = "the position has occurred four times before this move, but the game goes on"
            found.append(Judgement(Level.ERROR, index, ending.fourfold_before, reason))
    return sorted(found, key=lambda judged: (judged.game, -1 if judged.ply is None else judged.ply))


def _contradictions(result: Result, flags: ResultFlag, ending: _native.GameEnding) -> Iterator[str]:
    """Contradictions between the result and the last position."""
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
    if flags & ResultFlag.DECLARATION and result != mover:
        yield f"flagged as a declaration, but the side to move did not win: the result is {result.name}"
    if flags & ResultFlag.MAX_PLIES and result != Result.DRAW:
        yield f"flagged as stopped at the maximum of plies, but the result is {result.name}"


def _judge_declaration(games: Games, index: int, ending: _native.GameEnding) -> Iterator[Judgement]:
    result = int(games.results[index])
    mover = Result.BLACK_WIN if ending.black_to_move else Result.WHITE_WIN
    if not result & ResultFlag.DECLARATION or result & RESULT_BITS != mover or ending.can_declare:
        return
    reason = "flagged as a declaration, but the side to move lacks the points or the pieces"
    if _has_handicap(games.starts[index]):  # some rules count the pieces given as handicap
        yield Judgement(Level.REMARK, index, None, f"{reason}, unless those of the handicap count")
    else:
        yield Judgement(Level.ERROR, index, None, reason)


def _has_handicap(start: NDArray[np.uint8]) -> bool:
    position = _native.position_from_hcp(start.tobytes())
    on_board = sum(letter.isalpha() for letter in position.sfen().split()[0])
    return on_board + sum(sum(position.hand(color).values()) for color in Color) < _PIECES


def _judge_heads(games: Games) -> Iterator[Judgement]:
    for index in np.flatnonzero(np.diff(games.plies.astype(np.int64)) == 0):
        yield Judgement(Level.REMARK, int(index), None, "a game without moves")
    for index in np.flatnonzero(games.opponents >= _OPPONENTS):
        yield Judgement(Level.REMARK, int(index), None, f"opponent {games.opponents[index]} is not 0, 1 or 2")


def _judge_moves(games: Games) -> Iterator[Judgement]:
    """Findings that need no board."""
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
        (Level.REMARK, np.flatnonzero((counts > 0) & ~selected), "the move played is not a candidate"),
        (Level.REMARK, np.flatnonzero(games.evals < -EVAL_LIMIT), "evaluation -32768 has no opposite"),
    ]
    game_of, ply_of = games.game_of_ply(), games.ply_in_game()
    for level, moves, reason in kinds:
        for move in moves:
            yield Judgement(level, int(game_of[move]), int(ply_of[move]), reason)
