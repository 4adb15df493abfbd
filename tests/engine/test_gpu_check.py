"""benchmarks/gpu_check.py runs its whole plan on the CPU with tiny networks, goes on after a kill, trains on."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from patience import until
from places import BENCHMARKS

from fukayomi.engine.evaluators.backends.backend import BACKENDS, get_backend

pytest.importorskip("torch")

PARTS = ("machine", "tests", "agreement", "play", "training", "selfplay", "devices")
SHAPES = ("1x8", "5x8_lk_tf")
SMALL = ("--device", "torch", "--shapes", *SHAPES, "--seconds", "0.1", "--positions", "64", "--select", "fp32 or usi")


def command(out: Path, *words: str) -> list[str]:
    return [sys.executable, str(BENCHMARKS / "gpu_check.py"), "--out", str(out), *SMALL, *words]


def run(out: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command(out, *words), capture_output=True, text=True, check=False, timeout=500)


def document(out: Path) -> dict[str, Any]:
    path = out / "gpu_check.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {"parts": {"play": {"rows": []}}}


TRAINING = ("--minutes", "20", "--parts", "training", "--shapes", "1x8")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of one part, the cheapest; tests copy them."""
    out = tmp_path_factory.mktemp("check") / "out"
    done = run(out, *TRAINING)
    assert done.returncode == 0, done.stderr + (out / "gpu_check.log").read_text()
    return out


@pytest.mark.slow
def test_a_part_of_the_plan_on_a_cpu_is_done_once(measured: Path, tmp_path: Path) -> None:
    found = document(measured)
    states = {name: found["parts"][name]["state"] for name in ("machine", "training")}
    assert states == {"machine": "done", "training": "done"}
    assert [row["name"] for row in found["parts"]["training"]["rows"]] == ["peak", "loader", "1x8"]
    assert "| 1x8 | " in (measured / "gpu_check.md").read_text("utf-8")
    out = shutil.copytree(measured, tmp_path / "out")
    assert run(out, *TRAINING).returncode == 0
    assert document(out)["parts"]["training"] == found["parts"]["training"], "what was measured is not measured again"


@pytest.mark.soak
def test_the_plan_on_a_cpu_is_killed_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with subprocess.Popen(command(out, "--minutes", "20", "--parts", "play"), stderr=subprocess.DEVNULL) as process:
        until(lambda: document(out)["parts"]["play"]["rows"], seconds=300)
        process.kill()
    before = document(out)["parts"]["play"]
    assert before["state"] == "running"
    done = run(out, "--minutes", "20", "--parts", *PARTS, "--json")
    assert done.returncode == 0, done.stderr + (out / "gpu_check.log").read_text()
    assert "play: 4" in done.stderr, "the budgets are said first"
    found = json.loads(done.stdout)
    assert found == document(out)
    assert (found["format"], found["device"]) == (1, "torch")
    parts = found["parts"]
    assert {name: part["state"] for name, part in parts.items()} == dict.fromkeys(PARTS, "done") | {
        "train": "not begun"
    }
    assert parts["play"]["rows"][0] == before["rows"][0], "what was measured is not measured again"
    check_rows({name: part["rows"] for name, part in parts.items()})
    page = (out / "gpu_check.md").read_text("utf-8")
    for text in ("## The computer", "## Tests", "| torch fp32 | 64 |", "| 1x8 | ", "## Self-play", "1x8, 2 devices"):
        assert text in page
    assert sorted(path.name for path in out.iterdir()) == ["gpu_check.json", "gpu_check.log", "gpu_check.md", "work"]


def check_rows(rows: dict[str, list[dict[str, Any]]]) -> None:
    """The keys that the tables and readers need."""
    (machine,) = rows["machine"]
    assert {"cards", "cpu", "libraries", "commit", "torch", "backends"} <= set(machine)
    problems = {each["name"]: each["problem"] for each in machine["backends"]}
    assert problems["torch"] is None
    assert "torch-cuda" in problems
    outcomes = {row["name"]: row["outcome"] for row in rows["tests"]}
    assert outcomes["test_usi_starts_stops_and_ends[torch]"] == "passed"
    agreement = {row["name"]: row for row in rows["agreement"]}
    assert {"torch fp32", "cpu fp32", "native int16"} <= set(agreement)
    assert agreement["torch fp32"]["top1"] == 1
    if get_backend("opencl").problem() is None:
        assert {"opencl fp32", "opencl fp16"} <= set(agreement)
    assert [row["name"] for row in rows["play"]] == list(SHAPES)
    for row in rows["play"]:
        assert row["ceiling_per_s"] > 0 < row["search_share"]
        assert set(row["evaluations"]) == {"mean", "median", "minimum", "maximum"}
    assert [row["name"] for row in rows["training"]] == ["peak", "loader", *SHAPES]
    assert all(row["share_of_peak"] >= 0 for row in rows["training"][2:])
    assert [(row["name"], row["playouts"]) for row in rows["selfplay"]] == [("1x8", 800)]
    assert [row["name"] for row in rows["devices"]] == ["1x8, 1 device", "1x8, 2 devices"]


@pytest.mark.soak
def test_a_network_is_trained_on_and_the_best_is_kept(tmp_path: Path) -> None:
    games, out = tmp_path / "games.hcpe3", tmp_path / "out"
    (out / "work/run").mkdir(parents=True)
    (out / "work/run/config.toml").write_text("of a call that was killed before its first checkpoint")
    runpy.run_path(str(BENCHMARKS / "random_games.py"))["write_random_games"](games, 3)
    words = (
        "--train",
        str(games),
        "--test",
        str(games),
        "--network",
        "resnet1x8",
        "--parts",
        "train",
    )
    for minutes in ("0.5", "1", "2", "4", "8"):  # on a busy computer the first minutes may end before the first export
        done = run(out, *words, "--minutes", minutes)
        if "machine: cut" in done.stderr:
            continue
        assert done.returncode == 0, done.stderr + (out / "gpu_check.log").read_text()
        rows = {row["name"]: row for row in document(out)["parts"]["train"]["rows"]}
        steps = [row["step"] for name, row in rows.items() if name != "best"]
        if "best" in rows and len(steps) >= 2:
            break
    assert steps == sorted(steps)
    assert rows["best"]["total_loss"] == min(row["total_loss"] for row in rows.values())
    assert rows["best"]["bytes"] == (out / "network.onnx").stat().st_size
    assert {"policy_accuracy", "value_accuracy", "trained"} <= set(rows["best"])


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The results of a folder, with a computer that has one card."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from gpu_check import Check

    found = Check(tmp_path)
    backends = [
        {"name": "cpu", "title": "ONNX Runtime, CPU", "on_gpu": False, "problem": None},
        {"name": "cuda", "title": "ONNX Runtime, CUDA", "on_gpu": True, "problem": None},
        {"name": "tensorrt", "title": "ONNX Runtime, TensorRT", "on_gpu": True, "problem": "not installed | pip"},
        {"name": "torch-cuda", "title": "torch, CUDA", "on_gpu": True, "problem": None},
        {"name": "torch", "title": "torch, CPU", "on_gpu": False, "problem": None},
    ]
    found.parts["machine"].add(
        {
            "name": "machine", "cards": ["Card 9000, 80 GiB"], "cpu": "C", "cpus": 4, "cpu_class": "AVX2",
            "python": "3.12", "torch": {"cuda": "13.0"}, "libraries": {"torch": "2"}, "commit": None,
            "backends": backends,
        }
    )  # fmt: skip
    return found


def test_the_backend_of_a_card_is_chosen_once(check: Any) -> None:
    check.choose_device("")
    assert check.device == "torch-cuda"
    check.choose_device("torch-cuda")
    with pytest.raises(SystemExit, match="has results of torch-cuda, not of cuda: choose another folder"):
        check.choose_device("cuda")
    with pytest.raises(SystemExit, match="--device tensorrt: not installed"):
        check.choose_device("tensorrt")
    with pytest.raises(SystemExit, match="--device abacus: not one of cpu, cuda"):
        check.choose_device("abacus")


def test_what_a_card_showed_stands_beside_the_seeds(check: Any, tmp_path: Path) -> None:
    from gpu_play import SEEDS
    from gpu_tables import page

    counts = {"mean": 1234567, "median": 2, "minimum": 1, "maximum": 3}
    row = {
        "name": "40x512", "network": "40x512", "identity": "ab-fp16-torch-cuda", "searches": 8,
        "ceiling_batch_size": 512, "ceiling_per_s": 100, "search_per_s": 90, "search_share": 0.9,
        "at_once_per_s": 95, "at_once_share": 0.95,
        "evaluations": counts, "playouts": counts, "seeds": SEEDS["40x512"],
    }  # fmt: skip
    check.parts["play"].add(row)
    check.parts["play"].add({"name": "50x1024", "problem": "out of\nmemory"})
    check.parts["devices"].add({"name": "devices", "note": "there is one GPU"})
    check.write()
    written = (tmp_path / "gpu_check.md").read_text("utf-8")
    assert written == page(json.loads((tmp_path / "gpu_check.json").read_text("utf-8")))
    for line in (
        "| 40x512 | 100 | 512 | 90 | 0.9 | 95 | 0.95 | fp16-torch-cuda |",
        "| 40x512 | RTX 4090 | 8,008 | 7,982 | 7,596 | 9,392 |",
        "| tensorrt | ONNX Runtime, TensorRT | not installed / pip |",
        "| play | not begun | 0 | 50x1024: out of memory |",
        "## Several devices\n\nthere is one GPU.\n",
    ):
        assert line in written
    assert "1,234,567" in written


def test_a_part_that_runs_out_of_time_is_cut_and_keeps_its_rows(check: Any, tmp_path: Path) -> None:
    from gpu_check import budget, run_part

    check.choose_device("torch")
    check.parts["play"].add({"name": "1x8", "network": "1x8"} | {"problem": "not yet"})
    names = ("positions", "train", "test", "network", "select", "work", "longest_s", "shapes")
    job = dict(zip(names, (64, [], [], "", "", str(tmp_path), 0.1, ["1x8"]), strict=True)) | {"out": str(tmp_path)}
    run_part(check, "play", job, 0.2)
    assert (check.parts["play"].state, list(check.parts["play"].by_name)) == ("cut", ["1x8"])
    assert check.parts["play"].problem == "its 0 s ran out"
    run_part(check, "play", {"unknown": 1}, 60)
    assert check.parts["play"].state == "failed"
    assert "it ended with 1: " in check.parts["play"].problem
    assert budget(100, "play", ["play", "training"]) == pytest.approx(100 * 36 / 52)
    assert budget(100, "training", ["play", "training"]) == 100
    parts = ["machine", "play"]
    assert [budget(left_s, "machine", parts) for left_s in (30, 100, 480)] == [30, 60, 240], "libraries may load slowly"


@pytest.mark.soak
def test_a_test_that_ends_pytest_is_a_failure_and_those_before_are_not_run_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "crash.py").write_text("import os\n\ndef pytest_runtest_logfinish(nodeid, location):\n    os.abort()\n")
    words = ("--minutes", "20", "--parts", "tests", "--select", "agrees_with and fp32 or batches_in_flight")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTEST_ADDOPTS", "-p crash")
        environment.setenv("PYTHONPATH", path)
        done = run(out, *words)
    assert done.returncode == 1
    found = document(out)["parts"]["tests"]
    first, second = "test_agrees_with_onnx_runtime_in_float32", "test_batches_in_flight_at_once"
    assert (found["state"], [row["name"].split("[")[0] for row in found["rows"]]) == ("failed", [first])
    assert "after 1 tests" in found["problem"]
    assert "; 1 tests" in (out / "gpu_check.md").read_text("utf-8")
    done = run(out, *words)
    assert done.returncode == 0, (out / "gpu_check.log").read_text()
    found = document(out)["parts"]["tests"]
    assert (found["state"], [row["outcome"] for row in found["rows"]]) == ("done", ["passed", "passed"])
    assert found["rows"][1]["name"].startswith(second)
    assert (out / "gpu_check.log").read_text().count(f"{first}[torch-fp32] PASSED") == 1


@pytest.mark.slow
def test_results_of_another_commit_are_left_alone(measured: Path, tmp_path: Path) -> None:
    out = shutil.copytree(measured, tmp_path / "out")
    path = out / "gpu_check.json"
    path.write_text(path.read_text().replace('"commit": ', '"commit": "of another time", "was": '))
    done = run(out, *TRAINING)
    assert done.returncode == 1
    assert "has results with commit of another time" in done.stderr
    assert "choose another folder" in done.stderr
    assert "of another time" in path.read_text()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--minutes", "0"], "0 is not a number above 0"),
        (["--seconds", "nan"], "nan is not a number above 0"),
        (["--shapes", "1x8", "many"], "unknown network 'resnetmany'"),
        (["--train", "none.hcpe3", "--test", "none.hcpe3"], "none.hcpe3: no such file"),
        (["--train", "none.hcpe3"], "--train and --test need each other"),
    ],
)
def test_wrong_options_are_refused_at_once(
    tmp_path: Path,
    words: list[str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from gpu_check import main

    monkeypatch.setattr(sys, "argv", command(tmp_path / "out", *words)[1:])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.name != "posix", reason="limits of processes are POSIX's")
def test_a_full_disk_is_said_in_a_line(tmp_path: Path) -> None:
    limited = ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash", *command(tmp_path, "--parts", "machine")]
    done = subprocess.run(limited, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("stopped: ")
    assert "the same command goes on" in done.stderr


def test_without_a_gpu_it_says_what_each_backend_lacks(tmp_path: Path) -> None:
    if any(get_backend(name).on_gpu and get_backend(name).problem() is None for name in BACKENDS):
        pytest.skip("there is a GPU")
    program = [sys.executable, str(BENCHMARKS / "gpu_check.py"), "--out", str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 1
    assert "no backend can use a GPU here" in done.stderr
    assert get_backend("torch-cuda").problem() in done.stderr
