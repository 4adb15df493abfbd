"""The figures that the page tells of the engine's strength are those of docs/strength.md."""

import pytest
from places import ROOT

from fukayomi.web.play.strength import MEASURED, Measured


@pytest.mark.parametrize("measured", MEASURED, ids=lambda each: f"{each.opponent}-{each.time_ms}ms")
def test_every_figure_stands_in_the_page_about_strength(measured: Measured) -> None:
    rows = (ROOT / "docs" / "strength.md").read_text(encoding="utf-8").splitlines()
    row = [line for line in rows if f"{measured.won}-{measured.lost}-{measured.drawn} |" in line]
    assert len(row) == 1
    assert measured.opponent in row[0]
    assert f"{measured.score:g} %" in row[0] or f"{measured.score:.1f} %" in row[0]
    games = measured.won + measured.lost + measured.drawn
    assert round(100 * (measured.won + measured.drawn / 2) / games, 1) == measured.score
