"""Variations that leave variations: the tree stays as it is in KIF, KI2 and JKF, with every move and comment once."""

import json

import pytest
from hypothesis import given, settings
from record_samples import lines_of, records

from fukayomi.shogi import Move
from fukayomi.shogi.formats import read_records, write_jkf, write_ki2, write_kif
from fukayomi.shogi.record import Record, RecordedMove, RecordError, Variation

NESTED = """手合割：平手
手数----指手---------消費時間--
   1 ７六歩(77)
   2 ３四歩(33)
   3 ２六歩(27)

変化：3手
   3 ６六歩(67)
*c
   4 ８四歩(83)
   5 ７八銀(79)

変化：5手
   5 ６八飛(28)
"""
WRITERS = [write_kif, write_ki2, write_jkf]


def read(text: str) -> Record:
    (record,) = read_records(text.encode(), name="game")
    return record


def tree(record: Record) -> list[tuple[int, int | None, list[str]]]:
    return [(line.ply, line.parent, [played.move.usi() for played in line.moves]) for line in record.variations]


@pytest.mark.parametrize("write", WRITERS)
def test_a_variation_of_a_variation_leaves_it(write) -> None:
    record = read(NESTED)
    assert tree(record) == [(3, None, ["6g6f", "8c8d", "7i7h"]), (5, 0, ["2h6h"])]
    assert [played.move.usi() for played in record.moves_before(record.variations[1])] == [
        "7g7f",
        "3c3d",
        "6g6f",
        "8c8d",
    ]
    text = write(record)
    assert text.count('"c"' if write is write_jkf else "*c") == 1
    assert read(text) == record


def test_kif_is_written_as_it_was_read() -> None:
    text = write_kif(read(NESTED)).replace("+\n", "\n")
    assert text.partition("手数")[2].replace("----指手---------消費時間--", "") == NESTED.partition("手数")[2].replace(
        "----指手---------消費時間--", ""
    )
    assert [line for line in write_kif(read(NESTED)).splitlines() if line.endswith("+")] == [
        "   3 ２六歩(27)+",
        "   5 ７八銀(79)+",
    ]


@settings(max_examples=30, deadline=None)
@given(records())
def test_trees_come_back_from_kif(record: Record) -> None:
    again = read(write_kif(record))
    assert again == record
    assert lines_of(again) == lines_of(record)


@settings(max_examples=20, deadline=None)
@given(records())
def test_moves_and_comments_stay_in_number_through_kif_and_jkf(record: Record) -> None:
    for text in (write_jkf(read(write_kif(record))), write_kif(read(write_jkf(record)))):
        assert lines_of(read(text)) == lines_of(record)


def line(moves: str) -> list[RecordedMove]:
    return [RecordedMove(Move.from_usi(usi)) for usi in moves.split()]


def test_lines_in_any_order_are_written_in_that_of_kif() -> None:
    record = Record(moves=line("7g7f 3c3d 2g2f"))
    record.variations = [
        Variation(1, line("2g2f 8c8d 2f2e")), Variation(3, line("6g6f")), Variation(2, line("3c3d"), parent=0),
        Variation(3, line("9g9f")), Variation(3, line("7g7f 4a3b"), parent=0), Variation(4, line("9c9d"), parent=3),
        Variation(4, line("8c8d"), "the game goes on"),
    ]  # fmt: skip
    for write in WRITERS[:2]:
        again = read(write(record))
        assert lines_of(again) == lines_of(record)
        assert [(ply, parent) for ply, parent, _ in tree(again)] == [
            (4, None), (3, None), (3, None), (4, 2), (1, None), (3, 4), (2, 4),
        ]  # fmt: skip
        assert again.variations[0].comment == "the game goes on"


def test_variations_that_are_listed_from_the_beginning_to_the_end() -> None:
    text = NESTED.partition("変化")[0] + "変化：1手\n   1 ２六歩(27)\n\n変化：3手\n   3 ６六歩(67)\n"
    assert tree(read(text)) == [(1, None, ["2g2f"]), (3, None, ["6g6f"])]


@pytest.mark.parametrize(
    ("variations", "message"),
    [
        ([Variation(5, line("7g7f"))], "a variation at ply 5 of a game of 3 plies"),
        ([Variation(1, line("2g2f"), parent=0)], "variation 0 leaves variation 0"),
        ([Variation(1, line("2g2f"), parent=-1)], "variation 0 leaves variation -1"),
        ([Variation(1, line("2g2f")), Variation(1, line("7g7f"), parent=0)], "ply 1 of a variation from ply 1"),
        ([Variation(1, line("2g2f")), Variation(3, line("7g7f"), parent=0)], "ply 3 of a variation from ply 1"),
    ],
)
def test_variations_must_have_a_place(variations: list[Variation], message: str) -> None:
    record = Record(moves=line("7g7f 3c3d 2g2f"), variations=variations)
    for write in WRITERS:
        with pytest.raises(RecordError, match=message):
            write(record)


def deep(depth: int) -> str:
    """A variation of a variation and so on; each leaves the one above at its first move."""
    moves = ["△７二飛", "▲３八飛", "△８二飛", "▲２八飛"]
    return "手合割：平手\n▲７六歩\n" + "".join(f"変化：{ply + 2}手\n{moves[ply % 4]}\n" for ply in range(depth))


def test_deep_trees_are_read_and_written_move_by_move() -> None:
    record = read(deep(2000))
    assert len(record.variations) == 2000
    assert sum(len(variation.moves) for variation in record.variations) == 2000
    for write in (write_kif, write_ki2):
        again = read(write(record))
        assert tree(again) == tree(record)
    with pytest.raises(RecordError, match="the variations are nested too deeply for JKF; write KIF"):
        write_jkf(record)
    shallow = read(deep(50))
    assert tree(read(write_jkf(shallow))) == tree(shallow)
    assert json.loads(write_jkf(shallow))


def test_bookmarks_stay() -> None:
    text = (
        "手合割：平手\n手数----指手---------消費時間--\n&はじめ\n   1 ７六歩(77)\n*c\n&しおり１\n&二つ目\n"
        "   2 ３四歩(33)\n"
        "\n変化：1手\n&しおり２\n   1 ２六歩(27)\n&しおり３\n"
    )
    record = read(text)
    assert (record.bookmark, record.moves[0].bookmark, record.moves[0].comment) == ("はじめ", "しおり１\n二つ目", "c")
    assert (record.variations[0].bookmark, record.variations[0].moves[0].bookmark) == ("しおり２", "しおり３")
    for write in WRITERS:
        written = write(record)
        assert [written.count(name) for name in ("はじめ", "しおり１", "二つ目", "しおり２", "しおり３")] == [1] * 5
        assert read(written).moves[0].bookmark == "しおり１\n二つ目"
    assert read(write_kif(record)) == record


GAME = "手合割：平手\n手数----指手---------消費時間--\n   1 ７六歩(77)\n   2 ３四歩(33)\n   3 投了\n\n"


def test_the_end_of_a_variation_is_a_comment() -> None:
    for end in ("   3 投了   ( 0:05/)", "まで2手で投了", "   3 投了"):
        record = read(f"{GAME}変化：2手\n   2 ８四歩(83)\n*手\n{end}\n*ここで投了\n")
        (variation,) = record.variations
        assert [played.comment for played in variation.moves] == ["手\n投了\nここで投了"]
        assert record.left_out == []
        for write in (write_kif, write_ki2, write_jkf):
            assert read(write(record)).variations[0].moves[0].comment == "手\n投了\nここで投了"


def test_an_end_instead_of_a_move_is_a_comment_on_the_move_before() -> None:
    record = read(f"{GAME}変化：3手\n*先手は\n   3 投了\n*ここで投了\n変化：1手\n   1 中断\n")
    assert record.variations == []
    assert record.moves[1].comment == "変化：3手\n先手は\n投了\nここで投了"
    assert record.comment == "変化：1手\n中断"
    assert [line for line, _ in record.left_out] == [9, 12]


@pytest.mark.parametrize(
    ("variation", "line", "reason", "plies"),
    [
        ("変化：9手\n   9 ２六歩(27)\n", 7, "a variation from move 9, where no line comes to", 0),
        ("変化：2手\n   2 ８五歩(83)\n", 8, "a variation from move 2: illegal move '2 ８五歩(83)'", 0),
        ("変化：2手\n   2 ８四歩(83)\n   3 ９九角(11)\n", 9, "a variation from move 2: illegal move '3 ９九角(11)'", 1),
        ("変化：2手\n   2 ８四歩(83)\nそして\n", 9, "a variation from move 2: neither a move nor an end: 'そして'", 1),
        ("変化：2手\n", 7, "a variation from move 2 without moves", 0),
        ("変化：\n", 7, "a variation from move ?, where no line comes to", 0),
    ],
)
def test_what_is_left_out_of_variations_is_named(variation: str, line: int, reason: str, plies: int) -> None:
    record = read(GAME + variation)
    assert sum(len(kept.moves) for kept in record.variations) == plies
    ((where, why),) = record.left_out
    assert where == line
    assert why.endswith(reason)


def test_a_flood_of_bad_variations_is_noted_in_part() -> None:
    for line in ("変化：9手\n", "変化：3手\n投了\n"):
        record = read(GAME + line * 5000)
        assert len(record.left_out) == 100
        assert len(record.moves[1].comment) < 2000


def test_forks_that_end_or_are_damaged() -> None:
    document = json.loads(write_jkf(read(f"{GAME}変化：2手\n   2 ８四歩(83)\n*手\n")))
    fork = document["moves"][2]["forks"][0]
    fork.append({"special": "TORYO", "comments": ["ここで投了"]})
    record = read(json.dumps(document))
    assert record.variations[0].moves[0].comment == "手\n投了\nここで投了"
    assert record.left_out == []
    fork[0]["move"]["to"] = {"x": 5, "y": 5}
    record = read(json.dumps(document))
    assert record.variations == []
    assert "the rest of a variation from move 2: illegal move" in record.left_out[0][1]
