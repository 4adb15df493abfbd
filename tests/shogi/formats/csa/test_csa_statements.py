"""CSA statements in any order: read, or refused with line and reason. Also run under the sanitizers."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import RECORDS

from fukayomi import _native
from fukayomi.shogi import Position, ShogiError
from fukayomi.shogi.formats import read_records, scan_records, write_csa
from fukayomi.shogi.record import Record, RecordError, Result, Termination

EVEN = "V2.2\nN+alice\nN-bob\nPI\n+\n"
SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace() and chr(code) != "\n"]
STATEMENTS = [
    *("V2.2", "V", "N+\u3000名人\u3000", "N-", "N", "NX", "$EVENT:x", "$:", "$", "$NOTE:a\\nb\\", "$TIME:1+2"),
    *("PI", "PI82HI22KA", "PI55FU", "P+00FU", "P-00AL", "P-51OU", "P+59OU53FU", "P+00OU", "P+ああFU", "P+ああ"),
    *("P", "PX", "P1-KY-KE-GI-KI-OU-KI-GI-KE-KY", "P5 *  * +FU * ", "P5あいう", "P9" + " * " * 9 + " x"),
    *("+", "-", "+ ", "- x", "+7776FU", "-3334FU", "+2726FU", "-8384FU"),
    *("+8822UM", "-3122GI", "+0055KA", "+0055TO", "+2828RY", "+7706FU"),
    *("+あ776FU", "+77あ6FU", "+7776あ", "+7776FU\u3000", "+7776FU,T12,'** 30 -3334FU, +2726FU", "+7776FU,,"),
    *("T", "T5.25", "T5.", "T12345678901", "T999999999.9999", "T1\u2003", "T１"),
    *("%TORYO", "%KACHI", "%ILLEGAL_MOVE", "%+ILLEGAL_ACTION", "%SENNICHITE", "%", "% ", "%千日手"),
    *("'** 12 +7776FU", "'** -999999999", "'** 1234567890", "'** 5x", "'**", "'* 一手", "'*", "'"),
    *("'v=0.5,10,7776FU,3", "'black_rate:a:b:3000", "'white_rate:3000", "'white_rate:x: +12.5 ", "'black_rate:x:1e5"),
    *("'black_rate:x:" + "9" * 400, "'summary:toryo:a win:b lose", "'summary:crash:a win:b lose"),
    *("'summary:", "'$END_TIME:2020", "'Max_Moves: 256"),
    *("/", "/ ", "//", "", "\r", "\u3000", "hello", ",", "\x1f", "\x00", "\ufeff", "𠮷" * 90),
]  # fmt: skip
ANY_STATEMENTS = st.lists(st.one_of(st.sampled_from(STATEMENTS), st.text(max_size=12)), max_size=30)


def check(text: str) -> None:
    """Every game of the text is one that the rules allow, and can be written and read again; or an error names it."""
    for found in scan_records(text.encode(), name="fuzz"):
        assert found.name.startswith("fuzz")
        if isinstance(found, RecordError):
            assert found.line is None or 1 <= found.line <= text.count("\n") + 1
            assert len(found.reason) < 2_000
            continue
        assert len(found) == len(list(found.moves))
        for position, played in found.replay():
            assert position.is_legal(played.move)
        if found.initial_sfen == Position().sfen():
            (again,) = read_records(write_csa(found).encode())
            assert again.usi_moves() == found.usi_moves()


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(["", EVEN, f"{EVEN}+7776FU\n-3334FU\n"]), ANY_STATEMENTS, st.sampled_from(["\n", "\r\n"]))
def test_statements_in_any_order(head: str, statements: list[str], newline: str) -> None:
    check(head + newline.join(statements))


@pytest.mark.soak
@settings(max_examples=30_000, deadline=None)
@given(st.sampled_from(["", EVEN, f"{EVEN}+7776FU\n-3334FU\n"]), ANY_STATEMENTS, st.sampled_from(["\n", "\r\n"]))
def test_statements_in_any_order_at_length(head: str, statements: list[str], newline: str) -> None:
    check(head + newline.join(statements))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(["7776FU", "2726FU", "0055FU", "3334FU", "800", "9m", "", "x", "1" * 20, "あ"]), max_size=9
    )
)
def test_visits_of_any_kind(fields: list[str]) -> None:
    position = Position()
    try:
        candidates = _native.read_csa_visits(",".join(fields), position)
    except ShogiError:
        return
    assert all(position.is_legal(move) for move, _ in candidates)
    assert sum(visits for _, visits in candidates) == sum(int(visits.rstrip("mFU")) for visits in fields[1::2])


def test_a_game_cut_at_any_byte() -> None:
    data = (RECORDS / "resign.csa").read_bytes()
    lengths: list[int] = []
    for end in range(0, len(data), 7):
        lengths += [len(found) for found in scan_records(data[:end], name="cut") if isinstance(found, Record)]
    assert lengths == sorted(lengths)
    assert lengths[-1] == 58


def test_white_space_is_what_python_takes_for_it() -> None:
    assert len(SPACES) > 25
    for space in SPACES:
        text = (
            f"N+{space}a{space}b{space}\nPI\n+{space}\n{space}\n+7776FU{space}\nT7{space}\n'** 5{space}-3334FU{space}\n"
        )
        text += f"'*{space}note{space}\n%{space}TORYO{space}\n'summary:{space}toryo:a win:b lose{space}\n"
        (record,) = read_records(text.encode())
        assert (record.black_name, record.termination) == (f"a{space}b".strip(), Termination.RESIGN), ascii(space)
        assert record.summary == "toryo:a win:b lose"
        (played,) = record.moves
        assert (played.time_ms, played.score_cp, played.pv, played.comment) == (7000, 5, "-3334FU", "note")


def test_digits_are_those_of_ascii() -> None:
    (played,) = next(read_records(f"{EVEN}+7776FU\n'** １２\n".encode())).moves
    assert (played.score_cp, played.comment) == (None, "１２")
    (played,) = next(read_records(f"{EVEN}+7776FU\nT１２\n".encode())).moves
    assert played.time_ms is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{EVEN}+あ776FU\n", "line 6: ply 1: 'あ7' is not a square: '\\+あ776FU'"),
        (f"{EVEN}+7776FU\n-3334あ\n", "line 7: ply 2: not a move: '-3334あ'"),
        (f"{EVEN}+7777FU\n", "line 6: ply 1: invalid USI move '7g7g': it starts and ends on the same square"),
        (f"{EVEN}+2828RY\n", "line 6: ply 1: invalid USI move '2h2h\\+': it starts and ends on the same square"),
        (f"{EVEN}+7776FU\n+\n", "line 7: a line for the side to move after the first move: '\\+'"),
        (f"{EVEN}+7776FU\nPI\n", "line 7: the board is set up after the first move: 'PI'"),
        (f"{EVEN}+8822UM\n-3334FU\n", "line 6: ply 1: illegal move '\\+8822UM' \\(illegal move '8h2b\\+' in "),
        (f"{EVEN}+8822UM\n%TORYO\n", "line 6: ply 1: illegal move '\\+8822UM'"),
        ("P+77\n+\n", "line 1: '77' is no list of squares and pieces: 'P\\+77'"),
        ("P+0077\n", "line 1: '77' is not a piece for a hand: 'P\\+0077'"),
        ("P+5577\n", "line 1: '77' is not a piece: 'P\\+5577'"),
        (f"P2{' * ' * 9} x\n", "line 1: a row has more than nine squares"),
        (f"PI\n+\n{'𠮷' * 90}\n", f"line 3: no CSA statement: '{'𠮷' * 80}'$"),
        ("P+59OU\nP-51OU\n+\n%TORYO\n/\nP+59OU\n+\n\n", None),
        ("P+59OU59OU\n+\n+5958OU\n", None),
        ("P+58OU59OU\n-\n\n", "line 4: the first position is impossible \\(.*a side has two kings\\): '9/"),
    ],
    ids=lambda value: ascii(value)[:40] if value else "fine",
)
def test_what_is_wrong_is_said(text: str, message: str | None) -> None:
    if message is None:
        assert list(read_records(text.encode(), name="bad.csa"))
        return
    with pytest.raises(RecordError, match=message):
        list(read_records(text.encode(), name="bad.csa"))


def test_an_error_at_the_end_of_a_game_spares_the_next() -> None:
    good = f"{EVEN}+7776FU\n%TORYO\n"
    illegal = f"{EVEN}+7775FU\n"  # known to be an error only where the game ends without a word
    first, error, last = scan_records(f"{good}/\n{illegal}/\n{good}".encode(), name="many.csa")
    assert isinstance(first, Record)
    assert isinstance(error, RecordError)
    assert (error.name, error.line) == ("many.csa#2", 14)
    assert isinstance(last, Record)
    assert last.result is Result.BLACK_WIN


def test_one_reader_for_several_threads_gives_every_game_once() -> None:
    games = 400
    reader = _native.CsaReader("/\n".join(f"N+{number}\n{EVEN[5:]}+7776FU\n%TORYO\n" for number in range(games)))

    def take(_: int) -> list[int]:
        numbers: list[int] = []
        while (game := reader.next()) is not None:
            numbers.append(int(dict(reversed(game.headers))["N+"]))
        return numbers

    with ThreadPoolExecutor(4) as pool:
        taken = [number for numbers in pool.map(take, range(4)) for number in numbers]
    assert sorted(taken) == list(range(games))
