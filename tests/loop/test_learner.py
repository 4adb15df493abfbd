"""The learner's step: what a position pays for, and what it trains on when files changed after it was cut off."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import learn_run
import pytest
from learn_run import QUICK, digests

from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.data.dataset import Dataset
from fukayomi.learning.evaluation import evaluate
from fukayomi.learning.layers import layer_path, sidecar_of
from fukayomi.loop import LoopError, LoopListener, learn
from fukayomi.loop.ingest import Manifest
from fukayomi.loop.journal import Gated, Journal, KeptNetwork, Played, Started, Trained
from fukayomi.loop.learner import begins_from
from fukayomi.loop.reanalysis import LAYER
from fukayomi.loop.run import RunFolder

CHECKPOINT = "learner/checkpoint.pt"
PLAN = "learner/plan.json"


class Stopping(LoopListener):
    """Ctrl-C in a step of a generation: when it begins, or in training after some reports."""

    def __init__(self, generation: int, step: str, reports: int = 0) -> None:
        self._at, self._left, self._is_there = (generation, step), reports, False

    def step_started(self, generation: int, step: str) -> None:
        self._is_there = (generation, step) == self._at
        if self._is_there and self._left == 0:
            raise KeyboardInterrupt

    def progress(self, stage: str, done: int, total: int | None) -> None:
        if self._is_there and stage == "training":
            self._left -= 1
            if self._left == 0:
                raise KeyboardInterrupt


def stopped_run(folder: Path, generation: int, step: str, reports: int = 0, **changes: Any) -> Path:
    settings = learn_run.small(**changes)
    assert not learn(settings, folder, listener=Stopping(generation, step, reports)).finished
    return folder


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


@pytest.fixture(scope="module")
def untrained_with_layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its past that is stopped before its third training; tests go on with copies."""
    return stopped_run(tmp_path_factory.mktemp("past") / "run", 3, "train", **learn_run.PAST)


def exclude(folder: Path, chunks: slice) -> None:
    manifest = Manifest(folder)
    for chunk in manifest.chunks()[chunks]:
        manifest.exclude_chunk(chunk.path)


def admit_all(folder: Path) -> None:
    manifest = Manifest(folder)
    for path in list(manifest.excluded_chunks):
        manifest.admit_chunk(path)


# ------------------------------------------------------------------------------ files that changed


@pytest.mark.parametrize("excluded", [slice(2, 4), slice(0, 1)], ids=["all new", "old"])
def test_what_was_excluded_in_the_middle_of_training_leaves_the_weights(
    untrained_run: Path, tmp_path: Path, excluded: slice
) -> None:
    before = copied(untrained_run, tmp_path / "before")
    within = stopped_run(copied(untrained_run, tmp_path / "within"), 2, "train", 9, **QUICK)
    start = Journal(within).learner_steps
    assert load_checkpoint(within / CHECKPOINT).step > start

    for folder in (before, within):
        exclude(folder, excluded)
        assert learn(None, folder).finished

    found, wanted = digests(within), digests(before)
    leftover = {"learner/log.jsonl", "learner/checkpoint-before.pt", PLAN} if excluded == slice(2, 4) else set[str]()
    assert {name for name in found if found[name] != wanted.get(name)} <= leftover
    assert load_checkpoint(within / CHECKPOINT).step == Journal(within).learner_steps


# ------------------------------------------------------------------------------ what positions pay for


def samples_a_position(folder: Path) -> float:
    settings = learn_run.small()
    last = Journal(folder).all(Trained)[-1]
    positions = sum(chunk.positions for chunk in Manifest(folder).chunks())
    return (last.steps * settings.training.batch + last.budget) / positions


@pytest.mark.parametrize(("generation", "step"), [(3, "selfplay"), (2, "train")], ids=["had paid", "had not paid"])
def test_each_position_pays_once_though_it_is_excluded_and_admitted(
    untrained_run: Path, tmp_path: Path, generation: int, step: str
) -> None:
    folder = stopped_run(copied(untrained_run, tmp_path / "run"), generation, step, generations=4, **QUICK)
    exclude(folder, slice(0, 4))
    assert not learn(None, folder, listener=Stopping(4, "selfplay")).finished
    third = Journal(folder).all(Trained)[-1]
    assert third.network is not None, "its new positions paid for steps"
    admit_all(folder)

    assert learn(None, folder).finished

    assert samples_a_position(folder) == learn_run.small().learner.samples_per_position


# ------------------------------------------------------------------------------ from which network


def test_metrics_on_new_games_are_of_the_network_that_the_learner_begins_from(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"gate": {"undecided": "reject", "rollback": True}, "strength": {"games": 0}}
    learn_run.run(tmp_path, **changes)
    journal = Journal(tmp_path)
    assert [entry.rolled_back for entry in journal.all(Gated)] == [True, True]
    games = [tmp_path / "games" / f"{name}.hcpe3" for name in journal.all(Played)[1].chunks]

    found = evaluate(
        RunFolder(tmp_path).checkpoint(0), Dataset(*games), val_lambda=learn_run.small().training.val_lambda,
        device="cpu",
    )  # fmt: skip

    assert journal.all(Trained)[1].fresh == pytest.approx(found.as_dict())


def test_after_a_rollback_and_a_generation_without_steps_it_begins_from_the_network_that_passed(tmp_path: Path) -> None:
    journal, networks = Journal(tmp_path), [KeptNetwork(generation=n, file="", sha256="", steps=10 * n) for n in (0, 1)]

    def add_generation(number: int, network: KeptNetwork | None, rolled_back: bool) -> None:
        journal.entries.append(
            Trained(
                generation=number, steps=network.steps if network else journal.learner_steps, budget=0,
                seen_positions=1, window=1, network=network, fresh=None, test=None, losses=None, paid=(),
            )
        )  # fmt: skip
        journal.entries.append(
            Gated(
                generation=number, pairs=(), llr=None, decision="none", passed=None, kept=False, rolled_back=rolled_back
            )
        )

    journal.entries.append(Started(network=networks[0]))
    add_generation(1, networks[1], rolled_back=True)
    assert begins_from(journal) == networks[0]
    add_generation(2, None, rolled_back=False)
    assert begins_from(journal) == networks[0]


# ------------------------------------------------------------------------------ lost layers


def remove_layer_files(folder: Path, number: int) -> None:
    file = layer_path(folder / Manifest(folder).chunks()[number].path, LAYER)
    file.unlink()
    sidecar_of(file).unlink()


def remove_first(folder: Path) -> None:
    remove_layer_files(folder, 0)


def remove_all(folder: Path) -> None:
    for number in range(4):
        remove_layer_files(folder, number)


@pytest.mark.parametrize(("lose", "reports"), [(remove_first, 0), (remove_all, 4)])
def test_lost_layers_are_made_again(
    untrained_with_layers: Path, past_run: Path, tmp_path: Path, lose: Callable[[Path], None], reports: int
) -> None:
    folder = stopped_run(copied(untrained_with_layers, tmp_path / "run"), 3, "train", reports, **learn_run.PAST)
    lose(folder)

    assert learn_run.run(folder, **learn_run.PAST).finished

    assert digests(folder) == digests(past_run)


def test_a_layer_that_cannot_be_made_again_is_named(untrained_with_layers: Path, tmp_path: Path) -> None:
    folder = copied(untrained_with_layers, tmp_path / "run")
    remove_first(folder)
    RunFolder(folder).network(2).unlink()

    with pytest.raises(
        LoopError, match=r"local-000001\.layer-learn\.hcpe3: missing, and .*network-0002\.onnx: missing.*put .* back"
    ):
        learn(None, folder)


def test_a_damaged_layer_is_made_again_once_it_is_removed(
    untrained_with_layers: Path, past_run: Path, tmp_path: Path
) -> None:
    folder = copied(untrained_with_layers, tmp_path / "run")
    file = layer_path(folder / Manifest(folder).chunks()[0].path, LAYER)
    file.write_bytes(file.read_bytes()[:-1])

    with pytest.raises(LoopError, match=r"layer-learn\.hcpe3 is damaged.*remove .* the run makes it again"):
        learn(None, folder)
    remove_first(folder)
    assert learn_run.run(folder, **learn_run.PAST).finished

    assert digests(folder) == digests(past_run)
