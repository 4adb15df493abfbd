"""Runs whose files are lost or damaged, and settings that name what is not there: errors that say what to do."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import learn_run
import pytest
from typer.testing import CliRunner

from fukayomi.cli.main import make_app
from fukayomi.learning.checkpoint import load_checkpoint
from fukayomi.loop import LoopError, LoopListener, learn
from fukayomi.loop.ingest import Manifest
from fukayomi.loop.journal import Journal, Trained
from fukayomi.loop.run import Run, RunFolder
from fukayomi.loop.steps import check_run

EMBEDDED = {"name": "a", "network": "embedded"}


class Stopping(LoopListener):
    """Ctrl-C in a step of a generation."""

    def __init__(self, generation: int, step: str) -> None:
        self._at = generation, step

    def step_started(self, generation: int, step: str) -> None:
        if (generation, step) == self._at:
            raise KeyboardInterrupt


def command(*words: object) -> tuple[int, str, str]:
    """``fukayomi WORDS``: exit code, output, messages."""
    texts = list(map(str, words))
    result = CliRunner().invoke(make_app(texts), texts)
    return result.exit_code, result.stdout, result.stderr


def stopped_run(folder: Path, generation: int, step: str, **changes: Any) -> Path:
    assert not learn(learn_run.small(**changes), folder, listener=Stopping(generation, step)).finished
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "log.jsonl"}


@pytest.mark.parametrize("content", [None, b""])
def test_a_run_whose_journal_is_lost_does_not_begin_again(
    small_run: Path, tmp_path: Path, content: bytes | None
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)
    (folder / "journal.jsonl").unlink()
    if content is not None:
        (folder / "journal.jsonl").write_bytes(content)
    before = files_of(folder)

    with pytest.raises(LoopError, match=r"journal\.jsonl: missing or empty, but the run has games; put the file back"):
        learn(None, folder)

    assert files_of(folder) == before


def test_a_run_whose_manifest_is_lost_rejects_no_games(small_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)
    (folder / "manifest.jsonl").unlink()

    with pytest.raises(
        LoopError, match=r"manifest\.jsonl: it has 0 chunks of the 4 that were accepted; put the file back"
    ):
        learn(learn_run.small(generations=3), folder)

    assert not (folder / "quarantine").exists()


@pytest.mark.parametrize(("damage", "step"), [("flipped", "reanalysis"), ("missing", "train")])
def test_a_damaged_chunk_is_not_learned_from(untrained_run: Path, tmp_path: Path, damage: str, step: str) -> None:
    folder = tmp_path / "run"
    if step == "reanalysis":
        stopped_run(folder, 2, step, **learn_run.QUICK, reanalysis={"nodes": 2})
    else:
        shutil.copytree(untrained_run, folder)
    chunk = Manifest(folder).chunks()[0]
    path = folder / chunk.path
    data = path.read_bytes()
    path.unlink() if damage == "missing" else path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))

    remedy = rf"fukayomi learn exclude .*run {chunk.path}"
    with pytest.raises(LoopError, match=rf"local-000001\.hcpe3.*put the file back; or go on without it: {remedy}"):
        learn(None, folder)

    assert command("learn", "exclude", folder, chunk.path)[:2] == (
        0, f"excluded: {chunk.path}; the run learns from 3 of 4 chunks\n",
    )  # fmt: skip
    result = learn(None, folder)
    assert result.finished
    assert chunk.path in Manifest(folder).excluded_chunks
    assert f"nothing is learned from {chunk.path}" in command("learn", "status", folder)[1]
    path.write_bytes(data)
    assert command("learn", "admit", folder, chunk.path)[:2] == (
        0, f"admitted: {chunk.path}; the run learns from 4 of 4 chunks\n",
    )  # fmt: skip
    code, _, said = command("learn", "exclude", folder, "games/other.hcpe3")
    assert (code, "games/other.hcpe3 is not an accepted chunk" in said) == (1, True)


def test_a_damaged_checkpoint_of_the_learner_can_be_replaced(untrained_run: Path, tmp_path: Path) -> None:
    folder, whole = (Path(shutil.copytree(untrained_run, tmp_path / name)) for name in ("run", "whole"))
    assert learn(None, whole).finished
    checkpoint = RunFolder(folder).learner / "checkpoint.pt"
    data = checkpoint.read_bytes()
    kept = folder / "networks" / "network-0001.pt"
    for path in (checkpoint, kept):
        path.unlink()
        path.write_bytes(data[:1000])

    with pytest.raises(LoopError, match=r"damaged .*; put it back from .* learner\.initial = .*0001\.onnx"):
        learn(None, folder)
    kept.write_bytes(data)
    with pytest.raises(LoopError, match=rf"checkpoint\.pt: not a checkpoint, or damaged .*; copy {kept} to it"):
        learn(None, folder)

    shutil.copyfile(kept, checkpoint)
    assert learn(None, folder).finished
    assert load_checkpoint(checkpoint).step == Journal(folder).all(Trained)[-1].steps
    assert Journal(folder).networks == Journal(whole).networks


def test_a_run_that_learned_nothing_is_not_done(tmp_path: Path) -> None:
    settings = learn_run.small(generations=1, learner={"least_positions": 100_000})
    result = learn(settings, tmp_path / "run")
    assert (result.finished, result.trained) == (True, 0)

    code, printed, said = command("learn", "--out", tmp_path / "run")

    assert (code, printed) == (1, "")
    assert "error: nothing was learned: 1 generation brought too few positions for a step." in said
    code, printed, _ = command("learn", "--out", tmp_path / "run", "--json")
    assert (code, json.loads(printed)["trained"]) == (1, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gate": {"openings": "missing.sfen"}}, r"gate, openings: cannot read .*missing\.sfen: No such file"),
        ({"strength": {"openings": "text"}}, r"strength, openings: text, line 1"),
        (
            {"strength": {"anchor": [{"name": "a", "network": "missing.onnx"}]}},
            r"strength, anchor, a: no file .*missing",
        ),
        (
            {"strength": {"anchor": [{"name": "a", "command": "no-such-engine -x"}]}},
            "a: program no-such-engine not found",
        ),
        (
            {"league": {"network": [{"name": "b", "file": "missing.onnx"}]}},
            r"league, network, b, file: no file .*missing",
        ),
        (
            {"league": {"engine": [{"name": "c", "command": ["no-such"]}]}},
            "league: engine c: program no-such not found",
        ),
        ({"learner": {"initial": "missing.pt"}}, r"learner, initial: no file .*missing\.pt"),
        ({"learner": {"teacher": "missing.onnx"}}, r"learner, teacher: no file .*missing\.onnx"),
        ({"learner": {"test": ["text"]}}, "learner, test: text: "),
        ({"learner": {"supervised": ["text*2"], "supervised_share": 0.5}}, "learner, supervised: text: "),
        ({"gate": {"device": "abc"}}, r"gate, device: there are auto, cpu, native, .*, not abc"),
        ({"strength": {"device": "abc"}}, r"strength, device: there are auto, .*, not abc"),
        ({"generator": {"device": "abc"}}, r"generator, device: there are auto, .*, not abc"),
        ({"learner": {"device": "abc"}}, r"learner, device: 'abc' is not a device: use auto, cpu, cuda or cuda:N"),
        (
            {"gate": {"openings": "three.sfen", "games": 6}},
            r"gate, games: 6 games need 3 different openings, and there are 2; .* Set games to 4 at most, or name a "
            "file with more in gate, openings",
        ),
        ({"strength": {"openings": "three.sfen", "games": 6}}, "strength, games: 6 games need 3 different openings"),
        (
            {"strength": {"openings": "three.sfen", "games": 6, "earlier": 0, "first": False, "anchor": [EMBEDDED]}},
            "strength, games: 6 games need 3 different openings",
        ),
    ],
)
def test_what_the_settings_name_is_looked_for_before_the_run_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("something else\n", encoding="utf-8")
    (tmp_path / "three.sfen").write_text("startpos moves 7g7f\nstartpos\nmoves 7g7f\n", encoding="utf-8")
    settings = learn_run.small(**changes)

    with pytest.raises(LoopError, match=message):
        learn(settings, tmp_path / "run")

    assert not (tmp_path / "run").exists()


def test_a_gpu_that_is_not_there_is_named_before_the_run_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("fukayomi.engine.evaluators.backends.onnx.OnnxCuda.problem", lambda _: "there is no GPU")
    with pytest.raises(LoopError, match="strength, device: cuda: there is no GPU"):
        check_run(Run(learn_run.small(strength={"device": "cuda"}), tmp_path))
    check_run(Run(learn_run.small(strength={"device": "cuda", "games": 0}), tmp_path))


def test_openings_may_be_few_where_a_usi_engine_plays(tmp_path: Path) -> None:
    (tmp_path / "one.sfen").write_text("startpos\n", encoding="utf-8")
    engine = {"name": "a", "command": sys.executable}
    play = {"openings": str(tmp_path / "one.sfen"), "games": 6, "earlier": 0, "first": False, "anchor": [engine]}
    settings = learn_run.small(strength=play, gate={"mode": "off", "openings": str(tmp_path / "one.sfen")})
    check_run(Run(settings, tmp_path))


class Stopped(Stopping):
    """A run that stops, with its notes."""

    def __init__(self, generation: int, step: str) -> None:
        super().__init__(generation, step)
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_run_that_has_begun_goes_on_with_few_openings(tmp_path: Path) -> None:
    file = tmp_path / "openings.sfen"
    file.write_text("startpos moves 7g7f\nstartpos\n", encoding="utf-8")
    gate = {"games": 4, "openings": str(file)}
    folder = stopped_run(tmp_path / "run", 1, "selfplay", gate=gate, strength={"games": 0})
    file.write_text("startpos moves 7g7f\n", encoding="utf-8")  # as if an earlier version had begun the run
    listener = Stopped(1, "selfplay")

    learn(None, folder, listener=listener)

    assert len(listener.notes) == 1
    assert listener.notes[0].startswith("gate, games: 4 games need 2 different openings, and there are 1; ")


def test_networks_that_do_not_play_again_may_be_deleted(untrained_run: Path, tmp_path: Path) -> None:
    shutil.copytree(untrained_run, tmp_path / "run")
    folder = stopped_run(tmp_path / "run", 2, "strength", **learn_run.QUICK)
    RunFolder(folder).network(0).unlink()

    assert learn(None, folder).finished


def test_a_fleet_without_ray_is_refused_before_the_run_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(LoopError, match=r'the table \[fleet\] needs ray: pip install "fukayomi\[fleet\]"'):
        learn(learn_run.small(fleet={"workers": 1}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_settings_can_change_until_the_first_step_is_done(tmp_path: Path) -> None:
    (tmp_path / "damaged.pt").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="damaged"):
        learn(learn_run.small(learner={"initial": str(tmp_path / "damaged.pt")}), tmp_path / "run")

    stopped_run(tmp_path / "run", 1, "selfplay", seed=3)

    with pytest.raises(LoopError, match="seed is 3 in"):
        learn(learn_run.small(seed=4), tmp_path / "run")
