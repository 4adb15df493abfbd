"""The text and the clocks of the CSA protocol."""

from itertools import pairwise

import pytest

from fukayomi import BLACK, WHITE, Position, Record, Result, Termination
from fukayomi.clients.clock import with_margin
from fukayomi.clients.csa.clock import CsaClock, CsaTime
from fukayomi.clients.csa.text import (
    CsaProtocolError,
    Echo,
    GameSummary,
    comment,
    csa_text,
    ending,
    ending_lines,
    read_comment,
    read_echo,
    read_move,
    read_summary,
)
from fukayomi.shogi.record import RecordedMove

# As floodgate sends it
FLOODGATE = """\
Protocol_Version:1.2
Protocol_Mode:Server
Format:Shogi 1.0
Declaration:Jishogi 1.1
Game_ID:wdoor+floodgate-300-10F+one+two+20261127150000
Name+:one
Name-:two
Your_Turn:-
Rematch_On_Draw:NO
To_Move:+
Max_Moves:256
BEGIN Time
Time_Unit:1sec
Total_Time:300
Byoyomi:0
Increment:10
Least_Time_Per_Move:0
END Time
BEGIN Position
P1-KY-KE-GI-KI-OU-KI-GI-KE-KY
P2 * -HI *  *  *  *  * -KA *
P3-FU-FU-FU-FU-FU-FU-FU-FU-FU
P4 *  *  *  *  *  *  *  *  *
P5 *  *  *  *  *  *  *  *  *
P6 *  *  *  *  *  *  *  *  *
P7+FU+FU+FU+FU+FU+FU+FU+FU+FU
P8 * +KA *  *  *  *  * +HI *
P9+KY+KE+GI+KI+OU+KI+GI+KE+KY
+
END Position
END Game_Summary"""


def test_floodgates_summary() -> None:
    summary = read_summary(FLOODGATE.splitlines())
    assert summary.game_id == "wdoor+floodgate-300-10F+one+two+20261127150000"
    assert summary.names == {BLACK: "one", WHITE: "two"}
    assert (summary.turn, summary.to_move, summary.max_moves) == (WHITE, BLACK, 256)
    assert summary.times[BLACK] == summary.times[WHITE] == CsaTime(300_000, 0, 10_000)
    assert summary.position().sfen() == Position().sfen()


def test_moves_already_played_times_of_each_side_and_other_units() -> None:
    text = FLOODGATE.replace("+\nEND Position", "P+\nP-\n+\n+2726FU,T12\n-3334FU,T6\nEND Position").replace(
        "BEGIN Time\nTime_Unit:1sec\nTotal_Time:300\nByoyomi:0\nIncrement:10\nLeast_Time_Per_Move:0\nEND Time",
        "BEGIN Time+\nTime_Unit:100msec\nTotal_Time:3000\nByoyomi:10\nDelay:5\nEND Time+\n"
        "BEGIN Time-\nTime_Unit:min\nTotal_Time:15\nLeast_Time_Per_Move:1\nTime_Roundup:YES\nEND Time-",
    )
    summary = read_summary(text.splitlines())
    assert summary.times[BLACK] == CsaTime(300_000, 1000, 0, 500, 100)
    assert summary.times[WHITE] == CsaTime(900_000, unit_ms=60_000, least_units=1, is_rounded_up=True)
    assert [(each.move.usi(), each.time_ms) for each in summary.record.moves] == [("2g2f", 1200), ("3c3d", 360_000)]
    assert summary.position().sfen() == "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/7P1/PPPPPPP1P/1B5R1/LNSGKGSNL b - 3"
    again = read_summary(summary.lines()[1:])
    assert (again.times, again.record.moves, again.turn) == (summary.times, summary.record.moves, WHITE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Your_Turn:-", "Your_Turn:*", "Your_Turn"),
        ("Total_Time:300", "Total_Time:many", "Total_Time:many"),
        ("Total_Time:300", "Total_Time:99999999999", "Total_Time"),
        ("Time_Unit:1sec", "Time_Unit:0sec", "Time_Unit"),
        ("Time_Unit:1sec", "Time_Unit:1hour", "Time_Unit"),
        ("Max_Moves:256", "Max_Moves:-1", "Max_Moves"),
        ("Format:Shogi 1.0", "Format:Go 1.0", "Format"),
        ("P5 *  *", "P5-OU *", "position"),
        ("Game_ID:wdoor", "Game_ID:w door", "Game_ID"),
        ("To_Move:+", "To_Move", "no field"),
        ("\n+\nEND Position", "\n+\n+7775FU,T1\nEND Position", "position"),
    ],
)
def test_wrong_summaries_are_named(old: str, new: str, said: str) -> None:
    assert old in FLOODGATE
    with pytest.raises(CsaProtocolError, match=said):
        read_summary(FLOODGATE.replace(old, new).splitlines())


def test_every_legal_move_is_read_back_and_no_other() -> None:
    position = Position.from_sfen("ln1g5/1r2S1k2/p2pppn2/2ps2p2/1p7/2P6/PPSPPPP2/2G1K4/LN5NL b RBGPbgs3p 1")
    texts = {csa_text(position, move): move for move in position.legal_moves}
    assert len(texts) == len(position.legal_moves)
    for text, move in texts.items():
        assert read_move(text, position) == move
        assert read_move("-" + text[1:], position) is None
    for text in ("", "+", "+7776", "+77766FU", "+0055OU", "+9999FU", "+7776fu", "%TORYO", "＋7776FU"):
        assert read_move(text, position) is None


def test_comments() -> None:
    position = Position.from_usi("startpos moves 7g7f")
    assert comment(position, 30, "3c3d 2g2f") == "'* 30 -3334FU +2726FU"
    assert read_comment("'* 30 -3334FU +2726FU", position) == (30, "3c3d 2g2f")
    assert read_comment("'** -30000", position) == (-30000, "")
    assert read_comment("'* 30 -3334FU +3334FU", position) == (30, "3c3d")
    for text in ("", "'*", "'* x", "'* 123456789", "'hello", "'* 30 7g7f"):
        assert read_comment(text, position) == (None, "")


def test_echoes() -> None:
    assert read_echo("+7776FU,T12") == Echo("+7776FU", 12)
    assert read_echo("%TORYO,T4") == Echo("%TORYO", 4)
    assert read_echo("-3334FU") == Echo("-3334FU", None)
    assert read_echo("+7776FU,Tx") is None


@pytest.mark.parametrize(
    ("termination", "winner"),
    [
        (Termination.RESIGN, Result.WHITE_WIN),
        (Termination.TIME_UP, Result.BLACK_WIN),
        (Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
        (Termination.PROTOCOL, Result.BLACK_WIN),
        (Termination.REPETITION, Result.DRAW),
        (Termination.PERPETUAL_CHECK, Result.BLACK_WIN),
        (Termination.DECLARATION, Result.BLACK_WIN),
        (Termination.IMPASSE, Result.DRAW),
        (Termination.MAX_PLIES, Result.DRAW),
        (Termination.INTERRUPTED, Result.UNKNOWN),
    ],
)
def test_both_sides_read_the_end_that_the_server_means(termination: Termination, winner: Result) -> None:
    for color in (BLACK, WHITE):
        *reason, outcome = ending_lines(termination, winner, color)
        assert ending(reason[0] if reason else "", outcome, color) == (termination, winner)


def test_ends_of_other_servers() -> None:
    assert ending("", "#WIN", BLACK) == (Termination.OTHER, Result.BLACK_WIN)
    assert ending("", "#DRAW", BLACK) == (Termination.DRAW, Result.DRAW)
    assert ending("#CHUDAN", "#CHUDAN", BLACK) == (Termination.INTERRUPTED, Result.UNKNOWN)
    assert ending("#TIME_UP", "#CENSORED", BLACK) == (Termination.TIME_UP, Result.UNKNOWN)


def test_clocks_count_as_servers_do() -> None:
    fischer = CsaClock(CsaTime(300_000, 0, 10_000))
    left = [fischer.limit_ms()]
    for units in (0, 15, 310):
        fischer.charge(units)
        left.append(fischer.limit_ms())
    assert left == [310_000, 320_000, 315_000, 15_000]
    byoyomi = CsaClock(CsaTime(5000, 10_000))
    byoyomi.charge(12)
    assert (byoyomi.main_ms, byoyomi.limit_ms()) == (0, 10_000)
    delayed = CsaClock(CsaTime(60_000, 0, 0, 5000))
    delayed.charge(7)
    assert (delayed.main_ms, delayed.limit_ms()) == (58_000, 63_000)
    unlimited = CsaClock(CsaTime())
    unlimited.charge(10_000)
    assert unlimited.latest_ms() is None


def test_units() -> None:
    assert [CsaTime().units_of(ms) for ms in (0, 999, 1000, 1999.9)] == [0, 0, 1, 1]
    assert [CsaTime(is_rounded_up=True).units_of(ms) for ms in (0, 1, 1000, 1001)] == [0, 1, 1, 2]
    assert [CsaTime(least_units=1).units_of(ms) for ms in (0, 1500, 2500)] == [1, 1, 2]
    assert CsaTime(unit_ms=60_000).units_of(119_000) == 1


def test_clocks_of_game_names() -> None:
    assert CsaTime.of_game("floodgate-600-10F") == CsaTime(600_000, 0, 10_000)
    assert CsaTime.of_game("lan-0-30") == CsaTime(0, 30_000)
    for name in ("", "lan", "lan-0-0", "-10-10F", "lan-10", "lan-1234567-1"):
        assert CsaTime.of_game(name) is None


def test_what_an_engine_is_told_never_exceeds_its_time() -> None:
    for time in (CsaTime(300_000, 0, 10_000), CsaTime(0, 10_000), CsaTime(1000, 2000, 3000, 500), CsaTime(50, 0, 100)):
        for color in (BLACK, WHITE):
            clock = CsaClock(time)
            limit_ms = time.total_ms + time.byoyomi_ms + time.increment_ms + time.delay_ms
            assert clock.limit_ms() == limit_ms
            given: list[int] = []
            for margin_ms in (0, 200, 1000, 100_000):
                go = with_margin(clock.go(color, CsaClock(time)), color, margin_ms)
                main = go.btime_ms if color == BLACK else go.wtime_ms
                more = (go.binc_ms if color == BLACK else go.winc_ms) or go.byoyomi_ms
                given.append((main or 0) + (more or 0))
                assert 0 < given[-1] <= limit_ms
            assert all(more >= less for more, less in pairwise(given))


def test_a_summary_of_another_start_position() -> None:
    sfen = "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
    record = Record(initial_sfen=sfen, moves=[RecordedMove(Position.from_sfen(sfen).legal_moves[0], time_ms=3000)])
    summary = GameSummary("id", {BLACK: "a", WHITE: "b"}, BLACK, dict.fromkeys((BLACK, WHITE), CsaTime(1000)), record)
    summary.to_move = BLACK
    again = read_summary(summary.lines()[1:])
    assert again.record == record
    assert again.to_move == BLACK
