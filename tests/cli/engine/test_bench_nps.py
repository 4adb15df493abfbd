"""`fukayomi bench nps` on networks and USI engines, and `fukayomi bench` beside it."""

import sys
from functools import partial
from pathlib import Path

import command_runs
import jsonschema
import pytest
from places import RECORDS
from toy_network import write_network

from fukayomi.engine.evaluators.backends.backend import get_backend

run = partial(command_runs.run, "bench", COLUMNS="150")
FAST = ("--records", RECORDS, "--positions", 3, "--nodes", 50)
ENGINE = ("--engine", f"usi={sys.executable} -m fukayomi usi", "--option", "usi:DNN_Model=<hash>")


def test_tables_of_networks_and_engines(tmp_path: Path) -> None:
    picture = tmp_path / "nps.png"
    networks = ("--model", "<hash>", "--model", "<uniform>")
    code, printed, said = run("nps", *FAST, *networks, *ENGINE, "--repeats", 2, "--picture", picture)
    assert code == 0, said
    for text in ("evaluations", "playouts", "visits", "usi", "<uniform> / <hash>", "usi nodes / <hash> evaluations"):
        assert text in printed
    assert "evaluations: positions that the network evaluated" in printed
    assert "3 positions, 2 times, 50 nodes each" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_one_json_object() -> None:
    found = command_runs.run_json("bench", "nps", *FAST, "--model", "<hash>", "--model", "<uniform>")
    rate = {
        "type": "object",
        "required": ["name", "counted", "searches", "mean", "median", "minimum", "maximum"],
        "properties": {"name": {"type": "string"}, "mean": {"type": "number", "exclusiveMinimum": 0}},
    }
    jsonschema.validate(found["rates"], {"type": "array", "items": rate, "minItems": 6, "maxItems": 6})
    assert [(ratio["name"], ratio["of"]) for ratio in found["ratios"]] == [("<uniform>", "<hash>")]
    assert (found["positions"], found["nodes"], found["seconds"]) == (3, 50, None)
    assert ["README.md: neither CSA" in problem for problem in found["problems"]] == [True]
    assert set(found["definitions"]) == {"evaluations", "playouts", "visits", "nodes"}


def test_scaling_over_devices(tmp_path: Path) -> None:
    toy = write_network(tmp_path / "toy.onnx")
    found = command_runs.run_json(
        "bench", "nps", *FAST, "--model", toy, "--model", "<hash>", "--devices", 3, "--device", "cpu"
    )
    names = [f"toy.onnx, <hash> cpu, {count}" for count in ("1 device", "2 devices", "3 devices")]
    assert list(dict.fromkeys(rate["name"] for rate in found["rates"])) == names
    assert [(ratio["name"], ratio["of"]) for ratio in found["ratios"]] == [(name, names[0]) for name in names[1:]]
    assert all(ratio[kind] > 0 for ratio in found["ratios"] for kind in ("mean", "median", "minimum", "maximum"))

    code, printed, said = run("nps", *FAST, "--model", "<hash>", "--devices", 2)
    assert code == 0, said
    assert "<hash>, 2 devices / <hash>, 1 device" in printed


def test_backends_beside_each_other(tmp_path: Path) -> None:
    devices = ("--device", "cpu", "--device", "openvino")
    toy = write_network(tmp_path / "toy.onnx")
    if get_backend("openvino").problem() is not None:
        pytest.skip("needs openvino")
    found = command_runs.run_json("bench", "nps", *FAST, "--model", toy, *devices)
    assert [(ratio["name"], ratio["of"]) for ratio in found["ratios"]] == [("toy.onnx openvino", "toy.onnx cpu")]


def test_errors(tmp_path: Path) -> None:
    for arguments, message in (
        (("--model", "no.onnx"), "no.onnx"),
        (("--engine", "gps"), "NAME=COMMAND"),
        (("--engine", "x=no-such-engine"), "no-such-engine"),
        (("--model", "<hash>", "--option", "x:A=1"), "no engine 'x'"),
        (("--model", "<hash>", "--model", "<hash>"), "the same name"),
        (("--model", "<hash>", "--picture", tmp_path / "a.pdf"), "a picture is a .png or a .svg"),
        (("--device", "abacus"), "abacus"),
        (("--devices", 2, *("--model", "<hash>") * 3), "3 networks on 2 devices"),
    ):
        code, printed, said = run("nps", *FAST, *arguments)
        assert (code != 0, printed) == (True, "")
        assert message in said
    assert run("nps", "--records", tmp_path / "no.csa")[0] == 1


def test_records_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("hello\n")
    code, _, said = run("nps", "--records", path, "--model", "<hash>")
    assert code == 1
    assert "there is no position in the records" in said
    assert "g.txt: neither CSA, KIF" in said.replace("\n", " ")


def test_options_before_the_subcommand_are_refused() -> None:
    code, _, said = run("--nodes", 5, "nps")
    assert code == 2
    assert "put the options of nps after it" in said
