"""CSA as servers and programs write it that do not keep to the standard."""

import pytest

from fukayomi.shogi.formats import read_record, read_records, scan_records
from fukayomi.shogi.formats.csa.writer import write_csa
from fukayomi.shogi.record import Record, RecordError, Result, Termination

EVEN = "V2.2\nPI\n+\n"
DOJO = """V2
N+taro
N-hanako
To_Move:+
$EVENT:EARTH+nr_taro-600-30+taro+hanako+20200626125026
I+1249,840,x2|81WS
I-*1154,392,x2|ADR
PI
+
'rating:taro:hanako
+7776FU
T6
-3334FU
T27
+6766FU
T4
"""


def read(text: str) -> Record:
    return read_record(text.encode(), name="foreign.csa")


@pytest.mark.parametrize(
    ("end", "termination", "result"),
    [
        ("-0054FU\nT2\n'ILLEGAL_MOVE(-0054FU)\n#ILLEGAL_MOVE\n#SENTE_WIN\n'P1-KY\n", "illegal_move", Result.BLACK_WIN),
        ("-0054FU\n#SENTE_WIN\n", "illegal_move", Result.BLACK_WIN),
        ("#RESIGN\n#SENTE_WIN\n", "resign", Result.BLACK_WIN),
        ("%TORYO\nT3\n#RESIGN\n#SENTE_WIN\n", "resign", Result.BLACK_WIN),
        ("#TIME_UP\n#SENTE_WIN\n", "time_up", Result.BLACK_WIN),
        ("#TIME_UP\n", "time_up", Result.BLACK_WIN),
        ("#SENNICHITE\n#DRAW\n", "repetition", Result.DRAW),
        ("#OUTE_SENNICHITE\n#GOTE_WIN\n", "perpetual_check", Result.WHITE_WIN),
        ("#JISHOGI\n#GOTE_WIN\n", "declaration", Result.WHITE_WIN),
        ("#JISHOGI\n#DRAW\n", "impasse", Result.DRAW),
        ("#DISCONNECT\n#GOTE_WIN\n", "interrupted", Result.WHITE_WIN),
        ("#GOTE_WIN\n", "other", Result.WHITE_WIN),
        ("#WIN\n", "other", Result.UNKNOWN),
        ("#SUSPEND\n", "interrupted", Result.UNKNOWN),
        ("#ABORT\n", "interrupted", Result.UNKNOWN),
        ("#DISCONNECTED\n#GOTE_WIN\n", "interrupted", Result.WHITE_WIN),
        ("#PENDING\n", "other", Result.UNKNOWN),
        ("#PENDING\n#RESIGN\n", "resign", Result.BLACK_WIN),
        ("#PENDING\n%TORYO\n", "resign", Result.BLACK_WIN),
        ("#WIN(DISCONNECT)\n", "other", Result.UNKNOWN),
        ("#time_up\n#sente_win\n", "time_up", Result.BLACK_WIN),
        ("%UNHEARD_OF\n", "other", Result.UNKNOWN),
        ("# a remark\n", "none", Result.UNKNOWN),
    ],
)
def test_what_the_server_says_ends_the_game(end: str, termination: str, result: Result) -> None:
    record = read(DOJO + end)
    assert (record.black_name, record.usi_moves()) == ("taro", ["7g7f", "3c3d", "6g6f"])
    assert [played.time_ms for played in record.moves] == [6000, 27000, 4000]
    assert (record.termination, record.result) == (termination, result)


def test_a_word_for_the_end_that_nobody_listed_stays() -> None:
    for line, word in (("#PENDING", "PENDING"), ("#WIN(DISCONNECT)", "WIN(DISCONNECT)"), ("%UNHEARD_OF", "UNHEARD_OF")):
        record = read(f"{DOJO}{line}\nT5\nsee you\n")
        assert (record.ending_word, record.ending_time_ms, record.ending_comment) == (word, 5000, "see you")
        assert read(write_csa(record)).ending_word == word


def test_a_word_of_the_server_between_moves_ends_nothing() -> None:
    record = read(f"{EVEN}#FLOODGATE\n+7776FU\nT1\n#ANALYSIS\nT5\nfine\n-3334FU\n# a remark\n#remark\n")
    assert (record.usi_moves(), record.termination, record.ending_word) == (["7g7f", "3c3d"], Termination.NONE, "")
    assert (record.moves[0].comment, record.moves[0].time_ms, record.ending_time_ms) == ("fine", 1000, None)


def test_an_illegal_move_without_an_end_is_still_an_error() -> None:
    for end in ("", "#TIME_UP\n", "#GOTE_WIN\n"):
        with pytest.raises(RecordError, match="line 17: ply 4: illegal move '-0054FU'"):
            read(f"{DOJO}-0054FU\n{end}")


def test_a_log_of_the_protocol() -> None:
    board = "BEGIN Position\nPI\n+\n+2726FU,T12\nEND Position\n"
    summary = (
        f"BEGIN Game_Summary\nProtocol_Version:1.2\nName+:alice\nName-:bob\nYour_Turn:-\nTo_Move:-\nBEGIN Time\n"
        f"Time_Unit:1sec\nTotal_Time:600\nEND Time\n{board}END Game_Summary\nSTART:game-1\n"
    )
    record = read(summary + "-3334FU,T3\n%TORYO,T4\n#RESIGN\n#WIN\nLOGOUT:completed\n")
    assert (record.black_name, record.white_name, record.usi_moves()) == ("alice", "bob", ["2g2f", "3c3d"])
    assert [played.time_ms for played in record.moves] == [12000, 3000]
    assert (record.termination, record.result) == (Termination.RESIGN, Result.WHITE_WIN)


@pytest.mark.parametrize(
    "row",
    [" * -HI * * * * * -KA *", "*-HI*****-KA*", "  *  -HI  *  *  *  *  *  -KA  * ", " * -HI *  *  *  *  * -KA * "],
)
def test_a_row_has_nine_squares_whatever_the_blanks(row: str) -> None:
    text = f"P1-KY-KE-GI-KI-OU-KI-GI-KE-KY\nP2{row}\nP3 -FU -FU -FU -FU -FU -FU -FU -FU -FU\nP+59OU\n+\n"
    assert read(text).initial_sfen == "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/9/9/4K4 b - 1"


@pytest.mark.parametrize("time", ["T-2", "T+4", "T", "Ten", "T1:23", "T1.", "T9999999999"])
def test_a_time_that_is_none_is_left_out(time: str) -> None:
    record = read(f"{EVEN}+7776FU\nT3\n-3334FU\n{time}\n+2726FU\nT 1\n%TORYO\n")
    assert [played.time_ms for played in record.moves] == [3000, None, 1000]


def test_blanks_before_statements() -> None:
    record = read("V2.2\nPI\n +\n +7776FU\n\tT2\n　-3334FU\n '** 5\n %TORYO \n")
    assert (record.usi_moves(), record.moves[0].time_ms, record.moves[1].score_cp) == (["7g7f", "3c3d"], 2000, 5)
    assert record.termination is Termination.RESIGN


def test_scores_in_plain_comments_belong_to_the_move_above() -> None:
    record = read(f"{EVEN}'* 7\n+7776FU,'* 30 -3334FU\n-3334FU\n'* -20\n+2726FU\n'* 30 minutes\n%TORYO\n")
    assert [played.score_cp for played in record.moves] == [30, -20, None]
    assert (record.moves[0].pv, record.moves[2].comment) == ("-3334FU", "30 minutes")
    record = read(f"{EVEN}+7776FU\n'** 30\n'* 40\n")
    assert (record.moves[0].score_cp, record.moves[0].comment) == (30, "40")


def test_scores_in_plain_comments_above_the_moves() -> None:
    record = read(f"{EVEN}'* 30\n+7776FU\n'* -20 -3334FU\n-3334FU\n%TORYO\n")
    assert [(played.score_cp, played.pv, played.comment) for played in record.moves] == [
        (30, "", ""),
        (-20, "-3334FU", ""),
    ]
    assert record.comment == ""


def test_text_below_the_end_is_kept() -> None:
    for end in ("後手時間切れ", "まで2手で先手の勝ち", "%TIME_UP", "hello", "P1-KY-KE-GI-KI-OU-KI-GI-KE-KY"):
        record = read(f"{EVEN}+7776FU\n-3334FU\n%TORYO\nT5\n{end}\n")
        assert (record.termination, record.result) == (Termination.RESIGN, Result.WHITE_WIN)
        assert (record.moves[1].comment, record.moves[1].time_ms) == ("", None)
        assert (record.ending_comment, record.ending_time_ms) == (end, 5000)


@pytest.mark.parametrize(
    "text",
    [
        "--------\ngenerated by X", "-- ", "- note", "+1 for Black", "+++", "-123456", "Nice game", "Ten",
        "# end of file", "#hashtag", "V2.2 program", "Very good", "$100 for the winner", "Note: well played", "X-ray",
        "+7776 was good", "T-2", "hello, world", "+a,-b", "Total time 5",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["%TORYO", "%TORYO,T5", "#RESIGN", "#SENTE_WIN"])
def test_text_below_the_end_is_text_whatever_its_first_letter(text: str, end: str) -> None:
    games = list(scan_records(f"{DOJO}{end}\n{text}\nT5\n".encode(), name="a.csa"))
    assert len(games) == 1
    record = games[0]
    assert isinstance(record, Record), record
    assert record.termination is (Termination.OTHER if end == "#SENTE_WIN" else Termination.RESIGN)
    assert (record.usi_moves(), record.headers) == (["7g7f", "3c3d", "6g6f"], read(DOJO).headers)
    assert (record.ending_comment, record.ending_time_ms) == (text.strip(), 5000)


def test_what_is_no_text_below_the_end() -> None:
    record = read(f"{EVEN}+7776FU\n%TORYO\n-\n%TORYO\n#SENTE_WIN\nLOGOUT:completed\n$END_TIME:12:00\nN-bob\n")
    assert (record.ending_comment, record.end_time, record.white_name) == ("", "12:00", "bob")


def test_a_move_below_the_end_is_an_error() -> None:
    for end in ("%TORYO\n", "#RESIGN\n", "#SENTE_WIN\n", "%TORYO\n--------\n"):
        for move in ("-3334FU", "-3334FU ", "-3334FU,T5", "-9999ZZ"):
            with pytest.raises(RecordError, match=f"a move after the end of the game: '{move}'"):
                read(f"{EVEN}+7776FU\n{end}{move}\n")


def test_a_version_line_begins_a_game_without_a_slash() -> None:
    games = [
        f"'CSA\nV2.2\nN+{name}\nPI\n+\n{moves}"
        for name, moves in (
            ("a", "+7776FU\n%TORYO\n'summary:toryo:a win:b lose\n"),
            ("b", "+7776FU\n"),
            ("c", "+7776XX\n-3334FU\n"),
            ("d", "+2726FU\n%TORYO\n/\n"),
            ("e", "+2726FU\n%TORYO\n"),
        )
    ]
    found = list(scan_records("".join(games).encode(), name="games.csa"))
    assert [each.black_name if isinstance(each, Record) else each.line for each in found] == ["a", "b", 20, "d", "e"]
    assert [each.name for each in found] == ["games.csa", *(f"games.csa#{number}" for number in range(2, 6))]


def test_other_text_within_the_game_is_an_error() -> None:
    with pytest.raises(RecordError, match="line 5: no CSA statement: 'hello'"):
        list(read_records(f"{EVEN}+7776FU\nhello\n-3334FU\n%TORYO\n".encode()))
