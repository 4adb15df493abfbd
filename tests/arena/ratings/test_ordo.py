"""Ratings equal Ordo's, on every input that Ordo was run on."""

from pathlib import Path

import pytest
from ordo_cases import NOT_COMPARED, SIMULATIONS, OrdoCase, compare, rate_case, read_cases

from fukayomi.arena.ratings.options import RatingOptions
from fukayomi.arena.ratings.rating import rate_tally
from fukayomi.arena.ratings.table import write_table
from fukayomi.arena.results.player_ratings import tally_games
from fukayomi.arena.results.sources import read_games

ERROR_TOLERANCE = 0.08  # both sides have the noise of a bootstrap: 2-3 % with 1 000 replays


@pytest.fixture(scope="module")
def cases(shared_data: Path) -> list[OrdoCase]:
    found = read_cases(shared_data / "ratings" / "ordo")
    assert len(found) >= 40
    return found


def compared(cases: list[OrdoCase]) -> list[OrdoCase]:
    return [case for case in cases if case.name not in NOT_COMPARED]


def test_what_is_not_compared_exists(cases: list[OrdoCase]) -> None:
    assert set(NOT_COMPARED) <= {case.name for case in cases}


def test_ratings_errors_and_certainty(cases: list[OrdoCase]) -> None:
    simulated = 0
    for case in compared(cases):
        found, tolerance = compare(case), 0.05 if case.balanced else 0.5
        assert found.rating <= tolerance, case.name
        assert found.first_mover_advantage <= tolerance, case.name
        assert found.draw_rate <= 0.02, case.name
        if "-s" in case.arguments:
            simulated += 1
            assert found.error is not None, case.name
            assert found.error <= ERROR_TOLERANCE, case.name
            assert found.cfs is not None, case.name
            assert found.cfs <= 2, case.name
    assert simulated >= 10


def test_players_points_bounds_and_who_has_no_error(cases: list[OrdoCase]) -> None:
    for case in compared(cases):
        has_errors = "-s" in case.arguments  # Ordo leaves those out who won or lost everything, then
        ratings, _ = rate_case(case, 100 if has_errors else 0)
        ours = {player.name: player for player in ratings.players if not (has_errors and player.bound)}
        assert set(case.players) == set(ours), case.name
        for name, theirs in case.players.items():
            player = ours[name]
            assert (player.points, player.played, player.bound) == (theirs.points, theirs.played, theirs.bound)
            assert (player.error is None) == (theirs.error is None), (case.name, name)


def test_three_decimals_where_ordo_prints_them(cases: list[OrdoCase]) -> None:
    for case in compared(cases):
        if case.value("-N", 1) == 3 and case.balanced:
            ours = {player.name: player.rating for player in rate_tally(case.tally(), case.options()).players}
            for name, theirs in case.players.items():
                assert ours[name] == pytest.approx(theirs.rating, abs=0.005), (case.name, name)


@pytest.mark.parametrize(
    "name", ["01_two_players/plain", "02_three_players_draws/plain", "02_three_players_draws/head2head"]
)
def test_the_table_is_ordo_s_to_the_character(shared_data: Path, cases: list[OrdoCase], name: str) -> None:
    """In the columns that Ordo prints by default; ours go on with wins, draws and losses."""
    case = next(case for case in cases if case.name == name)
    theirs = (shared_data / "ratings" / "ordo" / f"{name}.out").read_text(encoding="utf-8").strip("\n").splitlines()
    ours = write_table(rate_tally(case.tally(), case.options()), explain=False).splitlines()
    width = len(theirs[0])
    assert [line[:width] for line in ours] == theirs
    assert ours[0][width:] == "    W    D    L  D(%)"


def test_the_columns_are_ordo_s_to_the_character(shared_data: Path, cases: list[OrdoCase]) -> None:
    """With -N 1 Ordo prints percentages to a tenth, which the seeds' tables do not; simulated figures are noisy."""
    case = next(case for case in cases if case.name == "01_two_players/WD_s1000")
    path = shared_data / "ratings" / "ordo" / f"{case.name}.out"
    theirs = path.read_text(encoding="utf-8").strip("\n").splitlines()
    ours = write_table(rate_tally(case.tally(), case.options(200)), explain=False).splitlines()
    assert ours[0] == theirs[0]
    rating, points, rest = slice(0, 24), slice(31, 47), slice(61, 76)
    assert [theirs[1][part] for part in (rating, points, rest)] == [
        "   1 alpha     :    45.9", "    12.5      20", "   10    5    5",
    ]  # fmt: skip
    for part in (rating, points, rest):
        assert [line[part] for line in ours[1:3]] == [line[part] for line in theirs[1:3]]
    assert ours[4].startswith("White advantage = 56.66 +/- ")
    assert ours[5].startswith("Draw rate (equal opponents) = 26.59 % +/- ")


def test_bounds_and_long_names_stand_where_ordo_has_them(shared_data: Path) -> None:
    folder = shared_data / "ratings" / "ordo"
    for name in ("04_all_wins/plain_G", "10_names/WD"):
        tally = tally_games(read_games([folder / name.split("/")[0] / "games.pgn"])).tally
        ours = write_table(rate_tally(tally, RatingOptions(simulations=0)), explain=False).splitlines()
        theirs = (folder / f"{name}.out").read_text(encoding="utf-8").strip("\n").splitlines()
        for one, other in zip(ours, theirs[: len(tally.names) + 1], strict=False):
            if other.isascii():  # Ordo pads by bytes
                assert one[: one.index(" :") + 2] == other[: other.index(" :") + 2]


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


def test_what_ordo_refuses_has_an_answer(shared_data: Path) -> None:
    folder = shared_data / "ratings" / "ordo"
    refused = sorted({path.parent for path in folder.glob("*/*.err")})
    assert [path.name for path in refused] == [
        "04_all_wins", "05_all_wins_all_losses", "08_disconnected", "09_two_players_sweep",
    ]  # fmt: skip
    for path in refused:
        assert rate_tally(tally_games(read_games([path / "games.pgn"])).tally).notes, path.name
