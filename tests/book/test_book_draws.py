"""The choice of a book move where later moves of the book repeat positions."""

import random
from pathlib import Path

import pytest

from fukayomi import Move, Position
from fukayomi.book import BookMove, BookReader, draws
from fukayomi.book.draws import MOST_LOOK_UPS, DrawSearch
from fukayomi.shogi import Repetition

CIRCLE = "startpos moves 5i5h 5a5b"
CYCLE = " 5h5i 5b5a 5i5h 5a5b"
THRICE = CIRCLE + CYCLE * 2  # 5h5i 5b5a brings the start position for the fourth time


def write(path: Path, lines: dict[str, str]) -> Path:
    """A .db with moves "MOVE SCORE, ..." by position."""
    text = ["#YANEURAOU-DB2016 1.00"]
    for position, moves in lines.items():
        text.append(f"sfen {Position.from_usi(position).sfen()}")
        text += [f"{move.split()[0]} none {move.split()[1]} 1 1" for move in moves.split(",")]
    path.write_text("\n".join([*text, ""]), encoding="utf-8")
    return path


def chosen(path: Path, position: str, depth: int, draw_cp: int = 0) -> str:
    with BookReader.open(path) as book:
        move = book.choose(Position.from_usi(position), by="score", draw_cp=draw_cp, draw_depth=depth)
    assert move is not None
    return move.move.usi()


def test_a_move_is_worth_what_its_line_is_worth(tmp_path: Path) -> None:
    book = write(
        tmp_path / "book.db",
        {
            "startpos": "7g7f 50, 2g2f 40",
            "startpos moves 7g7f": "3c3d 200, 8c8d -150",
            "startpos moves 7g7f 3c3d": "2g2f 70",
        },
    )
    assert [chosen(book, "startpos", depth) for depth in (0, 1, 2, 256)] == ["7g7f", "2g2f", "7g7f", "7g7f"]


@pytest.mark.parametrize(
    ("draw_cp", "depth", "move"),
    [(-100, 0, "5h5i"), (-100, 1, "2g2f"), (-100, 256, "2g2f"), (100, 0, "5h5i"), (100, 256, "5h5i")],
)
def test_an_answer_that_repeats_a_position_draws(tmp_path: Path, draw_cp: int, depth: int, move: str) -> None:
    book = write(tmp_path / "book.db", {CIRCLE: "5h5i 60, 2g2f 30", f"{CIRCLE} 5h5i": "5b5a 10"})
    assert chosen(book, THRICE, depth, draw_cp) == move


@pytest.mark.parametrize("cycles", [0, 1])
def test_a_position_of_the_game_before_its_fourth_occurrence_is_nothing(tmp_path: Path, cycles: int) -> None:
    book = write(tmp_path / "book.db", {CIRCLE: "5h5i 60, 2g2f 30", f"{CIRCLE} 5h5i": "5b5a 10"})
    # 5b5a is worth 10 to the other side, -10 to this one: less than 2g2f, whatever a draw is worth.
    for draw_cp in (-100, 100):
        assert chosen(book, CIRCLE + CYCLE * cycles, 1, draw_cp) == "2g2f"


def test_a_line_of_the_book_that_leads_back_to_its_own_position_draws(tmp_path: Path) -> None:
    moves = {"": "5i5h 60, 2g2f 30", " 5i5h": "5a5b 0", " 5i5h 5a5b": "5h5i 0", " 5i5h 5a5b 5h5i": "5b5a 0"}
    book = write(
        tmp_path / "book.db", {f"startpos moves{line}" if line else "startpos": its for line, its in moves.items()}
    )
    assert chosen(book, "startpos", 3, draw_cp=100) == "5i5h"
    assert chosen(book, "startpos", 3, draw_cp=-100) == "2g2f"


def test_the_other_side_avoids_a_draw_that_is_bad_for_it(tmp_path: Path) -> None:
    book = write(tmp_path / "book.db", {CIRCLE: "5h5i 60, 2g2f 30", f"{CIRCLE} 5h5i": "5b5a 10, 8c8d 0"})
    assert chosen(book, THRICE, 1, draw_cp=100) == "2g2f"  # 8c8d makes 5h5i worth 0
    assert chosen(book, THRICE, 1, draw_cp=-100) == "2g2f"


class Kings:
    """A book of endless king moves, two to four for each position, whose scores are a function of the position."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.look_ups = 0

    def __call__(self, position: Position) -> list[BookMove]:
        self.look_ups += 1
        source = random.Random(f"{self._seed} {position.sfen().rsplit(' ', 1)[0]}")
        moves = source.sample(position.legal_moves, min(len(position.legal_moves), source.randint(0, 3)))
        return [BookMove(move, None, source.randint(-200, 200), 1, 1) for move in moves]


def plain(
    book: Kings, position: Position, moves: list[BookMove], depth: int, draw_cp: int, plies: int = 0
) -> dict[Move, int]:
    """The scores without alpha and beta, `plies` moves into the lines."""
    found: dict[Move, int] = {}
    for move in moves:
        after = position.copy()
        after.push(move.move)
        replies = plain(book, after, book(after), depth - 1, -draw_cp, plies + 1) if depth > 0 else {}
        known = {Repetition.DRAW: draw_cp, Repetition.WIN: -30_000, Repetition.LOSE: 30_000}
        default = -max(replies.values()) if replies else move.score_cp or 0
        found[move.move] = known.get(after.first_recurrence(plies + 1), default)
    return found


def test_the_scores_are_those_of_a_plain_search() -> None:
    position = Position.from_sfen("3k5/9/9/9/9/9/9/9/5K3 b - 1")
    differing = 0
    for seed in range(60):
        book = Kings(seed)
        moves = [BookMove(move, None, 10 * i, 1, 1) for i, move in enumerate(position.legal_moves[:3])]
        for depth in (0, 1, 2, 5):
            found = DrawSearch(book, position, 40).scores(moves, depth)
            assert found == plain(book, position, moves, depth, 40), (seed, depth)
        differing += found != {move.move: move.score_cp for move in moves}
    assert differing > 20


def test_a_wide_book_is_searched_as_deep_as_it_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    position = Position.from_sfen("3k5/9/9/9/9/9/9/9/5K3 b - 1")

    def everything(at: Position) -> list[BookMove]:
        nonlocal look_ups
        look_ups += 1
        return [BookMove(move, None, move.raw % 100, 1, 1) for move in at.legal_moves]

    look_ups = 0
    moves = everything(position)
    deep = DrawSearch(everything, position, 0).scores(moves, 256)
    assert look_ups == 1 + MOST_LOOK_UPS
    monkeypatch.setattr(draws, "MOST_LOOK_UPS", 10_000_000)
    assert deep in [DrawSearch(everything, position, 0).scores(moves, depth) for depth in (2, 3, 4, 5)]
