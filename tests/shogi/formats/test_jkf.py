"""JKF: what the schema demands, what comes back, records of other programs, and damage."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jkf_schema import SCHEMA
from jsonschema import Draft202012Validator
from record_samples import records

from fukayomi.shogi import START_SFEN
from fukayomi.shogi.formats import read_records, scan_records, write_jkf, write_kif
from fukayomi.shogi.formats.clock import kif_time_limit
from fukayomi.shogi.formats.text import MOST_PLIES
from fukayomi.shogi.record import (
    IllegalMoveInRecordError,
    Record,
    RecordError,
    Result,
    Termination,
)

VALIDATOR = Draft202012Validator(SCHEMA)


def read(document: object, name: str = "game") -> Record:
    (record,) = read_records(json.dumps(document).encode(), name=name)
    return record


def move(text: str, piece: str, **more: object) -> dict[str, Any]:
    """An item with a move: 7776 or, for a drop, 0055."""
    x, y, to_x, to_y = map(int, text)
    origin = {"from": {"x": x, "y": y}} if x else {}
    return {"move": {**origin, "to": {"x": to_x, "y": to_y}, "piece": piece, **more}}


GAME = [{}, move("7776", "FU", color=0), move("3334", "FU", color=1), move("8822", "KA", color=0, promote=True)]


@settings(max_examples=30, deadline=None)
@given(records())
def test_what_is_written_obeys_the_schema_and_comes_back(record: Record) -> None:
    text = write_jkf(record)
    VALIDATOR.validate(json.loads(text))
    (again,) = read_records(text.encode(), name="game")
    assert again == record


def test_a_record_without_names_has_a_header() -> None:
    document = json.loads(write_jkf(Record()))
    assert document == {"header": {}, "initial": {"preset": "HIRATE"}, "moves": [{}]}


def test_the_fields_of_a_move() -> None:
    (record,) = read_records(
        "手合割：平手\n\n▲７六歩 △３四歩 ▲２二角成 △同銀 ▲５八金右 △５二金左 ▲５五角\nまで7手で中断\n".encode()
    )
    items = [item["move"] for item in json.loads(write_jkf(record))["moves"] if "move" in item]
    assert items[2] == {
        "color": 0, "from": {"x": 8, "y": 8}, "to": {"x": 2, "y": 2}, "piece": "KA", "promote": True, "capture": "KA",
    }  # fmt: skip
    assert items[3] == {
        "color": 1, "from": {"x": 3, "y": 1}, "to": {"x": 2, "y": 2}, "piece": "GI", "same": True, "capture": "UM",
    }  # fmt: skip
    assert [item.get("relative") for item in items] == [None, None, None, None, "R", "L", None]
    assert items[6] == {"color": 0, "to": {"x": 5, "y": 5}, "piece": "KA"}


def test_times_add_up_for_each_side() -> None:
    (record,) = read_records(b"PI\n+\n+7776FU\nT3700\n-3334FU\nT1\n+2726FU\nT100\n%TORYO\n")
    times = [item["time"] for item in json.loads(write_jkf(record))["moves"] if "time" in item]
    assert times[0] == {"now": {"h": 1, "m": 1, "s": 40}, "total": {"h": 1, "m": 1, "s": 40}}
    assert times[1] == {"now": {"m": 0, "s": 1}, "total": {"h": 0, "m": 0, "s": 1}}
    assert times[2] == {"now": {"m": 1, "s": 40}, "total": {"h": 1, "m": 3, "s": 20}}


@pytest.mark.parametrize(
    ("special", "termination", "result"),
    [
        ("TORYO", Termination.RESIGN, Result.BLACK_WIN),
        ("CHUDAN", Termination.INTERRUPTED, Result.UNKNOWN),
        ("SENNICHITE", Termination.REPETITION, Result.DRAW),
        ("TIME_UP", Termination.TIME_UP, Result.BLACK_WIN),
        ("ILLEGAL_MOVE", Termination.ILLEGAL_MOVE, Result.BLACK_WIN),
        ("+ILLEGAL_ACTION", Termination.ILLEGAL_MOVE, Result.WHITE_WIN),
        ("-ILLEGAL_ACTION", Termination.ILLEGAL_MOVE, Result.BLACK_WIN),
        ("JISHOGI", Termination.IMPASSE, Result.DRAW),
        ("KACHI", Termination.DECLARATION, Result.WHITE_WIN),
        ("HIKIWAKE", Termination.DRAW, Result.DRAW),
        ("MATTA", Termination.TAKEN_BACK, Result.UNKNOWN),
        ("TSUMI", Termination.MATE, Result.BLACK_WIN),
        ("FUZUMI", Termination.NO_MATE, Result.UNKNOWN),
        ("ERROR", Termination.ERROR, Result.UNKNOWN),
        ("MAX_MOVES", Termination.MAX_PLIES, Result.DRAW),
        ("NEW", Termination.OTHER, Result.UNKNOWN),
    ],
)
def test_ends(special: str, termination: Termination, result: Result) -> None:
    record = read({"header": {}, "moves": [*GAME, {"special": special, "comments": ["the end"]}]})
    assert (record.termination, record.result, record.ending_comment) == (termination, result, "the end")


def test_an_illegal_last_move_and_the_foul() -> None:
    foul = [*GAME, move("5152", "OU", color=1), move("0056", "FU", color=0), {"special": "ILLEGAL_MOVE"}]
    record = read({"header": {}, "moves": foul})
    assert (len(record), record.illegal_move, record.result) == (4, "P*5f", Result.WHITE_WIN)
    document = json.loads(write_jkf(record))
    assert document["moves"][-2:] == foul[-2:]
    VALIDATOR.validate(document)
    for end in ([], [{"special": "TORYO"}], [{}, move("3334", "FU")]):
        with pytest.raises(IllegalMoveInRecordError, match="game: ply 5: "):
            read({"header": {}, "moves": [*foul[:-1], *end]})


@pytest.mark.parametrize(
    ("initial", "sfen"),
    [
        (None, START_SFEN),
        ({"preset": "HIRATE"}, START_SFEN),
        ({"preset": "KY"}, "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ({"preset": "7_L"}, "2sgkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        (
            {
                "preset": "OTHER",
                "data": {
                    "color": 1,
                    "board": [[{}] * 9] * 4 + [[{"color": 1, "kind": "OU"}, *[{}] * 7, {"color": 0, "kind": "OU"}]],
                    "hands": [{"FU": 2, "HI": 1}, {"KI": 1, "KA": None}],
                },
            },
            "4k4/9/9/9/9/9/9/9/4K4 w R2Pg 1",
        ),
    ],
)
def test_first_positions(initial: object, sfen: str) -> None:
    assert read({"header": {}, "initial": initial, "moves": [{}]}).initial_sfen == sfen


@pytest.mark.parametrize(
    ("item", "usi"),
    [
        (move("7968", "GI", color=0, relative="U", same=None, promote=None), "7i6h"),
        ({"move": {"to": {"x": 5, "y": 8}, "piece": "KI", "relative": "R"}}, "4i5h"),
        ({"move": {"to": {"x": 5, "y": 8}, "piece": "OU"}}, "5i5h"),
    ],
)
def test_moves_as_other_programs_write_them(item: object, usi: str) -> None:
    assert read({"header": {}, "moves": [{}, item]}).usi_moves() == [usi]


def test_a_promotion_may_be_named_as_in_csa() -> None:
    assert read({"header": {}, "moves": [*GAME[:3], move("8822", "UM", color=0)]}).usi_moves()[-1] == "8h2b+"


def test_nulls() -> None:
    items: list[object] = [{"comments": None}, move("7776", "FU", color=0) | {"comments": None, "time": None}]
    record = read({"header": {"先手": "a"}, "initial": None, "moves": [*items, {"special": "TORYO", "move": None}]})
    assert (record.usi_moves(), record.result, record.black_name) == (["7g7f"], Result.BLACK_WIN, "a")


def test_scores_in_comments_and_variations_come_from_kif() -> None:
    kif = (
        "手合割：平手\n   1 ７六歩(77)\n**評価値=80\n   2 ３四歩(33)\n*対局 時間 1 評価値 -68 読み筋 ▲同　銀\n\n"
        "変化：2手\n   2 ８四歩(83)\n*another\n   3 ２六歩(27)\n"
    )
    (record,) = read_records(kif.encode())
    (again,) = read_records(write_jkf(record).encode())
    assert [played.score_cp for played in again.moves] == [80, -68]
    assert again.moves[1].pv == "▲同　銀"
    assert [[played.move.usi() for played in line.moves] for line in again.variations] == [["8c8d", "2g2f"]]
    assert again == record


def test_forks_of_forks_stay_a_tree() -> None:
    inner = [move("2726", "FU", color=0)]
    fork = [move("8384", "FU", color=1), move("9796", "FU", color=0) | {"forks": [inner]}]
    record = read({"header": {}, "moves": [{}, GAME[1], GAME[2] | {"forks": [fork]}, {"special": "TORYO"}]})
    assert [(line.ply, line.parent, [played.move.usi() for played in line.moves]) for line in record.variations] == [
        (2, None, ["8c8d", "9g9f"]),
        (3, 0, ["2g2f"]),
    ]
    forks = json.loads(write_jkf(record))["moves"][2]["forks"]
    assert [len(line) for line in forks] == [2]
    assert [item["move"]["to"] for item in forks[0][1]["forks"][0]] == [{"x": 2, "y": 6}]


def test_a_damaged_fork_does_not_touch_the_game() -> None:
    for fork in ([move("8485", "FU")], [{"move": 3}], ["x"], 7, [{"comments": 3}], []):
        record = read({"header": {}, "moves": [{}, GAME[1] | {"forks": [fork]}, GAME[2]]})
        assert (record.usi_moves(), record.variations) == (["7g7f", "3c3d"], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"header": {}, "moves": 3}', "moves is no list"),
        ('{"header": 3, "moves": []}', "header is no object"),
        ('{"moves": ', "line 1: not JSON: Expecting value"),
        ('{"moves":\n [,]}', "line 2: not JSON"),
        ('{"moves": ' + "[" * 100_000, "nested too deeply"),
        ('{"moves": ' + "9" * 10_000 + "}", "not JSON"),
        ('{"initial": {"preset": "11"}, "moves": []}', "unknown preset '11'"),
        ('{"initial": {"preset": "OTHER"}, "moves": []}', "the data of initial is no object"),
        (json.dumps({"moves": [*GAME, move("7776", "FU", color=0)]}), "ply 4: it is the other side's turn"),
        (json.dumps({"moves": [*GAME, move("5554", "FU", color=1)]}), "ply 4: illegal move 5e5d: there is no piece"),
        (json.dumps({"moves": [*GAME, move("5152", "KI", color=1)]}), "ply 4: illegal move 5a5b: there is no KI"),
        (json.dumps({"moves": [*GAME, move("3122", "KI", color=1, promote=True)]}), "ply 4: .* there is no KI"),
        (json.dumps({"moves": [*GAME, move("5155", "OU", color=1)]}), "ply 4: illegal move '5a5e'"),
        (json.dumps({"moves": [*GAME, {"move": {}}]}), "ply 4: a move without target or piece"),
        (json.dumps({"moves": [*GAME, {"special": "TORYO"}, GAME[1]]}), "ply 4: a move after the end of the game"),
    ],
)
def test_errors_name_the_place(text: str, message: str) -> None:
    with pytest.raises(RecordError, match=message) as error:
        list(read_records(text.encode(), name="bad"))
    assert str(error.value).startswith("bad")


def test_a_game_of_too_many_plies_is_an_error() -> None:
    cycle = [("2838", 0), ("8272", 1), ("3828", 0), ("7282", 1)]
    items = [move(cycle[ply % 4][0], "HI", color=cycle[ply % 4][1]) for ply in range(MOST_PLIES + 1)]
    assert len(read({"header": {}, "moves": [{}, *items[:-1]]})) == MOST_PLIES
    with pytest.raises(RecordError, match="game: a game may have at most 10000 plies"):
        read({"header": {}, "moves": [{}, *items]})


def test_halves_of_characters_can_be_written() -> None:
    record = read({"header": {"先手": "\ud83d"}, "moves": [{"comments": ["\udc00"]}]})
    assert write_kif(record).encode()


def test_records_of_other_programs(shared_data: Path) -> None:
    found = sorted((shared_data / "records").rglob("*.jkf"))
    assert len(found) > 5
    for path in found:
        (record,) = read_records(path, name="game")
        text = write_jkf(record)
        VALIDATOR.validate(json.loads(text))
        (again,) = read_records(text.encode(), name="game")
        if record.time_limit.isascii():
            record.time_limit = kif_time_limit(record.time_limit)
        assert again == record


def test_a_tournament_game_is_the_same_in_kif(shared_data: Path) -> None:
    folder = shared_data / "records" / "json-kifu-format" / "files"
    (jkf,) = read_records(folder / "jkf" / "ryuou201409020101.jkf")
    (kif,) = read_records(folder / "kif" / "ryuou201409020101.kif")
    assert jkf.usi_moves() == kif.usi_moves()
    assert (jkf.black_name, jkf.time_limit, jkf.event) == (kif.black_name, kif.time_limit, kif.event)


_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 10**20), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)
_SAMPLE = {
    "header": {"先手": "a", "手合割": "平手"},
    "initial": {
        "preset": "OTHER",
        "data": {
            "color": 0,
            "board": [[{}] * 9] * 4 + [[{"color": 1, "kind": "OU"}, *[{}] * 7, {"color": 0, "kind": "OU"}]],
            "hands": [{"FU": 2, "HI": 1}, {"KI": 1}],
        },
    },
    "moves": [
        {"comments": ["x"]},
        move("5958", "OU", color=0) | {"time": {"now": {"m": 0, "s": 1}, "total": {"h": 0, "m": 0, "s": 1}}},
        move("5152", "OU", color=1) | {"forks": [[move("5161", "OU", color=1)]], "comments": ["*評価値=3"]},
        move("0055", "FU", color=0, relative="H", same=False),
        {"special": "TORYO"},
    ],
}


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, inner in items for place in _places(inner, (*path, key)))]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_value_anywhere_gives_a_game_or_a_named_error(data: st.DataObject) -> None:
    document: Any = copy.deepcopy(_SAMPLE)
    *path, last = data.draw(st.sampled_from(_places(_SAMPLE)[1:]))
    inner = document
    for key in path:
        inner = inner[key]
    inner[last] = data.draw(_VALUES)
    for found in scan_records(json.dumps(document).encode(), name="fuzz"):
        if isinstance(found, RecordError):
            assert str(found).startswith("fuzz")
        else:
            for position, played in found.replay():
                assert position.is_legal(played.move)
            write_jkf(found)
