"""The picture of a book's tree."""

from minmax_games import games_of

from fukayomi.book import MinmaxSettings
from fukayomi.book.minmax.games import GameColumns
from fukayomi.book.minmax.minmax import Solved, reached
from fukayomi.book_growth.tree import BookPicture, draw_tree
from fukayomi.shogi import BLACK, Position


def picture_of(*lines: str, most: int = 60) -> BookPicture:
    columns, settings = GameColumns(), MinmaxSettings(th=1)
    for game in games_of(*lines):
        columns.add(game)
    return draw_tree(Solved(reached(columns, Position(), settings, None), BLACK, settings), most)


def test_the_trunk_is_the_first_row() -> None:
    picture = picture_of("7g7f 3c3d 2g2f: bbbw", "7g7f 8c8d 2g2f: bb", "2g2f 8c8d 2f2e: wwbw")
    trunk = [move for move in picture.moves if move.is_trunk]
    assert [move.usi for move in trunk] == ["", "7g7f", "3c3d", "2g2f"]
    assert [move.japanese for move in trunk] == ["", "☗７六歩", "☖３四歩", "☗２六歩"]
    assert [move.english for move in trunk] == ["", "P-7f", "P-3d", "P-2f"]
    assert [(move.column, move.row) for move in trunk] == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert [move.games for move in trunk] == [10, 6, 4, 4]
    assert [move.win_rate for move in trunk[1:]] == [0.75] * 3
    assert (picture.columns, picture.rows) == (4, 3)


def test_no_two_moves_have_the_same_place_and_parents_are_left_of_their_moves() -> None:
    picture = picture_of(
        "7g7f 3c3d 2g2f: bbbw", "7g7f 8c8d 2g2f: bb", "2g2f 8c8d 7g7f: wwbw", "2g2f 3c3d 7g7f: bw", "5g5f 8c8d: b",
    )  # fmt: skip
    places = [(move.column, move.row) for move in picture.moves]
    assert len(set(places)) == len(places)
    for move in picture.moves[1:]:
        assert move.parent is not None
        parent = picture.moves[move.parent]
        assert parent.column == move.column - 1
        assert parent.row <= move.row < picture.rows


def test_moves_that_are_left_out_are_marked() -> None:
    lines = ["7g7f 3c3d: bbbb", "2g2f 8c8d: bbw", "5g5f 8c8d: bw", "1g1f 8c8d: w"]
    whole, part = picture_of(*lines), picture_of(*lines, most=1)
    assert not any(move.is_open for move in whole.moves)
    assert [move.usi for move in part.moves] == ["", "7g7f", "3c3d", "2g2f"]
    assert [move.is_open for move in part.moves] == [True, False, False, True]


def test_a_circle_ends_where_it_comes_back() -> None:
    back = "2h3h 8b7b 3h2h 7b8b"
    picture = picture_of(f"{back} 2h3h: bbbb")
    assert [move.usi for move in picture.moves] == ["", "2h3h", "8b7b", "3h2h", "7b8b"]
    assert picture.rows == 1
