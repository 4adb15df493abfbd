"""What a sparse network reads, defined slowly: squares one by one, from the SFEN alone."""

from dataclasses import dataclass
from functools import lru_cache

TYPES = ["P", "L", "N", "S", "B", "R", "G", "K", "+P", "+L", "+N", "+S", "+B", "+R"]
"""Kinds of own pieces 0 to 13; the opponent's are 14 to 27."""
HAND = {"P": 8, "L": 4, "N": 4, "S": 4, "G": 4, "B": 2, "R": 2}
"""Rows for each kind of piece in hand, in the order of the rows."""
DROPS = ["P", "L", "N", "S", "B", "R", "G"]
VALUES = dict(zip(TYPES, [1, 3, 3, 5, 8, 9, 6, 100, 2, 4, 4, 6, 11, 13], strict=True))
GOLD = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (0, 1)]
ALL = [(file, rank) for file in (-1, 0, 1) for rank in (-1, 0, 1) if (file, rank) != (0, 0)]
STEPS: dict[str, list[tuple[int, int]]] = {
    "P": [(0, -1)], "L": [], "N": [(-1, -2), (1, -2)], "S": [(-1, -1), (0, -1), (1, -1), (-1, 1), (1, 1)],
    "B": [], "R": [], "G": GOLD, "K": ALL, "+P": GOLD, "+L": GOLD, "+N": GOLD, "+S": GOLD,
    "+B": [step for step in ALL if 0 in step], "+R": [step for step in ALL if 0 not in step],
}  # fmt: skip
SLIDES: dict[str, list[tuple[int, int]]] = {
    "L": [(0, -1)],
    "B": [step for step in ALL if 0 not in step],
    "R": [step for step in ALL if 0 in step],
    "+B": [step for step in ALL if 0 not in step],
    "+R": [step for step in ALL if 0 in step],
}
"""Steps of (file, rank) of an own piece; ranks count from the far end, files from Black's right."""

Square = tuple[int, int]
"""File and rank from 0."""


@dataclass
class View:
    """A position as the side to move sees it, mirrored if its king stands on files 6 to 9."""

    board: dict[Square, tuple[bool, str]]
    """By square: whether the piece is own, and its type."""
    hands: tuple[dict[str, int], dict[str, int]]
    """Own, the opponent's."""
    is_rotated: bool
    is_mirrored: bool

    def seen(self, square: Square) -> Square:
        file, rank = square
        if self.is_rotated:
            file, rank = 8 - file, 8 - rank
        return (8 - file if self.is_mirrored else file), rank

    def king(self, *, own: bool) -> Square | None:
        return next((square for square, piece in self.board.items() if piece == (own, "K")), None)


def read(sfen: str) -> View:
    rows, turn, hands, *_ = sfen.split()
    board: dict[Square, tuple[bool, str]] = {}
    for rank, row in enumerate(rows.split("/")):
        file, plus = 8, ""
        for letter in row:
            if letter == "+":
                plus = "+"
            elif letter.isdigit():
                file -= int(letter)
            else:
                board[file, rank] = (letter.isupper() == (turn == "b"), plus + letter.upper())
                file, plus = file - 1, ""
    held: tuple[dict[str, int], dict[str, int]] = ({}, {})
    number = ""
    for letter in hands.replace("-", ""):
        if letter.isdigit():
            number += letter
        else:
            held[letter.isupper() != (turn == "b")][letter.upper()] = int(number or 1)
            number = ""
    view = View({}, held, turn == "w", False)
    view.board = {view.seen(square): piece for square, piece in board.items()}
    king = view.king(own=True)
    if king is not None and king[0] > 4:
        view.is_mirrored = True
        view.board = {view.seen(square): piece for square, piece in board.items()}
    return view


def reached(board: dict[Square, tuple[bool, str]], square: Square, own: bool, kind: str) -> list[Square]:
    """The squares that a piece attacks; own pieces count, and end a slide."""
    forward = 1 if own else -1
    found = []
    for file, rank in STEPS[kind]:
        found.append((square[0] + file, square[1] + forward * rank))
    for file, rank in SLIDES.get(kind, []):
        at = square
        while True:
            at = (at[0] + file, at[1] + forward * rank)
            if not (0 <= at[0] < 9 and 0 <= at[1] < 9):
                break
            found.append(at)
            if at in board:
                break
    return [at for at in found if 0 <= at[0] < 9 and 0 <= at[1] < 9]


def attackers(view: View) -> dict[Square, list[tuple[bool, str]]]:
    """By square: every piece that attacks it."""
    found: dict[Square, list[tuple[bool, str]]] = {(file, rank): [] for file in range(9) for rank in range(9)}
    for square, (own, kind) in view.board.items():
        for at in reached(view.board, square, own, kind):
            found[at].append((own, kind))
    return found


@lru_cache(1)
def attacked_view(sfen: str) -> tuple[View, dict[Square, list[tuple[bool, str]]]]:
    view = read(sfen)
    return view, attackers(view)


def kind_of(piece: tuple[bool, str]) -> int:
    own, kind = piece
    return TYPES.index(kind) + (0 if own else 14)


def content(view: View, square: Square) -> int:
    return 1 + kind_of(view.board[square]) if square in view.board else 0


def rows(sfen: str) -> list[int]:
    """The rows of a position, in order."""
    view, attacked = attacked_view(sfen)
    found = []
    for square, by in attacked.items():
        mine, theirs = (min(2, sum(own == side for own, _ in by)) for side in (True, False))
        what = content(view, square)
        if what or mine or theirs:
            found.append(((what * 3 + mine) * 3 + theirs) * 81 + square[0] * 9 + square[1])
    first = 29 * 9 * 81
    for held in view.hands:
        for kind, most in HAND.items():
            found += [first + n for n in range(min(most, held.get(kind, 0)))]
            first += most
    king = view.king(own=True)
    if king is not None and any(not own for own, _ in attacked[king]):
        found.append(first)
    first += 1
    for square, piece in view.board.items():
        found += [first + kind_of(piece) * 28 + kind_of(by) for by in set(attacked[square])]
    first += 28 * 28
    for own in (True, False):
        king = view.king(own=own)
        for file in range(5):
            for rank in range(5):
                if king is not None:
                    square = (king[0] + file - 2, king[1] + rank - 2)
                    if square in attacked:
                        found.append(first + content(view, square))
                        found += [first + 29 + kind_of(by) for by in set(attacked[square])]
                first += 29 + 28
    assert first == 24_832
    return sorted(found)


def square_of(usi: str) -> Square:
    return int(usi[0]) - 1, ord(usi[1]) - ord("a")


def direction(file: int, rank: int) -> int:
    """dlshogi's directions; file and rank are the differences as the side to move sees them."""
    if rank == -2 and abs(file) == 1:
        return 8 if file > 0 else 9
    if rank == 0:
        return 3 if file > 0 else 4
    side = 0 if file == 0 else 1 if file > 0 else 2
    return side if rank < 0 else 5 + side


SIZES = [21 * 15, 21 * 15 * 4, 14 * 15 * 2 + 7, 21 * 50, 21 * 50, 21 * 15 * 2, 21 * 30, 21 * 30]
"""Rows of the eight groups of a move."""


def move(sfen: str, usi: str) -> tuple[int, list[int]]:
    """The label of a legal move, and its row of each group."""
    view, attacked = attacked_view(sfen)
    to = view.seen(square_of(usi[2:4]))
    is_promotion = usi.endswith("+")
    if usi[1] == "*":
        kind, start = usi[0], None
        mover = 14 + DROPS.index(kind)
        label = (20 + DROPS.index(kind)) * 81
    else:
        start = view.seen(square_of(usi))
        kind = view.board[start][1]
        mover = TYPES.index(kind)
        label = (direction(to[0] - start[0], to[1] - start[1]) + 10 * is_promotion) * 81
    label += to[0] * 9 + to[1]
    captured = view.board[to][1] if to in view.board else None

    def least(square: Square) -> str | None:
        return min(
            (k for own, k in attacked[square] if not own), key=lambda k: (VALUES[k], TYPES.index(k)), default=None
        )

    threat = least(to)
    supporters = sum(own for own, _ in attacked[to]) - (start is not None)
    opponents = sum(not own for own, _ in attacked[to])
    risk = VALUES[kind] - (VALUES[captured] if captured else 0)
    is_bad = threat is not None and risk > 0 and (supporters <= 0 or VALUES[threat] + 1 < risk)

    after = {square: piece for square, piece in view.board.items() if square != start}
    targets = [
        at for at in reached(after, to, True, "+" + kind if is_promotion else kind) if at in after and not after[at][0]
    ]
    order = [
        (-VALUES[after[at][1]], any(not own for own, _ in attacked[at]), TYPES.index(after[at][1])) for at in targets
    ]
    _, is_defended, target = min(order, default=(0, False, -1))

    def place(king: Square | None) -> int:
        if king is None:
            return 49
        file, rank = to[0] - king[0] + 3, to[1] - king[1] + 3
        return file * 7 + rank if 0 <= file < 7 and 0 <= rank < 7 else 49

    def beside(rank: int) -> int:
        return content(view, (to[0], to[1] + rank)) if 0 <= to[1] + rank < 9 else 29

    def number(which: str | None) -> int:
        return 0 if which is None else 1 + TYPES.index(which)

    if start is None:
        origin = 14 * 15 * 2 + DROPS.index(kind)
    else:
        origin = (mover * 15 + number(least(start))) * 2 + any(own for own, _ in attacked[start])
    places = [
        mover * 15 + number(captured),
        ((mover * 15 + number(threat)) * 2 + (supporters > 0)) * 2 + (opponents > 1),
        origin,
        mover * 50 + place(view.king(own=False)),
        mover * 50 + place(view.king(own=True)),
        (mover * 15 + 1 + target) * 2 + is_defended,
        mover * 30 + beside(-1),
        mover * 30 + beside(1),
    ]
    return label + 2187 * is_bad, [sum(SIZES[:group]) + at for group, at in enumerate(places)]
