"""Two books beside each other."""

from dataclasses import dataclass, field

from fukayomi.book.book import Book, best_first
from fukayomi.book.moves import BookMove
from fukayomi.tabular import Tabular


@dataclass(frozen=True, slots=True)
class BookDifference:
    """A position whose best moves differ: the most played, of those the one with the best score."""

    key: str
    """Board, side to move and hands, as in an SFEN."""
    first: BookMove
    """The best move of the first book."""
    second: BookMove
    """The best move of the second book."""


@dataclass(frozen=True, slots=True)
class BookComparison(Tabular):
    """What two books have in common. As a table it has a row for each position whose best moves differ."""

    positions: tuple[int, int] = (0, 0)
    """Positions of each book."""
    moves: tuple[int, int] = (0, 0)
    """Moves of each book."""
    common_positions: int = 0
    """Positions that both have."""
    common_moves: int = 0
    """Moves that both have for the same position."""
    same_best: int = 0
    """Positions of both with the same best move."""
    scored_moves: int = 0
    """Moves of both with a score in both."""
    score_difference_cp: float | None = None
    """Mean of the absolute difference of these scores; None without such moves."""
    differences: tuple[BookDifference, ...] = field(default=(), repr=False)
    """The positions whose best moves differ, in the order of the first book."""

    def rows(self) -> list[dict[str, str | int | None]]:
        """One row per position; moves are in USI form, scores in centipawns from the side to move."""
        return [
            {
                "sfen": one.key,
                "first": one.first.move.usi(),
                "first_score_cp": one.first.score_cp,
                "first_count": one.first.count,
                "second": one.second.move.usi(),
                "second_score_cp": one.second.score_cp,
                "second_count": one.second.count,
            }
            for one in self.differences
        ]


def compare_books(first: Book, second: Book) -> BookComparison:
    """Compare two books. `Book.unplaced` moves are left out."""
    common_positions = common_moves = same_best = scored = total = 0
    differences: list[BookDifference] = []
    for key, moves in first.items():
        others = second.get(key)
        if not moves or not others:
            continue
        common_positions += 1
        best = best_first(moves)[0], best_first(others)[0]
        if best[0].move == best[1].move:
            same_best += 1
        else:
            differences.append(BookDifference(key, *best))
        scores = {move.move: move.score_cp for move in others}
        for move in moves:
            if move.move in scores:
                common_moves += 1
                other = scores[move.move]
                if move.score_cp is not None and other is not None:
                    scored, total = scored + 1, total + abs(move.score_cp - other)
    return BookComparison(
        (len(first), len(second)),
        (first.move_count, second.move_count),
        common_positions,
        common_moves,
        same_best,
        scored,
        total / scored if scored else None,
        tuple(differences),
    )
