"""Settings of games: numbers are numbers, and the options of engines text."""

import pytest

from fukayomi.arena.game.rules import ConfigurationError, EngineSettings, Rules


@pytest.mark.parametrize("value", [True, "100"])
def test_truth_values_and_text_are_no_numbers(value: object) -> None:
    with pytest.raises(ConfigurationError, match="max_plies: Input should be a number"):
        Rules(**{"max_plies": value})  # type: ignore[arg-type]


def test_options_of_engines_become_text() -> None:
    options = {"USI_Hash": 16, "Ponder": True, "Book": "no"}
    engine = EngineSettings.model_validate({"name": "a", "command": ["a"], "options": options})
    assert engine.options == {"USI_Hash": "16", "Ponder": "true", "Book": "no"}
