"""KI2: the marks that choose among the moves of a piece to a square, and errors."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import RECORDS
from record_samples import records

from fukayomi.shogi import Move, Position
from fukayomi.shogi.formats import read_records, scan_records, write_ki2
from fukayomi.shogi.formats.text import MOST_PLIES
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordedMove,
    RecordError,
    Result,
    Termination,
    Variation,
)

KI2 = """開始日時：2026/01/03 21:37:56
手合割：平手
先手：羽生
後手：谷川
手数：6
*開始前

▲７六歩    △３四歩    ▲２二角成  △同　銀
*評価値=-60
*本譜
▲４五角打 △５二金右
まで6手で先手の投了

変化：3手
▲２六歩
"""


def read(text: str) -> Record:
    (record,) = read_records(text.encode(), name="game.ki2")
    return record


def test_a_game() -> None:
    record = read(KI2)
    assert record.usi_moves() == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*4e", "6a5b"]
    assert (record.black_name, record.white_name, record.start_time) == ("羽生", "谷川", "2026/01/03 21:37:56")
    assert record.comment == "開始前"
    assert (record.moves[3].score_cp, record.moves[3].comment) == (-60, "評価値=-60\n本譜")
    assert record.termination is Termination.RESIGN


def board(*rows: str) -> str:
    """A board of KI2: nine cells a row, from the left."""
    numerals = "一二三四五六七八九"
    lines = ["後手の持駒：なし", "  ９ ８ ７ ６ ５ ４ ３ ２ １", "+---------------------------+"]
    lines += [f"|{row}|{numerals[index]}" for index, row in enumerate(rows)]
    return "\n".join([*lines, "+---------------------------+", "先手の持駒：金", "先手番", ""])


EMPTY = " ・" * 9
# Black's golds on 6h, 5i and 4i, silvers on 4d and 6f, dragons on 2b and 8b; the kings on 9i and 1e
RICH = board(
    EMPTY, " ・ 龍 ・ ・ ・ ・ ・ 龍 ・", EMPTY, " ・ ・ ・ ・ ・ 銀 ・ ・ ・", " ・" * 8 + "v玉",
    " ・ ・ ・ 銀 ・ ・ ・ ・ ・", EMPTY, " ・ ・ ・ 金 ・ ・ ・ ・ ・", " 玉 ・ ・ ・ 金 金 ・ ・ ・",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "usi"),
    [
        ("▲５八金寄", "6h5h"),
        ("▲５八金左", "6h5h"),
        ("▲５八金直", "5i5h"),
        ("▲５八金右", "4i5h"),
        ("▲５八金打", "G*5h"),
        ("▲５五銀右", "4d5e"),
        ("▲５五銀引", "4d5e"),
        ("▲５五銀上", "6f5e"),
        ("▲５五銀左", "6f5e"),
        ("▲５五金", "G*5e"),
        ("▲５二龍右", "2b5b"),
        ("▲５二竜左", "8b5b"),
        ("▲４八金直", "4i4h"),
        ("▲４八金左", "5i4h"),
        ("▲３三銀成", "4d3c+"),
        ("▲３三銀不成", "4d3c"),
        ("▲３三銀生", "4d3c"),
        ("▲33銀成", "4d3c+"),
    ],
)
def test_marks(text: str, usi: str) -> None:
    assert read(f"{RICH}{text}\nまで1手で中断\n").usi_moves() == [usi]


def test_marks_are_seen_by_the_player() -> None:
    head = "手合割：平手\n先手：a\n後手：b\n\n▲７六歩 "
    assert read(f"{head}△５二金右\n").usi_moves()[-1] == "6a5b"  # White's right is Black's left
    assert read(f"{head}△５二金左\n").usi_moves()[-1] == "4a5b"


@pytest.mark.parametrize(
    ("end", "termination", "result"),
    [
        ("まで2手で後手の勝ち", Termination.RESIGN, Result.WHITE_WIN),
        ("まで2手で先手の反則負け", Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
        ("まで2手で先手の反則勝ち", Termination.ILLEGAL_MOVE, Result.BLACK_WIN),
        ("まで2手で時間切れにより後手の勝ち", Termination.TIME_UP, Result.WHITE_WIN),
        ("まで2手で先手の入玉勝ち", Termination.DECLARATION, Result.BLACK_WIN),
        ("まで2手で千日手", Termination.REPETITION, Result.DRAW),
        ("まで２手で持将棋", Termination.IMPASSE, Result.DRAW),
        ("まで2手詰", Termination.MATE, Result.WHITE_WIN),
        ("まで2手で中断", Termination.INTERRUPTED, Result.UNKNOWN),
        ("まで2手で封じ手", Termination.OTHER, Result.UNKNOWN),
        ("", Termination.NONE, Result.UNKNOWN),
    ],
)
def test_endings(end: str, termination: Termination, result: Result) -> None:
    record = read(f"手合割：平手\n先手：a\n\n▲７六歩    △３四歩\n{end}\n")
    assert (len(record), record.termination, record.result) == (2, termination, result)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("▲２二角成", "▲２三角成"), r"line 8: ply 3: illegal move '▲２三角成': no such move in"),
        (("▲４五角打", "▲４五飛打"), r"line 11: ply 5: illegal move '▲４五飛打'"),  # a rook that is not in hand
        (("△３四歩", "▲３四歩"), "line 8: ply 2: '▲３四歩' is a move of the wrong side"),
        (("△５二金右", "△５二金"), "line 11: ply 6: '△５二金' may mean 4a5b, 6a5b"),
        (("△３四歩", "△３十歩"), "line 8: ply 2: not a move: '△３十歩"),
        (("△３四歩", "what"), "line 8: ply 2: not a move: 'what"),
        (("▲７六歩", "▲同歩"), "line 8: ply 1: there is no move before '▲同歩'"),
    ],
)
def test_errors_name_the_place(change: tuple[str, str], message: str) -> None:
    with pytest.raises(RecordError, match=r"game\.ki2, " + message):
        read(KI2.replace(*change))


def test_an_illegal_move_has_its_own_error() -> None:
    with pytest.raises(IllegalMoveInRecordError):
        read(KI2.replace("▲４五角打", "▲４五飛打"))


def test_whole_games_come_back_from_ki2() -> None:
    for path in sorted(RECORDS.glob("*.csa")):
        (record,) = read_records(path)
        again = read(write_ki2(record))
        assert again.usi_moves() == record.usi_moves()
        assert (again.termination, again.result) == (record.termination, record.result)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_games_come_back_from_ki2(data: st.DataObject) -> None:
    """Positions that no player would reach: many pieces of a kind, and marks of all sorts."""
    position = Position()
    record = Record()
    for _ in range(data.draw(st.integers(20, 150))):
        moves = position.legal_moves
        if not moves:
            break
        move = data.draw(st.sampled_from(moves))
        position.push(move)
        record.moves.append(RecordedMove(move))
    record.termination = Termination.INTERRUPTED
    assert read(write_ki2(record)).usi_moves() == record.usi_moves()


@pytest.mark.parametrize("seed", range(40))
def test_games_of_random_moves_are_unambiguous(seed: int) -> None:
    position, record, choice = Position(), Record(termination=Termination.INTERRUPTED), random.Random(seed)
    while len(record) < 400 and (moves := position.legal_moves):
        move = choice.choice(moves)
        position.push(move)
        record.moves.append(RecordedMove(move))
    assert read(write_ki2(record)).usi_moves() == record.usi_moves()


@settings(max_examples=30, deadline=None)
@given(records())
def test_whole_records_come_back(record: Record) -> None:
    """KI2 has no times; everything else comes back."""
    for line in (record, *record.variations):
        for played in line.moves:
            played.time_ms = None
    record.ending_time_ms = None
    (again,) = read_records(write_ki2(record).encode(), name="game")
    assert again == record


def test_a_game_without_moves_keeps_its_variations() -> None:
    record = Record(name="game", variations=[Variation(1, [RecordedMove(Move.from_usi("5i4h"))])])
    (again,) = read_records(write_ki2(record).encode(), name="game")
    assert again.usi_moves() == []
    assert again.variations == record.variations


def test_golds_that_need_a_side_and_a_direction() -> None:
    """Golds on 6e, 4e and 6f: 左 alone would fit two of them."""
    (record,) = read_records(b"sfen 4k4/9/9/9/3G1G3/3G5/9/9/4K4 b 2R2BG4S4N4L18P 1 moves 6e5e\n")
    text = write_ki2(record)
    assert "▲５五金左寄" in text
    assert read(text).usi_moves() == ["6e5e"]


def test_variations_and_a_foul() -> None:
    record = read(KI2)
    assert [(line.ply, [played.move.usi() for played in line.moves]) for line in record.variations] == [(3, ["2g2f"])]
    foul = read("手合割：平手\n先手：a\n\n▲７六歩 △５五角\nまで1手で後手の反則負け\n")
    assert (foul.usi_moves(), foul.illegal_move, foul.result) == (["7g7f"], "△５五角", Result.BLACK_WIN)
    for text in ("▲７六歩 △５五角\n", "▲７六歩 △５五角 ▲２六歩\nまで1手で後手の反則負け\n"):
        with pytest.raises(IllegalMoveInRecordError, match="line 4: ply 2: illegal move '△５五角'"):
            read(f"手合割：平手\n先手：a\n\n{text}")


def test_damage_in_a_variation_does_not_touch_the_game() -> None:
    record = read(KI2 + "変化：2手\n△８四歩 ▲９九王 what\n変化：x\n変化：9手\n▲７六歩\n")
    assert len(record) == 6
    assert [len(line.moves) for line in record.variations] == [1, 1]


def test_a_game_of_too_many_plies_is_an_error() -> None:
    cycle = ["▲３八飛", "△７二飛", "▲２八飛", "△８二飛"]
    moves = [cycle[ply % 4] for ply in range(MOST_PLIES + 1)]
    assert len(read("\n".join(moves[:-1]))) == MOST_PLIES
    with pytest.raises(RecordError, match=r"game\.ki2, line 10001: a game may have at most 10000 plies"):
        read("\n".join(moves))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(KI2)), st.text("▲△同５二金打成右左 歩", max_size=6), st.integers(0, 30))
def test_damage_gives_a_game_or_a_named_error(at: int, junk: str, removed: int) -> None:
    damaged = KI2[:at] + junk + KI2[at + removed :]
    for found in scan_records(damaged.encode(), name="damaged.ki2"):
        if isinstance(found, RecordError):
            assert str(found).startswith("damaged.ki2")
        else:
            for position, played in found.replay():
                assert position.is_legal(played.move)
