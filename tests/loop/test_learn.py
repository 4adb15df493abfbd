"""The loop: small real runs, from settings to networks."""

import shutil
import signal
from dataclasses import replace
from pathlib import Path

import learn_run
import numpy as np
import pytest
import torch
from selfplay_chunks import details

from fukayomi.arena.results.match_db import read_games
from fukayomi.data import read_data, write_data
from fukayomi.data.formats.psv import psv_record
from fukayomi.engine import Engine
from fukayomi.files.lock import FolderLock, LockedError
from fukayomi.learning import models
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.learning.models import load_network
from fukayomi.listener import Listener
from fukayomi.loop import LoopError, LoopListener, learn
from fukayomi.loop.ingest import Comparison, IngestResult, Manifest, ingest
from fukayomi.loop.journal import Gated, Ingested, Journal, Measured, Played, Trained
from fukayomi.loop.learner import TrainingFile, create_network, mixed_data
from fukayomi.loop.report.status import read_series, read_status
from fukayomi.loop.run import Run, RunFolder
from fukayomi.loop.settings import OPENINGS
from fukayomi.selfplay import find_chunks
from fukayomi.selfplay.chunk import ResultCounts, write_chunk
from fukayomi.shogi import Position


class Interrupting(LoopListener):
    """Ctrl-C in a step."""

    def __init__(self, step: str) -> None:
        self._step = step

    def step_started(self, generation: int, step: str) -> None:
        if step == self._step:
            raise KeyboardInterrupt


class Terminating(LoopListener):
    """SIGTERM in a stage of the work, or at the beginning of a step."""

    def __init__(self, where: str) -> None:
        self._where = where

    def progress(self, stage: str, done: int, total: int | None) -> None:
        if stage == self._where:
            signal.raise_signal(signal.SIGTERM)

    def step_started(self, generation: int, step: str) -> None:
        if step == self._where:
            signal.raise_signal(signal.SIGTERM)


def test_games_begin_at_the_openings_of_the_run(tmp_path: Path) -> None:
    lines = ["startpos moves 1g1f 9c9d", "startpos moves 9g9f 1c1d"]
    (tmp_path / "openings.sfen").write_text("\n".join(lines), encoding="utf-8")
    changes = {"generations": 1, "gate": {"mode": "off"}, "strength": {"games": 0}}
    settings = learn_run.small(openings={"files": [str(tmp_path / "openings.sfen*2")]}, **changes)

    assert learn(settings, tmp_path / "run").finished

    chunks = Manifest(tmp_path / "run").chunks()
    assert len(chunks) == 2
    games = [game for chunk in chunks for part in read_data(tmp_path / "run" / chunk.path) for game in part]
    begins = {tuple(int(move) for move in game.moves[:2]) for game in games}
    assert begins <= {tuple(move.raw for move in Position.from_usi(line).moves) for line in lines}
    assert len(games) == 4


def test_the_openings_of_the_measurements_are_refused(tmp_path: Path) -> None:
    settings = learn_run.small(openings={"files": [str(OPENINGS)]})
    with pytest.raises(LoopError, match=r"openings, files: .* which is to be kept apart"):
        learn(settings, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_teacher_s_targets_count(tmp_path: Path) -> None:
    changes = {"generations": 1, "gate": {"mode": "off"}, "strength": {"games": 0}}
    for name, changed in (("alone", {}), ("taught", {"teacher": "embedded"})):
        learn(learn_run.small(learner=changed, **changes), tmp_path / name)
    (alone,), (taught,) = (Journal(tmp_path / name).all(Trained) for name in ("alone", "taught"))
    assert alone.steps == taught.steps
    assert alone.network != taught.network
    with pytest.raises(LoopError, match=r"training\.teacher_weight: there is no teacher; name one in learner\.teacher"):
        learn_run.small(training={"teacher_weight": 0.9})


class Excluding(LoopListener):
    """Says, before the second generation trains, that three of its four chunks are of a worker that is excluded."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def step_started(self, generation: int, step: str) -> None:
        if (generation, step) != (2, "train"):
            return
        path = Manifest(self._folder).path
        path.write_text(
            path.read_text(encoding="utf-8").replace('"worker":"local"', '"worker":"w2"', 3), encoding="utf-8"
        )
        Manifest(self._folder).exclude("w2", "plays an old network")


def test_a_run_goes_on_with_fewer_positions_when_a_worker_is_excluded(tmp_path: Path) -> None:
    result = learn(learn_run.small(), tmp_path / "run", listener=Excluding(tmp_path / "run"))

    assert result.finished
    first, second = Journal(tmp_path / "run").all(Trained)
    (left,) = Manifest(tmp_path / "run").chunks()
    assert second.seen_positions == left.positions < first.seen_positions
    assert second.paid == (Path(left.path).stem,), "it was played in this generation"
    samples = (second.steps - first.steps) * learn_run.small().training.batch
    assert samples + second.budget - first.budget == left.positions * learn_run.small().learner.samples_per_position
    assert second.network is not None


class Lying(LoopListener):
    """A worker that claims a billion games, and delivers none that its sidecar describes."""

    def __init__(self, folder: Path) -> None:
        self._games = folder / "games"

    def step_started(self, generation: int, step: str) -> None:
        if step == "selfplay":
            self._games.mkdir(exist_ok=True)
            said = details(worker="liar", games=10**9, plies=10**11, results=ResultCounts(draws=10**9))
            write_chunk(self._games / "liar-000001.hcpe3", bytes(36), said)


def test_games_in_quarantine_are_in_no_table(tmp_path: Path) -> None:
    settings = learn_run.small().model_copy(update={"generations": 1})
    learn(settings, tmp_path / "run", listener=Lying(tmp_path / "run"))

    journal = Journal(tmp_path / "run")
    chunks = Manifest(tmp_path / "run").chunks()
    assert [entry.worker for entry in Manifest(tmp_path / "run").quarantined.values()] == ["liar"]
    assert journal.all(Played)[0].games > 10**9  # what the workers say
    assert read_status(tmp_path / "run").games == sum(chunk.games for chunk in chunks) == 4
    (row,) = [row for row in read_status(tmp_path / "run").history if row.generation == 1]
    assert (row.games, row.plies_a_game) == (4, sum(chunk.plies for chunk in chunks) / 4)
    assert dict(read_series(journal).plies) == {1: row.plies_a_game}


class Damaging(LoopListener):
    """Damages the chunks of a generation before they are checked."""

    def __init__(self, folder: Path, generation: int) -> None:
        self._games, self._generation = folder / "games", generation

    def step_started(self, generation: int, step: str) -> None:
        if (generation, step) == (self._generation, "ingest"):
            for path in find_chunks(self._games)[-2:]:
                path.write_bytes(path.read_bytes()[:-1] + b"?")


def test_a_run_goes_on_when_the_newest_games_are_in_quarantine(tmp_path: Path) -> None:
    settings = learn_run.small(gate={"mode": "off"}, strength={"games": 0}, generations=4)

    assert learn(settings, tmp_path / "run", listener=Damaging(tmp_path / "run", 2)).finished

    manifest = Manifest(tmp_path / "run")
    assert (len(manifest.chunks()), len(manifest.quarantined)) == (6, 2)
    played = [entry.games for entry in Journal(tmp_path / "run").played]
    assert played == [4, 0, 4, 4]


def test_the_journal_has_the_flags_of_ingest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flag = Comparison("w2", "length", 40, 80.0, 120.0, -5.0, 1e-6)

    def flagging(store: Path, listener: Listener) -> IngestResult:
        result = ingest(store, listener=listener)
        return replace(result, tripwires=replace(result.tripwires, flags=(flag,)))

    monkeypatch.setattr("fukayomi.loop.steps.ingest", flagging)
    learn(learn_run.small().model_copy(update={"generations": 1}), tmp_path / "run")

    assert Journal(tmp_path / "run").all(Ingested)[0].flags == (str(flag),)


def test_a_run_takes_its_steps_in_order(small_run: Path) -> None:
    journal = Journal(small_run)

    steps = ["start", *["selfplay", "ingest", "train", "gate", "strength"] * 2]
    assert [entry.step for entry in journal.entries] == steps
    assert [network.generation for network in journal.networks] == [0, 1, 2]


def test_the_newest_network_that_passed_plays_the_games(small_run: Path) -> None:
    journal = Journal(small_run)

    played = journal.all(Played)

    assert [entry.network for entry in played] == [network.sha256 for network in journal.networks[:2]]
    assert [len(entry.chunks) for entry in played] == [2, 2]
    accepted = Manifest(small_run).chunks()
    assert [Path(chunk.path).stem for chunk in accepted] == journal.chunks
    assert sum(chunk.positions for chunk in accepted) == sum(entry.positions for entry in played)


def test_the_learner_takes_the_steps_that_the_positions_pay_for(small_run: Path) -> None:
    journal = Journal(small_run)
    settings = learn_run.small()

    trained, ingested = journal.all(Trained), journal.all(Ingested)

    for entry, positions in zip(trained, ingested, strict=True):
        samples = entry.steps * settings.training.batch
        assert samples + entry.budget == positions.positions * settings.learner.samples_per_position
        assert 0 <= entry.budget < settings.training.batch
        assert entry.network is not None
        assert entry.network.steps == entry.steps
        assert entry.fresh is not None
    checkpoint = load_checkpoint(RunFolder(small_run).learner / "checkpoint.pt")
    assert (checkpoint.step, checkpoint.averages) == (trained[-1].steps, trained[-1].steps // 2)


def test_the_gate_and_the_measurements_play_pairs_between_the_networks(small_run: Path) -> None:
    journal = Journal(small_run)

    assert [sum(entry.pairs) for entry in journal.all(Gated)] == [1, 1]
    assert [entry.opponents for entry in journal.all(Measured)] == [("network-0000",), ("network-0001", "network-0000")]
    for name, players in (
        ("gate-0002", {"network-0002", "network-0001"}),
        ("strength-0001", {"network-0001", "network-0000"}),
    ):
        games = list(read_games(small_run / "matches" / name))
        assert {game.black for game in games} == players
        assert len({game.moves[:8] for game in games if game.moves}) == 1  # one opening, both colours


def test_measurements_do_not_repeat_the_games_of_the_gate(small_run: Path) -> None:
    for generation in (1, 2):
        gate, strength = (
            {(game.black, game.white, game.moves) for game in read_games(small_run / "matches" / name)}
            for name in (f"gate-{generation:04}", f"strength-{generation:04}")
        )
        assert {game[:2] for game in gate} <= {game[:2] for game in strength}
        assert not gate & strength


def test_a_run_cannot_have_fewer_generations_than_are_complete(small_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)

    with pytest.raises(LoopError, match=r"generations is 1, but 2 are complete in .*: give 2 or more, or none"):
        learn(learn_run.small(generations=1), folder)

    assert read_status(folder).generations == 2


def test_the_networks_play(small_run: Path) -> None:
    with Engine(RunFolder(small_run).network(2)) as engine:
        assert engine.search(Position(), nodes=2).best is not None


@pytest.mark.parametrize("where", ["training", "games", "ingest"])
def test_a_run_says_which_signal_stopped_it(small_run: Path, tmp_path: Path, where: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)
    stopped = learn(learn_run.small(generations=3), folder, listener=Terminating(where))
    assert (stopped.finished, stopped.stopped_by) == (False, signal.SIGTERM)
    assert not (folder / "live.json").exists()


def test_a_run_goes_on_after_an_interruption_and_is_extended(small_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)
    longer = learn_run.small(generations=3)

    stopped = learn(longer, folder, listener=Interrupting("gate"))
    finished = learn(longer, folder)
    again = learn(None, folder)

    assert (stopped.finished, stopped.generations, stopped.of) == (False, 2, 3)
    assert (finished.finished, finished.generations) == (True, 3)
    assert again == finished
    assert RunFolder(folder).network(3).is_file()


def test_a_network_that_fails_does_not_play_and_the_learner_goes_back(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    learn_run.run(folder, generations=1, gate={"undecided": "reject", "rollback": True}, strength={"games": 0})

    journal = Journal(folder)
    gated = journal.all(Gated)[0]
    assert (gated.decision, gated.passed, gated.kept, gated.rolled_back) == ("continue", False, False, True)
    assert [network.generation for network in journal.networks] == [0]
    assert load_checkpoint(folder / "learner" / "checkpoint.pt").step == 0
    assert journal.learner_steps == 0


def test_a_run_begins_with_the_weights_of_the_embedded_network(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one stands for it, which is smaller and faster to read."""
    monkeypatch.setattr(models, "find_network", lambda _: RunFolder(small_run).checkpoint(2))

    first = create_network(Run(learn_run.small(learner={"initial": "embedded"}), tmp_path))

    assert first.sha256 == Journal(small_run).networks[2].sha256
    assert load_checkpoint(RunFolder(tmp_path).learner / "checkpoint.pt").step == 0


def test_initial_weights_of_a_smaller_network_grow(small_run: Path, tmp_path: Path) -> None:
    small = RunFolder(small_run).checkpoint(2)
    settings = learn_run.small(learner={"initial": str(small)}, network={"name": "resnet2x24"})
    kept = create_network(Run(settings, tmp_path))
    planes = torch.rand(3, 62, 9, 9), torch.rand(3, 57, 9, 9)
    with torch.inference_mode():
        for before, after in zip(
            load_network(small)(*planes), load_network(RunFolder(tmp_path).checkpoint(0))(*planes), strict=True
        ):
            torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-4)
    assert kept.steps == 0


def test_initial_weights_of_another_shape_are_refused(small_run: Path, tmp_path: Path) -> None:
    settings = learn_run.small(
        learner={"initial": str(RunFolder(small_run).checkpoint(2))}, network={"name": "resnet1x8"}
    )

    with pytest.raises(
        LoopError, match=r"learner, initial: .*network-0002\.pt: it is .*blocks=1.*to train is .*channels=8.*shrink"
    ):
        create_network(Run(settings, tmp_path))


def test_supervised_files_have_their_share_of_the_samples(tmp_path: Path) -> None:
    rows = [psv_record(Position().sfen(), "7g7f", score_cp=0, ply=1, result=1)]
    for name, count in (("games", 300), ("a", 10), ("b", 40)):
        write_data(tmp_path / f"{name}.psv", rows * count)
    settings = learn_run.small(
        learner={"supervised": [f"{tmp_path}/a.psv*4", f"{tmp_path}/b.psv"], "supervised_share": 0.25}
    )

    data = mixed_data(settings, [TrainingFile(tmp_path / "games.psv", 300, "")])

    visits = np.bincount(np.digitize(data.epoch_order(1, 0), [300, 310]))
    assert visits.tolist() == [300, 50, 50]  # 100 of 400; a has a fifth of b's positions, but counts four times


def test_positions_of_chunks_have_their_weights(tmp_path: Path) -> None:
    settings = learn_run.small(generations=1, strength={"games": 0}, selfplay={"surprise": 0.5})
    learn(settings, tmp_path)
    chunks = Manifest(tmp_path).chunks()
    assert all(chunk.weights for chunk in chunks)
    window = [TrainingFile(tmp_path / chunk.path, chunk.positions, chunk.sha256) for chunk in chunks]

    found = mixed_data(settings, window).arrays(range(8)).position_weights

    assert found is not None
    assert len(set(found.tolist())) > 1
    ignoring = learn_run.small(targets={"weights": False})
    assert mixed_data(ignoring, window).arrays(range(8)).position_weights is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"games": 6}, "games is 4 in .*run.toml, and 6 now"),
        ({"training": {"lr": 0.5}}, "training.lr is 0.01 in .*run.toml, and 0.5 now"),
        ({"seed": 9}, "seed is 1 in .*run.toml, and 9 now"),
    ],
)
def test_a_run_does_not_go_on_with_other_settings(
    changes: dict[str, object], message: str, small_run: Path, tmp_path: Path
) -> None:
    for name in ("run.toml", "journal.jsonl"):
        shutil.copy(small_run / name, tmp_path)

    with pytest.raises(LoopError, match=message):
        learn(learn_run.small(**changes), tmp_path)


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")

    with pytest.raises(LoopError, match="is not empty"):
        learn(learn_run.small(), tmp_path)
    with pytest.raises(LoopError, match=r"there is no run\.toml"):
        learn(None, tmp_path)


def test_one_process_at_a_time_works_on_a_run(tmp_path: Path) -> None:
    with FolderLock(tmp_path), pytest.raises(LockedError):
        learn(learn_run.small(), tmp_path)


def test_a_network_that_was_changed_is_named(small_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)
    with RunFolder(folder).network(2).open("ab") as file:
        file.write(b"x")

    with pytest.raises(LoopError, match=r"network-0002\.onnx: missing, or not the network of the journal"):
        learn(learn_run.small(generations=3), folder)
