"""ShogiGUI's books (`.sbk`): positions that name the positions after their moves, in protobuf's encoding.

| message | field | meaning |
|---|---|---|
| book | 1, 2: text; 3: position, repeated | author, description, positions |
| position | 1: number; 7: text; 8: text; 9: move, repeated; 10 | identity; SFEN; comment; moves; evaluations |
| move | 1; 2; 3; 4: numbers | move in 32 bits; judgement; weight; identity of the position after it |

Only positions that no other leads to have an SFEN. A move in 32 bits has, from the lowest: rank and file it is from,
rank and file it goes to, 4 bits each (from 0, 0: a drop); bit 19 promotion; bits 24 to 27 the piece. The message types
are those of BookConv's book.proto (CC0).
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fukayomi.book.book import Book, position_key
from fukayomi.book.moves import BookError, BookMove
from fukayomi.shogi import InvalidMoveError, InvalidSfenError, Move, Position
from fukayomi.tabular import counted

_DROPPED = {1: "P", 2: "L", 3: "N", 4: "S", 5: "G", 6: "B", 7: "R"}
_RANKS = "abcdefghi"


@dataclass(slots=True)
class _State:
    """A position of the file; the moves are in their 32 bits, with weight and the number of the next position."""

    number: int = 0
    sfen: str | None = None
    comment: str = ""
    moves: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])


def read_sbk(path: Path, book: Book) -> None:
    """Read ShogiGUI's book into a book in memory. Weights become counts; evaluations are left out.

    Raises:
        BookError: The file is cut or damaged.
        OSError: The file cannot be read.
    """
    states = _states(path)
    reached: set[int] = set()
    queue: deque[tuple[int, str]] = deque()
    for number, state in states.items():
        if state.sfen is not None:
            words = state.sfen.removeprefix("position ").removeprefix("sfen ").split()
            try:
                position = Position.from_sfen(" ".join(words[:4]), allow_missing_king=True)
            except InvalidSfenError as error:
                book.note(f"{path}, position {number}: {error}")
            else:
                queue.append((number, position.sfen()))
    while queue:
        number, sfen = queue.popleft()
        if number in reached:
            continue
        reached.add(number)
        queue.extend(_add(path, book, states[number], Position.from_sfen(sfen, allow_missing_king=True), states))
    if lost := sum(1 for number, state in states.items() if number not in reached and state.moves):
        left_out = counted(lost, "position with moves is", "positions with moves are")
        book.note(f"{path}: {left_out} left out: no line of the book leads there")
    if not len(book):
        raise BookError(f"{path}: no position with moves can be read")


def _add(path: Path, book: Book, state: _State, position: Position, states: dict[int, _State]) -> list[tuple[int, str]]:
    """Add a position with its moves; returns those that it leads to."""
    after: list[tuple[int, str]] = []
    moves: list[BookMove] = []
    for raw, weight, following in state.moves:
        try:
            move = Move.from_usi(_usi(raw))
        except InvalidMoveError as error:
            book.note(f"{path}, position {state.number}: {error}")
            continue
        moves.append(BookMove(move, count=weight))
        if following in states:
            if not position.is_legal(move):
                book.note(f"{path}, position {state.number}: {move} is not legal in {position.sfen()}")
                continue
            position.push(move)
            after.append((following, position.sfen()))
            position.pop()
    if moves and (key := position_key(position)) not in book:
        book.put(key, moves, min(position.ply, 65_535))
        if state.comment:
            book.comments[key, ""] = state.comment
    return after


def _usi(raw: int) -> str:
    from_rank, from_file, to_rank, to_file = (raw >> shift & 15 for shift in (0, 4, 8, 12))
    target = f"{to_file}{_RANKS[to_rank - 1] if 1 <= to_rank <= 9 else '?'}"
    if from_rank == from_file == 0:
        return f"{_DROPPED.get(raw >> 24 & 15, '?')}*{target}"
    start = f"{from_file}{_RANKS[from_rank - 1] if 1 <= from_rank <= 9 else '?'}"
    return f"{start}{target}{'+' if raw >> 19 & 1 else ''}"


def _states(path: Path) -> dict[int, _State]:
    """The positions of a file by number."""
    data = memoryview(path.read_bytes())
    states: dict[int, _State] = {}
    for name, value, offset in _fields(path, data, 0, len(data)):
        if name == 3 and isinstance(value, range):
            state = _state(path, data, value)
            if state.number in states:
                raise BookError(f"{path}, offset {offset}: a second position with the number {state.number}")
            states[state.number] = state
    return states


def _state(path: Path, data: memoryview, place: range) -> _State:
    state = _State()
    for name, value, offset in _fields(path, data, place.start, place.stop):
        if name == 1 and isinstance(value, int):
            state.number = value
        elif name == 7 and isinstance(value, range):
            state.sfen = bytes(data[value.start : value.stop]).decode("utf-8", "replace")
        elif name == 8 and isinstance(value, range):
            state.comment = bytes(data[value.start : value.stop]).decode("utf-8", "replace")
        elif name == 9:
            if not isinstance(value, range):
                raise BookError(f"{path}, offset {offset}: a move is not a message")
            move = {part: number for part, number, _ in _fields(path, data, value.start, value.stop)}
            raw, weight, following = (move.get(part, 0) for part in (1, 3, 4))
            if not (isinstance(raw, int) and isinstance(weight, int) and isinstance(following, int)):
                raise BookError(f"{path}, offset {offset}: a part of a move is not a number")
            state.moves.append((raw & 0xFFFFFFFF, weight, following))
    return state


def _fields(path: Path, data: memoryview, start: int, end: int) -> Iterator[tuple[int, int | range, int]]:
    """The fields of a message: number, value (a number, or the place of a text or message), offset."""
    offset = start
    while offset < end:
        at = offset
        tag, offset = _number(path, data, offset, end)
        kind = tag & 7
        if kind == 0:
            value, offset = _number(path, data, offset, end)
            yield tag >> 3, value, at
        elif kind == 2:
            length, offset = _number(path, data, offset, end)
            if not 0 <= length <= end - offset:
                raise BookError(f"{path}, offset {at}: the file is cut or damaged: {length} bytes do not fit")
            yield tag >> 3, range(offset, offset + length), at
            offset += length
        elif kind in (1, 5):
            offset += 8 if kind == 1 else 4
        else:
            raise BookError(f"{path}, offset {at}: the file is damaged: fields of kind {kind} are unknown")


def _number(path: Path, data: memoryview, offset: int, end: int) -> tuple[int, int]:
    """A number of up to 64 bits, signed, and the offset behind it."""
    value = 0
    for n in range(10):
        if offset + n >= end:
            break
        byte = data[offset + n]
        value |= (byte & 127) << 7 * n
        if byte < 128:
            value &= (1 << 64) - 1
            return value - (1 << 64) * (value >> 63), offset + n + 1
    raise BookError(f"{path}, offset {offset}: the file is cut or damaged: a number does not end")
