"""KIF as GUIs, servers and people write it: the main line, its end, comments, variations, damage."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fukayomi.shogi import Move, Position
from fukayomi.shogi.formats import detect_format, read_records, scan_records
from fukayomi.shogi.record import IllegalMoveInRecordError, Record, RecordError, Result, Termination

KIF = """#KIF version=2.0 encoding=UTF-8
開始日時：2026/01/03 21:37:56
棋戦：試験対局
持ち時間：各３時間
戦型：角換わり
備考：夕休前
手合割：平手
先手：羽生
後手：谷川
手数----指手---------消費時間--
*開始前
*
*続き
&しおり
   1 ７六歩(77)   ( 0:01/00:00:01)
*一手目
# 形式の注釈
   2 ３四歩(33)   ( 0:02/00:00:02)+
**評価値=80
*#評価値=-60
   3 ２二角成(88) ( 0:03/00:00:04)
**詰み=先手勝ち:15手
   4 同　銀(31)   ( 0:04/00:00:06)
*対局 時間 00:01.3 深さ 18/33 ノード数 1234 評価値 -68 読み筋 ▲同　銀 △同　玉
   5 ４五角打     ( 0:05/00:00:09)
*#評価値=+12
   6 投了         ( 0:06/00:00:12)
まで5手で先手の勝ち

変化：3手
   3 ２六歩(27)   ( 0:01/00:00:01)
まで3手で中断
"""
MOVES = ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"]
HEAD = "手合割：平手\n先手：a\n後手：b\n手数----指手---------消費時間--\n"


def read(text: str) -> Record:
    (record,) = read_records(text.encode(), name="game.kif")
    return record


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp932", "euc_jp", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_a_game(encoding: str, line_break: str) -> None:
    data = KIF.replace("\n", line_break).encode(encoding)
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    (record,) = read_records(mark + data, name="game.kif")
    assert record.usi_moves() == MOVES
    assert (record.black_name, record.white_name, record.event) == ("羽生", "谷川", "試験対局")
    assert (record.time_limit, record.opening, record.headers) == ("各３時間", "角換わり", {"備考": "夕休前"})
    assert record.start_time == "2026/01/03 21:37:56"
    assert (record.termination, record.result) == (Termination.RESIGN, Result.BLACK_WIN)
    assert record.comment == "開始前\n\n続き"
    assert [played.time_ms for played in record.moves] == [1000, 2000, 3000, 4000, 5000]
    assert [played.score_cp for played in record.moves] == [None, 80, 30000, -68, 12]
    assert record.moves[2].mate == 15
    assert record.moves[3].pv == "▲同　銀 △同　玉"
    assert record.moves[0].comment == "一手目"


def test_damaged_utf_16_is_refused() -> None:
    for data, what in (
        (b"\xff\xfe\x00\xd8", "neither UTF-8 nor UTF-16"),
        (b"\xff\xfea\x00\x00\x00\x00\x00", "not text: zero byte"),
    ):
        with pytest.raises(RecordError, match=what):
            next(read_records(data, name="game.kif"))


def test_moves_inside_comments_are_no_moves() -> None:
    record = read(KIF.replace("*一手目", "*   2 ８四歩(83)\n*▲２六歩 △同　歩"))
    assert record.usi_moves() == MOVES


@pytest.mark.parametrize(
    "line",
    [
        "   1 ７六歩(77)",
        "1 76歩(77)",
        "   1 ▲７六歩(77)   (00:01 / 00:00:01)",
        "   1　７六 歩（77） ( 0:01)",
        "   1 ７六歩上(77)  ( 0:01/)",
        "   1 ７六歩(77)   ( 0:01.5/00:00:01)+",
    ],
)
def test_spellings_of_a_move(line: str) -> None:
    assert read(f"{HEAD}{line}\n").usi_moves() == ["7g7f"]


@pytest.mark.parametrize(
    "move",
    ["９四杏(95)", "９四成香(95)", "７四圭(75)", "７四成桂(75)", "５四全(55)", "５四成銀(55)", "３四竜(35)",
     "１四龍(15)", "１四竜(15)", "８六と(96)", "６六馬(76)", "５八王(59)"],
)  # fmt: skip
def test_names_of_pieces(move: str) -> None:
    empty = "| ・ ・ ・ ・ ・ ・ ・ ・ ・|"
    rows = [
        "| ・ ・ ・ ・v王 ・ ・ ・ ・|",
        *[empty] * 3,
        "| 杏 ・ 圭 ・ 全 ・ 竜 ・ 龍|",
        "| と ・ 馬 ・ ・ ・ ・ ・ ・|",
    ]
    rows += [empty, empty, "| ・ ・ ・ ・ 玉 ・ ・ ・ ・|"]
    record = read("\n".join(["後手の持駒：なし", *rows, "先手の持駒：なし", "手数----指手", f"   1 {move}", ""]))
    assert len(record) == 1


@pytest.mark.parametrize(
    ("word", "termination", "result"),
    [
        ("投了", Termination.RESIGN, Result.WHITE_WIN),
        ("詰み", Termination.MATE, Result.WHITE_WIN),
        ("詰", Termination.MATE, Result.WHITE_WIN),
        ("切れ負け", Termination.TIME_UP, Result.WHITE_WIN),
        ("反則勝ち", Termination.ILLEGAL_MOVE, Result.BLACK_WIN),
        ("反則負け", Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
        ("反則行為", Termination.ILLEGAL_MOVE, Result.UNKNOWN),
        ("入玉勝ち", Termination.DECLARATION, Result.BLACK_WIN),
        ("不戦勝", Termination.OTHER, Result.BLACK_WIN),
        ("不戦敗", Termination.OTHER, Result.WHITE_WIN),
        ("封じ手", Termination.OTHER, Result.UNKNOWN),
        ("千日手", Termination.REPETITION, Result.DRAW),
        ("持将棋", Termination.IMPASSE, Result.DRAW),
        ("最大手数", Termination.MAX_PLIES, Result.DRAW),
        ("引き分け", Termination.DRAW, Result.DRAW),
        ("不詰", Termination.NO_MATE, Result.UNKNOWN),
        ("中断", Termination.INTERRUPTED, Result.UNKNOWN),
        ("待った", Termination.TAKEN_BACK, Result.UNKNOWN),
        ("エラー", Termination.ERROR, Result.UNKNOWN),
    ],
)
def test_words_for_the_end(word: str, termination: Termination, result: Result) -> None:
    text = f"{HEAD}   1 ７六歩(77)\n   2 ３四歩(33)\n   3 {word}         ( 0:00/00:00:00)\n"
    record = read(text + "\n変化：2手\n   2 ８四歩(83)\nまで2手で後手の反則負け\n")
    assert (len(record), record.termination, record.result) == (2, termination, result)


@pytest.mark.parametrize(
    ("closing", "termination", "result"),
    [
        ("まで2手で後手の勝ち", Termination.RESIGN, Result.WHITE_WIN),
        ("まで2手で先手の勝ち", Termination.RESIGN, Result.BLACK_WIN),
        ("まで2手で時間切れにより後手の勝ち", Termination.TIME_UP, Result.WHITE_WIN),
        ("まで2手で先手の反則負け", Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
        ("まで2手詰", Termination.MATE, Result.WHITE_WIN),
        ("まで2手で千日手", Termination.REPETITION, Result.DRAW),
        ("", Termination.NONE, Result.UNKNOWN),
    ],
)
def test_the_line_below_counts_if_there_is_no_word(closing: str, termination: Termination, result: Result) -> None:
    variation = "\n変化：2手\n   2 ８四歩(83)\n   3 投了\nまで2手で後手の勝ち\n"
    record = read(f"{HEAD}   1 ７六歩(77)\n   2 ３四歩(33)\n{closing}\n{variation}")
    assert (record.termination, record.result) == (termination, result)


@pytest.mark.parametrize("end", ["4 反則勝ち", "4 反則負け", "4 反則行為", "まで3手で先手の反則負け"])
@pytest.mark.parametrize(
    ("move", "usi"),
    [
        ("２二金成(88)", "２二金成(88)"),
        ("５一玉(59)", "5i5a"),
        ("７五歩打", "P*7e"),
        ("７五金(22)", "2b7e"),
        ("同　歩成(77)", "7g3d+"),
    ],
)
def test_an_illegal_last_move_ends_the_game(end: str, move: str, usi: str) -> None:
    record = read(f"{HEAD}   1 ７六歩(77)\n   2 ３四歩(33)\n   3 {move}   ( 0:10/00:00:11)\n*反則です\n   {end}\n")
    assert record.usi_moves() == ["7g7f", "3c3d"]
    assert (record.termination, record.result) == (Termination.ILLEGAL_MOVE, Result.WHITE_WIN)
    assert record.illegal_move == usi


@pytest.mark.parametrize("after", ["", "   4 ８四歩(83)\n   5 反則負け\n", "   4 投了\n", "   4 反則だ\n"])
def test_an_illegal_move_without_a_foul_is_refused(after: str) -> None:
    with pytest.raises(RecordError, match=r"game\.kif, line (7: ply 3: illegal move '５一玉\(59\)'|8: ply 3: neither)"):
        read(f"{HEAD}   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ５一玉(59)\n{after}")


def test_variations_keep_their_place_and_cannot_hurt() -> None:
    text = f"{HEAD}   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ２六歩(27)\n   4 中断\n"
    text += "\n変化：3手\n*別の手\n   3 ６六歩(67)\n*堅い\n   4 ８四歩(83)\n   5 投了\n"
    text += "\n変化：4手\n   4 ４四歩(43)\n   5 ９一玉(59)\n   6 ８四歩(83)\n"  # leaves the variation above
    text += "\n変化：9手\n   9 ４四歩(43)\n"  # there is no such place
    text += "\n変化：2手\n   2 what\n\n変化：99999999999手\n変化：2手\n   2 ８四歩(83)\n*好手\n"
    text += "変化：3手\n   3 ２六歩(27)\n\n変化：四手\n   4 ４四歩(43)\n"
    record = read(text)
    assert record.usi_moves() == ["7g7f", "3c3d", "2g2f"]
    assert (record.termination, record.result) == (Termination.INTERRUPTED, Result.UNKNOWN)
    found = [(line.ply, line.parent, [played.move.usi() for played in line.moves]) for line in record.variations]
    assert found == [(3, None, ["6g6f", "8c8d"]), (4, 0, ["4c4d"]), (2, None, ["8c8d"]), (3, 2, ["2g2f"])]
    assert record.variations[0].comment == "別の手"
    assert record.variations[0].moves[0].comment == "堅い"


def test_variations_of_a_record_that_begins_later() -> None:
    text = f"{HEAD}  41 ７六歩(77)\n  42 ３四歩(33)\n\n変化：42手\n  42 ８四歩(83)\n\n変化：2手\n   2 ４四歩(43)\n"
    record = read(text)
    assert [(line.ply, len(line.moves)) for line in record.variations] == [(2, 1)]


def test_repeated_headers() -> None:
    assert read(f"備考：a\n備考：b\n先手：c\n{HEAD}").headers == {"備考": "a\nb"}


def test_headers_below_the_moves() -> None:
    record = read(f"{HEAD}   1 ７六歩(77)\n戦型：矢倉\n先手：c\n備考：夕休\n   2 ３四歩(33)\n")
    assert (record.opening, record.black_name, record.headers, len(record)) == ("矢倉", "a", {"備考": "夕休"}, 2)


def test_a_variation_before_the_moves_is_skipped() -> None:  # some versions of Electron Shogi wrote such lines
    assert read(f"変化：3手\n{HEAD}変化：2手\n   1 ７六歩(77)\n").usi_moves() == ["7g7f"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("２二角成(88)", "２二角成(89)"), r"line 21: ply 3: illegal move '２二角成\(89\)' \(there is 桂 on 89\)"),
        (("２二角成(88)", "２三角(88)"), r"line 21: ply 3: illegal move '２三角\(88\)'"),
        (
            ("２二角成(88)", "２二角成(55)"),
            r"line 21: ply 3: illegal move '２二角成\(55\)' \(there is no piece on 55\)",
        ),
        (("２二角成(88)", "２二角成(80)"), r"line 21: ply 3: illegal move '２二角成\(80\)' \(there is no square 80\)"),
        (("４五角打", "４五飛打"), r"line 25: ply 5: illegal move '４五飛打' \(there is no rook in hand\)"),
        (("４五角打", "４五と打"), r"line 25: ply 5: illegal move '４五と打' \(a piece in hand is not promoted"),
        (("３四歩(33)", "３四歩(34)"), r"line 18: ply 2: illegal move '３四歩\(34\)'"),
        (("１ ７六歩", "1 ７六歩"), ""),
        (("７六歩(77)", "同　歩(77)"), r"line 15: ply 1: illegal move '同歩\(77\)' \(there is no move before it\)"),
        (("３四歩(33)", "三四＠(33)"), r"line 18: ply 2: neither a move nor the end of the game: '2 三四＠\(33\)"),
        (("   4 同　銀(31)", "   ４；同　銀(31)"), "line 23: ply 4: neither a move"),
        (("   6 投了", "   6 投了\n   7 ８四歩(83)\n"), "line 28: ply 6: a move after the end of the game: '８四歩"),
        (("手合割：平手", "手合割：三十枚落ち"), "line 7: unknown handicap '三十枚落ち' without a board"),
        (("手合割：平手", "手合割：その他"), "line 7: unknown handicap 'その他' without a board"),
        (
            ("   6 投了", "手合割：香落ち\n   6 投了"),
            "line 27: the first position is given below the moves: '手合割：香落ち'",
        ),
        (("   6 投了", "後手番\n   6 投了"), "line 27: the first position is given below the moves: '後手番'"),
        (("備考：夕休前", "先手の持駒：歩二"), "line 6: pieces in hand without a board"),
        (("備考：夕休前", "|v香v桂v銀v金v玉v金v銀v桂|"), "line 6: not a row of a board"),
    ],
)
def test_errors_name_line_and_move(change: tuple[str, str], message: str) -> None:
    if not message:
        assert read(KIF.replace(*change)).usi_moves() == MOVES
        return
    with pytest.raises(RecordError, match=rf"game\.kif, {message}") as error:
        read(KIF.replace(*change))
    assert isinstance(error.value, IllegalMoveInRecordError) == ("illegal" in message)


def test_too_many_plies_are_refused() -> None:
    moves = ["４八玉(59)", "６二玉(51)", "５九玉(48)", "５一玉(62)"]
    text = HEAD + "".join(f"{ply + 1:4} {moves[ply % 4]}\n" for ply in range(10_001))
    with pytest.raises(RecordError, match=r"game\.kif, line 10005: a game may have at most 10000 plies"):
        read(text)
    assert len(read(text.rstrip().rpartition("\n")[0])) == 10_000


def test_a_flood_of_variations_ends() -> None:
    moves = ["４八玉(59)", "６二玉(51)", "５九玉(48)", "５一玉(62)"]
    text = HEAD + "".join(f"{ply + 1:4} {moves[ply % 4]}\n" for ply in range(1000))
    text += "".join(
        f"変化：{ply + 1}手\n{ply + 1:4} {move}\n"
        for _ in range(3000)
        for ply, move in [(1, "８四歩(83)"), (2, "７六歩(77)")]
    )
    record = read(text)
    assert len(record) == 1000
    assert 0 < len(record.variations) <= 6000


@pytest.mark.parametrize(
    ("comment", "score", "mate"),
    [
        ("*対局 時間 00:01 深さ 5/9 評価値 +詰 5 読み筋 ▲７六歩", 30000, 5),
        ("*対局 時間 00:01 深さ 5/9 評価値 -詰 12 読み筋 ▲７六歩", -30000, -12),
        ("*解析 0 候補1 深さ 5/9 評価値 +詰 読み筋 ▲７六歩", 30000, None),
        ("*#詰み=後手勝ち:4手", -30000, -4),
        ("** 30 -3334FU +2726FU", 30, None),
        ("** 30手目の好手", None, None),
        ("*#指し手[72] △３四歩", 72, None),
        ("** 深さ 20 評価値 -12 読み筋 △３四歩", -12, None),
    ],
)
def test_scores_in_comments(comment: str, score: int | None, mate: int | None) -> None:
    played = read(f"{HEAD}   1 ７六歩(77)\n{comment}\n").moves[0]
    assert (played.score_cp, played.mate) == (score, mate)


def check_or_named_error(data: bytes) -> None:
    for found in scan_records(data, name="damaged.kif"):
        if isinstance(found, RecordError):
            assert str(found).startswith("damaged.kif")
            continue
        for position, played in found.replay():
            assert position.is_legal(played.move)
        for line in found.variations:
            position = Position.from_sfen(found.initial_sfen, allow_missing_king=True)
            for played in [*found.moves_before(line), *line.moves]:
                position.push(played.move)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(KIF)), st.text(max_size=6) | st.sampled_from(KIF.split("\n")), st.integers(0, 30))
def test_damage_gives_a_game_or_a_named_error(at: int, junk: str, removed: int) -> None:
    check_or_named_error((KIF[:at] + junk + KIF[at + removed :]).encode(errors="replace"))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(KIF.split("\n")) | st.text("|v歩玉・持駒：先後手番変化まで0123456789（(同成打 　*", max_size=24)
    )
)
def test_lines_in_any_order_give_a_game_or_a_named_error(lines: list[str]) -> None:
    check_or_named_error("\n".join(["手合割：平手", *lines]).encode())


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 500), st.binary(max_size=5), st.sampled_from(["utf-8", "cp932", "utf-16"]))
def test_damaged_bytes_give_a_game_or_a_named_error(at: int, junk: bytes, encoding: str) -> None:
    data = KIF.encode(encoding)
    check_or_named_error(data[:at] + junk + data[at + len(junk) :])


def test_a_diagram_is_a_record_without_moves() -> None:
    text = "後手の持駒：なし\n" + "| ・ ・ ・ ・v玉 ・ ・ ・ ・|一\n" * 1 + "| ・ ・ ・ ・ ・ ・ ・ ・ ・|\n" * 7
    text += "| ・ ・ ・ ・ 玉 ・ ・ ・ ・|九\n先手の持駒：歩十八　\n手数＝40  ▲３四歩  まで\n後手番\n"
    assert detect_format(text) == "kif"
    record = read(text)
    assert (record.initial_sfen, len(record)) == ("4k4/9/9/9/9/9/9/9/4K4 w 18P 41", 0)
    (record,) = read_records(text.encode("cp932"), name="diagram.bod")
    assert Move.from_usi("5a4b") in Position.from_sfen(record.initial_sfen).legal_moves
