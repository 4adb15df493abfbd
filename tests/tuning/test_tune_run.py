"""Tuning runs with an engine whose best options are known: values, resuming, refusals, engines that fail."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tune_run
from tune_run import small

from fukayomi.arena.match.settings import MatchSettings
from fukayomi.arena.match.store import read_settings
from fukayomi.engine.settings import read_suggestions
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.listener import Notes
from fukayomi.settings import build, read
from fukayomi.tuning import TuneError, TuneSettings, Tuning, plot_tuning, read_tuning, tune

KILLED = -signal.SIGKILL
ALL_PARAMETERS = {
    "aim": {"low": 66, "high": 74, "start": 70},
    "Mode": {"choices": ["dull", "plain", "sharp"], "r_end": 0.1},
    "Flag": {"choices": ["false", "true"]},
}


def run(folder: Path, *words: str, **changes: object) -> Tuning:
    return tune(TuneSettings(**small(*words, **changes)), folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "tuned"
    tuning = run(folder)
    assert tuning.is_complete
    assert tuning.new_games == tuning.played == 24
    return folder


# -------------------------------------------------------------------------------------------------------- what it finds


def test_the_best_value_is_found(whole: Path) -> None:
    """From 50 towards 70: the nearer one wins both games, without chance."""
    tuning = read_tuning(whole)
    assert tuning.settings.parameters["Aim"].start == 50
    assert abs(tuning.estimates[0].value - 70) < 8
    values = [estimates[0].value for estimates in tuning.course]
    assert values[0] == 50
    assert len(values) == 1 + tuning.settings.rounds == 4


def test_numbers_and_choices_are_tuned_together(tmp_path: Path) -> None:
    tuning = run(tmp_path / "tuned", parameter=ALL_PARAMETERS)
    options = tuning.options()
    assert list(options) == ["Aim", "Mode", "Flag"]  # as the engine writes them
    assert options["Mode"] == "sharp"
    assert [row["start"] for row in tuning.rows()] == ["70", "plain", "false"]
    assert tuning.intervals()[2] == ("false", "true")  # it does not matter
    page = (tmp_path / "tuned" / "report.html").read_text("utf-8")
    assert ">false – true</td>" in page


@pytest.mark.parametrize("method", ["tpe", "cma-es"])
def test_optuna_plays_trials_against_the_start(tmp_path: Path, method: str) -> None:
    parameters = {"Aim": {"low": 20, "high": 100}, "Mode": {"choices": ["dull", "plain", "sharp"]}}
    tuning = run(tmp_path / "tuned", method=method, parameter=parameters, games=32, pairs=1, batch=4)
    assert abs(tuning.estimates[0].value - 70) < 20
    match = read_settings(tmp_path / "tuned" / "rounds" / "00002")
    assert match is not None
    assert [engine.name for engine in match.engines[:4]] == ["5", "5 start", "6", "6 start"]
    assert match.engines[1].options == {"Aim": "50", "Mode": "plain"}
    again = run(tmp_path / "tuned", method=method, parameter=parameters, games=32, pairs=1, batch=4)
    assert (again.new_games, again.course) == (0, tuning.course)


def test_a_round_is_a_match_of_pairs_from_openings_of_their_own(tmp_path: Path) -> None:
    openings = tmp_path / "openings.sfen"
    openings.write_text("".join(f"startpos moves {move}\n" for move in ("7g7f", "2g2f", "5g5f", "1g1f")), "utf-8")
    run(tmp_path / "tuned", openings=str(openings), games=16, opening_order="sequential")
    pages = [(tmp_path / "tuned" / "rounds" / f"0000{number}" / "games.pgn").read_text("utf-8") for number in (1, 2)]
    assert all(page.count("[Event ") == 8 for page in pages)
    match = read_settings(tmp_path / "tuned" / "rounds" / "00002")
    assert match is not None
    assert [engine.name for engine in match.engines] == ["5+", "5-", "6+", "6-", "7+", "7-", "8+", "8-"]
    assert match.opening_start == 4


def test_what_was_found_is_an_options_file_and_a_match(whole: Path) -> None:
    options, problems = read_suggestions(whole / "tuned.ini")
    assert problems == []
    tuned = read_tuning(whole).options()
    assert {each.name: each.text for each in options} == tuned
    match = build(MatchSettings, read(MatchSettings, whole / "confirm.toml"))
    assert [engine.name for engine in match.engines] == ["tuned", "start"]
    assert [engine.options for engine in match.engines] == [tuned, {"Aim": "50"}]
    assert match.opening_start == 12


def test_the_page_has_the_courses_in_both_themes(whole: Path, tmp_path: Path) -> None:
    page = (whole / "report.html").read_text("utf-8")
    assert page.count("data:image/svg+xml;base64,") == 2
    assert f"fukayomi match --config {whole}/confirm.toml --sprt elo0=0,elo1=5" in page
    figure = plot_tuning(read_tuning(whole), tmp_path / "course.svg", language="ja")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Aim"]
    (line, _) = figure.axes[0].get_lines()
    assert len(line.get_xdata()) == 4
    assert (tmp_path / "course.svg").read_bytes().startswith(b"<?xml")


def test_a_run_is_a_table(whole: Path) -> None:
    tuning = read_tuning(whole)
    lines = str(tuning).splitlines()
    assert lines[0].split() == ["option", "start", "tuned", "interval", "moved"]
    assert lines[1].split()[:3] == ["Aim", "50", tuning.options()["Aim"]]
    assert repr(tuning) == "<Tuning of 1 parameter: 24 games>"


# ------------------------------------------------------------------------------------------------------------- resuming


def test_a_killed_run_goes_on_to_the_same_values(whole: Path, tmp_path: Path) -> None:
    """After its first game, at the end of a round, and amid one."""
    folder = tmp_path / "tuned"
    for games in (1, 7, 5):
        command = [sys.executable, tune_run.__file__, str(folder), json.dumps(small()), str(games)]
        assert subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == KILLED
    tuning = run(folder)
    assert 24 - 13 <= tuning.new_games <= 24
    assert tuning.course == read_tuning(whole).course
    assert (folder / "tuned.ini").read_bytes() == (whole / "tuned.ini").read_bytes()


def test_a_run_that_is_done_plays_nothing(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "tuned")
    tuning = run(tmp_path / "tuned", concurrency=1)
    assert (tuning.new_games, tuning.course) == (0, read_tuning(whole).course)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"games": 32}, "games is 24 in .*tune.toml, and 32 now"),
        ({"seed": 2}, "seed is 1"),
        ({"clock": "nodes=2"}, "clock is 'nodes=1'"),
        ({"parameter": {"Aim": {"low": 10, "high": 100}}}, r"parameter.Aim.c_end is 12.0"),
    ],
)
def test_other_settings_are_refused(whole: Path, tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    shutil.copytree(whole, tmp_path / "tuned")
    with pytest.raises(TuneError, match=problem):
        run(tmp_path / "tuned", **changes)


def test_rounds_that_do_not_follow_from_the_games_before_are_refused(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tuned"
    shutil.copytree(whole, folder)
    shutil.rmtree(folder / "rounds" / "00001")
    (folder / "rounds" / "00002").rename(folder / "rounds" / "00001")
    with pytest.raises(TuneError, match="00001: the values of this round do not follow"):
        read_tuning(folder)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(TuneError, match="is not empty"):
        run(tmp_path)
    with pytest.raises(TuneError, match="nothing is tuned here"):
        read_tuning(tmp_path)


def test_one_process_at_a_time(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "tuned")
    with FolderLock(tmp_path / "tuned", "lock"), pytest.raises(LockedError):
        run(tmp_path / "tuned")


# --------------------------------------------------------------------------------------------------------------- guards


@pytest.mark.parametrize(
    ("parameter", "problem"),
    [
        ({"Aimm": {"low": 1, "high": 2}}, "parameter Aimm: engine own declares no option 'Aimm'; did you mean Aim?"),
        ({"Aim": {"low": 1, "high": 200}}, "parameter Aim: Aim takes 0 to 100, not 200"),
        ({"Aim": {"low": -5, "high": 20}}, "parameter Aim: Aim takes 0 to 100, not -5"),
        ({"Mode": {"choices": ["plain", "sharpe"]}}, "Mode takes one of dull, plain, sharp, not 'sharpe'"),
        ({"Mode": {"low": 1, "high": 2}}, "parameter Mode: it is a combo, whose values are no numbers"),
        ({"Flag": {"choices": ["true", "maybe"]}}, "Flag takes true or false, not 'maybe'"),
        ({"Text": {"low": 1, "high": 2}}, "parameter Text: its default 'some' is no number. Give a start"),
        ({"Aim": {"low": 60, "high": 90}}, "start 50 is not between 60 and 90. Give a start"),
        ({"Mode": {"choices": ["dull", "sharp"]}}, "start 'plain' is not one of dull, sharp"),
        ({"Aim": {"low": 60, "high": 60}}, "60 to 60 is not a range"),
        ({"Aim": {"low": 60}}, "give low and high, or choices"),
        ({"Aim": {"low": 0, "high": 9, "choices": ["a", "b"]}}, "not both"),
        ({"Mode": {"choices": ["plain"]}}, "choices are two or more"),
        ({"Aim": {"low": 0, "high": 90, "c_end": 0.1}}, "c_end"),
        ({"Aim": {"low": 0, "high": 90}, "aim": {"low": 0, "high": 90}}, "parameter Aim is there twice"),
        ({}, "parameter"),
    ],
)
def test_parameters_that_are_refused(tmp_path: Path, parameter: dict[str, Any], problem: str) -> None:
    with pytest.raises(TuneError) as caught:
        run(tmp_path / "tuned", parameter=parameter)
    assert problem in str(caught.value)
    assert not (tmp_path / "tuned").exists()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"games": 25}, "games are a multiple of 2"),
        ({"games": 24, "pairs": 5}, "games are a multiple of 10"),
        ({"games": 40, "method": "cma-es"}, "cma-es needs two parameters"),
        ({"method": "bayes"}, "method"),
        ({"engine": {"name": "own", "identity": "x"}}, "give a command"),
    ],
)
def test_settings_that_are_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(TuneError) as caught:
        TuneSettings(**small(**changes))
    assert problem in str(caught.value)


def test_an_option_that_is_not_declared_is_sent_on_demand(tmp_path: Path) -> None:
    engine = small()["engine"] | {"undeclared_options": True}
    hidden = {"low": 0, "high": 40, "start": 20}
    tuning = run(tmp_path / "tuned", engine=engine, parameter={"Hidden": hidden}, games=2)
    assert list(tuning.options()) == ["Hidden"]


def test_an_engine_that_does_not_start(tmp_path: Path) -> None:
    engine = {"name": "own", "command": [sys.executable, "-c", "raise SystemExit('no network')"]}
    with pytest.raises(TuneError, match=r"(?s)engine own.*no network"):
        run(tmp_path / "tuned", engine=engine)
    assert not (tmp_path / "tuned").exists()


def test_pairs_in_which_an_engine_dies_do_not_count(tmp_path: Path) -> None:
    """The first pair has 63 or 64 on one side, the last one 62: where the engine dies, the pair says nothing."""
    tuning = run(tmp_path / "tuned", "dies=63", games=8)
    assert tuning.is_complete
    assert 0 < tuning.left_out < 8
    assert tuning.left_out % 2 == 0


def test_an_engine_that_hangs_is_survived(tmp_path: Path) -> None:
    rules = small()["rules"] | {"stall_ms": 300}
    tuning = run(tmp_path / "tuned", "hangs=66", games=8, rules=rules)
    assert tuning.is_complete
    assert tuning.played == 8


def test_an_engine_that_always_fails_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(TuneError, match=r"the engine failed in the last 20 proposals: \d+\S failed \(crash: "):
        run(tmp_path / "tuned", "dies=0", games=80, batch=10)


def test_a_run_in_which_no_game_counts_is_an_error_whenever_it_is_asked(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(TuneError, match=r"no game counts, since the engine failed in all pairs: .*crash: "):
            run(tmp_path / "tuned", "dies=0", games=4)


def test_without_restart_a_failure_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(TuneError, match=r"of round 1 left out: .*--restart restarts engines that fail"):
        run(tmp_path / "tuned", "dies=63", games=8, restart=False, concurrency=1)
    assert run(tmp_path / "tuned", "dies=63", games=8).is_complete


def test_each_warning_is_told_once(tmp_path: Path) -> None:
    notes = Notes()
    rules = small()["rules"] | {"max_plies": 100}
    tune(TuneSettings(**small(games=4, batch=1, rules=rules)), tmp_path / "tuned", listener=notes)
    assert len(notes.texts) == 1
    assert notes.texts[0].startswith("warning: own: it cannot be told that games are drawn after ply 100")
