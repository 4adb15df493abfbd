"""Our ratings are Ordo's, on every input that it was run on."""

from pathlib import Path

import pytest
from ordo_cases import NOT_COMPARED, OrdoCase, read_cases

from fukayomi.arena.ratings import Ratings, rate

SIMULATIONS = 4000
ERROR_TOLERANCE = 0.08  # both sides have the noise of a bootstrap: 2-3 % with 1 000 replays


@pytest.fixture(scope="module")
def cases(shared_data: Path) -> list[OrdoCase]:
    found = read_cases(shared_data / "ratings" / "ordo")
    assert len(found) >= 40
    return found


def compared(cases: list[OrdoCase]) -> list[OrdoCase]:
    return [case for case in cases if case.name not in NOT_COMPARED]


def rate_case(case: OrdoCase, simulations: int = 0) -> tuple[Ratings, float]:
    """Ratings, and what is to be added to them: with -V an anchor shifts everybody and changes nothing else."""
    ratings = rate(case.tally(), case.options(simulations))
    if "-V" not in case.arguments:
        return ratings, 0.0
    anchor = case.arguments[case.arguments.index("-A") + 1]
    return ratings, case.value("-a", 0) - next(one.rating for one in ratings.players if one.name == anchor)


def test_what_is_not_compared_exists(cases: list[OrdoCase]) -> None:
    assert set(NOT_COMPARED) <= {case.name for case in cases}


def test_ratings(cases: list[OrdoCase]) -> None:
    for case in compared(cases):
        ratings, shift = rate_case(case)
        tolerance = 0.05 if case.balanced else 0.5
        rounding = 0.5 * 10 ** -case.value("-N", 1)
        ours = {player.name: player for player in ratings.players}
        simulated = "-s" in case.arguments  # Ordo leaves those out who won or lost everything, then
        assert set(case.players) == {name for name in ours if not (simulated and ours[name].bound)}, case.name
        for name, theirs in case.players.items():
            player = ours[name]
            assert player.rating + shift == pytest.approx(theirs.rating, abs=tolerance + rounding), (case.name, name)
            assert (player.points, player.played) == (theirs.points, theirs.played)
            assert player.bound == theirs.bound
        assert ratings.first_mover_advantage == pytest.approx(case.first_mover_advantage, abs=tolerance), case.name
        assert ratings.draw_rate == pytest.approx(case.draw_rate, abs=0.02), case.name


def test_three_decimals_where_ordo_prints_them(cases: list[OrdoCase]) -> None:
    for case in compared(cases):
        if case.value("-N", 1) == 3 and case.balanced:
            ours = {player.name: player.rating for player in rate(case.tally(), case.options()).players}
            for name, theirs in case.players.items():
                assert ours[name] == pytest.approx(theirs.rating, abs=0.005), (case.name, name)


def test_errors_and_certainty(cases: list[OrdoCase]) -> None:
    simulated = [case for case in compared(cases) if "-s" in case.arguments]
    assert len(simulated) >= 10
    for case in simulated:
        ratings, _ = rate_case(case, SIMULATIONS)
        ours = {player.name: player for player in ratings.players}
        for name, theirs in case.players.items():
            if theirs.error is None:
                assert ours[name].error is None, (case.name, name)
            else:
                assert ours[name].error == pytest.approx(theirs.error, rel=ERROR_TOLERANCE), (case.name, name)
            if theirs.cfs is not None:
                assert ours[name].cfs == pytest.approx(theirs.cfs, abs=2), (case.name, name)
        assert ratings.first_mover_deviation == pytest.approx(case.first_mover_deviation, rel=ERROR_TOLERANCE)
        assert ratings.draw_rate_deviation == pytest.approx(case.draw_rate_deviation, rel=ERROR_TOLERANCE, abs=0.01)


def test_the_matrix_of_certainty(shared_data: Path, cases: list[OrdoCase]) -> None:
    for case in cases:
        matrix = shared_data / "ratings" / "ordo" / f"{case.name}.cfs.csv"
        if not matrix.exists():
            continue
        rows = [line.split(",") for line in matrix.read_text(encoding="utf-8").splitlines()[1:]]
        ratings, _ = rate_case(case, SIMULATIONS)
        assert [row[1].strip('" ') for row in rows] == [player.name for player in ratings.players]
        for row, ours in zip(rows, ratings.certainty.tolist(), strict=True):
            for theirs, certainty in zip(row[2:], ours, strict=True):
                if theirs:
                    assert certainty == pytest.approx(float(theirs), abs=1.5), case.name


def test_a_likelihood_with_draws_gives_nearly_the_same(cases: list[OrdoCase]) -> None:
    for case in cases:
        if "-M" in case.arguments:
            ours = {player.name: player.rating for player in rate(case.tally(), case.options()).players}
            for name, theirs in case.players.items():
                assert ours[name] == pytest.approx(theirs.rating, abs=1), (case.name, name)


def test_what_ordo_refuses_has_an_answer(shared_data: Path) -> None:
    folder = shared_data / "ratings" / "ordo"
    refused = sorted(path.parent for path in folder.glob("*/plain.err"))
    assert [path.name for path in refused] == ["08_disconnected", "09_two_players_sweep"]
    from fukayomi.arena.league import count_league
    from fukayomi.arena.sources import read_games

    for path in refused:
        assert rate(count_league(read_games([path / "games.pgn"])).tally).notes
