"""Moves and squares: USI text, the raw 16 bits, equality."""

import pickle

import pytest
from rsshogi.core import AperyMove

from fukayomi.shogi import InvalidMoveError, Move, PieceType, Position, square_from_usi, square_name


def is_a_move(raw: int) -> bool:
    to, source, promotion = raw & 127, raw >> 7 & 127, raw >> 14
    return to < 81 and to != source and source <= 87 and not (source > 80 and promotion) and raw < 1 << 15


def test_every_raw_number_is_a_move_or_refused() -> None:
    for raw in range(1 << 16):
        if is_a_move(raw):
            move = Move.from_raw(raw)
            assert move.raw == raw
            assert Move.from_usi(move.usi()) == move
            continue
        refused = None
        try:
            Move.from_raw(raw)
        except InvalidMoveError as error:
            refused = str(error)
        assert refused is not None
        assert str(raw) in refused


def test_same_text_as_rsshogi() -> None:
    for raw in filter(is_a_move, range(1 << 15)):
        assert AperyMove.from_usi(Move.from_raw(raw).usi()).value == raw


def test_parts_of_a_board_move() -> None:
    move = Move.from_usi("8h2b+")
    assert (move.from_square, move.to_square) == (square_from_usi("8h"), square_from_usi("2b"))
    assert move.is_promotion
    assert not move.is_drop
    assert move.dropped is None
    assert str(move) == move.usi() == "8h2b+"
    assert repr(move) == "Move.from_usi('8h2b+')"


def test_parts_of_a_drop() -> None:
    move = Move.from_usi("G*5b")
    assert move.is_drop
    assert not move.is_promotion
    assert (move.from_square, move.to_square, move.dropped) == (None, square_from_usi("5b"), PieceType.GOLD)


def test_equality_hash_and_pickle() -> None:
    moves = Position().legal_moves
    assert len(set(moves)) == 30
    assert {Move.from_usi("7g7f")} <= set(moves)
    assert Move.from_usi("7g7f") != Move.from_usi("7g7f+")
    assert Move.from_usi("7g7f") != "7g7f"
    assert pickle.loads(pickle.dumps(moves)) == moves


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected a move"),
        ("7g", "expected a move"),
        ("7g7f ", "expected a move"),
        (" 7g7f", "expected a move"),
        ("7g7f++", "expected a move"),
        ("7g7f=", "expected a move"),
        ("7g7j", "'7j' is not a square"),
        ("0g7f", "'0g' is not a square"),
        ("7G7F", "'7G' is not a square"),
        ("7g7g", "same square"),
        ("p*5e", "'p' is not a piece that can be dropped"),
        ("K*5e", "'K' is not a piece that can be dropped"),
        ("X*5e", "'X' is not a piece that can be dropped"),
        (" *5e", "' ' is not a piece that can be dropped"),
        ("P*", "'' is not a square"),
        ("P*5", "'5' is not a square"),
        ("P*5e+", "'5e\\+' is not a square"),
        ("none", "is not a square"),
        ("resign", "expected a move"),
        ("７ｇ７ｆ", "expected a move"),
        ("7g7\0", "is not a square"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidMoveError, match=reason) as caught:
        Move.from_usi(text)
    assert text.replace("\0", "\\x00") in str(caught.value)


def test_squares() -> None:
    assert [square_name(s) for s in (0, 8, 9, 80)] == ["1a", "1i", "2a", "9i"]
    assert all(square_from_usi(square_name(s)) == s for s in range(81))


@pytest.mark.parametrize("square", [-1, 81, 1 << 20])
def test_no_such_square(square: int) -> None:
    with pytest.raises(ValueError, match=str(square)):
        square_name(square)
    with pytest.raises(ValueError, match=str(square)):
        Position().piece_on(square)


@pytest.mark.parametrize("text", ["", "7", "7j", "77", "7gg", "あ"])
def test_no_such_square_name(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}'"):
        square_from_usi(text)
