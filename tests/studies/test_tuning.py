"""studies/optimise_search.py and studies/tune_search.py with matches of a few moves: results, resuming, errors."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import optimise_search
import optuna
import pytest
import tune_search
from optimise_search import SearchSpace

TOOLS = Path(optimise_search.__file__).parent
PLAN = """
nodes = 2
games = 2
trials = {trials}
rules = {{ max_plies = 8 }}
[space]
C_init = {{ low = 80, high = 200 }}
C_base = {{ low = 2000, high = 60000, log = true }}
"""


def run(tool: str, plan: str, out: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    file, openings = out.with_suffix(".toml"), out.with_suffix(".sfen")
    file.write_text(plan, encoding="utf-8")
    openings.write_text("startpos moves 7g7f 3c3d\nstartpos moves 2g2f 8c8d\n", encoding="utf-8")
    command = [sys.executable, TOOLS / tool, file, "--openings", openings, "--out", out, *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)


def read(folder: Path, plan: str) -> SearchSpace:
    path = folder / "plan.toml"
    path.write_text(plan, encoding="utf-8")
    return optimise_search.read_space(path)


def finished(out: Path) -> list[dict[str, int]]:
    study = optuna.load_study(study_name="search", storage=f"sqlite:///{out / 'study.db'}")
    return [trial.params for trial in study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))]


def test_trials_are_played_and_their_best_is_confirmed(tmp_path: Path) -> None:
    plan, out = PLAN.format(trials=3), tmp_path / "out"
    out.mkdir()
    study = optimise_search.open_study(read(tmp_path, plan), None, out)
    begun = {"C_init": 100, "C_base": 3000}  # as a kill leaves a trial: with its values, and without
    study.enqueue_trial(begun)
    study.ask(read(tmp_path, plan).distributions())
    study.ask()
    played = run("optimise_search.py", plan, out, "--jobs", "2")
    assert played.returncode == 0, played.stderr
    assert played.stdout.startswith("3 of 3 trials")
    found = finished(out)
    assert found[0] == begun
    for each in found:
        assert f"`C_init={each['C_init']} C_base={each['C_base']}` | 2 |" in played.stdout
    assert (out / "report.md").read_text(encoding="utf-8") in played.stdout

    plan = (out / "candidate.toml").read_text(encoding="utf-8")
    (candidate,) = tomllib.loads(plan)["candidate"]
    assert candidate["options"] in found  # the best quarter of three is the best
    confirmed = run("tune_search.py", plan.replace("nodes = 2", "nodes = 1\ngames = 2"), tmp_path / "confirm")
    assert confirmed.returncode == 0, confirmed.stderr
    assert f"`C_init={candidate['options']['C_init']} " in confirmed.stdout
    assert "inconclusive" in confirmed.stdout


def test_a_clock_that_counts_evaluations(tmp_path: Path) -> None:
    plan = """
        clock = "main=2s,increment=200ms"
        evaluations_per_s = 100
        games = 2
        options = { Time_Margin = 100 }
        rules = { max_plies = 8 }
        [[candidate]]
        name = "shares-2"
        options = { Time_Shares = 2 }
    """
    played = run("tune_search.py", plan, tmp_path / "out")
    assert played.returncode == 0, played.stderr
    assert "`Time_Shares=2` | 2 | " in played.stdout
    assert "lost on time" not in played.stderr


def test_a_resumed_study_tries_the_same_values(tmp_path: Path) -> None:
    space = read(tmp_path, PLAN.format(trials=20))
    study = optimise_search.open_study(space, None, tmp_path)
    for _ in range(11):
        number = optimise_search.propose(study, space)
        study.tell(number, study.trials[number].params["C_init"] / 200)
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "study.db", tmp_path / "copy")
    resumed = optimise_search.open_study(space, None, tmp_path / "copy")
    assert optimise_search.propose(study, space) == optimise_search.propose(resumed, space) == 11
    assert study.trials[11].params == resumed.trials[11].params
    tried = [trial.params for trial in study.trials]
    assert len({each["C_init"] for each in tried}) > 6
    for each in tried:
        assert 80 <= each["C_init"] <= 200
        assert 2000 <= each["C_base"] <= 60000
    with pytest.raises(ValueError, match="trials of another plan or network"):
        optimise_search.open_study(space.model_copy(update={"seed": 2}), None, tmp_path)


def test_the_candidate_is_the_mean_of_the_best_quarter(tmp_path: Path) -> None:
    space = read(tmp_path, PLAN.format(trials=8))
    ranked = [{"C_init": 100, "C_base": 4000}, {"C_init": 120, "C_base": 16000}, *[{"C_init": 80, "C_base": 2000}] * 6]
    plan = optimise_search.confirming_plan(space, ranked)
    (candidate,) = plan.candidates
    assert candidate.options == {"C_init": 110, "C_base": 8000}
    assert plan.sprt is not None
    assert (plan.nodes, plan.rules.max_plies) == (2, 8)
    assert plan.seed > space.seed + space.trials - 1


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ("[space]\nC_base = { low = 1, high = 2 }\nC_innit = { low = 1, high = 2 }", "no option C_innit"),
        ("[space]\nC_base = { low = 1, high = 2 }\nFPU = { low = 1, high = 2 }", "no option FPU with integer values"),
        ("[space]\nC_base = { low = 1, high = 2 }\nC_init = { low = 1, high = 20000 }", "takes 0 to 10000, not 20000"),
        ("[space]\nC_init = { low = 5, high = 5 }", "5 to 5 is not a range"),
        ("[space]\nC_init = { low = 0, high = 5, log = true }", "not a range of positive numbers"),
        ("[space]\nC_init = { low = 1, high = 5 }", "at least 2 items"),
        ("games = 3\n[space]\nC_init = { low = 1, high = 5 }", "multiple of 2"),
        ("sprt = { elo0 = 0, elo1 = 5 }\n[space]\nC_init = { low = 1, high = 5 }", "sprt"),
    ],
)
def test_plans_that_are_refused(tmp_path: Path, plan: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, plan)


def test_a_file_that_is_no_plan(tmp_path: Path) -> None:
    result = run("optimise_search.py", "space = 1 1", tmp_path / "out")
    assert result.returncode == 2
    assert "out.toml" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("C_innit = 1", "no option 'C_innit'"),
        ("C_init = 20000", "C_init takes 0 to 10000, not 20000"),
        (
            "DfPn_Min_Search_Millisecs = 300",
            "DfPn_Min_Search_Millisecs has no effect in these matches: the engine ignores it",
        ),
        ("dnn_model2 = 'x.onnx'", "both sides share one network; set --network"),
        ("USI_Hash = 16", "each tree has 64 MiB"),
        ("Stochastic_Ponder = true", "nobody ponders"),
    ],
)
@pytest.mark.parametrize("side", ["both", "candidate"])
def test_options_that_a_match_refuses(tmp_path: Path, options: str, message: str, side: str) -> None:
    of_both = options if side == "both" else ""
    of_candidate = "C_init = 100" if side == "both" else options
    path = tmp_path / "plan.toml"
    path.write_text(
        f"options = {{ {of_both} }}\n[[candidate]]\nname = 'x'\noptions = {{ {of_candidate} }}", encoding="utf-8"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        tune_search.read_plan(path)


def test_evaluations_count_only_with_a_clock(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text("evaluations_per_s = 100\n[[candidate]]\nname = 'x'\noptions = { C_init = 100 }", encoding="utf-8")
    with pytest.raises(ValueError, match="evaluations_per_s counts only with a clock"):
        tune_search.read_plan(path)


def test_the_command_names_the_plan_and_the_option(tmp_path: Path) -> None:
    result = run("tune_search.py", "[[candidate]]\nname = 'x'\noptions = { OwnBok = true }", tmp_path / "out")
    assert result.returncode == 2
    assert "out.toml: no option 'OwnBok'" in result.stderr
    assert not (tmp_path / "out").exists()


def test_the_plans_of_the_repository_are_valid() -> None:
    plans = [path for path in TOOLS.glob("*.toml") if "[[candidate]]" in path.read_text(encoding="utf-8")]
    assert len(plans) > 2
    for path in plans:
        assert tune_search.read_plan(path).candidates
