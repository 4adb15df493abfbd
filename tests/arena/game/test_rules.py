"""Settings of games: numbers are numbers, but where the command line writes them as text."""

import pytest
from pydantic import ValidationError

from fukayomi.arena.game.rules import Resignation, Rules


@pytest.mark.parametrize("value", [True, "100"])
def test_truth_values_and_text_are_no_numbers(value: object) -> None:
    with pytest.raises(ValidationError, match="max_plies\n  Input should be a number"):
        Rules.model_validate({"max_plies": value})


def test_numbers_of_an_adjudication_may_be_text() -> None:
    assert Rules.model_validate({"resign": {"score_cp": "900"}}).resign == Resignation(score_cp=900)
