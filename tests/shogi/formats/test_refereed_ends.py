"""The ends that a referee of engines gives a game, written and read back."""

from collections.abc import Callable
from itertools import product

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


WORDS = ("", "切断", "接続切れ", "二歩", "不戦勝", "不戦敗", "トライ勝ち")


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("termination", Termination)
def test_every_end_comes_back_from_every_format(termination: Termination, suffix: str) -> None:
    for result, plies, word in product(Result, (3, 4), WORDS):
        record = game(termination, result, plies)
        record.ending_word, record.ending_comment = word, "text"
        again = written_and_read(record, suffix)
        assert (again.termination, again.result) == (termination, result), (result, plies, word)
        if (termination, result) != (Termination.NONE, Result.UNKNOWN):
            assert again.ending_comment == "text"
        if termination is Termination.OTHER and word not in ("切断", "二歩"):  # those are words for other ends
            assert again.ending_word == word
        record.illegal_move = "5e5d" if termination is Termination.ILLEGAL_MOVE else "5a5e"
        if termination in (Termination.ILLEGAL_MOVE, Termination.PROTOCOL):
            found = written_and_read(record, suffix)
            assert (found.termination, found.result) == (termination, result), (result, plies, word)
        for other in WRITERS if word in ("", "接続切れ") else ():
            last = written_and_read(again, other)
            assert (last.termination, last.result) == (termination, result), (result, plies, word, other)


def test_other_programs_find_the_right_winner() -> None:
    for plies, result in ((3, Result.BLACK_WIN), (4, Result.WHITE_WIN)):
        winner, loser = ("先手", "後手") if result is Result.BLACK_WIN else ("後手", "先手")
        for termination in FOULS:
            assert f"まで{plies}手で{loser}の反則負け\n" in write_ki2(game(termination, result, plies))
        assert f"まで{plies}手で{winner}の勝ち\n" in write_kif(game(Termination.ADJUDICATION, result, plies))
        assert "%TORYO\n" in write_csa(game(Termination.ADJUDICATION, result, plies))
    other = game(Termination.RESIGN, Result.WHITE_WIN, 3)  # though White is to move
    assert "   4 先手投了\nまで3手で後手の勝ち\n" in write_kif(other)
    assert "%CHUDAN\n'summary:toryo:A_ 1 lose:B win\n" in write_csa(other)


@pytest.mark.parametrize(
    ("end", "termination", "result"),
    [
        ("#RESIGN\n#SENTE_WIN", Termination.RESIGN, Result.BLACK_WIN),
        ("#TIME_UP\n#SENTE_WIN", Termination.TIME_UP, Result.BLACK_WIN),
        ("#DISCONNECT\n#SENTE_WIN", Termination.INTERRUPTED, Result.BLACK_WIN),
        ("#TRY\n#GOTE_WIN", Termination.OTHER, Result.WHITE_WIN),
    ],
)
def test_a_winner_of_81dojo_stays_the_winner(end: str, termination: Termination, result: Result) -> None:
    (record,) = read_records(f"V2.2\nN+a\nN-b\nPI\n+\n+7776FU\nT1\n-3334FU\nT2\n{end}\n".encode(), name="game")
    assert (record.termination, record.result) == (termination, result)
    for suffix in WRITERS:
        again = written_and_read(record, suffix)
        assert (again.termination, again.result) == (termination, result)


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
