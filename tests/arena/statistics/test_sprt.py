"""The sequential test: fishtest's likelihood ratios to 1e-6, the condition that each solution meets, decisions."""

import importlib.util
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from benchmark_figures import figures_of
from hypothesis import given
from hypothesis import strategies as st
from places import BENCHMARKS
from scipy.optimize import minimize

from fukayomi.arena.statistics.intervals import CountsError
from fukayomi.arena.statistics.sprt import SprtDecision, SprtError, SprtModel, SprtSettings
from fukayomi.arena.statistics.sprt_likelihood import log_likelihood_ratios

BENCHMARK = BENCHMARKS / "sprt.py"
COUNTS = st.one_of(*(st.lists(st.integers(0, 10**5), min_size=size, max_size=size) for size in (3, 5)))
MODELS = st.sampled_from(list(SprtModel))


@pytest.fixture(scope="module")
def cases(shared_data: Path) -> dict[str, Any]:
    return json.loads((shared_data / "ratings" / "sprt_cases.json").read_text(encoding="utf-8"))


def test_the_ratios_are_fishtests(cases: dict[str, Any]) -> None:
    compared = 0
    for case in cases["cases"]:
        for expected in case["llr"]:
            for model in SprtModel:
                settings = SprtSettings(elo0=expected["elo0"], elo1=expected["elo1"], model=model)
                found = settings.evaluate(case["results"])
                assert found.llr == pytest.approx(expected[model.value], rel=0, abs=1e-6), (case["results"], expected)
                compared += 1
    assert compared == 19 * 6 * 2


def test_the_ratios_are_fastchess_s(cases: dict[str, Any]) -> None:
    for case in cases["fastchess_golden"]:
        found = SprtSettings(elo0=case["elo0"], elo1=case["elo1"], model=SprtModel(case["model"])).evaluate(
            case["results"]
        )
        assert found.llr == pytest.approx(case["fishtest_value"], rel=0, abs=1e-6)
        assert found.llr == pytest.approx(case["fastchess_test_value"], abs=0.03)
    assert len(cases["fastchess_golden"]) == 10


def test_the_bounds_are_wald_s(cases: dict[str, Any]) -> None:
    settings = SprtSettings()
    assert [settings.lower, settings.upper] == pytest.approx(cases["alpha_beta_0.05_bounds"], abs=1e-12)
    uneven = SprtSettings(alpha=0.01, beta=0.1)
    assert (uneven.lower, uneven.upper) == pytest.approx((math.log(0.1 / 0.99), math.log(90)))


@pytest.mark.parametrize(
    ("elo1", "counts", "decision"),
    [
        (2, [365, 16618, 36229, 16974, 390], SprtDecision.CONTINUE),
        (2, [390, 16974, 36229, 16618, 365], SprtDecision.H0),
        (5, [100, 4000, 9000, 5150, 204], SprtDecision.H1),
        (10, [0, 0, 4250], SprtDecision.H1),
    ],
    ids=["continue", "H0", "H1", "all-wins"],
)
def test_decisions(elo1: float, counts: list[int], decision: SprtDecision) -> None:
    assert SprtSettings(elo0=0, elo1=elo1).evaluate(counts).decision is decision


def test_nothing_played_says_nothing() -> None:
    for size in (3, 5):
        found = SprtSettings().evaluate([0] * size)
        assert (found.llr, found.decision) == (0.0, SprtDecision.CONTINUE)


@pytest.mark.parametrize("model", list(SprtModel))
@pytest.mark.parametrize("counts", [[40, 20, 60], [5, 20, 60, 25, 10]], ids=["games", "pairs"])
def test_the_ratio_is_the_best_that_a_general_optimiser_finds(model: SprtModel, counts: list[int]) -> None:
    shares = np.array(counts) / sum(counts)
    scores = np.linspace(0, 1, len(counts))

    def log_likelihood(elo: float) -> float:
        def broken(p: np.ndarray) -> float:
            mean = p @ scores
            if model is SprtModel.LOGISTIC:
                return mean - 1 / (1 + 10 ** (-elo / 400))
            unit = elo * math.log(10) / 800 * math.sqrt(2 if len(counts) == 5 else 1)
            return mean - 0.5 - unit * math.sqrt(p @ (scores - mean) ** 2)

        conditions = [{"type": "eq", "fun": broken}, {"type": "eq", "fun": lambda p: p.sum() - 1}]
        start, bounds = np.full(len(counts), 1 / len(counts)), [(1e-9, 1)] * len(counts)
        options = {"ftol": 1e-14, "maxiter": 500}
        return -minimize(
            lambda p: -(shares @ np.log(p)), start, bounds=bounds, constraints=conditions, options=options
        ).fun

    expected = sum(counts) * (log_likelihood(60) - log_likelihood(-30))
    assert SprtSettings(elo0=-30, elo1=60, model=model).evaluate(counts).llr == pytest.approx(expected, abs=1e-5)


@given(COUNTS, MODELS, st.floats(-150, 150), st.floats(0.5, 50))
def test_the_ratio_is_finite_and_turns_its_sign_with_the_players(
    counts: list[int], model: SprtModel, elo0: float, width: float
) -> None:
    found = SprtSettings(elo0=elo0, elo1=elo0 + width, model=model).evaluate(counts).llr
    assert math.isfinite(found)
    mirrored = SprtSettings(elo0=-elo0 - width, elo1=-elo0, model=model).evaluate(counts[::-1]).llr
    assert mirrored == pytest.approx(-found, rel=1e-5, abs=1e-4)


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100), MODELS)
def test_another_win_speaks_for_h1(losses: int, draws: int, wins: int, model: SprtModel) -> None:
    settings = SprtSettings(elo0=0, elo1=20, model=model)
    assert settings.evaluate([losses, draws, wins + 1]).llr >= settings.evaluate([losses + 1, draws, wins]).llr


@pytest.mark.parametrize("model", list(SprtModel))
@pytest.mark.parametrize("size", [3, 5])
def test_many_matches_at_once_are_each_their_own(model: SprtModel, size: int) -> None:
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 50, (30, size)) * rng.integers(0, 2, (30, size))
    together = log_likelihood_ratios(counts, -5, 15, normalized=model is SprtModel.NORMALIZED)
    settings = SprtSettings(elo0=-5, elo1=15, model=model)
    assert together.tolist() == pytest.approx([settings.evaluate(row).llr for row in counts.tolist()], abs=1e-9)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"elo0": 5, "elo1": 5}, "elo0 must be less than elo1, not 5 and 5"),
        ({"elo1": 201}, "elo1 must be within ±200 .normalized Elo., not 201"),
        ({"elo0": float("nan")}, "elo0: Input should be a finite number"),
        ({"alpha": 0}, "alpha: Input should be greater than 0, not 0"),
        ({"beta": 0.5}, "beta: Input should be less than 0.5, not 0.5"),
    ],
    ids=["equal", "large", "nan", "alpha", "beta"],
)
def test_what_is_no_test_is_refused(settings: dict[str, float], said: str) -> None:
    with pytest.raises(SprtError, match=said):
        SprtSettings(**settings)


def test_odd_counts_are_refused() -> None:
    with pytest.raises(CountsError, match="a count is at most"):
        SprtSettings().evaluate([10**13, 2, 3])
    with pytest.raises(CountsError, match=r"not \[1, 2\]"):
        SprtSettings().evaluate([1, 2])


@pytest.fixture(scope="module")
def benchmark() -> Iterator[ModuleType]:
    """The program benchmarks/sprt.py as a module."""
    spec = importlib.util.spec_from_file_location("sprt_benchmark", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass asks for it
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("model", list(SprtModel))
@pytest.mark.parametrize("by_pairs", [False, True], ids=["games", "pairs"])
@pytest.mark.parametrize("condition", [0, 1, 2], ids=["level", "first move", "openings"])
def test_simulated_matches_keep_the_error_rates(
    benchmark: ModuleType, condition: int, by_pairs: bool, model: SprtModel
) -> None:
    matches = 400
    error = math.sqrt(0.05 * 0.95 / matches)
    for seed, truth in enumerate(("H0", "H1")):
        line = benchmark.measure(benchmark.CONDITIONS[condition], model, by_pairs, truth, matches, seed)
        assert line["bound"] == 0.05
        assert line["wrong"] <= 0.05 + 3 * error
        assert 1000 < line["mean_games"] < 2000
        if condition == 2 and not by_pairs:
            assert line["wrong"] < 0.04, "what an opening gives and takes makes the test safer than it need be"
        else:
            assert line["wrong"] >= 0.05 - 3 * error, "an error rate far below what is allowed wastes games"


def test_the_benchmark_prints_its_lines() -> None:
    report = figures_of("sprt.py", "--matches", 2)
    assert (report["elo0"], report["elo1"], len(report["lines"])) == (0, 20, 3 * 2 * 2 * 2)
    assert all(0 <= line["wrong_low"] <= line["wrong"] <= line["wrong_high"] for line in report["lines"])
