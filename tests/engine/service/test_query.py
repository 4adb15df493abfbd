"""What an analysis service may be asked: every field, checked against the documented schema."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from service_schema import LINE

from fukayomi.engine import AnalysisQuery, QueryError
from fukayomi.shogi import Position

GAME = ("7g7f", "3c3d", "2g2f", "8c8d")
ODD: list[Any] = [None, True, -1, 0, 1, 10, 2.5, "", "1", [], [1], ["7g7f"], [None], {}, "\ud800", 2**64]


def test_defaults() -> None:
    query = AnalysisQuery(moves=GAME)
    assert (query.turns, query.visits, query.time_ms, query.multipv) == ((4,), None, None, 3)
    assert AnalysisQuery().position(0).sfen() == Position().sfen()


def test_positions_have_their_past() -> None:
    dance = ("2h3h", "8b7b", "3h2h", "7b8b")
    assert len(AnalysisQuery(moves=dance * 3).position(12).moves) == 12


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sfen": 5}, "sfen: must be text"),
        ({"sfen": "9/9"}, "sfen: invalid SFEN"),
        ({"sfen": "9/9/9/9/9/9/9/9/9 b - 1"}, "sfen: .*no king"),
        ({"moves": "7g7f"}, "moves: must be a list"),
        ({"moves": ["7g7f", 3]}, r"moves\[1\]: must be text"),
        ({"moves": ["7g7f", "7g7f"]}, r"moves\[1\]: illegal move"),
        ({"moves": ["7g7f"] * 10_001}, "moves: has 10001 items"),
        ({"turns": [1]}, "turns: must be numbers from 0 to 0"),
        ({"moves": ["7g7f"], "turns": [0, 0]}, "turns: must be different"),
        ({"turns": [True]}, r"turns\[0\]: must be a whole number"),
        ({"turns": []}, "turns: must not be empty"),
        ({"visits": 0}, "visits: must be a whole number from 1"),
        ({"visits": 1.5}, "visits: must be a whole number"),
        ({"visits": None}, "visits: must not be null"),
        ({"time_ms": 86_400_001}, "time_ms: "),
        ({"multipv": 594}, "multipv: "),
        ({"priority": "high"}, "priority: "),
        ({"report_every_ms": 9}, "report_every_ms: must be a whole number from 10"),
        ({"search_moves": []}, "search_moves: must not be empty"),
        ({"search_moves": ["3c3d"]}, r"search_moves\[0\] at turn 0: illegal move"),
        ({"moves": ["7g7f"], "turns": [0, 1], "search_moves": ["2g2f"]}, r"search_moves\[0\] at turn 1: "),
        ({"visit": 5}, "visit: no such field; there are sfen, moves, turns, visits"),
    ],
)
def test_errors_name_the_field(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError, match=f"^{message}"):
        AnalysisQuery.from_fields(fields)


numbers = st.sampled_from(ODD) | st.integers(-10, 2**31)
lists = st.lists(st.sampled_from([*GAME, *ODD]), max_size=5)
fields = st.fixed_dictionaries(
    {},
    optional={
        "sfen": st.sampled_from([Position().sfen(), *ODD]) | st.text(max_size=80),
        "moves": st.sampled_from([GAME[:n] for n in range(5)]).map(list) | lists | numbers,
        "turns": st.lists(st.integers(-1, 5), max_size=4) | lists | numbers,
        **dict.fromkeys(("visits", "time_ms", "multipv", "priority", "report_every_ms"), numbers),
        "search_moves": lists | numbers,
        "other": numbers,
    },
)


@given(fields)
@example({"sfen": "\ud800"})
def test_what_is_taken_agrees_with_the_schema(given_fields: dict[str, Any]) -> None:
    # The schema knows types and ranges; the rules of shogi decide the rest.
    fits = LINE.is_valid({"id": 1, **given_fields})
    try:
        query = AnalysisQuery.from_fields(given_fields)
    except QueryError as error:
        name = str(error).partition(":")[0].partition("[")[0]
        assert name in given_fields
        if fits:
            assert name in ("sfen", "moves", "turns", "search_moves")
        return
    assert fits
    for turn in query.turns:
        assert len(query.position(turn).moves) == turn
