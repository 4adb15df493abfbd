"""Game records (CSA, KIF, KI2, JKF, USI lines) as games of hcpe3, and back.

This module alone decides which games and moves of a record become training positions. A move becomes one if it has
candidates: the visits in the record (AobaZero writes them), or the move itself with one visit if the record has a score
for it.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fukayomi import _native
from fukayomi._native import EVAL_SCALE, MATE_CP
from fukayomi.data.formats.format import EVAL_LIMIT, START, Advance, Format, Part, Place, ignore
from fukayomi.data.formats.hcpe import RESULT_BITS, ResultFlag
from fukayomi.data.formats.hcpe3 import MOST_MOVES, MOST_VISITS, Game, Games
from fukayomi.data.formats.kinds import DataFormat
from fukayomi.data.records.copies import NO_SCORE, RecordColumns, SeenGames
from fukayomi.data.records.reading import Drop, Dropped, scan_source
from fukayomi.data.records.sources import iter_sources
from fukayomi.errors import InvalidValueError
from fukayomi.shogi import BLACK, Color, Move, Position, Repetition, ShogiError
from fukayomi.shogi.formats import csa_moves, detect_format
from fukayomi.shogi.record import Record, RecordedMove, RecordError, Result, Termination, result_of, winner_is

_VISITS = re.compile(r"v=|\d{1,9},\d{4}[A-Z]{2},\d")
_VALUE = "v="
_RAW_VALUE = "r="
_AOBAZERO_PLIES = 513  # AobaZero stops a game there as a draw
RECORDS_AT_ONCE = 64
USEFUL_ENDINGS = frozenset(
    {
        Termination.RESIGN, Termination.DECLARATION, Termination.REPETITION, Termination.PERPETUAL_CHECK,
        Termination.IMPASSE, Termination.DRAW, Termination.MAX_PLIES, Termination.MATE, Termination.ADJUDICATION,
    }
)  # fmt: skip
"""Ends of games whose results say something about the play."""
_FLAGS = {
    Termination.REPETITION: ResultFlag.REPETITION,
    Termination.PERPETUAL_CHECK: ResultFlag.REPETITION,
    Termination.DECLARATION: ResultFlag.DECLARATION,
    Termination.MAX_PLIES: ResultFlag.MAX_PLIES,
}


@dataclass(frozen=True, slots=True)
class Targets:
    """Rules that turn the moves of a record into training positions."""

    one_hot: bool = False
    """Make every move its own only candidate, with or without a score, and ignore visits."""
    random_plies: int = 0
    """For engines that open with random moves: give no candidates up to the last move, among the first `random_plies`,
    that did not have the most visits. AobaZero: 30."""
    unfinished_as_draws: bool = False
    """Count games without an end (USI lines have none) as drawn, unless the last position decides them."""


TARGETS = Targets()


@dataclass(frozen=True, slots=True, eq=False)
class _Searches:
    """Visits noted for the N moves of a record, with C candidates in all."""

    evals: NDArray[np.int32]
    """Centipawns from the side to move; NO_SCORE where the notes do not give it: int32 [N]."""
    counts: NDArray[np.int64]
    """Candidates of each move: int64 [N]."""
    moves: NDArray[np.uint16]
    """uint16 [C]."""
    visits: NDArray[np.uint16]
    """uint16 [C]."""


@dataclass(frozen=True, slots=True, eq=False)
class PlayedGame:
    """A record of N moves that can become a game."""

    name: str
    result_byte: int
    columns: RecordColumns
    hcps: NDArray[np.uint8]
    """Position before each move, and the last one: uint8 [N + 1, 32]."""
    searches: _Searches | None
    """None if the record has no visits, or they are not asked for."""

    @property
    def result(self) -> Result:
        """Result of the game."""
        return Result(self.result_byte & RESULT_BITS)

    @property
    def scores(self) -> NDArray[np.int32]:
        """Centipawns from either side, for their size; NO_SCORE for moves without candidates: int32 [N]."""
        found = self.columns.scores
        if self.searches is None:
            return found
        noted = np.where(self.searches.evals == NO_SCORE, found, self.searches.evals)
        return np.where(self.searches.counts > 0, noted, NO_SCORE)


def game_from_record(record: Record, targets: Targets = TARGETS) -> Game | Dropped:
    """Convert a record to a game, or say why it gives no training positions."""
    played = read_played(record, targets)
    return played if isinstance(played, Dropped) else make_games([played], targets)[0]


def read_played(record: Record, targets: Targets = TARGETS) -> PlayedGame | Dropped:
    """The first half of `game_from_record`; `make_games` is the second, for many games at once."""
    ending = useful_ending(record, targets)
    if isinstance(ending, Dropped):
        return ending
    termination, result = ending
    if len(record) > MOST_MOVES:
        return _dropped(record, Drop.DAMAGED, f"the game has {len(record)} moves, more than {MOST_MOVES}")
    columns = RecordColumns.of(record)
    try:
        hcps = columns.hcps(record.initial_sfen)
    except ShogiError:
        return _dropped(record, Drop.NO_HCP, "the start position lacks a king")
    has_visits = not targets.one_hot and columns.has_comment(_VISITS, record)
    try:
        searches = _read_searches(record, result, targets.random_plies) if has_visits else None
    except RecordError as error:
        return Dropped.of(error)
    return PlayedGame(record.name, result | _FLAGS.get(termination, 0), columns, hcps, searches)


def make_games(played: Sequence[PlayedGame], targets: Targets = TARGETS, path: Path | str = "games") -> Games:
    """Put games into columns, in order."""
    count = len(played)
    plies = np.cumsum([0, *(len(game.columns.moves) for game in played)])
    moves = np.concatenate([np.zeros(0, np.uint16), *(game.columns.moves for game in played)])
    scores = np.concatenate([np.zeros(0, np.int32), *(game.columns.scores for game in played)])
    game_of_ply = np.repeat(np.arange(count), np.diff(plies))
    results = np.array([game.result_byte for game in played], np.uint8)
    if targets.one_hot:
        own = np.ones(len(moves), np.bool_)
        unnoted = np.array([_evaluation_of_result(Result(byte & RESULT_BITS), BLACK) for byte in results.tolist()])
        scores = np.where(scores == NO_SCORE, unnoted[game_of_ply], scores)
    else:
        own = scores != NO_SCORE
        scores = np.where(own, scores, 0)
    black_starts = np.array([game.columns.black_starts for game in played], np.bool_)
    white_moves = ((np.arange(len(moves)) - plies[game_of_ply]) % 2 == 1) == black_starts[game_of_ply]
    evals = np.clip(scores, -EVAL_LIMIT, EVAL_LIMIT).astype(np.int16)
    np.negative(evals, out=evals, where=white_moves)
    counts, candidate_moves, candidate_visits = _candidates(played, plies, moves, own, evals)
    return Games(
        Path(path),
        0,
        np.zeros(count, np.uint64),
        np.frombuffer(b"".join(game.hcps[0].tobytes() for game in played), np.uint8).reshape(-1, 32),
        results,
        np.zeros(count, np.uint8),
        plies.astype(np.uint64),
        np.concatenate([np.zeros((0, 32), np.uint8), *(game.hcps[:-1] for game in played)]),
        moves,
        evals,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64),
        candidate_moves,
        candidate_visits,
    )


def _candidates(
    played: Sequence[PlayedGame],
    plies: NDArray[np.int64],
    moves: NDArray[np.uint16],
    own: NDArray[np.bool_],
    evals: NDArray[np.int16],
) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.uint16]]:
    """Number of candidates of each move, the candidates and their visits; sets evaluations that come with visits."""
    counts = own.astype(np.int64)
    if all(game.searches is None for game in played):
        return counts, moves[own], np.ones(int(counts.sum()), np.uint16)
    candidate_moves: list[NDArray[np.uint16]] = []
    candidate_visits: list[NDArray[np.uint16]] = []
    for number, game in enumerate(played):
        part = slice(plies[number], plies[number + 1])
        if (found := game.searches) is None:
            candidate_moves.append(moves[part][own[part]])
            candidate_visits.append(np.ones(len(candidate_moves[-1]), np.uint16))
        else:
            counts[part] = found.counts
            np.copyto(evals[part], found.evals, where=found.evals != NO_SCORE, casting="same_kind")
            candidate_moves.append(found.moves)
            candidate_visits.append(found.visits)
    return counts, np.concatenate(candidate_moves), np.concatenate(candidate_visits)


def useful_ending(record: Record, targets: Targets = TARGETS) -> tuple[Termination, Result] | Dropped:
    """Termination and result of the game, if they say something about the play."""
    termination, result = _ending(record, targets)
    if termination in USEFUL_ENDINGS and result is not Result.UNKNOWN:
        return termination, result
    if record.termination is Termination.NONE:
        return _dropped(record, Drop.ENDING, "the record does not say how the game ended")
    return _dropped(record, Drop.ENDING, f"the end ({record.termination}) says nothing about the play")


def _dropped(record: Record, reason: Drop, why: str) -> Dropped:
    return Dropped(record.name, reason, f"{record.name}: {why}: not for training", f"{why}: not for training")


def _ending(record: Record, targets: Targets) -> tuple[Termination, Result]:
    """Termination and result of the game; if the record does not say so, what the last position says."""
    said = record.termination, record.result
    match record.termination:
        case Termination.NONE:
            unfinished = (Termination.DRAW, Result.DRAW) if targets.unfinished_as_draws else said
            return _ending_by_rules(record) or unfinished
        case Termination.INTERRUPTED if len(record) == _AOBAZERO_PLIES and _VISITS.match(record.moves[-1].comment):
            return Termination.MAX_PLIES, Result.DRAW
        case Termination.ILLEGAL_MOVE:  # AobaZero's name for perpetual check
            perpetual = (Termination.PERPETUAL_CHECK, record.result)
            return perpetual if not record.illegal_move and _ending_by_rules(record) == perpetual else said
        case _:
            return said


def _ending_by_rules(record: Record) -> tuple[Termination, Result] | None:
    position = Position.from_sfen(record.initial_sfen, allow_missing_king=True)
    for played in record.moves:
        position.push(played.move)
    if position.is_mated():
        return Termination.MATE, result_of(Termination.MATE, position.turn)
    match position.repetition():
        case Repetition.DRAW:
            return Termination.REPETITION, Result.DRAW
        case Repetition.WIN:
            return Termination.PERPETUAL_CHECK, winner_is(position.turn)
        case Repetition.LOSE:
            return Termination.PERPETUAL_CHECK, winner_is(position.turn.opponent)
        case _:
            return None


def _read_searches(record: Record, result: Result, random_plies: int) -> _Searches:
    """The candidates of each move, and its evaluation if the record has no score for it."""
    searched: list[list[tuple[Move, int]]] = []
    evals = np.full(len(record), NO_SCORE, np.int32)
    for ply, (position, played) in enumerate(record.replay()):
        candidates = [(played.move, 1)] if played.score_cp is not None else []
        if _VISITS.match(played.comment):
            try:
                value, candidates = read_visits(played.comment, position)
            except ValueError as error:
                what = f"ply {ply + 1}: visits {played.comment[:80]!r}: {error}"
                raise RecordError(record.name, None, what) from error
            if played.score_cp is None and value is not None:
                evals[ply] = evaluation_of(value)
            elif played.score_cp is None and candidates:
                evals[ply] = _evaluation_of_result(result, position.turn)
        searched.append(candidates)
    _forget_random_moves(searched, record, random_plies)
    return _Searches(
        evals,
        np.array([len(candidates) for candidates in searched], np.int64),
        np.array([move.raw for candidates in searched for move, _ in candidates], np.uint16),
        np.array([visits for candidates in searched for _, visits in candidates], np.uint16),
    )


def _evaluation_of_result(result: Result, turn: Color) -> int:
    """Replaces a missing evaluation, so that the value is learnt from the result alone."""
    if result is Result.DRAW:
        return 0
    return MATE_CP if result == winner_is(turn) else -MATE_CP


def _forget_random_moves(searched: list[list[tuple[Move, int]]], record: Record, random_plies: int) -> None:
    last = -1
    for ply, candidates in enumerate(searched[:random_plies]):
        if candidates and dict(candidates).get(record.moves[ply].move, 0) < max(visits for _, visits in candidates):
            last = ply
    for ply in range(last + 1):
        searched[ply] = []


def evaluation_of(value: float) -> int:
    """Centipawns of a win probability (0 to 1) on dlshogi's scale; 0 and 1 are mates."""
    if value <= 0 or value >= 1:
        return MATE_CP if value >= 1 else -MATE_CP
    return round(max(-EVAL_LIMIT, min(EVAL_LIMIT, -math.log(1 / value - 1) * EVAL_SCALE)))


def read_visits(text: str, position: Position) -> tuple[float | None, list[tuple[Move, int]]]:
    """Parse AobaZero's note on a move: ``v=0.543,r=0.612,782,7776FU,430m,2726FU,352l``.

    The fields are the value after and before the search, from the side to move; the total of visits; and each candidate
    with its visits and a letter for its prior. Older games lack the letters and ``r=``, the oldest also ``v=``: their
    value is None. Visits above 65535 are scaled down.

    Raises:
        ValueError: The text is not such a note.
    """
    fields = text.partition("\n")[0].split(",", 3)
    value: float | None = None
    if fields[0].startswith(_VALUE):
        value = float(fields.pop(0).removeprefix(_VALUE))
        if not 0 <= value <= 1:
            raise InvalidValueError(f"the value {value} is not between 0 and 1")
    if fields and fields[0].startswith(_RAW_VALUE):
        del fields[0]
    rest = ",".join(fields[1:])
    if not fields or (len(fields) > 1 and rest.count(",") % 2 == 0):
        raise InvalidValueError("not a number and then pairs of a move and its visits")
    candidates = _native.read_csa_visits(rest, position)
    most = max((visits for _, visits in candidates), default=0)
    if most > MOST_VISITS:
        candidates = [(move, visits * MOST_VISITS // most) for move, visits in candidates]
    return value, candidates


def record_from_game(game: Game, name: str = "") -> Record:
    """Convert a game to a record: a score where a move has candidates, and visits in a comment if there are several.

    Reading the record gives the same game, except for evaluations of moves without candidates and the opponent.
    """
    position = _native.position_from_hcp(game.start)
    record = Record(name=name, initial_sfen=position.sfen(), result=game.result)
    for ply, raw in enumerate(game.moves.tolist()):
        move = Move.from_raw(raw)
        first, last = int(game.candidates[ply]), int(game.candidates[ply + 1])
        played = RecordedMove(move)
        if last > first:
            evaluation = int(game.evals[ply])
            played.score_cp = evaluation if position.turn == BLACK else -evaluation
            moves, visits = game.candidate_moves[first:last].tolist(), game.candidate_visits[first:last].tolist()
            if (moves, visits) != ([raw], [1]):
                played.comment = _write_visits(position, evaluation, moves, visits)
        record.moves.append(played)
        position.push(move)
    record.termination = _termination(game, position)
    return record


def _write_visits(position: Position, evaluation: int, moves: list[int], visits: list[int]) -> str:
    value = 1 / (1 + math.exp(-evaluation / EVAL_SCALE))
    sfen = position.sfen()
    fields = [f"{_VALUE}{value:.3f}", str(sum(visits))]
    for raw, count in zip(moves, visits, strict=True):
        fields += [csa_moves(sfen, [Move.from_raw(raw).usi()])[0][1:], str(count)]
    return ",".join(fields)


def _termination(game: Game, last: Position) -> Termination:
    if game.flags & ResultFlag.REPETITION:
        return Termination.REPETITION if game.result is Result.DRAW else Termination.PERPETUAL_CHECK
    if game.flags & ResultFlag.DECLARATION and game.result == winner_is(last.turn):
        return Termination.DECLARATION
    if game.flags & ResultFlag.MAX_PLIES and game.result is Result.DRAW:
        return Termination.MAX_PLIES
    if game.result is Result.DRAW:
        return Termination.IMPASSE  # the draw that has no flag
    if last.is_mated() and game.result == winner_is(last.turn.opponent):
        return Termination.MATE
    return Termination.RESIGN if result_of(Termination.RESIGN, last.turn) == game.result else Termination.ADJUDICATION


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordsFormat(Format):
    """Game records of any kind, archives of them too."""

    def is_text(self, text: str) -> bool:
        """True if the text is a record in any format."""
        try:
            detect_format(text)
        except ValueError:
            return False
        return True

    def read(self, path: Path, begin: Place = START, advance: Advance = ignore) -> Iterator[Part]:
        """Yield lists of `Record` and `Dropped`; `Place` counts sources (members of an archive) and their records."""
        for part in self.scan(path, SeenGames(), advance):
            if part.after > begin:
                yield part

    def scan(self, path: Path, seen: SeenGames, advance: Advance = ignore) -> Iterator[Part]:
        """As `read`, from the beginning, for a file of a collection whose games so far are `seen`."""
        for number, source in enumerate(iter_sources([path], advance)):
            inner = 0
            scanned = scan_source(source, seen)
            while part := list(islice(scanned, RECORDS_AT_ONCE)):
                inner += len(part)
                yield Part(part, Place(number, inner))


FORMAT = RecordsFormat(
    kind=DataFormat.RECORDS,
    suffixes=(".csa", ".kif", ".kifu", ".ki2", ".ki2u", ".jkf", ".usi"),
    contents="game records",
    used_by="fukayomi data convert makes hcpe3 or hcpe of them",
)
