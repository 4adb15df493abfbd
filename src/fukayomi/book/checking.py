"""The check of a book: legal moves, positions that no line leads to, circles, scores that what follows contradicts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fukayomi.book.book import STEP, Book, position_key
from fukayomi.book.moves import BookMove
from fukayomi.book.rotation import rotated_key, rotated_move
from fukayomi.book.walk import walk
from fukayomi.listener import SILENT, Listener
from fukayomi.shogi import InvalidSfenError, Move, Position
from fukayomi.tabular import Tabular, counted


class BookFaultKind(StrEnum):
    """What may be wrong with a book."""

    POSITION = "position"
    """A key is not one of a position."""
    ILLEGAL = "illegal"
    """A move is not legal."""
    TWICE = "twice"
    """A move is there twice."""
    ORPHAN = "orphan"
    """No line of the book leads to the position."""
    CIRCLE = "circle"
    """Moves of the book lead back to the position."""
    SCORE = "score"
    """The score of a move differs from the best one after it."""

    @property
    def is_error(self) -> bool:
        """True if the book is damaged; the others are remarks, of which good books may have some."""
        return self in (BookFaultKind.POSITION, BookFaultKind.ILLEGAL, BookFaultKind.TWICE)


@dataclass(frozen=True, slots=True)
class BookFault:
    """What is wrong, and where."""

    kind: BookFaultKind
    """What."""
    key: str
    """Board, side to move and hands of the position, as in an SFEN."""
    move: str | None
    """The move, in USI form; None: the position itself."""
    text: str
    """In words."""


@dataclass(frozen=True, slots=True)
class BookCheck(Tabular):
    """The result of a check. As a table it has a row for each fault."""

    positions: int
    """Positions that were checked."""
    moves: int
    """Moves that were checked."""
    faults: tuple[BookFault, ...]
    """The faults, by kind."""

    @property
    def counts(self) -> dict[str, int]:
        """Number of faults of each kind, of those that there are."""
        return {str(kind): count for kind, count in Counter(fault.kind for fault in self.faults).items()}

    @property
    def is_sound(self) -> bool:
        """True if there is no error."""
        return not any(fault.kind.is_error for fault in self.faults)

    def rows(self) -> list[dict[str, str | None]]:
        """One row per fault."""
        return [
            {"kind": str(fault.kind), "sfen": fault.key, "move": fault.move, "text": fault.text}
            for fault in self.faults
        ]


def check_book(
    book: Book,
    *,
    starts: Sequence[Position] = (),
    tolerance_cp: int = 100,
    listener: Listener = SILENT,
) -> BookCheck:
    """Check a book.

    Args:
        book: The book. `Book.unplaced` moves are not checked.
        starts: Positions that lines begin from, besides the start of a game.
        tolerance_cp: Largest difference between the score of a move and the best one of the position after it, with the
            sign changed, that is no fault.
        listener: Follows the work.
    """
    faults: list[BookFault] = []
    lines = _Lines()
    best = {key: max(scores) for key in book if (scores := [m.score_cp for m in book[key] if m.score_cp is not None])}
    for n, key in enumerate(book):
        if n % STEP == 0:
            listener.progress("checking moves", n, len(book))
        try:
            position = book.position(key)
        except InvalidSfenError as error:
            faults.append(BookFault(BookFaultKind.POSITION, key, None, str(error)))
        else:
            legal, wrong = _legal(position, key, book[key])
            lines.moves[key] = legal
            faults += wrong
    lines.turned = {rotated_key(key): key for key in lines.moves}
    for n, (key, legal) in enumerate(lines.moves.items()):
        if n % STEP == 0:
            listener.progress("checking scores", n, len(book))
        position = book.position(key)
        lines.following[key] = []
        for move in legal:
            position.push(move.move)
            after = lines.key_of(position)
            position.pop()
            if after is None:
                continue
            lines.following[key].append(after)
            if move.score_cp is not None and after in best and abs(move.score_cp + best[after]) > tolerance_cp:
                text = f"{move.move} has the score {move.score_cp}, but the best answer in the book {best[after]}"
                faults.append(BookFault(BookFaultKind.SCORE, key, move.move.usi(), text))
    reached: set[str | None] = set()
    for position in walk([Position(), *starts], lines.moves_of):
        if len(reached) % STEP == 0:
            listener.progress("following lines", len(reached), len(book))
        reached.add(lines.key_of(position))
    for key in lines.moves:
        if key not in reached:
            faults.append(BookFault(BookFaultKind.ORPHAN, key, None, "no line of the book leads here"))
    for circle in _circles(lines.following):
        text = f"moves of the book lead back here, through {counted(len(circle), 'position')}"
        faults.append(BookFault(BookFaultKind.CIRCLE, circle[0], None, text))
    listener.progress("following lines", len(book), len(book))
    order = list(BookFaultKind)
    faults.sort(key=lambda fault: order.index(fault.kind))
    return BookCheck(len(book), book.move_count, tuple(faults))


@dataclass(slots=True)
class _Lines:
    """The legal moves of a book, and where they lead; a position turned round is the same."""

    moves: dict[str, list[BookMove]] = field(default_factory=dict[str, list[BookMove]])
    turned: dict[str, str] = field(default_factory=dict[str, str])
    following: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def key_of(self, position: Position) -> str | None:
        key = position_key(position)
        return key if key in self.moves else self.turned.get(key)

    def moves_of(self, position: Position) -> Sequence[Move] | None:
        key = position_key(position)
        if key in self.moves:
            return [move.move for move in self.moves[key]]
        if key in self.turned:
            return [rotated_move(move.move) for move in self.moves[self.turned[key]]]
        return None


def _legal(position: Position, key: str, moves: Sequence[BookMove]) -> tuple[list[BookMove], list[BookFault]]:
    """The legal moves of a position, each once, and what is wrong with the others."""
    legal: list[BookMove] = []
    faults: list[BookFault] = []
    seen: set[Move] = set()
    for move in moves:
        name = move.move.usi()
        if not position.is_legal(move.move):
            faults.append(BookFault(BookFaultKind.ILLEGAL, key, name, f"{name} is not legal"))
        elif move.move in seen:
            faults.append(BookFault(BookFaultKind.TWICE, key, name, f"{name} is there twice; the first counts"))
        else:
            legal.append(move)
        seen.add(move.move)
    return legal, faults


def _circles(following: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The strongly connected parts of the book with a circle, by Tarjan's algorithm; each begins with its first key."""
    place = {key: n for n, key in enumerate(following)}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    held: list[str] = []
    is_held: set[str] = set()
    circles: list[list[str]] = []
    for start in following:
        if start in index:
            continue
        index[start] = low[start] = len(index)
        held.append(start)
        is_held.add(start)
        stack = [(start, iter(following[start]))]
        while stack:
            key, others = stack[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    held.append(other)
                    is_held.add(other)
                    stack.append((other, iter(following[other])))
                    break
                if other in is_held:
                    low[key] = min(low[key], index[other])
            else:
                stack.pop()
                if stack:
                    above = stack[-1][0]
                    low[above] = min(low[above], low[key])
                if low[key] == index[key]:
                    part = _taken(held, key)
                    is_held.difference_update(part)
                    if len(part) > 1 or key in following[key]:
                        circles.append(sorted(part, key=place.__getitem__))
    return sorted(circles, key=lambda circle: place[circle[0]])


def _taken(held: list[str], key: str) -> list[str]:
    """Take the last keys off a list, down to a key."""
    taken: list[str] = []
    while not taken or taken[-1] != key:
        taken.append(held.pop())
    return taken
