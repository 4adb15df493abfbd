"""USI lines: a game a line, the word at its end, limits and errors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi.shogi import START_SFEN, Position
from fukayomi.shogi.formats import read_records, scan_records, write_usi
from fukayomi.shogi.formats.text import MOST_PLIES
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Result,
    Termination,
)


def read(text: str, name: str = "lines.usi") -> Record:
    (record,) = read_records(text.encode(), name=name)
    return record


def test_usi_lines_are_a_game_each() -> None:
    text = (
        "# openings\nstartpos moves 7g7f 3c3d\n\nposition startpos moves 2g2f resign\r\n"
        "sfen 4k4/9/9/9/9/9/9/9/4K4 w G 1 moves 5a5b\nposition startpos\nstartpos moves\n"
    )
    records = list(read_records(text.encode(), name="lines.sfen"))
    assert [record.usi_moves() for record in records] == [["7g7f", "3c3d"], ["2g2f"], ["5a5b"], [], []]
    assert [record.name for record in records] == ["lines.sfen", *(f"lines.sfen#{game}" for game in range(2, 6))]
    assert records[1].result is Result.BLACK_WIN
    assert records[2].usi() == "sfen 4k4/9/9/9/9/9/9/9/4K4 w G 1 moves 5a5b"


def test_the_word_sfen_may_be_missing() -> None:
    text = "4k4/9/9/9/9/9/9/9/4K4 w G 1 moves 5a5b\n4k4/9/9/9/9/9/9/9/4K4 b -\n"
    with_moves, without = read_records(text.encode(), name="positions.sfen")
    assert with_moves.usi() == "sfen 4k4/9/9/9/9/9/9/9/4K4 w G 1 moves 5a5b"
    assert (without.initial_sfen, len(without)) == ("4k4/9/9/9/9/9/9/9/4K4 b - 1", 0)


@pytest.mark.parametrize("number", ["", " 0", " 1"])
def test_the_move_number_may_be_missing_or_zero(number: str) -> None:
    assert read(f"sfen {START_SFEN.removesuffix(' 1')}{number} moves 7g7f\n").initial_sfen == START_SFEN


@pytest.mark.parametrize(
    ("word", "termination", "result"),
    [
        ("resign", Termination.RESIGN, Result.BLACK_WIN),
        ("win", Termination.DECLARATION, Result.WHITE_WIN),
        ("timeout", Termination.TIME_UP, Result.BLACK_WIN),
        ("rep_draw", Termination.REPETITION, Result.DRAW),
        ("jishogi", Termination.IMPASSE, Result.DRAW),
        ("max_moves", Termination.MAX_PLIES, Result.DRAW),
        ("interrupt", Termination.INTERRUPTED, Result.UNKNOWN),
    ],
)
def test_the_word_at_the_end(word: str, termination: Termination, result: Result) -> None:
    record = read(f"startpos moves 7g7f {word}\n")
    assert (len(record), record.termination, record.result) == (1, termination, result)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("startpos moves 7g7f 7g7f", "line 1: ply 2: illegal move '7g7f'"),
        ("startpos moves 7g7f resign 3c3d", "line 1: ply 2: not a move: 'resign'"),
        ("startpos moves 7g7f " + "x" * 1000, f"line 1: ply 2: not a move: '{'x' * 80}'$"),
        ("startpos 7g7f", "line 1: neither 'startpos moves ...' nor 'sfen SFEN moves ...': 'startpos 7g7f'"),
        ("position moves 7g7f", "line 1: neither 'startpos"),
        ("sfen nonsense b - 1", "line 1: the first position is impossible: .*ranks"),
        ("sfen nonsense", "line 1: neither 'startpos"),
    ],
)
def test_errors_name_line_and_ply(line: str, message: str) -> None:
    with pytest.raises(RecordError, match=message) as error:
        read(line + "\nstartpos\n", "bad.usi")
    assert str(error.value).startswith("bad.usi")
    assert isinstance(error.value, IllegalMoveInRecordError) == ("illegal move" in message)


def test_a_bad_line_does_not_hide_the_others() -> None:
    first, error, third = scan_records(b"startpos moves 7g7f\nstartpos moves 7g7e\nstartpos\n", name="lines.sfen")
    assert isinstance(first, Record)
    assert isinstance(third, Record)
    assert isinstance(error, RecordError)
    assert (error.name, error.line) == ("lines.sfen#2", 2)


def test_a_game_of_too_many_plies_is_an_error() -> None:
    cycle = ["2h3h", "8b7b", "3h2h", "7b8b"]
    moves = [cycle[ply % 4] for ply in range(65_535)]
    assert len(read(f"startpos moves {' '.join(moves[:MOST_PLIES])} interrupt\n")) == MOST_PLIES
    for plies in (MOST_PLIES + 1, 65_535):
        error, following = scan_records(
            f"startpos moves {' '.join(moves[:plies])}\nstartpos\n".encode(), name="long.usi"
        )
        assert str(error) == "long.usi, line 1: a game may have at most 10000 plies"
        assert isinstance(following, Record)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_random_games_come_back(data: st.DataObject) -> None:
    position, record = Position(), Record("game")
    for _ in range(data.draw(st.integers(0, 80))):
        if not (moves := position.legal_moves):
            break
        record.moves.append(RecordedMove(data.draw(st.sampled_from(moves))))
        position.push(record.moves[-1].move)
    assert read(write_usi(record), "game") == record


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(["startpos", "sfen", "moves", "position", "7g7f", "\n"]), st.text(max_size=9)))
)
def test_any_words_are_survived(words: list[str]) -> None:
    text = "startpos\nposition " + " ".join(words)
    found = list(scan_records(text.encode(errors="surrogatepass"), name="fuzz"))
    assert all(isinstance(game, Record | RecordError) for game in found)
