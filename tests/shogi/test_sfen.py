"""Reading and writing SFEN, and the errors."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import HANDICAPS, MATSURI, random_positions
from rsshogi.core import Board as RsBoard

from fukayomi.shogi import START_SFEN, InvalidSfenError, Position, ShogiError

BOARD = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"
KINGS = "4k4/9/9/9/9/9/9/9/4K4"


@pytest.mark.parametrize("sfen", [START_SFEN, *HANDICAPS.values(), MATSURI])
def test_round_trip(sfen: str) -> None:
    assert Position.from_sfen(sfen).sfen() == sfen


def test_same_text_as_rsshogi_on_random_positions() -> None:
    for pos in itertools.islice(random_positions(seed=6), 0, 20_000, 20):
        sfen = pos.sfen()
        assert RsBoard(sfen).to_sfen() == sfen
        again = Position.from_sfen(sfen)
        assert (again.sfen(), again.key, again.ply, again.turn) == (sfen, pos.key, pos.ply, pos.turn)


@pytest.mark.parametrize(
    ("text", "sfen"),
    [
        (f"{BOARD} b -", f"{BOARD} b - 1"),
        (f"{BOARD} w - 0", f"{BOARD} w - 1"),
        (f"  {BOARD}   w  -  7 \n", f"{BOARD} w - 7"),
        (f"{KINGS} b p2P3s2R 5", f"{KINGS} b 2R2P3sp 5"),
        (f"{KINGS} b PPp 5", f"{KINGS} b 2Pp 5"),
        (f"{KINGS} w 18p 1", f"{KINGS} w 18p 1"),
        ("4k4/9/9/54/9/9/9/9/4K4 b - 1", f"{KINGS} b - 1"),
    ],
)
def test_lenient_reading_strict_writing(text: str, sfen: str) -> None:
    assert Position.from_sfen(text).sfen() == sfen


@pytest.mark.parametrize(
    ("sfen", "reason"),
    [
        ("", "found 0 fields"),
        ("startpos", "found 1 fields"),
        (f"{BOARD} b - 1 2", "found 5 fields"),
        (f"{BOARD}/9 b - 1", "10 ranks"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1 b - 1", "8 ranks"),
        (BOARD.replace("1r5b1", "1r5b2") + " b - 1", "rank 2"),
        (BOARD.replace("1r5b1", "1r5b") + " b - 1", "rank 2"),
        (BOARD.replace("1r5b1", "1x5b1") + " b - 1", "'x' is not a piece in rank 2"),
        (BOARD.replace("1r5b1", "1r5b+") + " b - 1", "no piece after '\\+' in rank 2"),
        (BOARD.replace("1r5b1", "1+g5b1") + " b - 1", "'\\+g' is not a piece in rank 2"),
        (BOARD.replace("1r5b1", "01r5b1") + " b - 1", "'0' empty squares in rank 2"),
        (f"{BOARD} x - 1", "side to move is 'x'"),
        (f"{BOARD} b - -3", "move number '-3'"),
        (f"{BOARD} b - 99999999999999999999", "move number"),
        (f"{BOARD} b - one", "move number 'one'"),
        (f"{KINGS} b 2 1", "no piece after the count"),
        (f"{KINGS} b 0P 1", "count of 0"),
        (f"{KINGS} b K 1", "'K' is not a piece that can be in hand"),
        (f"{KINGS} b +P 1", "'\\+' is not a piece that can be in hand"),
        (f"{KINGS} b 3R 1", "3 pieces of the type rook"),
        (f"{KINGS} b 19P 1", "19 pieces of the type pawn"),
        (f"{KINGS} b 99999999999P 1", "not a piece that can be in hand|pieces of the type pawn"),
        (f"{BOARD} b P 1", "19 pieces of the type pawn"),
        (f"{BOARD} b Rr 1", "4 pieces of the type rook"),
        (KINGS.replace("4k4", "k3k4") + " b - 1", "two kings"),
        ("9/9/9/9/9/9/9/9/4K4 b - 1", "White has no king"),
        ("4k4/9/9/9/9/9/9/9/9 b - 1", "Black has no king"),
        ("4k4/9/9/9/4P4/9/4P4/9/4K4 b - 1", "Black has two pawns on file 5"),
        ("4k4/9/9/9/p8/9/p8/9/4K4 b - 1", "White has two pawns on file 9"),
        ("P3k4/9/9/9/9/9/9/9/4K4 b - 1", "Black's pawn on 9a can never move"),
        ("4k4/9/9/9/9/9/9/9/l3K4 b - 1", "White's lance on 9i can never move"),
        ("4k4/N8/9/9/9/9/9/9/4K4 b - 1", "Black's knight on 9b can never move"),
        ("4k4/4P4/9/9/9/9/9/9/4K4 b - 1", "White's king is attacked"),
        ("4k4/9/9/4r4/9/9/9/9/4K4 w - 1", "Black's king is attacked"),
        ("4k4/4K4/9/9/9/9/9/9/9 b - 1", "White's king is attacked"),
    ],
)
def test_refused(sfen: str, reason: str) -> None:
    with pytest.raises(InvalidSfenError, match=reason) as caught:
        Position.from_sfen(sfen)
    assert isinstance(caught.value, ShogiError)
    assert isinstance(caught.value, ValueError)
    assert repr(sfen.strip())[1:100].rstrip("'") in str(caught.value)


def test_long_texts_are_cut_in_the_message() -> None:
    with pytest.raises(InvalidSfenError) as caught:
        Position.from_sfen("あ" * 100_000)
    assert len(str(caught.value)) < 1_000


def test_lone_surrogates_are_refused_like_any_other_text() -> None:
    with pytest.raises(InvalidSfenError, match="udc80"):
        Position.from_sfen("\udc80")


def test_mate_problems_may_lack_a_king() -> None:
    sfen = "4k4/9/4P4/9/9/9/9/9/9 b G 1"
    pos = Position.from_sfen(sfen, allow_missing_king=True)
    assert pos.sfen() == sfen
    pos.push_usi("G*5b")
    assert pos.is_mated()
    assert Position.from_sfen("9/9/9/9/9/9/9/9/9 w - 1", allow_missing_king=True).legal_move_count == 0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 599), max_size=150))
def test_round_trip_along_any_game(choices: list[int]) -> None:
    pos = Position()
    for choice in choices:
        moves = pos.legal_moves
        if not moves:
            break
        pos.push(moves[choice % len(moves)])
    assert Position.from_sfen(pos.sfen()).sfen() == pos.sfen()
    again = Position.from_usi(pos.usi())
    assert (again.usi(), again.moves, again.key, again.sfen()) == (pos.usi(), pos.moves, pos.key, pos.sfen())
