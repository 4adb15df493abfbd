"""Positions: playing and taking back moves, text forms, copies, equality, examples."""

import copy
import doctest
import pickle
import threading

import pytest

import fukayomi.shogi
from fukayomi.shogi import (
    BLACK,
    START_SFEN,
    WHITE,
    IllegalMoveError,
    InvalidMoveError,
    InvalidSfenError,
    Move,
    PieceType,
    Position,
    square_from_usi,
)

OPENING = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"]


def after(moves: list[str]) -> Position:
    pos = Position()
    for move in moves:
        pos.push_usi(move)
    return pos


def test_the_start() -> None:
    pos = Position()
    assert (pos.sfen(), pos.usi(), pos.turn, pos.ply, pos.moves) == (START_SFEN, "startpos", BLACK, 1, [])
    assert pos.hand(BLACK) == pos.hand(WHITE) == {}
    assert pos.legal_move_count == len(pos.legal_moves) == 30
    assert not pos.is_check()
    assert not pos.is_mated()
    assert pos.find_mate_in_one() is None


def test_pieces_hands_and_kings() -> None:
    pos = after(OPENING)
    assert pos.hand(BLACK) == {}
    assert pos.hand(WHITE) == {PieceType.BISHOP: 1}
    bishop = pos.piece_on(square_from_usi("4e"))
    assert bishop is not None
    assert (bishop.color, bishop.type, bishop.sfen()) == (BLACK, PieceType.BISHOP, "B")
    assert pos.piece_on(square_from_usi("5e")) is None
    assert pos.king_square(WHITE) == square_from_usi("5a")
    assert pos.piece_on(square_from_usi("9i")) == Position().piece_on(square_from_usi("1i"))
    assert pos.piece_on(square_from_usi("9i")) != pos.piece_on(square_from_usi("9a"))


def test_types_and_colors() -> None:
    assert BLACK.opponent == WHITE
    assert WHITE.opponent == BLACK
    assert PieceType.HORSE.is_promoted
    assert PieceType.HORSE.unpromoted == PieceType.BISHOP
    assert not PieceType.GOLD.is_promoted
    assert PieceType.KING.unpromoted == PieceType.KING


def test_push_peek_and_pop() -> None:
    pos = after(OPENING)
    assert pos.moves == [Move.from_usi(move) for move in OPENING]
    assert pos.peek().usi() == "B*4e"
    assert (pos.ply, pos.turn) == (6, WHITE)
    assert [pos.pop().usi() for _ in OPENING] == OPENING[::-1]
    assert pos.sfen() == START_SFEN
    with pytest.raises(IndexError):
        pos.pop()
    with pytest.raises(IndexError):
        pos.peek()


@pytest.mark.parametrize(
    ("moves", "move", "reason"),
    [
        ([], "5e5d", "5e is empty"),
        ([], "3c3d", "the piece on 3c is the opponent's"),
        ([], "2h2g", "a piece of the same side is on 2g"),
        ([], "8h2b", "the bishop cannot reach 2b"),
        ([], "7g7f+", "does not touch the promotion zone"),
        ([], "5i5h+", "the king cannot promote"),
        ([], "P*5e", "there is no pawn in hand"),
        (OPENING, "B*2b", "2b is occupied"),
        (["7g7f", "3c3d", "8h3c+"], "1a1b", "the king would be in check"),
        (["2g2f", "8c8d", "2f2e", "8d8e", "2e2d", "2c2d", "2h2d", "8e8f"], "P*5e", "nifu"),
        (["2g2f", "8c8d", "2f2e", "8d8e", "2e2d", "2c2d", "2h2d", "8e8f"], "P*2a", "2a is occupied"),
    ],
)
def test_illegal_moves_say_why_and_change_nothing(moves: list[str], move: str, reason: str) -> None:
    pos = after(moves)
    before = pos.sfen(), pos.key, pos.moves
    with pytest.raises(IllegalMoveError, match=reason) as caught:
        pos.push_usi(move)
    assert f"'{move}'" in str(caught.value)
    assert pos.sfen() in str(caught.value)
    with pytest.raises(IllegalMoveError):
        pos.push(Move.from_usi(move))
    with pytest.raises(IllegalMoveError):
        pos.gives_check(Move.from_usi(move))
    assert (pos.sfen(), pos.key, pos.moves) == before


@pytest.mark.parametrize(
    ("sfen", "move", "reason"),
    [
        ("4k4/P8/9/9/9/9/9/9/4K4 b - 1", "9b9a", "the pawn must promote on 9a"),
        ("4k4/9/N8/9/9/9/9/9/4K4 b - 1", "9c8a", "the knight must promote on 8a"),
        ("4k4/9/9/9/9/9/9/9/4K4 b NP 1", "N*1b", "the knight could never move from 1b"),
        ("4k4/9/9/9/9/9/9/9/4K4 b NP 1", "P*1a", "the pawn could never move from 1a"),
        ("4k4/9/4r4/9/9/9/4G4/9/4K4 b - 1", "5g4g", "the king would be in check"),
        ("4k4/9/4r4/9/9/9/9/9/4K4 b G 1", "G*1a", "the king would be in check"),
        ("4k4/9/5r3/9/9/9/9/9/4K4 b - 1", "5i4i", "the king would be in check"),
    ],
)
def test_more_reasons(sfen: str, move: str, reason: str) -> None:
    with pytest.raises(IllegalMoveError, match=reason):
        Position.from_sfen(sfen).push_usi(move)


def test_push_usi_refuses_what_is_no_move() -> None:
    with pytest.raises(InvalidMoveError, match="'resign'"):
        Position().push_usi("resign")


@pytest.mark.parametrize(
    ("text", "usi", "ply"),
    [
        ("startpos", "startpos", 1),
        ("startpos moves", "startpos", 1),
        ("position startpos moves 7g7f", "startpos moves 7g7f", 2),
        (f" position  sfen {START_SFEN} moves 7g7f", "startpos moves 7g7f", 2),
        ("  startpos   moves  7g7f\t3c3d \n", "startpos moves 7g7f 3c3d", 3),
        (f"sfen {START_SFEN} moves 7g7f", "startpos moves 7g7f", 2),
        ("sfen 4k4/9/9/9/9/9/9/9/4K4 w P 9 moves 5a5b", "sfen 4k4/9/9/9/9/9/9/9/4K4 w P 9 moves 5a5b", 10),
        ("sfen 4k4/9/9/9/9/9/9/9/4K4 w P", "sfen 4k4/9/9/9/9/9/9/9/4K4 w P 1", 1),
    ],
)
def test_usi_position_text(text: str, usi: str, ply: int) -> None:
    pos = Position.from_usi(text)
    assert (pos.usi(), pos.ply) == (usi, ply)


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("", InvalidSfenError, "expected 'startpos' or 'sfen SFEN'"),
        ("moves 7g7f", InvalidSfenError, "expected 'startpos'"),
        ("startpos 7g7f", InvalidSfenError, "'startpos 7g7f'"),
        ("position position startpos", InvalidSfenError, "position startpos'"),
        ("position", InvalidSfenError, "expected 'startpos' or 'sfen SFEN'"),
        ("sfen moves 7g7f", InvalidSfenError, "found 0 fields"),
        ("sfen 9/9 b - 1", InvalidSfenError, "2 ranks"),
        ("startpos moves 7g7f 7g7", InvalidMoveError, "'7g7'"),
        ("startpos moves 7g7f 7g7f", IllegalMoveError, "7g is empty"),
    ],
)
def test_bad_usi_position_text(text: str, error: type[ValueError], reason: str) -> None:
    with pytest.raises(error, match=reason):
        Position.from_usi(text)


def test_equality_is_of_the_position_not_of_its_past() -> None:
    one, other = after(["7g7f", "3c3d", "2g2f"]), after(["2g2f", "3c3d", "7g7f"])
    assert one == other
    assert one.key == other.key
    assert one != after(["7g7f", "3c3d"])
    assert one != Position.from_sfen(one.sfen().replace(" w ", " b "))
    assert one != "startpos"
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize("twin_of", [Position.copy, copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies_are_independent_and_know_the_past(twin_of: object) -> None:
    assert callable(twin_of)
    pos = Position.from_usi("sfen 4k4/9/9/9/9/9/9/9/4K4 b Pp 7 moves 5i5h 5a5b")
    twin = twin_of(pos)
    assert isinstance(twin, Position)
    assert (twin == pos, twin.usi(), twin.start_sfen()) == (True, pos.usi(), pos.start_sfen())
    twin.pop()
    twin.push_usi("P*3c")
    assert pos.peek().usi() == "5a5b"
    assert pos != twin


def test_a_pickled_mate_problem() -> None:
    pos = Position.from_sfen("4k4/9/4P4/9/9/9/9/9/9 b G 1", allow_missing_king=True)
    assert pickle.loads(pickle.dumps(pos)).sfen() == pos.sfen()


def test_texts_for_people() -> None:
    pos = after(OPENING)
    assert repr(pos) == f"Position.from_sfen('{pos.sfen()}')"
    lines = str(pos).splitlines()
    assert lines[0] == "White's hand: B"
    assert lines[2].split() == ["l", "n", "s", "g", "k", "g", ".", "n", "l", "a"]
    assert lines[-1] == "White to move, ply 6"


def test_key_of_the_start_is_the_same_in_every_run() -> None:
    assert Position().key == Position.from_sfen(START_SFEN).key == Position.from_sfen(f"{START_SFEN[:-1]}99").key


def test_perft_lets_other_threads_run() -> None:
    pos, counts = Position(), []
    worker = threading.Thread(target=lambda: counts.append(pos.perft(4)))
    worker.start()
    pos.push_usi("7g7f")  # does not disturb the count, which has a copy
    worker.join()
    assert counts == [719731]


@pytest.mark.parametrize("documented", [fukayomi.shogi, Position])
def test_examples_in_the_docstrings(documented: object) -> None:
    (test,) = (t for t in doctest.DocTestFinder(recurse=False).find(documented, globs=vars(fukayomi.shogi).copy()))
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("of", [Position, Move])
def test_examples_of_methods(of: type) -> None:
    """doctest does not find the methods of native classes by itself."""
    names = {name: getattr(fukayomi.shogi, name) for name in fukayomi.shogi.__all__}
    tried = 0
    for name, member in vars(of).items():
        found = doctest.DocTestParser().get_doctest(member.__doc__ or "", dict(names), name, None, 0)
        results = doctest.DocTestRunner().run(found)
        assert results.failed == 0
        tried += results.attempted
    assert tried >= (8 if of is Position else 0)


def test_a_position_from_text_is_an_sfen_or_the_arguments_of_position() -> None:
    assert Position(START_SFEN) == Position("startpos") == Position(" position startpos") == Position()
    assert Position("startpos moves 7g7f").usi() == "startpos moves 7g7f"
    assert Position(f"sfen {START_SFEN} moves 7g7f").moves == [Move.from_usi("7g7f")]
    with pytest.raises(InvalidSfenError, match="found 1 fields"):
        Position("7g7f")
    with pytest.raises(IllegalMoveError, match="7g7e"):
        Position("startpos moves 7g7e")


def test_moves_may_be_named_in_usi() -> None:
    position = Position()
    position.push("7g7f")
    position.push(Move.from_usi("3c3d"))
    assert position.is_legal("8h2b+")
    assert not position.is_legal("8h2c")
    assert not position.gives_check("8h2b+")
    with pytest.raises(InvalidMoveError, match="seven"):
        position.push("seven")
    with pytest.raises(IllegalMoveError):
        position.push("7g7f")
    assert position.ply == 3


def test_a_game_is_over_by_mate_and_by_the_fourth_occurrence() -> None:
    mated = Position("4k4/4G4/4P4/9/9/9/9/9/4K4 w 2r2b3g4s4n4l17p 1")
    assert mated.is_game_over()
    position = Position()
    for move in ["2h3h", "8b7b", "3h2h", "7b8b"] * 3:
        assert not position.is_game_over()
        position.push(move)
    assert position.is_game_over()
