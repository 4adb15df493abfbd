"""Commands that make training data or judge networks, with the file of a sparse network."""

from pathlib import Path

import pytest
import sparse_files
from command_runs import run, run_json
from toy_network import write_network

from fukayomi.engine.evaluators.backends.network_file import NetworkFile
from fukayomi.selfplay import read_chunk

SHORT = ("--games", 4, "--playouts", 4, "--max-move", 24, "--out-max-move", "--chunk-games", 4)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small sparse network."""
    return sparse_files.write(tmp_path_factory.mktemp("sparse"), sparse_files.SMALL).path


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short games."""
    folder = tmp_path_factory.mktemp("games")
    run_json("selfplay", "<hash>", "-o", folder, *SHORT)
    (chunk,) = folder.glob("*.hcpe3")
    return chunk


def test_it_plays_against_itself_and_the_games_name_it(network: Path, tmp_path: Path) -> None:
    assert run_json("selfplay", network, "-o", tmp_path, *SHORT)["games"] == 4
    (chunk,) = tmp_path.glob("*.hcpe3")
    info = read_chunk(chunk).info
    assert info.network == NetworkFile(network).sha256
    assert (info.device, info.precision) == ("native", "int8")


def test_it_labels_and_reanalyses(network: Path, games: Path, tmp_path: Path) -> None:
    out = tmp_path / "labelled.hcpe3"
    assert run_json("label", games, "-o", out, "--network", network, "--nodes", 5)["labels"] > 0
    copy = tmp_path / "games.hcpe3"
    copy.write_bytes(games.read_bytes())
    for layer, nodes in (("a", 0), ("b", 5)):
        code, printed, said = run("reanalyze", copy, "--network", network, "--layer", layer, "--nodes", nodes)
        assert code == 0, said
        assert "positions have new targets" in printed
    assert len(list(tmp_path.glob("games.layer-*.hcpe3"))) == 2


@pytest.mark.parametrize("is_teacher", [True, False])
def test_leaves_have_it_as_player_or_teacher(network: Path, tmp_path: Path, *, is_teacher: bool) -> None:
    other = write_network(tmp_path / "toy.onnx")
    player, teacher = (other, network) if is_teacher else (network, other)
    out = tmp_path / "leaves"
    code, printed, said = run(
        "leaves",
        "-o",
        out,
        "--positions",
        200,
        "--network",
        player,
        "--teacher",
        teacher,
        "--plies",
        10,
        "--nodes",
        200,
    )
    assert code == 0, said
    assert "positions" in printed
    assert list(out.glob("*.hcpe3"))


def test_both_families_are_judged_in_one_table(network: Path, games: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "network.safetensors"
    assert run("export", network, checkpoint)[0] == 0
    found = run_json("eval-model", network, "embedded", checkpoint, "--test", games, "--resamples", 0)
    rows = {row["network"]: row for row in found["results"]}
    assert set(rows) == {"network.sparse", "embedded", "network.safetensors"}
    assert rows["network.sparse"]["policy_loss"] == pytest.approx(rows["network.safetensors"]["policy_loss"])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("out.onnx", [], "neither ONNX nor dlshogi's files can hold it; give a name in .sparse or .safetensors"),
        ("out.npz", [], "neither ONNX nor dlshogi's files can hold it"),
        ("out.int8.onnx", ["--int8"], "a sparse network cannot have an ONNX file in int8"),
        ("out.sparse", ["--int8"], "a .sparse file is in integers as it is"),
        ("out.sparse", ["--half"], "only ONNX files can be stored as float16"),
    ],
)
def test_export_says_what_it_cannot_do(
    network: Path, tmp_path: Path, name: str, options: list[str], message: str
) -> None:
    code, _, said = run("export", network, tmp_path / name, *options)
    assert code != 0
    assert message in " ".join(said.replace("│", " ").split())
    assert not (tmp_path / name).exists()
