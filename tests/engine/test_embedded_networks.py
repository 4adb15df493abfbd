"""The networks that come with the package: their names, and which one is taken unasked."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import sparse_files
from command_runs import run

from fukayomi.engine import AnalysisQuery, AnalysisService, Engine, EvaluatorError, Network
from fukayomi.engine import network as networks
from fukayomi.engine.evaluators.backends.backend import Plan, get_backend
from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.engine.evaluators.backends.opencl.backend import OpenCl
from fukayomi.engine.measuring import doctor
from fukayomi.engine.network import (
    embedded_network,
    embedded_networks,
    find_network,
    load_evaluators,
    same_everywhere,
    take_suggestions,
)
from fukayomi.engine.settings import usi_options
from fukayomi.shogi import Position

UNASKED = ("", "<internal>", "embedded")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the package's networks, with a sparse one, on a computer without a GPU."""
    folder = tmp_path / "networks"
    folder.mkdir()
    for path in networks.NETWORKS.glob("*.onnx"):
        shutil.copy(path, folder)
    sparse = sparse_files.write(tmp_path, sparse_files.SMALL).path
    sparse.rename(folder / "fukayomi-sparse-64x64.sparse")
    monkeypatch.setattr(networks, "NETWORKS", folder)
    monkeypatch.setattr("fukayomi.engine.choice.gpu_names", lambda: ())
    return folder


def test_without_a_sparse_one_the_residual_one_is_meant(package: Path) -> None:
    (package / "fukayomi-sparse-64x64.sparse").unlink()
    assert list(embedded_networks()) == ["<5x64>"]
    for name in (*UNASKED, "<5x64>"):
        for wanted in (None, Plan(), Plan("native", "int8")):
            assert find_network(name, wanted) == package / "fukayomi-5x64.onnx"
    with Network(device="native", precision="fp32") as network:
        assert network.name == "embedded network"


def test_each_has_a_name(package: Path) -> None:
    assert embedded_networks() == {
        "<5x64>": package / "fukayomi-5x64.onnx",
        "<sparse>": package / "fukayomi-sparse-64x64.sparse",
    }
    for name, path in embedded_networks().items():
        for wanted in (None, Plan(), Plan("cpu", "fp32")):
            assert find_network(name, wanted) == path
    with pytest.raises(EvaluatorError, match="no embedded network <7x7>; there are <internal>, <5x64>, <sparse>"):
        find_network("<7x7>")


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({}, "sparse"),
        ({"device": "native"}, "sparse"),
        ({"precision": "int8"}, "sparse"),
        ({"precision": "fp32"}, "5x64"),
        ({"device": "native", "precision": "fp32"}, "5x64"),
        ({"device": "cpu"}, "5x64"),
    ],
)
def test_unasked_the_sparse_one_is_taken_where_it_runs(package: Path, asked: dict[str, Any], name: str) -> None:
    for model in (None, *UNASKED):
        with Network(model, threads=1, batch_size=8, **asked) as network:
            assert network.name == f"embedded network {name}"
            assert network.sha256 == NetworkFile(embedded_networks()[f"<{name}>"]).sha256
            assert f"{name}" in network.evaluator.describe() if model is None else True  # pyright: ignore


def test_with_a_gpu_for_it_the_residual_one_is_taken(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fukayomi.engine.choice.has_gpu", lambda _: True)
    assert embedded_network(Plan()).suffix == ".onnx"
    assert embedded_network(Plan("native")).suffix == ".sparse"


@pytest.mark.parametrize(("backend", "suffix"), [("opencl", ".sparse"), ("torch-cuda", ".onnx")])
def test_a_gpu_that_opencl_alone_reaches_does_not_count(
    package: Path, monkeypatch: pytest.MonkeyPatch, backend: str, suffix: str
) -> None:
    monkeypatch.setattr("fukayomi.engine.choice.gpu_names", lambda: ("graphics",))
    monkeypatch.setattr(OpenCl, "on_gpu", True)
    monkeypatch.setattr("fukayomi.engine.choice.find_candidates", lambda *_: [(get_backend(backend), "fp32")])
    assert embedded_network(Plan()).suffix == suffix


def test_games_and_labels_for_learning_mean_the_residual_one(package: Path, tmp_path: Path) -> None:
    out = tmp_path / "leaves"
    code, _, said = run("leaves", "-o", out, "--positions", 20, "--nodes", 4, "--device", "native", "--threads", 1)
    assert code == 0, said
    residual = NetworkFile(package / "fukayomi-5x64.onnx").sha256
    assert json.loads((out / ".leaves.json").read_text("utf-8"))["network"].startswith(residual[:16])
    assert same_everywhere("embedded") == "<5x64>"
    assert same_everywhere("<sparse>") == "<sparse>"


def test_training_and_tools_mean_the_residual_one(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fukayomi.learning.models import load_network
    from fukayomi.nn.sparse import SparseNetwork

    assert embedded_network().suffix == ".onnx"
    read: list[Path] = []
    monkeypatch.setattr("fukayomi.learning.models._load_onnx", read.append)  # for training it plays games, too
    load_network("embedded")
    assert read == [package / "fukayomi-5x64.onnx"]
    assert isinstance(load_network("<sparse>"), SparseNetwork)


def test_the_engine_takes_names_and_suggestions_of_the_file_that_is_meant(package: Path) -> None:
    (package / "fukayomi-sparse-64x64.sparse.ini").write_text("C_init=99\n")
    for name, c_init in (("<internal>", 99), ("<sparse>", 99), ("<5x64>", 144)):
        options = usi_options()
        options.set("DNN_Model", name)
        assert take_suggestions(options) == []
        assert options.settings.c_init == c_init
    options = usi_options()
    options.set("DNN_Provider", "cpu")
    take_suggestions(options)
    assert options.settings.c_init == 144, "the sparse one cannot be run so"


def test_both_search_together(package: Path) -> None:
    options = usi_options()
    given = {"DNN_Model2": "<5x64>", "DNN_Ensemble": "true", "DNN_Weight": "300"}
    for name, value in (given | {"DNN_Provider": "native", "DNN_Batch_Size": "8"}).items():
        options.set(name, value)
    (ensemble,) = load_evaluators(options.settings)
    assert ensemble.identity.startswith("0.75*")
    ensemble.close()
    both = Network(["<sparse>", "<5x64>"], weights=[3, 1], device="native", batch_size=8)
    with both as network, Engine(network) as engine:
        assert network.name == "embedded network sparse, embedded network 5x64"
        assert engine.search(Position(), nodes=200).progress.nodes >= 200


def test_an_analysis_gives_each_its_own_nodes(package: Path) -> None:
    for name, precision, nodes in (("<5x64>", "int16", 800), ("<sparse>", "int8", 6400)):
        with Network(name, device="native", precision=precision, batch_size=8) as network, Engine(network) as engine:
            limits = network.analysis_limits()
            assert (limits.nodes, limits.time_ms, limits.multipv) == (nodes, 350, 3)
            assert network.analysis_limits(time_ms=10).nodes is None
            (position,) = engine.analyse("startpos").positions
            assert position.limits == limits
    with Network("<hash>") as network, AnalysisService(network) as service:
        (answer,) = service.submit(AnalysisQuery()).result(60)
        assert network.analysis_nodes == 800 <= answer.visits < 1600


def test_the_doctor_measures_the_one_that_is_taken(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SECONDS", 0.001)
    assert doctor.diagnose().network == str(package / "fukayomi-sparse-64x64.sparse")
    assert "another one is <5x64>: fukayomi doctor '<5x64>'" in run("doctor")[1]
    assert doctor.diagnose("<sparse>").network == str(package / "fukayomi-sparse-64x64.sparse")


@pytest.mark.parametrize("name", ["fukayomi-5x64.onnx", "fukayomi-sparse-64x64.sparse"])
def test_a_folder_with_several_of_a_family_or_without_one_is_an_error(package: Path, name: str) -> None:
    shutil.copy(package / name, package / f"fukayomi-other{Path(name).suffix}")
    with pytest.raises(EvaluatorError, match=r"must hold one network in ONNX.*found fukayomi-.*name a network's file"):
        embedded_network()
    for path in package.iterdir():
        path.unlink()
    with pytest.raises(EvaluatorError, match="found none"):
        embedded_network()
