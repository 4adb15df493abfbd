"""Reanalysis in a run: which chunks, what the learner learns from, and what the status and the page say of it."""

from pathlib import Path

import learn_run
import pytest

from fukayomi.cli.loop.learn_progress import describe
from fukayomi.data import read_data
from fukayomi.files.inputs import file_sha256
from fukayomi.learning.layers import find_layer, layer_path, read_layer_info, sidecar_of
from fukayomi.learning.settings import PRESETS
from fukayomi.loop import build_settings, read_settings, read_status, write_report
from fukayomi.loop.ingest import Manifest
from fukayomi.loop.ingest.manifest import ChunkEntry
from fukayomi.loop.journal import Journal, KeptNetwork, Reanalyzed, Started
from fukayomi.loop.learner import TrainingFile, mixed_data
from fukayomi.loop.reanalysis import LAYER, due_chunks, layer_of
from fukayomi.loop.run import Run
from fukayomi.loop.settings import LoopSettings


def test_the_games_of_earlier_networks_are_searched_again_by_the_one_that_passed(past_run: Path) -> None:
    journal, chunks = Journal(past_run), Manifest(past_run).chunks()

    entries = journal.all(Reanalyzed)

    assert [entry.step for entry in journal.entries[1:7]] == [
        "selfplay", "ingest", "reanalysis", "train", "gate", "strength",
    ]  # fmt: skip
    older = [[chunk for chunk in chunks if chunk.generation < number] for number in range(3)]
    assert [entry.network for entry in entries] == [0, 1, 2]
    assert [entry.chunks for entry in entries] == [tuple(chunk.path for chunk in each) for each in older]
    assert [entry.positions for entry in entries] == [sum(chunk.positions for chunk in each) for each in older]
    for entry in entries[1:]:
        assert entry.changed == pytest.approx(0.8 * entry.positions, abs=len(entry.chunks))
        assert 0 < entry.moved <= entry.changed


def test_layers_are_of_the_newest_network_and_games_stay_as_they_were(past_run: Path) -> None:
    networks = Journal(past_run).networks

    for chunk in Manifest(past_run).chunks():
        file = past_run / chunk.path
        assert file_sha256(file) == chunk.sha256
        layer = find_layer(file, LAYER)
        if chunk.generation < 2:
            assert layer is not None
            info = read_layer_info(sidecar_of(layer))
            assert (info.network, info.settings["nodes"]) == (networks[2].sha256, 4)
        else:
            assert layer is None


def test_the_learner_learns_from_the_layers(past_run: Path) -> None:
    journal, settings = Journal(past_run), learn_run.small(**learn_run.PAST)
    window = [
        TrainingFile(past_run / chunk.path, chunk.positions, chunk.sha256) for chunk in Manifest(past_run).chunks()
    ]

    layer = layer_of(Run(settings, past_run), [file.path for file in window])
    learnt, played = mixed_data(settings, window, layer), mixed_data(settings, window)

    assert layer == LAYER
    first = next(read_data(layer_path(window[0].path, LAYER)))
    assert learnt[0].eval_cp == first.evals[first.candidate_counts() > 0][0]  # type: ignore[union-attr]
    assert len(learnt) == len(played)
    rows = range(len(played))
    changed = (learnt.arrays(rows).policy() != played.arrays(rows).policy()).any(axis=1)
    assert 0 < changed.sum() <= journal.all(Reanalyzed)[-1].changed
    assert not changed[-1], "the newest games have their own targets"
    assert (learnt.arrays(rows).results == played.arrays(rows).results).all()
    assert layer_of(Run(settings, past_run), [window[-1].path]) is None


def test_status_progress_and_page_tell_of_it(past_run: Path, small_run: Path, tmp_path: Path) -> None:
    last = Journal(past_run).all(Reanalyzed)[-1]

    status = read_status(past_run)

    assert [row.reanalyzed for row in status.history] == [
        None, *(entry.changed for entry in Journal(past_run).all(Reanalyzed))
    ]  # fmt: skip
    assert status.history[-1].moved == last.moved / last.changed
    assert "reanalyzed" in status.rows()[0]
    assert "reanalyzed" not in read_status(small_run).rows()[0]
    assert f"{last.changed:,} of {last.positions:,} positions searched again" in describe(last)
    page = write_report(past_run, tmp_path / "page.html").read_text()
    assert "[reanalysis]" in page
    assert "searched again" in page or "再探索した局面" in page


def chunk(number: int, generation: int, positions: int = 100) -> ChunkEntry:
    return ChunkEntry.model_construct(
        path=f"games/w-{number}.hcpe3", generation=generation, positions=positions, sha256=f"{number:064}"
    )


def run_of(settings: LoopSettings, folder: Path, generation: int, *renewed: tuple[int, tuple[str, ...]]) -> Run:
    """A run whose newest network is of a generation, with earlier reanalyses by networks."""
    run = Run(settings, folder)
    journal = run.journal
    network = KeptNetwork(generation=generation, file="x.onnx", sha256="0" * 64, steps=0)
    journal.entries += [Started(network=network)]
    journal.entries += [
        Reanalyzed(generation=number, network=by, chunks=paths, positions=1, changed=1, moved=0)
        for number, (by, paths) in enumerate(renewed, 1)
    ]
    return run


def settings(**changes: object) -> LoopSettings:
    return build_settings({"window": {"start": 400, "growth": 0}, "reanalysis": changes})


def test_all_chunks_of_the_window_with_targets_of_earlier_networks_are_due(tmp_path: Path) -> None:
    chunks = [chunk(1, 0), chunk(2, 0), chunk(3, 0), chunk(4, 1), chunk(5, 2), chunk(6, 0, 0)]
    run = run_of(settings(), tmp_path, 2, (1, ("games/w-2.hcpe3",)), (2, ("games/w-3.hcpe3",)))

    found = due_chunks(run, chunks)

    assert [each.path[-7] for each in found] == ["2", "4"]  # 1 is too old, 3 and 5 are of network 2, 6 is empty


def test_by_age_chunks_with_the_oldest_targets_are_due(tmp_path: Path) -> None:
    chunks = [chunk(1, 0), chunk(2, 0), chunk(3, 1), chunk(4, 2)]

    def due(share: float) -> list[str]:
        run = run_of(settings(select="age", share=share), tmp_path, 3, (2, ("games/w-1.hcpe3",)))
        return [each.path[-7] for each in due_chunks(run, chunks)]

    assert [due(share) for share in (0.25, 0.5, 0.6, 1)] == [["2"], ["2", "3"], ["2", "3", "1"], ["2", "3", "1", "4"]]


def test_the_search_of_a_chunk_depends_on_run_network_and_choice() -> None:
    plan = build_settings({"reanalysis": {"share": 0.3, "select": "surprise", "nodes": 16, "root": "gumbel"}})
    by_age = build_settings({"reanalysis": {"share": 0.3, "select": "age"}})
    assert plan.reanalysis
    assert by_age.reanalysis

    found = plan.reanalysis.settings(7)

    assert (found.seed, found.share, found.selection, found.nodes, found.root) == (7, 0.3, "surprise", 16, "gumbel")
    assert (by_age.reanalysis.settings(7).share, by_age.reanalysis.settings(7).selection) == (1.0, "random")


def test_the_table_is_read_and_saved_with_the_preset_of_muzero(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('[reanalysis]\n[training]\npreset = "reanalyze"\n[learner]\nsamples_per_position = 2\n')

    found = build_settings(read_settings(file))
    (tmp_path / "saved.toml").write_text(found.text())

    assert found.reanalysis
    assert (found.reanalysis.share, found.reanalysis.select, found.targets.n_step) == (0.8, "random", 5)
    assert found.training.value_weight == PRESETS["reanalyze"]["value_weight"] == 0.25
    assert build_settings(read_settings(tmp_path / "saved.toml")) == found
    assert build_settings({}).reanalysis is None
