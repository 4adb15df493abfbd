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
