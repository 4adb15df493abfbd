"""The ends that a referee of engines gives a game, written and read back."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fukayomi.shogi import Move, Position
from fukayomi.shogi.formats import read_records, write_csa, write_jkf, write_ki2, write_kif
from fukayomi.shogi.record import Record, RecordedMove, Result, Termination

FOULS = (Termination.CRASH, Termination.STALL, Termination.PROTOCOL, Termination.PERPETUAL_CHECK)
WRITERS = {"csa": write_csa, "kif": write_kif, "ki2": write_ki2, "jkf": write_jkf}


def game(termination: Termination, result: Result, plies: int = 3) -> Record:
    moves = [RecordedMove(Move.from_usi(move)) for move in ("7g7f", "3c3d", "2g2f", "8c8d")[:plies]]
    return Record(moves=moves, black_name="A: 1", white_name="B", termination=termination, result=result)


def written_and_read(record: Record, suffix: str) -> Record:
    write: Callable[[Record], str] = WRITERS[suffix]
    (again,) = read_records(write(record).encode(), name=f"game.{suffix}")
    assert len(again) == len(record)
    return again


@pytest.mark.parametrize("plies", [0, 3, 4])
@pytest.mark.parametrize("result", [Result.BLACK_WIN, Result.WHITE_WIN])
@pytest.mark.parametrize("termination", FOULS)
def test_csa_tells_all_of_it(termination: Termination, result: Result, plies: int) -> None:
    again = written_and_read(game(termination, result, plies), "csa")
    assert (again.termination, again.result) == (termination, result)


@pytest.mark.parametrize("suffix", ["kif", "ki2", "jkf"])
@pytest.mark.parametrize("plies", [3, 4])
@pytest.mark.parametrize("result", [Result.BLACK_WIN, Result.WHITE_WIN])
@pytest.mark.parametrize("termination", FOULS)
def test_the_others_tell_who_won(termination: Termination, result: Result, plies: int, suffix: str) -> None:
    again = written_and_read(game(termination, result, plies), suffix)
    assert (again.termination, again.result) == (Termination.ILLEGAL_MOVE, result)


@pytest.mark.parametrize(
    ("plies", "result", "elsewhere"),
    [
        (3, Result.BLACK_WIN, Termination.RESIGN),
        (4, Result.WHITE_WIN, Termination.RESIGN),
        (3, Result.DRAW, Termination.DRAW),
        (4, Result.DRAW, Termination.DRAW),
    ],
)
def test_an_adjudication(plies: int, result: Result, elsewhere: Termination) -> None:
    record = game(Termination.ADJUDICATION, result, plies)
    again = written_and_read(record, "csa")
    assert (again.termination, again.result) == (Termination.ADJUDICATION, result)
    for suffix in ("kif", "ki2", "jkf"):
        again = written_and_read(record, suffix)
        assert (again.termination, again.result) == (elsewhere, result)


@pytest.mark.parametrize(
    ("text", "read_back"),
    [
        ("8c8e", "-8385FU"),
        ("8b5e", "-8255HI"),
        ("7c7d+", "-7374TO"),
        ("P*5e", "-0055FU"),
        ("7f7e", "-7675FU"),  # the opponent's pawn
        ("5e5d", ""),
        ("5a5b+", ""),
        ("win", ""),
        ("\x1b[31m\n%TORYO\n", ""),
        ("", ""),
    ],
    ids=ascii,
)
def test_an_illegal_move_of_an_engine(text: str, read_back: str) -> None:
    record = game(Termination.ILLEGAL_MOVE, Result.BLACK_WIN)
    record.illegal_move = text
    again = written_and_read(record, "csa")
    assert (again.termination, again.result) == (Termination.ILLEGAL_MOVE, Result.BLACK_WIN)
    assert again.illegal_move == read_back


@given(st.one_of(st.text(max_size=200), st.from_regex(r"([1-9][a-i]|[PLNSGBRK]\*)[1-9][a-i]\+?", fullmatch=True)))
def test_no_illegal_move_spoils_the_file(text: str) -> None:
    record = game(Termination.ILLEGAL_MOVE, Result.BLACK_WIN)
    try:
        Position.from_usi(record.usi()).push_usi(text)
        return  # a legal one, for once
    except ValueError:
        record.illegal_move = text
    again = written_and_read(record, "csa")
    assert (again.termination, again.result) == (Termination.ILLEGAL_MOVE, Result.BLACK_WIN)
