"""Results as text, HTML and DataFrames."""

import doctest
from collections.abc import Mapping, Sequence
from typing import Any

from fukayomi import tabular
from fukayomi.tabular import Tabular, counted


class Players(Tabular):
    def __init__(self, *rows: Mapping[str, Any]) -> None:
        self._rows = rows

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return self._rows


PLAYERS = Players({"name": "深読み", "elo": 12.3456, "games": 400}, {"name": "<b>\x1b[2J", "elo": None, "games": 8})


def test_examples() -> None:
    assert doctest.testmod(tabular).failed == 0


def test_text_lines_up_and_cannot_steer_a_terminal() -> None:
    assert str(PLAYERS).splitlines() == ["name       elo  games", "深読み   12.35    400", "<b>?[2J             8"]
    assert str(Players()) == "(no rows)"


def test_html_is_escaped() -> None:
    assert "<td>&lt;b&gt;?[2J</td><td></td><td>8</td>" in PLAYERS._repr_html_()


def test_frames_keep_the_numbers() -> None:
    assert PLAYERS.to_pandas()["elo"][0] == 12.3456
    assert PLAYERS.to_polars()["elo"].to_list() == [12.3456, None]
    assert PLAYERS.to_polars().columns == list(PLAYERS.to_pandas().columns) == ["name", "elo", "games"]


def test_one_is_singular() -> None:
    assert [counted(number, "game") for number in (0, 1, 2, 1234)] == ["0 games", "1 game", "2 games", "1,234 games"]
    assert (counted(1, "ply", "plies"), counted(2, "ply", "plies")) == ("1 ply", "2 plies")


def test_a_long_table_shows_its_beginning_and_its_end() -> None:
    table = Players(*({"number": n} for n in range(100)))
    lines = str(table).splitlines()
    assert (len(lines), lines[1], lines[20], lines[21], lines[22], lines[-1]) == (
        42, "     0", "    19", "... 60 more rows", "    80", "    99",
    )  # fmt: skip
    page = table._repr_html_()
    assert '<td colspan="1">… 60 more rows</td>' in page
    assert page.count("<tr>") == 42
    assert len(table.rows()) == len(table.to_polars()) == 100


def test_a_wide_row_is_a_list_and_a_long_cell_is_cut() -> None:
    wide = Players({f"column {n}": "x" * 20 for n in range(10)})
    assert str(wide).splitlines()[0] == f"column 0  {'x' * 20}"
    assert len(str(wide).splitlines()) == 10
    assert str(Players({"pv": "7g7f " * 40})).splitlines()[1] == ("7g7f " * 12)[:59] + "…"


def test_columns_beyond_a_screen_are_named() -> None:
    lines = str(Players(*[{f"column {n}": "x" * 30 for n in range(9)}] * 2)).splitlines()
    assert max(map(len, lines)) <= 200
    assert lines[-1] == "... 3 more columns: column 6, column 7, column 8"


def test_results_say_what_they_are_in_a_line() -> None:
    assert repr(PLAYERS) == "<Players: 2 rows>"
    assert repr(Players({"name": "a"})) == "<Players: 1 row>"
