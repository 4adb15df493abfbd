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
