"""The figures of a match in words."""

import pytest

from fukayomi.arena.statistics.intervals import estimate_strength
from fukayomi.cli.arena.match_progress import elo_text, percent


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ([0, 0, 0], "-"),
        ([0, 0, 2], "above -113"),
        ([0, 0, 7], "above +104"),
        ([7, 0, 0], "below -104"),
        ([0, 7, 0], "+0 ±209"),
        ([0, 4, 0, 0, 0], "-191 ±235"),
        ([20, 4, 76], "+220 ±79"),
        ([1, 0, 9], "+382 ±314"),
    ],
    ids=["none", "two-wins", "wins", "losses", "draws", "equal-pairs", "mixed", "nine-of-ten"],
)
def test_elo_is_as_certain_as_its_counts(counts: list[int], text: str) -> None:
    assert elo_text(estimate_strength(counts)) == text


def test_a_share_without_games_is_unknown() -> None:
    assert (percent(None), percent(0.51349)) == ("-", "51.3 %")
