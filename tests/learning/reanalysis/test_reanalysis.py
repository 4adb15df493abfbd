"""Layers: what stays, what is new, what is chosen, and which layers are refused."""

import json
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reanalysis_runs import check_same_games, exact_network, read, searched, targets, write_games

from fukayomi import _native
from fukayomi.data import DataFileError
from fukayomi.engine import Network
from fukayomi.engine.control import Control, Limits
from fukayomi.engine.evaluators.protocol import hash_evaluator
from fukayomi.engine.search import Searcher
from fukayomi.engine.settings import UsiSettings
from fukayomi.files.inputs import file_sha256
from fukayomi.learning import (
    Dataset,
    LayerError,
    LayerInfo,
    ReanalysisError,
    ReanalysisSettings,
    Root,
    TrainingSettings,
    reanalyze,
    train,
)
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.layers import find_layer, layer_path, layers_of, sidecar_of, weights_of
from fukayomi.learning.reanalysis.selection import chances_by_surprise, draw
from fukayomi.learning.training.configuration import RunConfiguration
from fukayomi.nn.config import NetworkConfig
from fukayomi.settings import build
from fukayomi.settings import read as read_layer
from fukayomi.shogi import Move

TINY = NetworkConfig(blocks=1, channels=8, activation="relu", value_hidden=8)
QUICK = ReanalysisSettings(nodes=0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_games(tmp_path / "games.hcpe3")


@pytest.mark.parametrize("root", Root)
def test_a_layer_has_what_a_search_of_each_position_finds(file: Path, root: Root) -> None:
    before = file.read_bytes()
    params = UsiSettings().search_params()
    params.root_rule, params.gumbel_scale, params.gumbel_moves = root.rule, 0.0, 8
    params.softmax_temperature_root = 1.0 if root is Root.GUMBEL else 0.0
    settings = ReanalysisSettings(nodes=30, share=1.0, root=root, gumbel_moves=8)
    with exact_network() as network:
        result = reanalyze(file, network, settings, layer="new", workers=1)
        original, layer = read(file), read(layer_path(file, "new"))
        with Searcher([hash_evaluator(8)], params, memory_mb=16, reuse=False, batch_visits=0) as searcher:
            for game in range(len(original)):
                position = _native.position_from_hcp(original.starts[game].tobytes())
                first = int(original.plies[game])
                for ply, raw in enumerate(original[game].moves.tolist()):
                    if original.candidate_counts()[first + ply]:
                        found = searcher.search(position, Control(Limits(nodes=30)))
                        taught = {move.raw: weight for move, weight in searcher.teaching()}
                        assert targets(layer)[first + ply] == (found.lines[0].cp, taught)
                        assert root is Root.GUMBEL or sum(taught.values()) in (29, 30) or found.lines[0].mate
                    position.push(Move.from_raw(raw))
    check_same_games(layer, original)
    assert file.read_bytes() == before
    (info,) = result.layers.values()
    assert (info.chosen, info.changed, info.positions) == (len(searched(original)),) * 3
    assert 0 < info.moved <= info.changed
    assert info.sha256 == file_sha256(layer_path(file, "new"))
    assert info.original_sha256 == file_sha256(file)
    assert result.rows()[0]["games"] == len(original)


def test_without_nodes_the_targets_are_policy_and_value(file: Path) -> None:
    with exact_network() as network:
        reanalyze(file, network, ReanalysisSettings(nodes=0, share=1.0), layer="raw")
        original, layer = read(file), read(layer_path(file, "raw"))
        chosen = searched(original)
        positions = [_native.position_from_hcp(original.hcps[ply].tobytes()) for ply in chosen]
        evaluation = network.evaluate(positions)
    check_same_games(layer, original)
    for number, ply in enumerate(chosen):
        cp, candidates = targets(layer)[ply]
        assert cp == _native.centipawns(float(evaluation.winrates[number]))
        shares = {move.raw: 65535 * share for move, share in evaluation.policies[number].items()}
        assert all(abs(visits - shares[move]) <= 0.51 for move, visits in candidates.items())
        assert all(share < 0.51 for move, share in shares.items() if move not in candidates)
        assert list(candidates.values()) == sorted(candidates.values(), reverse=True)


def test_multipv_limits_the_policy(file: Path) -> None:
    with exact_network() as network:
        for nodes in (0, 20):
            settings = ReanalysisSettings(nodes=nodes, share=1.0, multipv=2)
            reanalyze(file, network, settings, layer=f"two-{nodes}")
            assert all(len(moves) <= 2 for _, moves in targets(read(layer_path(file, f"two-{nodes}"))))


@pytest.mark.parametrize("selection", ["random", "surprise"])
def test_a_share_of_the_positions_is_chosen_by_the_seed(file: Path, selection: str) -> None:
    def chosen(layer: str, seed: int) -> list[int]:
        settings = ReanalysisSettings(nodes=0, share=0.4, selection=selection, seed=seed)  # pyright: ignore
        with exact_network() as network:
            (info,) = reanalyze(file, network, settings, layer=layer).layers.values()
        original, layered = read(file), read(layer_path(file, layer))
        check_same_games(layered, original)
        changed = [
            n for n, (old, new) in enumerate(zip(targets(original), targets(layered), strict=True)) if old != new
        ]
        assert info.changed == info.chosen == len(changed)
        assert abs(info.chosen - 0.4 * len(searched(original))) <= 1
        return changed

    first = chosen("a", 1)
    assert chosen("b", 1) == first
    assert chosen("c", 2) != first


def test_age_takes_the_first_positions_of_the_first_files(tmp_path: Path) -> None:
    files = [write_games(tmp_path / f"w-{number}.hcpe3", seed=number) for number in range(3)]
    sizes = [len(searched(read(file))) for file in files]
    share = (sizes[0] + 5) / sum(sizes)
    with exact_network() as network:
        settings = ReanalysisSettings(nodes=0, share=share, selection="age")  # pyright: ignore
        result = reanalyze(tmp_path, network, settings, layer="old")
    assert list(result.layers) == [str(file) for file in files[:2]]
    assert [info.changed for info in result.layers.values()] == [sizes[0], 5]
    original, layer = read(files[1]), read(layer_path(files[1], "old"))
    changed = [n for n, (old, new) in enumerate(zip(targets(original), targets(layer), strict=True)) if old != new]
    assert changed == searched(original)[:5].tolist()


def test_surprising_positions_are_chosen_more_often_and_the_weights_are_kept(tmp_path: Path) -> None:
    file = write_games(tmp_path / "games.hcpe3", 30, 5, 20)
    with exact_network() as network:
        # The targets of half of the positions are the network's own: nothing surprising there.
        half = ReanalysisSettings(nodes=0, share=0.5, seed=7)
        reanalyze(file, network, half, layer="half")
        mixed = layer_path(file, "half").rename(tmp_path / "mixed.hcpe3")
        known = np.array([old != new for old, new in zip(targets(read(file)), targets(read(mixed)), strict=True)])
        known = known[searched(read(file))]
        settings = ReanalysisSettings(nodes=0, share=0.3, selection="surprise")  # pyright: ignore
        reanalyze(mixed, network, settings, layer="more")
    weights = np.load(weights_of(layer_path(mixed, "more")))
    assert weights.dtype == np.float32
    assert weights.shape == known.shape
    assert abs(np.count_nonzero(weights) - 0.3 * len(known)) <= 1
    assert np.count_nonzero(weights[~known]) > 2 * np.count_nonzero(weights[known])
    assert weights[known].max() > 1 / 0.3 > weights[~known][weights[~known] > 0].min() >= 1
    assert abs(weights.sum() / len(known) - 1) < 0.2, "weighted, the chosen positions stand for all"


@given(st.lists(st.floats(0, 20, width=32), min_size=1, max_size=60), st.floats(0.01, 1), st.integers(0, 99))
def test_chances_add_up_to_the_share_and_the_draw_keeps_it(surprise: list[float], share: float, seed: int) -> None:
    chances = chances_by_surprise(np.array(surprise, np.float32), share)
    assert chances.min() > 0
    assert chances.max() <= 1
    assert chances.sum() == pytest.approx(share * len(surprise))
    order = np.argsort(surprise, kind="stable")
    assert (np.diff(chances[order]) >= -1e-12).all()
    assert abs(draw(chances, seed).sum() - share * len(surprise)) <= 1


def test_each_position_is_drawn_with_its_chance() -> None:
    chances = np.array([1.0, 0.75, 0.5, 0.25, 0.5])
    drawn = np.mean([draw(chances, seed) for seed in range(4000)], axis=0)
    np.testing.assert_allclose(drawn, chances, atol=0.04)  # five standard deviations


def test_layers_that_are_there_are_left_alone(tmp_path: Path) -> None:
    write_games(tmp_path / "a.hcpe3", seed=1)
    with exact_network() as network:
        assert reanalyze(tmp_path, network, QUICK).made == 1
        (layer,) = layers_of(tmp_path / "a.hcpe3")
        assert layer.endswith("-n0")
        time = layer_path(tmp_path / "a.hcpe3", layer).stat().st_mtime_ns
        write_games(tmp_path / "b.hcpe3", seed=2)
        result = reanalyze(tmp_path, network, QUICK)
        assert (result.made, len(result.layers)) == (1, 2)
        assert layer_path(tmp_path / "a.hcpe3", layer).stat().st_mtime_ns == time
        with pytest.raises(LayerError, match=r"made in another way \(different: share\)"):
            reanalyze(tmp_path, network, ReanalysisSettings(nodes=0, share=0.5), layer=layer)
    with exact_network(1) as other, pytest.raises(LayerError, match=r"different: network"):
        reanalyze(tmp_path, other, QUICK, layer=layer)


def test_a_network_opened_twice_makes_the_layer_that_it_makes_alone(tmp_path: Path) -> None:
    settings = ReanalysisSettings(nodes=20, selection="surprise")  # pyright: ignore
    outputs = []
    for name, count in (("one", 1), ("two", 2)):
        file = write_games(tmp_path / f"{name}.hcpe3")
        with ExitStack() as stack:
            networks = [stack.enter_context(exact_network()) for _ in range(count)]
            reanalyze(file, networks, settings, layer="x", workers=1)
        layer = layer_path(file, "x")
        outputs.append([path.read_bytes() for path in (layer, weights_of(layer), sidecar_of(layer))])

    assert outputs[0] == outputs[1]


def test_what_cannot_be_reanalysed_is_refused(tmp_path: Path, file: Path) -> None:
    with exact_network() as network:
        with pytest.raises(LayerError, match="not the name of a layer"):
            reanalyze(file, network, QUICK, layer="../x")
        reanalyze(file, network, QUICK, layer="x")
        with pytest.raises(ReanalysisError, match="is a layer itself"):
            reanalyze(layer_path(file, "x"), network, QUICK)
        (tmp_path / "empty").mkdir()
        with pytest.raises(ReanalysisError, match="no hcpe3 file in this folder"):
            reanalyze(tmp_path / "empty", network, QUICK)
        played = read(file)
        (tmp_path / "played.hcpe3").write_bytes(played.with_candidates(np.zeros(len(played.moves), np.bool_)).write())
        with pytest.raises(DataFileError, match="no move has candidates"):
            reanalyze(tmp_path / "played.hcpe3", network, QUICK)
    assert [path.name for path in tmp_path.glob(".*")] == []
    with pytest.raises(ReanalysisError, match="share"):
        ReanalysisSettings(share=0)


def test_the_hash_of_the_network_is_kept(tmp_path: Path, file: Path) -> None:
    with Network(device="cpu", precision="fp32") as network:
        (info,) = reanalyze(file, network, ReanalysisSettings(nodes=0, share=0.1), layer="e").layers.values()
    assert info.network == network.sha256
    assert info.evaluator == network.identity
    found = json.loads(sidecar_of(layer_path(file, "e")).read_text())
    assert LayerInfo.model_validate_json(json.dumps(found)) == info


# ------------------------------------------------------------------------------------------- reading layers


@pytest.fixture
def layered(file: Path) -> Path:
    with exact_network() as network:
        reanalyze(file, network, ReanalysisSettings(nodes=0, share=1.0), layer="x")
    return file


def test_a_dataset_sees_the_targets_of_the_layer(tmp_path: Path, layered: Path) -> None:
    plain, new, direct = Dataset(layered), Dataset(layered, layer="x"), Dataset(layer_path(layered, "x"))
    assert len(plain) == len(new) == len(direct)
    assert new.paths == plain.paths
    numbers = np.arange(len(new))
    old, ours, theirs = (data.arrays(numbers) for data in (plain, new, direct))
    for name in ("planes1", "planes2", "results", "labels", "values", "places", "weights"):
        assert (getattr(ours, name) == getattr(theirs, name)).all()
    assert (ours.planes1 == old.planes1).all()
    assert (ours.results == old.results).all()
    assert (ours.values != old.values).mean() > 0.9
    other = write_games(tmp_path / "other.hcpe3", seed=9)
    together = Dataset(layered, other, layer="x")
    assert (together.arrays(numbers).values == ours.values).all()
    rest = np.arange(len(new), len(together))
    assert (together.arrays(rest).values == Dataset(other).arrays(rest - len(new)).values).all()


def test_training_takes_the_layer_and_the_test_set_does_not(tmp_path: Path, layered: Path) -> None:
    values = {"train": [str(layered)], "test": [str(layered)], "targets": {"layer": "x", "n_step": 5}}
    configuration = build(RunConfiguration, values)
    data = configuration.open(configuration.train)
    test = configuration.open(configuration.test, as_test=True)
    assert (data.layer, data.n_step, test.layer, test.n_step) == ("x", 5, None, 0)
    settings = TrainingSettings(steps=3, batch=16, warmup=1, amp="off")
    runs = {
        name: train(TINY, Dataset(layered, layer=layer), tmp_path / name, settings=settings)
        for name, layer in (("old", None), ("new", "x"))
    }
    saved = build(RunConfiguration, read_layer(RunConfiguration, tmp_path / "new" / "config.toml"))
    assert saved.targets.layer == "x"
    assert load_checkpoint(runs["new"].checkpoint).settings["layer"] == "x"
    models = [load_checkpoint(run.checkpoint).model for run in runs.values()]
    assert any((models[0][name] != models[1][name]).any() for name in models[0])


def test_wrong_layers_are_refused(tmp_path: Path, layered: Path) -> None:
    layer = layer_path(layered, "x")
    with pytest.raises(LayerError, match="no file has the layer 'y'; there are x"):
        Dataset(layered, layer="y")
    with pytest.raises(LayerError, match="is a layer itself"):
        Dataset(layer, layer="x")
    good = layer.read_bytes()
    damaged = bytearray(good)
    damaged[len(good) // 2] ^= 1
    layer.write_bytes(damaged)
    with pytest.raises(LayerError, match="is damaged"):
        Dataset(layered, layer="x")
    layer.write_bytes(good)
    assert find_layer(layered, "x") == layer
    with layered.open("ab") as file:
        file.write(bytes(36))
    with pytest.raises(LayerError, match="made from other games"):
        Dataset(layered, layer="x")
    sidecar = sidecar_of(layer)
    info = json.loads(sidecar.read_text())
    for change, message in (
        ({"version": 2}, "version 2; this fukayomi reads versions up to 1"),
        ({"sha256": "x"}, "not the sidecar of a layer: sha256"),
    ):
        sidecar.write_text(json.dumps(info | change))
        with pytest.raises(LayerError, match=message):
            find_layer(layered, "x")
    sidecar.write_text("{")
    with pytest.raises(LayerError, match="not the sidecar of a layer"):
        find_layer(layered, "x")
    sidecar.unlink()
    assert find_layer(layered, "x") is None
