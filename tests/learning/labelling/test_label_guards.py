"""Engines that fail, and work that is interrupted."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from arena_players import ENGINE as HOSTILE
from labelling_runs import ENGINE, candidates, engine, read
from listeners import Calling
from odd_evaluators import Failing
from patience import PATIENCE_S, until
from verb_runs import make_games

from fukayomi.arena.game import usi_player
from fukayomi.arena.game.usi_player import UsiPlayer
from fukayomi.data import write_data
from fukayomi.data.formats.table import as_rows
from fukayomi.engine import EvaluatorError, Network
from fukayomi.learning import LabelError, LabelSettings, label_positions
from fukayomi.learning.labelling.labellers import IN_FLIGHT
from fukayomi.learning.labelling.labelling import FAILURES_IN_A_ROW
from fukayomi.listener import Listener
from fukayomi.usi import UsiEngine

QUICK = LabelSettings(nodes=1, multipv=3)


class Notes(Listener):
    """Keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """23 positions."""
    write_data(tmp_path / "in.hcpe", as_rows(make_games(8, 3, 8)).records[:23])
    return tmp_path / "in.hcpe"


@pytest.fixture
def whole(rows: Path) -> bytes:
    """The labels, made without interruption."""
    label_positions(rows, rows.with_name("whole.hcpe3"), engine(), QUICK)
    return rows.with_name("whole.hcpe3").read_bytes()


@pytest.mark.parametrize("wrong", ["dies=3", "illegal=3", "unscored=24"])
def test_an_engine_that_fails_once_is_asked_again(tmp_path: Path, rows: Path, whole: bytes, wrong: str) -> None:
    summary = label_positions(rows, tmp_path / "out.hcpe3", engine(wrong, f"unless={tmp_path / 'once'}"), QUICK)
    assert (summary.found["labels"], summary.found["unlabelled"]) == (23, 0)
    assert (tmp_path / "out.hcpe3").read_bytes() == whole


def test_an_engine_that_hangs_is_started_again(tmp_path: Path, rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usi_player, "LATE_MS", 3000)
    monkeypatch.setattr(UsiPlayer, "stop_grace_s", 0.2)
    settings = LabelSettings(time_ms=1, multipv=3)
    hanging = engine("hangs=3", f"unless={tmp_path / 'once'}")
    assert label_positions(rows, tmp_path / "out.hcpe3", hanging, settings).found["labels"] == 23


def test_a_position_without_a_label_is_left_out(tmp_path: Path, rows: Path, whole: bytes) -> None:
    notes = Notes()
    odd = engine("unscored=3", undeclared_options=True, option="1")
    summary = label_positions(rows, tmp_path / "out.hcpe3", odd, QUICK, listener=notes)
    assert (summary.found["labels"], summary.found["unlabelled"], summary.kept) == (22, 1, 22)
    found = candidates(read(tmp_path / "out.hcpe3"))
    (tmp_path / "expected.hcpe3").write_bytes(whole)
    everything = candidates(read(tmp_path / "expected.hcpe3"))
    assert found == everything[:2] + everything[3:]
    undeclared, unscored = notes.notes
    assert "declares no option 'option'" in undeclared
    assert "has no score; if it is from a book, turn the book off" in unscored


def test_an_engine_that_always_fails_ends_the_work_which_can_go_on(tmp_path: Path, rows: Path, whole: bytes) -> None:
    notes, switch = Notes(), tmp_path / "works"
    dying = engine("dies=1", f"unless={switch}", "repeats=1")
    with pytest.raises(LabelError, match=rf"failed {FAILURES_IN_A_ROW} times in a row(.|\n)*I am tired"):
        label_positions(rows, tmp_path / "out.hcpe3", dying, QUICK, listener=notes)
    assert len(notes.notes) == FAILURES_IN_A_ROW
    switch.touch()
    assert label_positions(rows, tmp_path / "out.hcpe3", dying, QUICK).resumed
    assert (tmp_path / "out.hcpe3").read_bytes() == whole


def test_what_cannot_start_begins_no_work(tmp_path: Path, rows: Path) -> None:
    with pytest.raises(LabelError, match="cannot start"):
        label_positions(rows, tmp_path / "out.hcpe3", UsiEngine(str(tmp_path / "nothing")), QUICK)
    with pytest.raises(LabelError, match="has no option MultiPV"):
        label_positions(rows, tmp_path / "out.hcpe3", UsiEngine([*HOSTILE, "ok", "7g7f"]), QUICK)
    with pytest.raises(LabelError, match="declares no option 'MultiPVs'; did you mean MultiPV"):
        label_positions(rows, tmp_path / "out.hcpe3", engine(MultiPVs="3"), QUICK)
    with Network(Failing(5)) as network, pytest.raises(LabelError, match="1 node visits no move"):
        label_positions(rows, tmp_path / "out.hcpe3", network, LabelSettings(nodes=1))
    assert [path.name for path in tmp_path.iterdir()] == ["in.hcpe"]


def test_a_network_that_fails_ends_the_work(tmp_path: Path, rows: Path) -> None:
    with Network(Failing(5)) as network, pytest.raises(EvaluatorError, match="caught fire"):
        label_positions(rows, tmp_path / "out.hcpe3", network, LabelSettings(nodes=20), workers=2)


class StoppedError(Exception):
    """Stands for whatever stops a program."""


def stopper(stage: str, last: int) -> Callable[[str, int, int | None], None]:
    """Stops when so many positions have gone through a stage."""

    def stop(now: str, done: int, total: int | None) -> None:
        if now == stage and done >= last:
            raise StoppedError

    return stop


@pytest.mark.parametrize("stage", ["reading", "labelling", "writing"])
def test_stopped_work_goes_on(tmp_path: Path, rows: Path, whole: bytes, stage: str) -> None:
    log, out = tmp_path / "log", tmp_path / "out.hcpe3"
    logging = engine(f"log={log}")

    with pytest.raises(StoppedError):
        label_positions(rows, out, logging, QUICK, workers=2, listener=Calling(stopper(stage, 9)))
    searched = len(log.read_text().splitlines()) if log.exists() else 0
    assert searched <= {"reading": 0, "labelling": 9 + 2 * IN_FLIGHT, "writing": 23}[stage]
    summary = label_positions(rows, out, logging, QUICK, workers=1)
    assert summary.resumed
    assert summary.found == {"labels": 23, "unlabelled": 0, "without_result": 0}
    assert out.read_bytes() == whole
    assert len(log.read_text().splitlines()) <= 23 + 2 * IN_FLIGHT
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_games_go_on_in_the_middle(tmp_path: Path) -> None:
    (tmp_path / "in.hcpe3").write_bytes(make_games(4, 3, 12).write())
    work = (tmp_path / "in.hcpe3", tmp_path / "out.hcpe3", engine(), QUICK)
    label_positions(work[0], tmp_path / "whole.hcpe3", *work[2:])
    for last in (4, 5, 11):
        with pytest.raises(StoppedError):
            label_positions(*work, listener=Calling(stopper("labelling", last)))
    assert label_positions(*work).resumed
    assert (tmp_path / "out.hcpe3").read_bytes() == (tmp_path / "whole.hcpe3").read_bytes()


def test_what_is_finished_is_labelled_again_only_on_demand(tmp_path: Path, rows: Path) -> None:
    log, out = tmp_path / "log", tmp_path / "out.hcpe3"
    work = (rows, out, engine(f"log={log}"), QUICK)
    label_positions(*work)
    searched, content = log.read_text(), out.read_bytes()
    with pytest.raises(LabelError, match=r"out\.hcpe3 is finished: .* Label again with --again"):
        label_positions(*work)
    assert (log.read_text(), out.read_bytes()) == (searched, content)
    with pytest.raises(StoppedError):
        label_positions(*work, again=True, listener=Calling(stopper("labelling", 9)))
    assert out.read_bytes() == content, "it is replaced when the new one is complete"
    summary = label_positions(*work)
    assert (summary.resumed, summary.found["labels"]) == (True, 23)


def test_other_work_is_not_gone_on_with(tmp_path: Path, rows: Path) -> None:
    with pytest.raises(StoppedError):
        label_positions(rows, tmp_path / "out.hcpe3", engine(), QUICK, listener=Calling(stopper("labelling", 1)))
    with pytest.raises(ValueError, match=r"different: multipv"):
        label_positions(rows, tmp_path / "out.hcpe3", engine(), LabelSettings(nodes=1, multipv=2))
    with pytest.raises(ValueError, match=r"different: engine"):
        label_positions(rows, tmp_path / "out.hcpe3", engine(Hash="1", undeclared_options=True), QUICK)


def start(rows: Path, out: Path, *words: object) -> "subprocess.Popen[str]":
    command = " ".join([*ENGINE, *map(str, words)])
    return subprocess.Popen(
        [sys.executable, "-m", "fukayomi", "label", str(rows), "-o", str(out), "--engine", command, "--nodes", "1",
         "--multipv", "3", "--workers", "2", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_labels(out: Path, count: int) -> None:
    """Wait until so many labels are safe."""
    state = out.with_name(f".{out.name}.work") / "state.json"

    def labelled() -> int:
        stages = json.loads(state.read_text())["stages"] if state.exists() else {}
        return stages.get("labelling", {}).get("place", 0)

    until(lambda: labelled() >= count, 5 * PATIENCE_S)


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_a_command_that_is_interrupted_and_then_killed_goes_on(tmp_path: Path, rows: Path, whole: bytes) -> None:
    log, out = tmp_path / "log", tmp_path / "out.hcpe3"
    words = (f"log={log}", "slow=0.9")
    for sent, code, labels in ((signal.SIGINT, 130, 4), (signal.SIGKILL, -signal.SIGKILL, 10)):
        with start(rows, out, *words) as process:
            wait_for_labels(out, labels)
            process.send_signal(sent)
            _, said = process.communicate(timeout=600)
        assert process.returncode == code, said
        assert not out.exists()
        assert ("run the same command again to resume" in said) == (sent is signal.SIGINT)
    with start(rows, out, *words) as process:
        printed, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    assert json.loads(printed)["resumed"]
    assert out.read_bytes() == whole
    assert len(log.read_text().splitlines()) <= 23 + 4 * IN_FLIGHT
    assert [path.name for path in tmp_path.glob(".*")] == []
