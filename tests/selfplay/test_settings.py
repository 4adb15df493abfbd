"""The settings of self-play and what the native core gets of them."""

from typing import Any

import pytest
from pydantic import ValidationError

from fukayomi._native import DeclarationRule, Fpu, RootRule, SelfplayParams
from fukayomi.selfplay import SelfplaySettings


def test_defaults_are_those_of_the_core() -> None:
    given, native = SelfplaySettings().params(seed=9), SelfplayParams()
    names = [name for name in dir(SelfplayParams) if not name.startswith("_")]
    assert {n: getattr(given, n) for n in names if n != "seed"} == {n: getattr(native, n) for n in names if n != "seed"}
    assert given.seed == 9


def test_settings_reach_the_search() -> None:
    settings = SelfplaySettings(
        fpu="loss", fpu_reduction_root=0.5, temperature=1.25, root_noise=5, root_rule="gumbel",
        declaration_rule="points_24", forced_playouts=2,
    )  # fmt: skip
    params = settings.search_params()
    assert (params.fpu, params.root_rule, params.declaration_rule) == (
        Fpu.LOSS,
        RootRule.GUMBEL,
        DeclarationRule.POINTS_24,
    )
    assert params.fpu_reduction_root == 0.5
    assert params.softmax_temperature == 1.25
    assert params.root_visit_noise == pytest.approx(0.005)
    assert params.forced_playouts == 2


@pytest.mark.parametrize("rule", ["none", "points_24", "points_27", "points_24_handicap", "points_27_handicap", "try"])
def test_each_rule_of_declarations_reaches_the_search(rule: str) -> None:
    settings = SelfplaySettings.model_validate({"declaration_rule": rule, "mate_depth": 7, "leaf_mate_nodes": 100})
    params = settings.search_params()
    assert params.declaration_rule is DeclarationRule[rule.upper()]
    found = (params.leaf_mate_plies, params.leaf_mate_nodes, settings.params(1).mate_depth)
    assert found == ((1, 0, 0) if rule == "try" else (3, 100, 7)), "a king in check may win by its answer"


@pytest.mark.parametrize(
    ("values", "root"),
    [
        ({}, 0),  # as below it
        ({"temperature_root": 1.3}, 1.3),
        ({"root_rule": "gumbel"}, 1),
        ({"root_rule": "gumbel", "temperature_root": 1.3}, 1.3),
    ],
)
def test_gumbel_s_target_does_not_flatten_the_policy(values: dict[str, Any], root: float) -> None:
    params = SelfplaySettings(**values).search_params()
    assert params.softmax_temperature == pytest.approx(1.66)
    assert params.softmax_temperature_root == pytest.approx(root)


@pytest.mark.parametrize("values", [{"playouts": 0}, {"max_move": 513}, {"threshold": 2}, {"playout": 5}])
def test_bad_values_and_names_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        SelfplaySettings.model_validate(values)
