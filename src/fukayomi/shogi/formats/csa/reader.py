"""CSA records: versions 1 to 2.2 and 3.0 with floodgate's extensions, several games per file.

The native core reads them. What a server says in ``'summary`` counts more than the statement that ended the game:
shogi-server writes ``%TORYO`` for a player who lost the connection, and ``%KACHI`` for a declaration that was wrong.

The comments ``'** SCORE PV``, ``'* TEXT`` and AobaZero's visits belong to the move before them; ``'* SCORE PV`` is a
score, too. Other comments are ignored, except floodgate's ratings, summary and end time.

81Dojo's files and logs of clients have lines of the server's protocol. ``To_Move:+``, ``BEGIN Time`` and the like are
skipped; ``#TIME_UP``, ``#RESIGN`` and the like end the game, ``#SENTE_WIN`` and ``#GOTE_WIN`` tell the winner. A word
for the end that nobody listed (``%ADJOURNED``, ``#WIN(DISCONNECT)``) is the record's `ending_word`. Text below the end
is a comment on it.
"""

from collections.abc import Iterable, Iterator, MutableSequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, overload

from fukayomi import _native
from fukayomi._native import NO_SCORE, CsaGame
from fukayomi.shogi import Color, Move
from fukayomi.shogi.formats.kif.endings import take_ending_word
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Result,
    Termination,
    result_of,
    winner_is,
)

_move_from_raw = lru_cache(maxsize=1 << 15)(Move.from_raw)  # more than all possible moves


class CsaMoves(MutableSequence[RecordedMove]):
    """A list of moves that is built on first use; a copy is a plain list.

    Conversions of millions of games need only the columns, and making the objects takes longer than reading.
    """

    def __init__(self, game: CsaGame) -> None:
        self._game: CsaGame | None = game
        self._made: list[RecordedMove] = []

    @property
    def game(self) -> CsaGame | None:
        """The columns; None once the list was built, because it may have been changed."""
        return self._game

    def _list(self) -> list[RecordedMove]:
        if self._game is not None:
            self._made = _recorded_moves(self._game)
            self._game = None
        return self._made

    def __len__(self) -> int:
        return len(self._made if self._game is None else self._game)

    def __iter__(self) -> Iterator[RecordedMove]:
        return iter(self._list())

    @overload
    def __getitem__(self, index: int) -> RecordedMove: ...
    @overload
    def __getitem__(self, index: slice) -> list[RecordedMove]: ...
    def __getitem__(self, index: int | slice) -> RecordedMove | list[RecordedMove]:
        return self._list()[index]

    @overload
    def __setitem__(self, index: int, value: RecordedMove) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[RecordedMove]) -> None: ...
    def __setitem__(self, index: Any, value: Any) -> None:
        self._list()[index] = value

    def __delitem__(self, index: int | slice) -> None:
        del self._list()[index]

    def insert(self, index: int, value: RecordedMove) -> None:
        """Insert a move before an index, like `list.insert`."""
        self._list().insert(index, value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CsaMoves):
            return self._list() == other._list()
        return self._list() == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # mutable, like a list

    def __repr__(self) -> str:
        return repr(self._list())

    def __reduce__(self) -> tuple[type[list[RecordedMove]], tuple[list[RecordedMove]]]:
        return list, (self._list(),)


def _recorded_moves(game: CsaGame) -> list[RecordedMove]:
    columns = (game.moves.tolist(), game.scores.tolist(), game.pvs, game.times_ms.tolist())
    moves = [
        RecordedMove(
            _move_from_raw(raw), None if score == NO_SCORE else score, None, pv, "", None if time < 0 else time
        )
        for raw, score, pv, time in zip(*columns, strict=True)
    ]
    for count, comments in groupby(game.comments, key=itemgetter(0)):
        if count > 0:
            moves[count - 1].comment = "\n".join(comment for _, comment in comments)
    return moves


ENDINGS = {word: Termination(name) for word, name in _native.csa_endings()}
SUMMARY_WORDS = {
    Termination.RESIGN: "toryo",
    Termination.DECLARATION: "kachi",
    Termination.TIME_UP: "time up",
    Termination.ILLEGAL_MOVE: "illegal move",
    Termination.REPETITION: "repetition",
    Termination.PERPETUAL_CHECK: "oute_sennichite",
    Termination.IMPASSE: "jishogi",
    Termination.MAX_PLIES: "max_moves",
    Termination.DRAW: "draw",
    Termination.MATE: "mate",
    Termination.NO_MATE: "no_mate",
    Termination.CRASH: "crash",
    Termination.STALL: "stall",
    Termination.PROTOCOL: "protocol",
    Termination.ADJUDICATION: "adjudication",
    Termination.INTERRUPTED: "interrupted",
    Termination.TAKEN_BACK: "taken_back",
    Termination.ERROR: "error",
    Termination.OTHER: "other",
    Termination.NONE: "none",
}
"""The first words of summaries that we write; as far as shogi-server has them, they are its own."""
# The first words of summaries, with _ for a space, and what they mean
_SUMMARY_ENDINGS = {
    **{word.replace(" ", "_"): termination for termination, word in SUMMARY_WORDS.items()},
    "illegal_kachi": Termination.ILLEGAL_MOVE,
    "uchifuzume": Termination.ILLEGAL_MOVE,
    "oute_kaihimore": Termination.ILLEGAL_MOVE,
    "outori": Termination.ILLEGAL_MOVE,
    "sennichite": Termination.REPETITION,
    "chudan": Termination.INTERRUPTED,
    "abnormal": Termination.INTERRUPTED,
}
_BROKEN_OFF = ("chudan", "abnormal")  # shogi-server names a winner there, but nobody won
UNDECIDED = "unknown"
"""Word for both sides in a summary that we write if nobody knows who won."""
_OUTCOMES = {("win", "lose"): Result.BLACK_WIN, ("lose", "win"): Result.WHITE_WIN, ("draw", "draw"): Result.DRAW}
_OUTCOMES[UNDECIDED, UNDECIDED] = Result.UNKNOWN
_FIELDS = {
    "N+": "black_name",
    "N-": "white_name",
    "$EVENT": "event",
    "$SITE": "site",
    "$START_TIME": "start_time",
    "$END_TIME": "end_time",
    "$OPENING": "opening",
    "$TIME_LIMIT": "time_limit",
    "$TIME": "time_limit",
    "$持ち時間": "time_limit",
    "'summary": "summary",
    "'$END_TIME": "end_time",
}
_RESULTS = {"black_win": Result.BLACK_WIN, "white_win": Result.WHITE_WIN, "draw": Result.DRAW}
# What an end is called where the server names a winner
_DECIDED = {Termination.IMPASSE: Termination.DECLARATION, Termination.REPETITION: Termination.PERPETUAL_CHECK}
_LONGEST_QUOTE = 80  # characters


def read_csa(text: str, name: str) -> Iterator[Record | RecordError]:
    """Read the games of a CSA text; a damaged game yields its error."""
    reader = _native.CsaReader(text)
    games = 0
    while (game := reader.next()) is not None:
        games += 1
        yield _read_game(game, name if games == 1 else f"{name}#{games}")


def _read_game(game: _native.CsaGame, name: str) -> Record | RecordError:
    if game.damage is not None:
        return _error(game.damage, name)
    record = Record(name, game.initial_sfen, CsaMoves(game))
    for key, value in game.headers:
        if field := _FIELDS.get(key):
            setattr(record, field, value)
        elif key == "'black_rate":
            record.black_rating = float(value)
        elif key == "'white_rate":
            record.white_rating = float(value)
        else:
            record.headers["MAX_MOVES" if key == "'Max_Moves" else key[1:]] = value
    comments: list[str] = []
    for count, comment in game.comments:
        if count > 0:
            break
        comments.append(comment)
    record.comment = "\n".join(comments)
    record.illegal_move, record.illegal_move_time_ms = game.illegal_move, game.illegal_move_time_ms
    if game.ending is not None:
        read_ending(record, game.ending, game.turn)
    record.ending_time_ms = game.ending_time_ms
    record.ending_comment = "\n".join(take_ending_word(record, game.ending_comments, game.turn))
    if game.outcome:
        _apply_outcome(record, _RESULTS[game.outcome])
    if record.summary:
        apply_summary(record, game.turn)
    return record


def _error(damage: tuple[int, bool, list[str]], name: str) -> RecordError:
    line, is_illegal_move, parts = damage
    reason = "".join(repr(part[:_LONGEST_QUOTE]) if is_quoted % 2 else part for is_quoted, part in enumerate(parts))
    return (IllegalMoveInRecordError if is_illegal_move else RecordError)(name, line, reason)


def read_ending(record: Record, word: str, turn: Color) -> None:
    """Take the end from the word of a statement, with `turn` to move."""
    record.termination = ENDINGS.get(word, Termination.OTHER)
    record.ending_word = "" if word in ENDINGS else word[:_LONGEST_QUOTE]
    if record.illegal_move:
        record.result = winner_is(turn.opponent)
    elif word in ("+ILLEGAL_ACTION", "-ILLEGAL_ACTION"):
        record.result = Result.WHITE_WIN if word[0] == "+" else Result.BLACK_WIN
    else:
        record.result = result_of(record.termination, turn)


def _apply_outcome(record: Record, result: Result) -> None:
    """Take the result from the server's line ``#SENTE_WIN``, ``#GOTE_WIN`` or ``#DRAW``."""
    if record.termination is Termination.NONE:
        record.termination = Termination.DRAW if result is Result.DRAW else Termination.OTHER
    elif result is not Result.DRAW:
        record.termination = _DECIDED.get(record.termination, record.termination)
    record.result = result


def apply_summary(record: Record, turn: Color) -> None:
    """Take the end from the summary if that names one; without a statement any summary is an end."""
    word, _, rest = record.summary.partition(":")
    key = word.strip().replace(" ", "_")
    results = [part.rpartition(" ")[2] for part in rest.split(":")]
    termination = _SUMMARY_ENDINGS.get(key)
    if termination is None and record.termination is not Termination.NONE:
        return
    termination = termination or Termination.OTHER
    if key == "sennichite" and "win" in results:
        termination = Termination.PERPETUAL_CHECK
    if record.termination is not termination:
        record.termination = termination
        record.result = result_of(termination, turn)
    if len(results) == 2 and key not in _BROKEN_OFF:
        record.result = _OUTCOMES.get((results[0], results[1]), record.result)
