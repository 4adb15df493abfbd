"""Moves below a head of KIF in every notation that people and programs use, and text that is no game."""

import pytest

from fukayomi.shogi.formats import detect_format, read_records, scan_records, write_ki2, write_kif
from fukayomi.shogi.record import IllegalMoveInRecordError, Record, RecordError, Result, Termination

HEAD = "手合割：平手\n先手：甲\n後手：乙\n\n"
EXCHANGE = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"]
TABLE = "手合割：平手\n先手：甲\n後手：乙\n手数----指手---------消費時間--\n"


def read(text: str) -> Record:
    (record,) = read_records(text.encode(), name="game")
    return record


@pytest.mark.parametrize(
    "moves",
    [
        "７六歩 ３四歩 ２二角成 同銀 ４五角",
        "７六歩　３四歩　２二角成　同　銀　４五角打",
        "76歩 34歩 22角成 同銀 45角打",
        "７六歩３四歩２二角成同銀４五角",
        "７六歩、３四歩、２二角成、同銀、４五角",
        "７六歩\n３四歩\n２二角成\n同　銀\n４五角",
        "1.▲７六歩 2.△３四歩\n3.▲２二角成 4.△同　銀 5.▲４五角",
        "1. 7六歩 2. 3四歩 3. 2二角成 4. 同銀 5. 4五角",
        "1 ７六歩 2 ３四歩 3 ２二角成 4 同銀 5 ４五角",
        "１　▲７六歩　２　△３四歩　３　▲２二角成　４　△同　銀　５　▲４五角",
        "(1)７六歩 (2)３四歩 (3)２二角成 (4)同銀 (5)４五角",
        "1手目 ７六歩\n2手目 ３四歩\n3手目 ２二角成\n4手目 同銀\n5手目 ４五角",
        "１手目：▲７六歩\n２手目：△３四歩\n３手目：▲２二角成\n４手目：△同銀\n５手目：▲４五角",
        "第1手　７六歩\n第2手　３四歩\n第3手　２二角成\n第4手　同銀\n第5手　４五角",
        "先手７六歩 後手３四歩 先手２二角成 後手同銀 先手４五角",
        "先手：７六歩\n後手：３四歩\n先手：２二角成\n後手：同銀\n先手：４五角",
        "▲７六歩(77) △３四歩(33) ▲２二角成(88) △同　銀(31) ▲４五角打",
        "７六歩（７７）\n３四歩（３３）\n２二角成（８８）\n同　銀（３１）\n４五角打",
        "+7776FU\n-3334FU\n+8822UM\n-3122GI\n+0045KA",
        "+7776FU -3334FU +8822UM -3122GI +0045KA",
        "7776FU,3334FU,8822UM,3122GI,0045KA",
        "7g7f 3c3d 8h2b+ 3a2b B*4e",
        "1. 7g7f\n2. 3c3d\n3. 8h2b+\n4. 3a2b\n5. B*4e",
        "▲７六歩△３四歩▲２二角成△同銀▲４五角",
        "☗７六歩 ☖３四歩 ☗２二角成り ☖同銀 ☗４五角",
        "１▲７六歩 ２△３四歩 ３▲２二角成 ４△同銀 ５▲４五角",
        "(1)▲７六歩 (2)△３四歩 (3)▲２二角成 (4)△同銀 (5)▲４五角",
        "①７六歩 ②３四歩 ③２二角成 ④同銀 ⑤４五角",
        "初手 ７六歩 2手目 ３四歩 3手目 ２二角成 4手目 同銀 5手目 ４五角",
        "先７六歩 後３四歩 先２二角成 後同銀 先４五角",
        "⛊７六歩⛉３四歩⛊２二角成⛉同銀⛊４五角",
        "moves 7g7f 3c3d 8h2b+ 3a2b B*4e",
        "position startpos moves 7g7f 3c3d 8h2b+ 3a2b B*4e",
        "▲７六歩 △３四歩 ▲２二角ナリ(88) △同銀 ▲４五角",
        "   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ２二角なり(88)\n   4 同　銀(31)\n   5 ４五角打\n",
        "▲７六歩 *好手\n△３四歩\n*comment\n▲２二角成 △同　銀\n▲４五角   ",
    ],
)
def test_moves_in_any_notation(moves: str) -> None:
    for text in (HEAD + moves, f"\ufeff{HEAD}{moves}\n".replace("\n", "\r\n"), f"{HEAD}{moves}\n".replace("\n", "\r")):
        assert read(text).usi_moves() == EXCHANGE


def test_moves_without_a_head() -> None:
    assert read("７六歩 ３四歩 ２六歩\n").usi_moves() == ["7g7f", "3c3d", "2g2f"]
    assert read("先手：甲\n後手：乙\n1.７六歩 2.３四歩\n").usi_moves() == ["7g7f", "3c3d"]
    assert detect_format("先手：甲\n７六歩\n") == "ki2"
    for text in ("7g7f 3c3d", "7 6"):  # too little to be sure
        with pytest.raises(RecordError, match="neither CSA, KIF, KI2"):
            read(text)


def test_times_and_ends_of_other_notations() -> None:
    record = read(f"{HEAD}+7776FU,T3\n-3334FU\nT4\n+2726FU\nT-2\n%TORYO\n")
    assert [played.time_ms for played in record.moves] == [3000, 4000, None]
    assert (record.termination, record.result) == (Termination.RESIGN, Result.BLACK_WIN)
    record = read(f"{HEAD}７六歩[00:05] ３四歩（0:07） ２六歩( 0:-3/) 投了\n")
    assert [played.time_ms for played in record.moves] == [5000, 7000, None]
    assert (record.termination, record.result) == (Termination.RESIGN, Result.BLACK_WIN)


def test_numbers_in_brackets_are_no_times() -> None:
    record = read(f"{HEAD}(1)▲７六歩 (2)△３四歩\n(3)▲２六歩 (4)△８四歩(5) (5)▲２五歩(7)\n")
    assert [played.time_ms for played in record.moves] == [None, None, None, 5000, 7000]
    assert [played.time_ms for played in read(f"{HEAD}▲７六歩 (2)△３四歩").moves] == [None, None]
    assert [played.time_ms for played in read(f"{HEAD}７六歩(2)３四歩(3)").moves] == [2000, 3000]


@pytest.mark.parametrize(
    ("behind", "time_ms"),
    [
        ("(27)   ( 0:05/00:00:05)", 5000),
        ("(27) (好手) ( 0:05/)", 5000),
        ("(27)   ( 0:05/00:0", 5000),
        ("(27)   ( 0:0", None),
        ("(27", None),
        ("(27)( 99999:99/)", None),
        ("(27)( 0:60/)", None),
        ("(27)(1:60:00)", None),
        ("(27)(999999999)", None),
    ],
)
def test_a_time_that_is_none_is_left_out(behind: str, time_ms: int | None) -> None:
    (played,) = read(f"{TABLE}   1 ２六歩{behind}\n").moves
    assert (played.move.usi(), played.time_ms) == ("2g2f", time_ms)


def test_a_move_that_is_understood_in_part_is_none() -> None:
    for line in ("   3 ２二角ヌリ(88)", "   3 ２二角?(88)"):
        with pytest.raises(RecordError, match="line 7: ply 3: neither a move nor the end of the game: '3 ２二角"):
            read(f"{TABLE}   1 ７六歩(77)\n   2 ３四歩(33)\n{line}\n")


def test_two_moves_on_a_line_of_kif() -> None:
    record = read(f"{TABLE}   1 ７六歩(77)   ( 0:01/00:00:01)   2 ３四歩(33)   ( 0:02/00:00:02)\n   3 投了\n")
    assert (record.usi_moves(), [played.time_ms for played in record.moves]) == (["7g7f", "3c3d"], [1000, 2000])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("P-7f P-3d\n", "line 5: neither a header nor a move nor the end of the game: 'P-7f P-3d'"),
        ("hello\nit is P-7f now\n", "line 5: neither a header nor a move nor the end of the game: 'hello'"),
        ("hello\n７六歩、そして\n", "line 6: ply 2: not a move: 'そして'"),
        ("指し手：７六歩 ３四歩\n", "line 5: neither a header nor a move nor the end of the game: '７六歩 ３四歩'"),
        ("▲７六歩 △３四歩 ▲２？歩\n", "line 5: ply 3: not a move: '▲２？歩'"),
        ("７六歩 ３四 ２六歩\n", "line 5: ply 2: not a move: '３四 ２六歩'"),
        ("７六歩 ３四\n２六歩 ８四歩\n", "line 5: ply 2: not a move: '３四'"),
        ("７六歩から\n", "line 5: neither a header nor a move nor the end of the game: '７六歩から'"),
        ("７六歩 ３四歩\n２六歩 ８四\n", "line 6: ply 4: not a move: '８四'"),
        ("７六歩\nそして\n３四歩\n", "line 6: ply 2: neither a move nor the end of the game: 'そして'"),
        ("７六歩\n３四歩ではなく８四歩\n", "line 6: ply 3: not a move: 'ではなく８四歩'"),
        ("７六歩 ▲３四歩\n", "line 5: ply 2: '▲３四歩' is a move of the wrong side"),
        ("７六歩 ２五歩\n", "line 5: ply 2: illegal move '２五歩': no such move"),
        ("５八金\n", "line 5: ply 1: '５八金' may mean 4i5h, 6i5h"),
        ("+7776FU\n-3433FU\n", "line 6: ply 2: illegal move '-3433FU'"),
        ("７六歩 接続切れ\n３四歩\n", "line 5: ply 2: neither a move nor the end of the game: '７六歩 接続切れ'"),
    ],
)
def test_what_is_not_understood_is_an_error_that_names_the_line(text: str, message: str) -> None:
    with pytest.raises(RecordError, match="game, ") as error:
        read(HEAD + text)
    assert message in str(error.value)
    assert isinstance(error.value, IllegalMoveInRecordError) == ("illegal" in message)


@pytest.mark.parametrize("line", ["   2 5五", "   2 ３四", "２ 同", "   2 [?]", "７六歩x", "▲"])
def test_a_damaged_last_line_is_no_footer(line: str) -> None:
    with pytest.raises(RecordError, match="line 6: ply 2: "):
        read(f"{TABLE}   1 ７六歩(77)\n{line}\n")


def test_games_that_have_not_begun_stay_games() -> None:
    for text in (HEAD, TABLE, f"題名のない対局\n{TABLE}", f"{HEAD}まで0手で中断\n"):
        assert read(text).usi_moves() == []


def test_moves_of_kif_without_an_origin() -> None:
    text = f"{TABLE}   1 ７六歩\n   2 ３四歩\n   3 ２二角成\n   4 同　銀\n   5 ４五角\n   6 ５二金右\n   7 ５八金左\n"
    assert read(text).usi_moves() == [*EXCHANGE, "6a5b", "6i5h"]
    with pytest.raises(RecordError, match="line 5: ply 1: '５八金' may mean 4i5h, 6i5h") as error:
        read(f"{TABLE}   1 ５八金\n")
    assert not isinstance(error.value, IllegalMoveInRecordError)
    with pytest.raises(IllegalMoveInRecordError, match="line 5: ply 1: illegal move '５五角': no such move"):
        read(f"{TABLE}   1 ５五角\n")


def test_comments_as_csa_has_them() -> None:
    record = read(f"'* opening\n{TABLE}'* 30\n   1 ７六歩(77)\n'** -20 +2726FU\n'second\n   2 ３四歩(33)\n")
    assert record.comment == " opening\n 30"
    assert (record.moves[0].score_cp, record.moves[0].pv, record.moves[0].comment) == (-20, "", "* -20 +2726FU\nsecond")


def test_players_on_one_line() -> None:
    for line in ("先手: 先手 / 後手: 後手", "先手：先手　後手：後手", "先手：先手、後手：後手"):
        record = read(f"手合割：平手\n{line}\n▲７六歩\n")
        assert (record.black_name, record.white_name) == ("先手", "後手")
    assert read("先手：a/後手b\n手合割：平手\n▲７六歩\n").black_name == "a/後手b"


def test_urls_stay_as_they_are() -> None:
    url = "https://example.org/kifu?id=1&x=2"
    record = read(f"参考：{url}\n{url}\n{TABLE}*{url}\n   1 ７六歩(77)\n*{url}\n{url}\n   2 投了\n{url}\n")
    assert record.headers == {"参考": url}
    text = record.kif()
    assert text.count(url) == 6
    assert "：//" not in text
    assert read(text).kif() == text


def test_a_long_line_of_anything_takes_no_time() -> None:
    size = 50_000
    pieces = (" ", "　", "1", "(", "▲", "同", "、", "▲７六歩(", "1 ", "先手 ", "/ ", "まで", "により", "( )", "手", "'")
    pieces += ("(1)", "①", "先手の勝", "先手", "初手 ", "moves ", "先", "(a) ", "1手で", "甲の", "投了 ")
    for piece in pieces:
        for before in ("", "▲７六歩 ", "   1 ７六歩(77) ", "まで1手で", "先手："):
            assert list(scan_records(f"手合割：平手\n{before}{piece * size}x\n".encode(), name="long"))


def test_a_flood_of_short_lines_takes_no_time() -> None:
    for line in (
        "&a",
        "*a",
        "'a",
        "a",
        "T1",
        "投了",
        "まで1手で中断",
        "変化：1手",
        "変化：9手",
        "備考：a",
        "https://a",
    ):
        text = "手合割：平手\n▲７六歩\n" + f"{line}\n" * 30_000
        assert list(scan_records(text.encode(), name="flood"))


def test_players_that_are_called_as_moves_are() -> None:
    record = read("position startpos moves 7g7f")
    for black, white in (("7g7f", "+7776FU"), ("７六歩", "同歩"), ("投了", "▲２六歩 △３四歩"), ("1", "まで1手で")):
        record.black_name, record.white_name = black, white
        for write in (write_kif, write_ki2):
            again = read(write(record))
            assert again.usi_moves() == ["7g7f"]
            assert (again.black_name.strip("「」"), again.white_name.strip("「」")) == (black, white)
