"""The positions of a book that its lines lead to."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from fukayomi.book.book import position_key
from fukayomi.shogi import Move, Position


def walk(starts: Iterable[Position], moves_of: Callable[[Position], Sequence[Move] | None]) -> Iterator[Position]:
    """Walk through the positions of a book, each once, the nearer ones first.

    From a position of the book any legal move may be played, as the opponent may; after a move of the book, and after
    any first move from a start, any answer too: a book for one side has no positions of the other.

    Args:
        starts: Where lines begin; they need not be in the book.
        moves_of: The moves of a position; None if the book does not have it.
    """
    seen: set[str] = set()
    queue = deque(start.sfen() for start in starts)
    starting = len(queue)
    while queue:
        position = Position.from_sfen(queue.popleft(), allow_missing_king=True)
        is_start, starting = starting > 0, starting - 1
        key = position_key(position)
        if key in seen:
            continue
        seen.add(key)
        moves = moves_of(position)
        if moves is not None:
            yield position
        known = set(position.legal_moves if moves is None or is_start else moves)
        for move in position.legal_moves:
            position.push(move)
            if moves_of(position) is not None:
                queue.append(position.sfen())
            elif move in known:
                for answer in position.legal_moves:
                    position.push(answer)
                    if moves_of(position) is not None:
                        queue.append(position.sfen())
                    position.pop()
            position.pop()
