"""The simulation of a fleet's costs, against what can be counted by hand."""

from dataclasses import replace

import fleet_costs
import pytest

FLEET = fleet_costs.Fleet(
    workers=20, hours=2, poll_s=30, network_s=1200, chunk=100, games_an_hour=3000, parallel=10, death_h=1e9,
    restart_s=60, game_bytes=1000, sidecar_bytes=100,
)  # fmt: skip


def test_a_fleet_in_which_nobody_dies_costs_what_can_be_counted() -> None:
    found = fleet_costs.costs(FLEET, seed=1)
    assert found["games_a_day"] == pytest.approx(20 * 3000 * 24, rel=0.01)
    assert found["polls_a_second"] == pytest.approx(20 / 30, rel=0.05)
    a_day = found["requests_a_day"]
    assert a_day["network"] == a_day["task"] == 20 * 6 * 12  # 6 networks in 2 hours, and a short chunk for each
    assert a_day["get"] <= a_day["put"] == pytest.approx(2 * 20 * 24 * (30 + 3), rel=0.05)
    assert found["bytes_a_second"]["put"] == pytest.approx(20 * 3000 / 3600 * 1000, rel=0.05)
    assert found["ingest_cores"] == pytest.approx(20 * 3000 / 3600 / fleet_costs.INGESTED_A_SECOND, rel=0.01)
    assert found["lost_share"] == 0


def test_deaths_cost_the_games_in_play() -> None:
    found = fleet_costs.costs(replace(FLEET, death_h=0.5, workers=100), seed=1)
    games = found["games_a_day"] / 12
    assert found["lost_share"] * games / (1 - found["lost_share"]) == pytest.approx(100 * 4 * 5, rel=0.2)


def test_the_same_seed_gives_the_same_costs() -> None:
    assert fleet_costs.costs(FLEET, seed=3) == fleet_costs.costs(FLEET, seed=3)
