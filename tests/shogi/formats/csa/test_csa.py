"""CSA records: the dialects, the endings, and errors that name the place."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import RECORDS

from fukayomi.shogi.formats import read_records, scan_records, write_csa
from fukayomi.shogi.formats.text import MOST_PLIES
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordError,
    Result,
    Termination,
)

EVEN = "V2.2\nN+alice\nN-bob\nPI\n+\n"


def read(text: str, name: str = "game.csa") -> Record:
    (record,) = read_records(text.encode(), name=name)
    return record


def test_floodgate_game_is_read_whole() -> None:
    (record,) = read_records(RECORDS / "resign.csa")
    assert record.black_name == "kp2019_n10000"
    assert record.white_name == "petite_n5000"
    assert (record.black_rating, record.white_rating) == (3746.0, 3473.9)
    assert record.event.startswith("wdoor+floodgate-nodes+")
    assert record.start_time.startswith("2026/01/01")
    assert record.end_time.startswith("2026/01/01")
    assert record.headers == {"MAX_MOVES": "320"}
    assert len(record) == 58
    assert record.termination is Termination.RESIGN
    assert record.result is Result.WHITE_WIN
    assert record.summary == "toryo:kp2019_n10000 lose:petite_n5000 win"
    assert all(played.time_ms == 0 for played in record.moves)
    text = (RECORDS / "resign.csa").read_text()
    assert [played.score_cp for played in record.moves if played.score_cp is not None] == [
        int(score) for score in re.findall(r"^'\*\* (-?\d+)", text, re.MULTILINE)
    ]


@pytest.mark.parametrize(
    ("name", "plies", "termination", "result"),
    [
        ("repetition.csa", 35, Termination.REPETITION, Result.DRAW),
        ("declaration.csa", 194, Termination.DECLARATION, Result.BLACK_WIN),
        ("max-plies.csa", 320, Termination.MAX_PLIES, Result.DRAW),
    ],
)
def test_sample_endings(name: str, plies: int, termination: Termination, result: Result) -> None:
    (record,) = read_records(RECORDS / name)
    assert (len(record), record.termination, record.result) == (plies, termination, result)


@pytest.mark.parametrize(
    ("word", "termination", "result"),
    [
        ("TORYO", Termination.RESIGN, Result.WHITE_WIN),
        ("KACHI", Termination.DECLARATION, Result.BLACK_WIN),
        ("TIME_UP", Termination.TIME_UP, Result.WHITE_WIN),
        ("ILLEGAL_MOVE", Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
        ("+ILLEGAL_ACTION", Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
        ("-ILLEGAL_ACTION", Termination.ILLEGAL_MOVE, Result.BLACK_WIN),
        ("SENNICHITE", Termination.REPETITION, Result.DRAW),
        ("JISHOGI", Termination.IMPASSE, Result.DRAW),
        ("HIKIWAKE", Termination.DRAW, Result.DRAW),
        ("MAX_MOVES", Termination.MAX_PLIES, Result.DRAW),
        ("TSUMI", Termination.MATE, Result.WHITE_WIN),
        ("FUZUMI", Termination.NO_MATE, Result.UNKNOWN),
        ("CHUDAN", Termination.INTERRUPTED, Result.UNKNOWN),
        ("MATTA", Termination.TAKEN_BACK, Result.UNKNOWN),
        ("ERROR", Termination.ERROR, Result.UNKNOWN),
        ("SOMETHING_NEW", Termination.OTHER, Result.UNKNOWN),
    ],
)
def test_every_ending_seen_by_black_to_move(word: str, termination: Termination, result: Result) -> None:
    record = read(f"{EVEN}+7776FU\n-3334FU\n%{word}\n")
    assert (record.termination, record.result) == (termination, result)
    record = read(write_csa(record))
    if termination is not Termination.OTHER:
        assert (record.termination, record.result) == (termination, result)


def test_the_side_to_move_decides_who_resigned() -> None:
    assert read(f"{EVEN}+7776FU\n%TORYO\n").result is Result.BLACK_WIN


def test_comments_belong_to_the_move_above() -> None:
    record = read(
        f"{EVEN}'* before\n+7776FU\nT3\n'** 12 -3334FU +2726FU\n'* first\n'* second\n'ignored\n"
        "-3334FU\n'** -30000\n%TORYO\n"
    )
    first, second = record.moves
    assert record.comment == "before"
    assert (first.score_cp, first.pv, first.comment, first.time_ms) == (12, "-3334FU +2726FU", "first\nsecond", 3000)
    assert (second.score_cp, second.pv, second.comment, second.time_ms) == (-30000, "", "", None)


def test_a_score_that_is_no_number_stays_a_comment() -> None:
    (played,) = read(f"{EVEN}+7776FU\n'** unclear +2726FU\n%CHUDAN\n").moves
    assert (played.score_cp, played.comment) == (None, "unclear +2726FU")


def test_version_3_has_fractional_times_and_its_own_headers() -> None:
    record = read(
        "'CSA encoding=UTF-8\nV3.0\nN+先手太郎\nN-後手花子\n$EVENT:試し\n$TIME:900+5+10\n$MAX_MOVES:256\n$JISHOGI:27\n"
        "$NOTE:one\\ntwo\nPI\n+\n+7776FU\nT1.5\n-3334FU\nT0.123\n%CHUDAN\n"
    )
    assert record.black_name == "先手太郎"
    assert record.time_limit == "900+5+10"
    assert record.headers == {"MAX_MOVES": "256", "JISHOGI": "27"}
    assert record.comment == "one\ntwo"
    assert [played.time_ms for played in record.moves] == [1500, 123]


def test_statements_may_be_joined_by_commas() -> None:
    record = read("PI\n+\n+7776FU,T12,'** 30 -3334FU, +2726FU\n-3334FU,T3,%CHUDAN\n")
    assert record.usi_moves() == ["7g7f", "3c3d"]
    assert [played.time_ms for played in record.moves] == [12000, 3000]
    assert record.moves[0].pv == "-3334FU, +2726FU"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "euc_jp"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encodings_and_line_ends(encoding: str, newline: str) -> None:
    text = "V2.2\nN+羽生善治\nN-谷川浩司\nPI\n+\n+7776FU\n%TORYO\n".replace("\n", newline)
    (record,) = read_records(text.encode(encoding))
    assert (record.black_name, record.white_name, record.usi_moves()) == ("羽生善治", "谷川浩司", ["7g7f"])


def test_boards_are_set_up_in_three_ways() -> None:
    handicap = read("PI82HI22KA\n-\n-5142OU\n+7776FU\n%CHUDAN\n")
    assert handicap.initial_sfen == "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
    problem = read("P-51OU\nP+53FU00KI59OU\nP-00AL\n+\n+0052KI\n%TSUMI\n")
    assert problem.initial_sfen == "4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1"
    assert problem.result is Result.BLACK_WIN
    rows = read(
        "P1-KY-KE-GI-KI-OU-KI-GI-KE-KY\nP2 * -HI *  *  *  *  * -KA * \nP3-FU-FU-FU-FU-FU-FU-FU-FU-FU\n"
        "P4 *  *  *  *  *  *  *  *  * \nP5 *  *  *  *  *  *  *  *  * \nP6 *  *  *  *  *  *  *  *  * \n"
        "P7+FU+FU+FU+FU+FU+FU+FU+FU+FU\nP8 * +KA *  *  *  *  * +HI *\nP9+KY+KE+GI+KI+OU+KI+GI+KE+KY\n+\n"
        "+7776FU\n%CHUDAN\n"
    )
    assert rows.initial_sfen.endswith("/LNSGKGSNL b - 1")
    assert rows.usi_moves() == ["7g7f"]
    for record in (handicap, problem, rows):
        again = read(write_csa(record))
        assert (again.initial_sfen, again.usi_moves()) == (record.initial_sfen, record.usi_moves())


def test_several_games_in_a_file_go_on_after_a_damaged_one() -> None:
    good = f"{EVEN}+7776FU\n%TORYO\n"
    bad = f"{EVEN}+7776FU\n-3335FU\n%TORYO\n"
    first, error, third = scan_records(f"{good}/\n{bad}/\n{good}/\n".encode(), name="many.csa")
    assert isinstance(first, Record)
    assert isinstance(error, IllegalMoveInRecordError)
    assert isinstance(third, Record)
    assert (first.name, error.name, third.name) == ("many.csa", "many.csa#2", "many.csa#3")
    assert error.line == 15
    with pytest.raises(RecordError, match=r"many\.csa#2, line 15: ply 2: illegal move '-3335FU'"):
        list(read_records(f"{good}/\n{bad}/\n{good}".encode(), name="many.csa"))


def test_an_illegal_move_may_end_a_game() -> None:
    record = read(f"{EVEN}+7776FU\n-3334FU\n+8822KA\n-3122GI\n+0077FU\nT1\n%ILLEGAL_MOVE\n")
    assert record.usi_moves() == ["7g7f", "3c3d", "8h2b", "3a2b"]
    assert record.illegal_move == "+0077FU"
    assert record.result is Result.WHITE_WIN
    again = read(write_csa(record))
    assert (again.illegal_move, again.result, len(again)) == ("+0077FU", Result.WHITE_WIN, 4)


def test_the_summary_tells_what_the_statements_do_not() -> None:
    moves = f"{EVEN}+7776FU\n-3334FU\n"
    perpetual = read(f"{moves}%SENNICHITE\n'summary:oute_sennichite:alice lose:bob win\n")
    assert (perpetual.termination, perpetual.result) == (Termination.PERPETUAL_CHECK, Result.WHITE_WIN)
    lost_on_time = read(f"{moves}'summary:time up:alice win:bob lose\n")
    assert (lost_on_time.termination, lost_on_time.result) == (Termination.TIME_UP, Result.BLACK_WIN)
    broken_off = read(f"{moves}'summary:abnormal:alice win:bob lose\n")
    assert (broken_off.termination, broken_off.result) == (Termination.INTERRUPTED, Result.UNKNOWN)
    assert read(moves).termination is Termination.NONE
    again = read(write_csa(perpetual))
    assert (again.termination, again.result) == (Termination.PERPETUAL_CHECK, Result.WHITE_WIN)


BLACK, WHITE, DRAW, NOBODY = Result.BLACK_WIN, Result.WHITE_WIN, Result.DRAW, Result.UNKNOWN


@pytest.mark.parametrize("plies", [2, 3])
@pytest.mark.parametrize(
    ("statement", "word", "termination", "drawn"),
    [
        ("%TORYO\n", "toryo", Termination.RESIGN, False),
        ("%TORYO\n", "abnormal", Termination.INTERRUPTED, False),
        ("", "time up", Termination.TIME_UP, False),
        ("%KACHI\nT1\n%KACHI\n", "kachi", Termination.DECLARATION, False),
        ("%KACHI\nT1\n%KACHI\n", "illegal kachi", Termination.ILLEGAL_MOVE, False),
        ("'ILLEGAL_MOVE(-9988FU)\n", "illegal move", Termination.ILLEGAL_MOVE, False),
        ("'ILLEGAL_MOVE(+0055FU)\n", "uchifuzume", Termination.ILLEGAL_MOVE, False),
        ("'ILLEGAL_MOVE(+7655FU)\n", "oute_kaihimore", Termination.ILLEGAL_MOVE, False),
        ("", "outori", Termination.ILLEGAL_MOVE, False),
        ("", "oute_sennichite", Termination.PERPETUAL_CHECK, False),
        ("", "sennichite", Termination.REPETITION, True),
        ("", "max_moves", Termination.MAX_PLIES, True),
    ],
)
def test_every_summary_of_shogi_server(
    statement: str, word: str, termination: Termination, drawn: bool, plies: int
) -> None:
    """The server's own notes on the end, whoever is to move and whoever won."""
    moves = f"{EVEN}+7776FU\nT1\n-3334FU\nT1\n" + "+2726FU\nT1\n" * (plies == 3)
    for black, white, result in [("draw", "draw", DRAW)] if drawn else [("win", "lose", BLACK), ("lose", "win", WHITE)]:
        text = f"{moves}{statement}'P1 * \n'summary:{word}:alice {black}:bob {white}\n'$END_TIME:2026/01/03 21:37:56\n"
        record = read(text)
        winner = NOBODY if termination is Termination.INTERRUPTED else result
        assert (len(record), record.termination, record.result) == (plies, termination, winner)
        again = read(write_csa(record))
        assert (again.termination, again.result, again.summary) == (termination, winner, record.summary)


def test_a_declaration_that_was_wrong_loses() -> None:
    """White is to move after one ply, and declares; the summary may lack the results."""
    for summary in ("illegal kachi:a win:b lose", "illegal kachi"):
        record = read(f"{EVEN}+7776FU\n%KACHI\n'summary:{summary}\n")
        assert (record.termination, record.result) == (Termination.ILLEGAL_MOVE, Result.BLACK_WIN)


def test_a_summary_of_another_kind_changes_nothing() -> None:
    record = read(f"{EVEN}+7776FU\n%TORYO\n'summary:something new:a lose:b win\n")
    assert (record.termination, record.result) == (Termination.RESIGN, Result.BLACK_WIN)


@pytest.mark.parametrize(
    ("limit", "version", "line", "read_back"),
    [
        ("00:15+60", "V2.2", "$TIME_LIMIT:00:15+60", "00:15+60"),
        ("900+60+0", "V2.2", "$TIME_LIMIT:00:15+60", "00:15+60"),
        ("15分+60秒", "V2.2", "$TIME_LIMIT:00:15+60", "00:15+60"),
        ("900+5+10", "V3.0", "$TIME:900+5+10", "900+5+10"),
        ("各40分(チェスクロック)", "V2.2", "$持ち時間:各40分(チェスクロック)", "各40分(チェスクロック)"),
    ],
)
def test_the_time_limit_is_written_as_the_version_says(limit: str, version: str, line: str, read_back: str) -> None:
    record = read(f"{EVEN}+7776FU\n%TORYO\n")
    record.time_limit = limit
    lines = write_csa(record).splitlines()
    assert version in lines[:2]
    assert line in lines
    assert ("'CSA encoding=UTF-8" in lines) == (version == "V3.0")
    assert read(write_csa(record)).time_limit == read_back


def test_other_headers_and_blank_lines_of_comments_are_kept() -> None:
    record = read(f"{EVEN}+7776FU\n%TORYO\n")
    record.headers = {"備考": "試し", "MAX_MOVES": "256"}
    record.opening = "矢倉"
    record.comment = record.moves[0].comment = "\none\n\ntwo\n"
    assert read(write_csa(record)) == record


def test_no_field_adds_a_line() -> None:
    record = read(f"{EVEN}+7776FU\n%TORYO\n")
    evil = "x\n-3334FU\r%TORYO"
    record.black_name = record.event = record.opening = record.time_limit = record.summary = evil
    record.headers = {evil: evil}
    record.black_rating = 1.0
    record.moves[0].score_cp, record.moves[0].pv = 1, evil
    again = read(write_csa(record))
    assert (len(again), again.black_name) == (1, "x -3334FU %TORYO")


def test_a_game_of_too_many_plies_is_an_error() -> None:
    cycle = ["+2838HI", "-8272HI", "+3828HI", "-7282HI"]
    text = EVEN + "".join(f"{cycle[ply % 4]}\n" for ply in range(MOST_PLIES))
    assert len(read(text)) == MOST_PLIES
    after = f"{text}+2838HI\n/\n{EVEN}+7776FU\n%TORYO\n"
    error, following = scan_records(after.encode(), name="long.csa")
    assert str(error) == "long.csa, line 10006: a game may have at most 10000 plies: '+2838HI'"
    assert isinstance(following, Record)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{EVEN}+7776F\n", r"line 6: ply 1: not a move: '\+7776F'"),
        (f"{EVEN}+7776XX\n", r"line 6: ply 1: not a move: '\+7776XX'"),
        (f"{EVEN}+7706FU\n", r"line 6: ply 1: '06' is not a square"),
        (f"{EVEN}+0055TO\n", r"line 6: ply 1: TO cannot be dropped"),
        (f"{EVEN}+7776KI\n", r"line 6: ply 1: illegal move '\+7776KI' \(\+FU stands there, no \+KI\)"),
        (f"{EVEN}+5554FU\n", r"line 6: ply 1: illegal move '\+5554FU' \(nothing stands there"),
        (f"{EVEN}+3334FU\n", r"line 6: ply 1: illegal move '\+3334FU'"),
        (f"{EVEN}+7776FU\n+2726FU\n", r"line 7: it is the turn of '-'.*'\+2726FU'"),
        (f"{EVEN}+7776FU\n%TORYO\n-3334FU\n", "line 8: a move after the end"),
        (f"{EVEN}hello\n", "line 6: no CSA statement: 'hello'"),
        ("PI\nP1-XX\n+\n", "line 2: '-XX' is neither a piece"),
        ("PI55FU\n+\n", "line 1: there is no FU on 55"),
        ("PI\nPX\n", "no such way to set up a board"),
        ("PI\nP+00FU\n+\n+7776FU\n", "the first position is impossible"),
        ("", "empty: it holds no game"),
        ("\n\n", "empty: it holds no game"),
        ("'* nothing\n", "the file has no game"),
        ("just some text\n", "neither CSA, KIF, KI2, JKF nor USI lines: it begins 'just some text'"),
    ],
)
def test_errors_name_file_line_and_text(text: str, message: str) -> None:
    with pytest.raises(RecordError, match=message) as error:
        list(read_records(text.encode(), name="bad.csa"))
    assert str(error.value).startswith("bad.csa")


def test_no_text_at_all() -> None:
    with pytest.raises(RecordError, match="zero byte at offset 2"):
        list(read_records(b"PI\0\1", name="bad.csa"))
    with pytest.raises(RecordError, match="neither UTF-8"):
        list(read_records(b"PI\n\x81\x20\xff\xfd\xff", name="bad.csa"))


def test_writing_and_reading_again_changes_nothing() -> None:
    for path in sorted(RECORDS.glob("*.csa")):
        (record,) = read_records(path, name="same")
        (again,) = read_records(write_csa(record).encode(), name="same")
        assert again == record


SAMPLE_BYTES = (RECORDS / "resign.csa").read_bytes()


@settings(max_examples=75, deadline=None)
@given(st.integers(0, len(SAMPLE_BYTES)), st.binary(max_size=8), st.integers(0, 40))
def test_damage_gives_a_shorter_game_or_a_named_error(at: int, junk: bytes, removed: int) -> None:
    damaged = SAMPLE_BYTES[:at] + junk + SAMPLE_BYTES[at + removed :]
    for found in scan_records(damaged, name="damaged.csa"):
        if isinstance(found, RecordError):
            assert str(found).startswith("damaged.csa")
        else:
            for position, played in found.replay():
                assert position.is_legal(played.move)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_survived(data: bytes) -> None:
    assert all(isinstance(found, Record | RecordError) for found in scan_records(b"PI\n+\n" + data, name="fuzz"))
    assert all(isinstance(found, Record | RecordError) for found in scan_records(data, name="fuzz"))
