"""The figures that the page tells of the engine's strength are those of docs/strength.md."""

import pytest
from places import ROOT

from fukayomi.web.play.strength import MEASURED, Measured


@pytest.mark.parametrize("measured", MEASURED, ids=lambda each: f"{each.opponent}-{each.time_ms}ms")
def test_every_figure_stands_in_the_page_about_strength(measured: Measured) -> None:
    rows = (ROOT / "docs" / "strength.md").read_text(encoding="utf-8").splitlines()
    counts = f"| {measured.won}-{measured.lost}-{measured.drawn} |"
    (row,) = (line for line in rows if counts in line and measured.opponent in line)
    assert f"{measured.score:g} %" in row or f"{measured.score:.1f} %" in row
    games = measured.won + measured.lost + measured.drawn
    assert round(100 * (measured.won + measured.drawn / 2) / games, 1) == measured.score
