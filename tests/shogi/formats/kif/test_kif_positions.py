"""First positions of KIF and KI2: handicaps by name, boards with and without a frame, hands, the side to move."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import HANDICAPS as ORACLE_HANDICAPS
from oracles import random_positions
from rsshogi.record import Record as LibraryRecord

from fukayomi.shogi import START_SFEN, Position
from fukayomi.shogi.formats import read_records, scan_records, write_kif
from fukayomi.shogi.formats.kif.board import HANDICAPS, handicap_sfen
from fukayomi.shogi.record import Record, RecordError

ROWS = [
    "v香v桂v銀v金v玉v金v銀v桂v香", " ・v飛 ・ ・ ・ ・ ・v角 ・", "v歩v歩v歩v歩v歩v歩v歩v歩v歩",
    " ・ ・ ・ ・ ・ ・ ・ ・ ・", " ・ ・ ・ ・ ・ ・ ・ ・ ・", " ・ ・ ・ ・ ・ ・ ・ ・ ・",
    " 歩 歩 歩 歩 歩 歩 歩 歩 歩", " ・ 角 ・ ・ ・ ・ ・ 飛 ・", " 香 桂 銀 金 玉 金 銀 桂 香",
]  # fmt: skip
FRAME = "+---------------------------+"
FILES = "  ９ ８ ７ ６ ５ ４ ３ ２ １"
KINGS = ["v玉 ・ ・ ・ ・ ・ ・ ・ ・", *[" ・ ・ ・ ・ ・ ・ ・ ・ ・"] * 7, " ・ ・ ・ ・ ・ ・ ・ ・ 玉"]


def read(text: str) -> Record:
    (record,) = read_records(text.encode(), name="game.kif")
    return record


def framed(rows: list[str]) -> str:
    ranks = "一二三四五六七八九"
    return "\n".join([FILES, FRAME, *(f"|{row}|{rank}" for row, rank in zip(rows, ranks, strict=True)), FRAME, ""])


@pytest.mark.parametrize(
    ("name", "sfen"),
    [
        ("平手", START_SFEN),
        ("平手　　", START_SFEN),
        ("飛落ち", ORACLE_HANDICAPS["rook"]),
        ("飛車落ち", ORACLE_HANDICAPS["rook"]),
        ("飛車落", ORACLE_HANDICAPS["rook"]),
        ("角落ち", ORACLE_HANDICAPS["bishop"]),
        ("香落ち", ORACLE_HANDICAPS["lance"]),
        ("飛香落ち", ORACLE_HANDICAPS["rook and lance"]),
        ("2枚落ち", ORACLE_HANDICAPS["two pieces"]),
        ("２枚落ち", ORACLE_HANDICAPS["two pieces"]),
        ("二枚落ち", ORACLE_HANDICAPS["two pieces"]),
        ("四枚落ち", ORACLE_HANDICAPS["four pieces"]),
        ("六枚落ち", ORACLE_HANDICAPS["six pieces"]),
        ("八枚落ち", ORACLE_HANDICAPS["eight pieces"]),
        ("十枚落ち", ORACLE_HANDICAPS["ten pieces"]),
        ("10枚落ち", ORACLE_HANDICAPS["ten pieces"]),
        ("左七枚落ち", "2sgkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("七枚落ち", "3gkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("9枚落ち", "4kg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("左九枚落ち", "3gk4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("裸玉", "4k4/9/9/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("１９枚落ち", "4k4/9/9/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("歩三兵", "4k4/9/9/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w 3p 1"),
        ("トンボ", "4k4/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("トンボ＋桂香", "ln2k2nl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("青空将棋", "lnsgkgsnl/1r5b1/9/9/9/9/9/1B5R1/LNSGKGSNL b - 1"),
        ("金落ち", "lnsgk1snl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("右銀落ち", "ln1gkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("桂落", "lnsgkgs1l/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("両桂落ち", "l1sgkgs1l/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("飛銀落ち", "lnsgkg1nl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("角香落ち", "lnsgkgsn1/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("飛車香落ち", ORACLE_HANDICAPS["rook and lance"]),
        ("飛車角落ち", ORACLE_HANDICAPS["two pieces"]),
        ("飛車角落ち(二枚落ち)", ORACLE_HANDICAPS["two pieces"]),
        ("裸王", "4k4/9/9/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("トンボ落ち", "4k4/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("金二枚落ち", "lns1k1snl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("銀2枚落ち", "ln1gkg1nl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("飛車落ち（飛落ち）", ORACLE_HANDICAPS["rook"]),
        ("香平（香落ち）", ORACLE_HANDICAPS["lance"]),
        ("平手・香落ち（平手）", START_SFEN),
        ("香得", "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w L 1"),
        ("飛車得", "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w R 1"),
        ("八枚得", "3gkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w RB2S2N2L 1"),
        ("香平", START_SFEN),
        ("香平手", START_SFEN),
        ("定先", START_SFEN),
    ],
)
def test_handicaps(name: str, sfen: str) -> None:
    assert read(f"手合割：{name}\n上手：a\n").initial_sfen == sfen


@pytest.mark.parametrize(
    "name", ["玉落ち", "歩落ち", "平手得", "裸玉得", "落ち", "得", "三十枚落ち", "飛落角落", "その他"]
)
def test_other_names_are_no_handicaps(name: str) -> None:
    assert handicap_sfen(name) is None
    board = framed([" ・ ・ ・ ・v玉 ・ ・ ・ ・", *[" ・" * 9] * 7, " ・ ・ ・ ・ 玉 ・ ・ ・ ・"])
    assert read(f"手合割：{name}\n{board}後手番\n").initial_sfen == "4k4/9/9/9/9/9/9/9/4K4 w - 1"


def test_a_handicap_in_every_format() -> None:
    sfen = HANDICAPS["トンボ"]
    move = "▲" if sfen.split()[1] == "b" else "△"
    for text in (
        "手合割：トンボ\n   1 ５二玉(51)\n   2 ７六歩(77)\n",
        f"手合割：トンボ\n{move}５二玉 ▲７六歩\n",
        '{"header":{"手合割":"トンボ"},"moves":[{},{"move":{"from":{"x":5,"y":1},"to":{"x":5,"y":2},"piece":"OU"}}]}',
        '{"header":{},"initial":{"preset":"トンボ"},"moves":[{}]}',
    ):
        record = read(text)
        assert record.initial_sfen == sfen
        assert read(write_kif(record)).initial_sfen == sfen


def test_handicaps_as_rsshogi_reads_them() -> None:
    compared = 0
    for name, sfen in HANDICAPS.items():
        written = name if name == "平手" else f"{name}ち"
        if name == "平手" or (name.endswith("落") and not set("七九") & set(name)):  # others it takes for even
            library = LibraryRecord.from_kif_str(f"手合割：{written}\n手数----指手---------消費時間--\n")
            assert library.init_position_sfen == sfen, name
            compared += 1
    assert compared == 14


def test_the_upper_hand_moves_first() -> None:
    record = read("手合割：二枚落ち\n下手：弟子\n上手：師匠\n手数----指手--\n   1 ６二銀(71)\n   2 ７六歩(77)\n")
    assert (record.black_name, record.white_name) == ("弟子", "師匠")
    assert record.usi_moves() == ["7a6b", "7g7f"]


@pytest.mark.parametrize("turn", ["後手番", "上手番", "手番：後手", "手番：上手", "手番＝後手番"])
def test_white_to_move(turn: str) -> None:
    text = f"手合割：その他\n上手の持駒：なし\n{framed(ROWS)}下手の持駒：なし\n{turn}\n手数----指手--\n"
    assert read(text).initial_sfen == START_SFEN.replace(" b ", " w ")
    assert read(f"{text}   1 ３四歩(33)\n").usi_moves() == ["3c3d"]


@pytest.mark.parametrize("turn", ["先手番", "下手番", "手番：先手", ""])
def test_black_to_move(turn: str) -> None:
    assert read(f"後手の持駒：なし\n{framed(ROWS)}先手の持駒：なし\n{turn}\n").initial_sfen == START_SFEN


def test_the_side_to_move_of_a_named_position() -> None:
    assert read("手合割：平手\n後手番\n").initial_sfen == START_SFEN.replace(" b ", " w ")


@pytest.mark.parametrize(
    "board",
    [
        "\n".join(ROWS),
        "\n".join(f"{row}{rank}" for row, rank in zip(ROWS, "一二三四五六七八九", strict=True)),
        "\n".join(f"|{row}|" for row in ROWS),
        "\n".join([FRAME, *(f"|{row}|" for row in ROWS), FRAME]),
        "\n".join(["  9 8 7 6 5 4 3 2 1", *(f"  |{row}| {rank}" for rank, row in enumerate(ROWS, 1))]),
        "\n".join(row.replace(" ・", "・").replace(" ", "") for row in ROWS),
        "\n".join(row.replace(" ", "　") for row in ROWS),
    ],
    ids=range(7),
)
def test_boards_with_and_without_a_frame(board: str) -> None:
    text = f"手合割：その他　　\n後手の持駒：なし\n{board}\n先手の持駒：なし\n先手：a\n後手：b\n手数----指手--\n"
    assert read(f"{text}   1 ７六歩(77)\n").initial_sfen == START_SFEN


@pytest.mark.parametrize(
    ("text", "hand"),
    [
        ("歩十八", "18P"),
        ("歩18", "18P"),
        ("歩１８", "18P"),
        ("歩一八", "18P"),
        ("歩十", "10P"),
        ("歩九", "9P"),
        ("歩", "P"),
        ("飛 角 金二 銀三　桂四  香四", "RB2G3S4N4L"),
        ("飛角金二銀三桂四香四歩十七", "RB2G3S4N4L17P"),
        ("歩 歩 歩", "3P"),
        ("飛、角", "RB"),
        ("なし", "-"),
        ("", "-"),
    ],
)
def test_pieces_in_hand(text: str, hand: str) -> None:
    assert read(f"{framed(KINGS)}先手の持駒：{text}\n").initial_sfen == f"k8/9/9/9/9/9/9/9/8K b {hand} 1"
    sfen = read(f"{framed(KINGS)}後手の持ち駒: {text}\n").initial_sfen
    assert sfen == f"k8/9/9/9/9/9/9/9/8K b {hand.lower()} 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{framed(KINGS)}先手の持駒：歩十九\n", "line 3: the first position is impossible"),
        (f"{framed(KINGS)}先手の持駒：玉\n", "line 13: not pieces in hand: '玉'"),
        (f"{framed(KINGS)}先手の持駒：と二\n", "line 13: not pieces in hand: 'と二'"),
        (f"{framed(KINGS)}先手の持駒：歩x\n", "line 13: not pieces in hand: '歩x'"),
        ("\n".join(["先手の持駒：なし", *ROWS[:8]]), "line 2: a board of 8 rows instead of 9"),
        ("\n".join(["先手の持駒：なし", *ROWS, ROWS[3]]), "line 2: a board of 10 rows instead of 9"),
        ("\n".join(["先手の持駒：なし", *ROWS[:8], " 香 桂 銀 X 玉 金 銀 桂 香"]), "line 10: not a row of a board"),
        ("手合割：二枚落\n先手の持駒：歩\n", "line 2: pieces in hand without a board"),
        ("手合割：三十枚落ち\n先手：a\n", "line 1: unknown handicap '三十枚落ち' without a board"),
        (framed(["v歩 ・ ・ ・ ・ ・ ・ ・ ・"] * 2 + KINGS[1:8]), "line 3: .*two pawns"),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(RecordError, match=rf"game\.kif, {message}"):
        read(text)


def test_every_first_position_comes_back() -> None:
    rng = random.Random(4)
    count = 0
    for position in random_positions(8):
        if rng.random() < 0.1:
            record = Record(initial_sfen=position.sfen())
            assert read(write_kif(record)).initial_sfen == position.sfen()
            count += 1
        if count == 200:
            return


def test_handicaps_are_written_by_the_names_that_all_programs_know() -> None:
    for sfen in ORACLE_HANDICAPS.values():
        text = write_kif(Record(initial_sfen=sfen, black_name="a", white_name="b"))
        assert read(text).initial_sfen == sfen
        assert ("手合割：その他" in text) == ("3p" in sfen)
        assert ("下手：a\n上手：b" in text) == (sfen != START_SFEN)
    text = write_kif(Record(initial_sfen=HANDICAPS["五枚落"]))  # ShogiHome does not know its name
    assert "手合割：その他" in text
    assert read(text).initial_sfen == HANDICAPS["五枚落"]


@given(st.text("飛角金銀桂香歩一二三十〇0189１なし 　", max_size=12))
def test_hands_are_read_or_refused(text: str) -> None:
    (found,) = scan_records(f"{framed(KINGS)}先手の持駒：{text}\n".encode(), name="game.kif")
    if isinstance(found, RecordError):
        assert str(found).startswith("game.kif, line")
    else:
        assert Position.from_sfen(found.initial_sfen).sfen() == found.initial_sfen


@pytest.mark.parametrize(
    ("name", "what"),
    [
        *(
            (name, "names several games and not this one")
            for name in ("角香平", "角平香", "角香交じり", "半香", "平手・香落ち")
        ),
        *(
            (name, "does not tell which pieces are missing")
            for name in ("右四枚落ち", "右八枚落ち", "十一枚落ち", "12枚落ち", "歩落ち")
        ),
        ("裸玉（歩三兵）", "names two positions"),
        ("20枚落ち", "without a board"),
        ("99枚落ち", "without a board"),
    ],
)
def test_a_name_with_several_meanings_needs_a_board(name: str, what: str) -> None:
    with pytest.raises(RecordError, match=f"line 1: (unknown )?handicap '{name}' {what}: add the board"):
        read(f"手合割：{name}\n   1 ７六歩(77)\n")
    assert read(f"手合割：{name}\n{framed(ROWS)}後手番\n   1 ３四歩(33)\n").usi_moves() == ["3c3d"]
