"""The parameters: dlshogi's defaults but for those that won a match, and no bad value."""

import math

import pytest
from search_runner import Runner

from fukayomi._native import DeclarationRule, Fpu, Position, RootRule, SearchParams


def test_defaults_are_dlshogis() -> None:
    params = SearchParams()
    assert (params.c_init, params.c_base) == pytest.approx((1.44, 28288))
    assert params.fpu_reduction == pytest.approx(0.45), "dlshogi: 0.27; docs/strength.md has the match"
    assert (params.c_init_root, params.c_base_root, params.fpu_reduction_root) == pytest.approx((1.16, 25617, 0.0))
    assert params.softmax_temperature == pytest.approx(1.74)
    assert (params.draw_value_black, params.draw_value_white, params.draw_ply) == (0.5, 0.5, 0)
    assert params.declaration_rule == DeclarationRule.POINTS_27
    assert params.leaf_mate_plies == 3, "dlshogi: 5, but its mate in one misses some"
    assert (params.root_noise_epsilon, params.root_visit_noise, params.forced_playouts) == (0, 0, 0), "no noise"
    assert params.root_rule == RootRule.PUCT
    assert (params.gumbel_moves, params.gumbel_visits) == (16, 4)
    assert (params.gumbel_scale, params.gumbel_c_visit, params.gumbel_c_scale) == pytest.approx((1, 50, 0.1))
    assert (params.fpu, params.fpu_root, params.fpu_visit_mass) == (Fpu.PARENT, Fpu.PARENT, False)
    assert params.softmax_temperature_deep == 0
    assert (params.softmax_temperature_root, params.c_exponent, params.c_variance, params.lcb_stdevs) == (0, 0.5, 0, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("c_init", -1.0),
        ("c_base", 0.0),
        ("c_base_root", math.inf),
        ("fpu_reduction", math.nan),
        ("softmax_temperature", 0.0),
        ("softmax_temperature_root", 0.001),
        ("softmax_temperature_deep", -1.0),
        ("c_exponent", 1.5),
        ("c_variance", -0.1),
        ("c_stdev", 0.0),
        ("lcb_stdevs", math.nan),
        ("lcb_visits", 1.1),
        ("draw_value_black", 1.5),
        ("draw_value_white", -0.1),
        ("draw_ply", -1),
        ("leaf_mate_plies", 4),
        ("leaf_mate_nodes", -1),
        ("root_move_mate_nodes", 10001),
        ("root_noise_epsilon", 1.5),
        ("root_noise_alpha", 0.0),
        ("root_visit_noise", 1.5),
        ("forced_playouts", -1.0),
        ("gumbel_moves", 0),
        ("gumbel_visits", 0),
        ("gumbel_scale", math.nan),
        ("gumbel_c_visit", -1.0),
        ("gumbel_c_scale", math.inf),
    ],
)
def test_bad_values_are_refused(name: str, value: float) -> None:
    params = SearchParams()
    before = getattr(params, name)
    with pytest.raises(ValueError, match=f"{name} is "):
        setattr(params, name, value)
    assert getattr(params, name) == before


def test_temperature_flattens_the_policy() -> None:
    priors = []
    for temperature in (0.5, 1.74, 5.0):
        params = SearchParams()
        params.softmax_temperature = temperature
        runner = Runner(Position(), params=params)
        runner.run(1)
        lines = runner.search.lines(600)
        assert sum(line.prior for line in lines) == pytest.approx(1.0, rel=0.01)
        priors.append(lines[0].prior)
    assert priors[0] > priors[1] > priors[2]


def test_exploration_widens_the_root() -> None:
    shares = []
    for c_init in (0.3, 3.0):
        params = SearchParams()
        params.c_init_root = c_init
        runner = Runner(Position(), params=params)
        runner.run(2000)
        shares.append(runner.search.lines(1)[0].visits)
    assert shares[0] > shares[1]
