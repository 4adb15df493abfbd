"""Learning runs whose network is a sparse one."""

import json
import random
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import learn_run
import pytest
from learn_run import digests

from fukayomi.arena.results.match_db import DATABASE, connect_read_only
from fukayomi.engine import Network
from fukayomi.files.inputs import file_sha256
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.models import export_network, load_network
from fukayomi.loop import LoopError, build_settings, read_status
from fukayomi.loop.journal import Journal, Played, Reanalyzed, Trained
from fukayomi.loop.learner import create_network
from fukayomi.loop.run import Run, RunFolder
from fukayomi.loop.settings import read_settings
from fukayomi.loop.steps import check_run
from fukayomi.nn.sparse_config import SparseConfig
from fukayomi.selfplay.chunk import read_chunk_info
from fukayomi.shogi import Position

KILLED = -9


def identities(match: Path) -> list[str]:
    """What a match knows of its engines."""
    with closing(connect_read_only(match / DATABASE)) as database:
        (settings,) = database.execute("SELECT settings FROM match").fetchone()
    return [engine["identity"] for engine in json.loads(settings)["engine"]]


# ------------------------------------------------------------------------------ a whole run


def test_the_networks_of_a_run_are_sparse_files_that_play(sparse_run: Path) -> None:
    networks = Journal(sparse_run).networks

    assert [network.file for network in networks] == [f"network-000{number}.sparse" for number in range(3)]
    for network in networks:
        file = RunFolder(sparse_run).verified(network)
        assert (file_sha256(file), network.int8) == (network.sha256, None)
        with Network(file, threads=1, batch_size=8) as opened:
            assert opened.identity == f"{network.sha256[:16]}-int8-native"
            assert len(opened.evaluate(Position()).policies[0]) == 30
    assert len({network.sha256 for network in networks}) == 3
    assert not list(sparse_run.rglob("*.onnx"))


def test_games_gate_and_measurements_are_played_by_them(sparse_run: Path) -> None:
    digest = [network.sha256[:16] for network in Journal(sparse_run).networks]

    for match, players in (("gate-0001", [1, 0]), ("gate-0002", [2, 1]), ("strength-0002", [2, 1, 0])):
        found = identities(sparse_run / "matches" / match)
        assert [each.split()[0] for each in found] == [f"{digest[number]}-int8-native" for number in players]
    played = [read_chunk_info(path) for path in sorted((sparse_run / "games").glob("local-00000?.json"))]
    assert {(chunk.device, chunk.precision) for chunk in played} == {("native", "int8")}
    assert [sorted(entry.opponents) for entry in Journal(sparse_run).all(Played)] == [[], ["network-0000"]]


def test_it_learns_from_the_games_with_averages_and_reanalysis(sparse_run: Path) -> None:
    trained, renewed = Journal(sparse_run).all(Trained), Journal(sparse_run).all(Reanalyzed)

    assert all(entry.network is not None and entry.losses and entry.fresh for entry in trained)
    assert [bool(entry.positions) for entry in renewed] == [False, True]
    checkpoint = load_checkpoint(RunFolder(sparse_run).checkpoint(2))
    assert (checkpoint.network, checkpoint.step) == (SparseConfig(policy=64, value=64, shared=32), trained[-1].steps)
    assert checkpoint.averages > 0
    assert checkpoint.settings["optimizer"] == "adamw"


def test_the_state_of_a_run_says_what_it_is_computed_in(sparse_run: Path) -> None:
    assert read_status(sparse_run).precision == "int8"


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("events", "step"),
    [(5, "reanalysis"), pytest.param(random.randint(1, 60), "", marks=pytest.mark.soak, id="any")],
)
def test_a_killed_run_ends_as_if_it_had_not_been(events: int, step: str, sparse_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    changes = json.dumps(learn_run.SPARSE)
    command = [sys.executable, "-W", "ignore", learn_run.__file__, folder, str(events), changes, step]

    assert subprocess.run(command, check=False).returncode == KILLED
    assert learn_run.run(folder, **learn_run.SPARSE).finished

    assert digests(folder) == digests(sparse_run), f"killed after {events} events"


# ------------------------------------------------------------------------------ how it begins


@pytest.mark.parametrize("suffix", [".sparse", ".safetensors"])
def test_a_run_begins_with_the_weights_of_a_file(suffix: str, sparse_run: Path, tmp_path: Path) -> None:
    initial = tmp_path / f"initial{suffix}"
    if suffix == ".safetensors":
        export_network(load_network(RunFolder(sparse_run).checkpoint(2)), initial)
    else:
        initial = RunFolder(sparse_run).network(2, suffix)
    settings = learn_run.small(**learn_run.SPARSE | {"learner": {"initial": str(initial)}})

    with learn_run.few_positions():
        found = create_network(Run(settings, tmp_path / "run"))

    with (
        Network(tmp_path / "run" / "networks" / found.file, threads=1, batch_size=8) as begun,
        Network(RunFolder(sparse_run).network(2, ".sparse"), threads=1, batch_size=8) as given,
    ):
        one, other = (each.evaluate(Position()) for each in (begun, given))
    assert abs(one.winrates[0] - other.winrates[0]) < 1e-3
    assert list(one.policies[0])[:3] == list(other.policies[0])[:3]


def test_it_begins_as_no_network_of_another_shape_or_family(small_run: Path, sparse_run: Path, tmp_path: Path) -> None:
    for name, run, suffix in (("sparse-64x128", sparse_run, ".sparse"), ("sparse-64x64", small_run, ".onnx")):
        settings = learn_run.small(
            **learn_run.SPARSE | {"network": {"name": name}},
            learner={"initial": str(RunFolder(run).network(1, suffix))},
        )
        with pytest.raises(
            LoopError, match=r"learner, initial: .*network-0001\..* a sparse network begins as one of its"
        ):
            create_network(Run(settings, tmp_path / "run"))


@pytest.mark.parametrize(
    ("table", "key", "value", "message"),
    [
        ("generator", "device", "cpu", "generator, device: sparse networks need native or auto, not cpu"),
        ("gate", "device", "openvino", "gate, device: sparse networks need native or auto, not openvino"),
        ("strength", "device", "cuda", "strength, device: sparse networks need native or auto, not cuda"),
        ("learner", "device", "cuda", "learner, device: sparse networks need cpu or auto, not cuda"),
        ("training", "optimizer", "muon", "training: a sparse network cannot be trained so"),
        ("training", "amp", "bf16", "training: a sparse network cannot be trained so"),
    ],
)
def test_what_sparse_networks_lack_is_refused_before_the_run_begins(
    table: str, key: str, value: str, message: str, tmp_path: Path
) -> None:
    changes = {name: value for name, value in learn_run.SPARSE.items() if name not in ("league", table)}
    with pytest.raises(LoopError, match=message):
        check_run(Run(learn_run.small(**changes, **{table: {key: value}}), tmp_path))


def test_so_they_are_for_sparse_networks_of_the_league_and_of_anchors(sparse_run: Path, tmp_path: Path) -> None:
    file = str(RunFolder(sparse_run).network(0, ".sparse"))
    league = {"generator": {"device": "cpu"}, "league": {"network": [{"name": "main", "file": file}]}}
    with pytest.raises(LoopError, match="league, network, main, file: sparse networks need native or auto, not cpu"):
        check_run(Run(learn_run.small(**league), tmp_path))
    anchors = {"strength": {"device": "cpu", "anchor": [{"name": "fixed", "network": file}]}}
    with pytest.raises(LoopError, match="strength, anchor, fixed: sparse networks need native or auto, not cpu"):
        check_run(Run(learn_run.small(**anchors), tmp_path))
    on_native = learn_run.small(league=league["league"], strength={"anchor": anchors["strength"]["anchor"]})
    check_run(Run(on_native, tmp_path))


@pytest.mark.timeout(120)
def test_a_residual_network_meets_sparse_ones(sparse_run: Path, tmp_path: Path) -> None:
    file = str(RunFolder(sparse_run).network(2, ".sparse"))
    league = {"share": 1, "network": [{"name": "main", "file": file}]}
    anchors = [{"name": "fixed", "network": file}]

    more = {"training": {"batch": 8}, "strength": {"anchor": anchors}}

    assert learn_run.run(tmp_path / "run", generations=1, league=league, **more).finished

    (played,) = Journal(tmp_path / "run").all(Played)
    assert sum(played.opponents["main"]) == played.games
    assert any("-int8-native" in each for each in identities(tmp_path / "run" / "matches" / "strength-0001"))


# ------------------------------------------------------------------------------ settings


def test_a_network_of_another_family_is_not_trained_as_the_one_of_the_preset() -> None:
    tiny, sparse = (
        build_settings({"preset": "tiny"}, *more).training for more in ((), ({"network": {"name": "sparse-64x64"}},))
    )

    assert (tiny.optimizer, tiny.batch, tiny.lr) == ("sgd", 256, 0.05)
    assert (sparse.optimizer, sparse.batch, sparse.lr, sparse.weight_decay) == ("adamw", 4096, 0.002, 0.0)
    assert (sparse.warmup, sparse.ema_interval, sparse.schedule) == (tiny.warmup, tiny.ema_interval, "constant")
    own = build_settings(
        {"preset": "tiny"}, {"network": {"family": "sparse", "policy": 128}, "training": {"lr": 0.001}}
    )
    assert (own.training.lr, own.training.batch, own.network) == (0.001, 4096, SparseConfig(policy=128))


def test_settings_are_read_back(tmp_path: Path) -> None:
    settings = learn_run.small(**learn_run.SPARSE)
    (tmp_path / "run.toml").write_text(settings.text())

    assert settings.network == SparseConfig(policy=64, value=64, shared=32)
    assert build_settings(read_settings(tmp_path / "run.toml")) == settings
