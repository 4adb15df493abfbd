"""USI lines: the arguments of USI's ``position`` command, a game a line; and SFEN without the word ``sfen``.

    startpos moves 7g7f 3c3d
    sfen 4k4/9/9/9/9/9/9/9/4K4 w G 1 moves 5a5b
    position startpos moves 2g2f resign
    4k4/9/9/9/9/9/9/9/4K4 w G 1

A word for the end of the game may follow the moves. Blank lines and lines that begin with ``#`` are left out.
"""

from collections.abc import Iterator

from fukayomi.shogi.formats.text import MOST_PLIES, check_plies
from fukayomi.shogi.position import START_SFEN, IllegalMoveError, Position, ShogiError
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Termination,
    result_of,
)

_ENDINGS = {
    "resign": Termination.RESIGN,
    "win": Termination.DECLARATION,
    "mate": Termination.MATE,
    "timeout": Termination.TIME_UP,
    "draw": Termination.DRAW,
    "rep_draw": Termination.REPETITION,
    "sennichite": Termination.REPETITION,
    "impasse": Termination.IMPASSE,
    "jishogi": Termination.IMPASSE,
    "max_moves": Termination.MAX_PLIES,
    "interrupt": Termination.INTERRUPTED,
}
_SFEN_FIELDS = (3, 4)  # the move number may be missing
_LONGEST_QUOTE = 80  # characters


def read_usi(text: str, name: str) -> Iterator[Record | RecordError]:
    """Read the games of USI lines; a damaged line yields its error."""
    games = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        games += 1
        try:
            yield _read_line(line, name if games == 1 else f"{name}#{games}", number)
        except RecordError as error:
            yield error


def write_usi(record: Record) -> str:
    """The game as a line of USI: the first position and the moves."""
    return record.usi() + "\n"


def _read_line(line: str, name: str, number: int) -> Record:
    words = line.split(maxsplit=MOST_PLIES + 10)  # enough for a word too many, however long the line is
    if words[0] == "position":
        del words[0]
    at = words.index("moves") if "moves" in words else len(words)
    start, moves = words[:at], words[at + 1 :]
    if start and "/" in start[0]:
        start.insert(0, "sfen")
    if start[:1] == ["sfen"] and len(start) - 1 in _SFEN_FIELDS:
        sfen = " ".join(start[1:])
    elif start == ["startpos"]:
        sfen = START_SFEN
    else:
        text = " ".join(start)[:_LONGEST_QUOTE]
        raise RecordError(name, number, f"neither 'startpos moves ...' nor 'sfen SFEN moves ...': {text!r}")
    ending = _ENDINGS.get(moves[-1]) if moves else None
    if ending is not None:
        del moves[-1]
    check_plies(len(moves), name, number)
    try:
        position = Position.from_sfen(sfen, allow_missing_king=True)  # mate problems lack a king
    except ShogiError as error:
        raise RecordError(name, number, f"the first position is impossible: {error}") from error
    record = Record(name, position.sfen())
    for ply, word in enumerate(moves, 1):
        try:
            record.moves.append(RecordedMove(position.push_usi(word)))
        except IllegalMoveError as error:
            raise IllegalMoveInRecordError(name, number, f"ply {ply}: {error}") from error
        except ShogiError as error:
            raise RecordError(name, number, f"ply {ply}: not a move: {word[:_LONGEST_QUOTE]!r}") from error
    if ending is not None:
        record.termination = ending
        record.result = result_of(ending, position.turn)
    return record
