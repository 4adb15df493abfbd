"""Verbs that are stopped, in whatever way and wherever, go on and write the same bytes."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import verb_runs
from command_app import app
from listeners import Calling
from typer.testing import CliRunner
from verb_runs import BAD, SUFFIXES, VERBS, make_inputs, run

from fukayomi.data.convert.blocks import open_inputs
from fukayomi.data.formats import hcpe3
from fukayomi.data.formats.format import DataFileError
from fukayomi.data.jobs import job as job_module
from fukayomi.data.jobs.job import Job, JobError
from fukayomi.files.lock import LockedError

CASES = [(verb, suffix) for verb in VERBS for suffix in SUFFIXES if (verb, suffix) not in BAD]


class StoppedError(Exception):
    """Stands for whatever stops a program."""


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 0)
    monkeypatch.setattr("fukayomi.data.formats.format.ROWS_AT_ONCE", 150)
    monkeypatch.setattr("fukayomi.data.formats.games.RECORDS_AT_ONCE", 10)
    monkeypatch.setattr(hcpe3, "scan_hcpe3", partial(hcpe3.scan_hcpe3, read_at_once=2500))


def outputs(folder: Path) -> dict[str, bytes]:
    """What a verb wrote; nothing of the work may stay."""
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def whole(verb: str, suffix: str, inputs: list[Path], folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    run(verb, open_inputs(inputs), folder / f"out.{suffix}")
    return outputs(folder)


@pytest.mark.parametrize(("verb", "suffix"), CASES)
def test_every_step_may_be_the_last(tmp_path: Path, verb: str, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = make_inputs(tmp_path, suffix, 36, 12)
    expected = whole(verb, suffix, inputs, tmp_path / "whole")  # in one step
    shrink(monkeypatch)
    folder = tmp_path / "stopped"
    folder.mkdir()
    for last in range(1, 200):  # each run gets one step further, and the next goes on from there
        steps = iter(range(last))

        def step(*_: object, left=steps) -> None:
            if next(left, None) is None:
                raise StoppedError

        try:
            summary = run(verb, open_inputs(inputs), folder / f"out.{suffix}", Calling(step))
        except StoppedError:
            continue
        assert summary.resumed
        assert outputs(folder) == expected
        return
    raise AssertionError("the verb never ended")


def kill_until_done(verb: str, inputs: list[Path], out: Path, kills: int, seconds: float, seed: int) -> int:
    """How many runs were killed before one came to its end."""
    command = [sys.executable, verb_runs.__file__, verb, str(out), *map(str, inputs)]
    moments = random.Random(seed)
    for killed in range(kills + 1):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            if killed < kills:
                time.sleep(moments.uniform(0, seconds))
                process.send_signal(signal.SIGKILL)
            if process.wait() == 0:
                return killed
    raise AssertionError("the last run failed")


CI_KILLS = [("split", "hcpe3"), ("shuffle", "hcpe"), ("merge", "csa")]


@pytest.mark.parametrize(("verb", "suffix"), CI_KILLS)
def test_kills_change_nothing(tmp_path: Path, verb: str, suffix: str) -> None:
    inputs = make_inputs(tmp_path, suffix)
    expected = whole(verb, suffix, inputs, tmp_path / "whole")
    (tmp_path / "killed").mkdir()
    kill_until_done(verb, inputs, tmp_path / "killed" / f"out.{suffix}", 2, 0.1, seed=1)
    assert outputs(tmp_path / "killed") == expected


@pytest.mark.soak
@pytest.mark.parametrize(("verb", "suffix"), CASES)
def test_twenty_kills_change_nothing(tmp_path: Path, verb: str, suffix: str) -> None:
    inputs = make_inputs(tmp_path, suffix, 600)
    expected = whole(verb, suffix, inputs, tmp_path / "whole")
    killed = 0
    for number in range(200):  # until twenty runs were killed, however soon a verb is done
        folder = tmp_path / f"killed{number}"
        folder.mkdir()
        killed += kill_until_done(verb, inputs, folder / f"out.{suffix}", 20 - killed, 0.15, seed=number)
        assert outputs(folder) == expected
        if killed >= 20:
            break
    assert killed >= 20


def test_a_kill_between_two_names_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = make_inputs(tmp_path, "hcpe3")
    expected = whole("split", "hcpe3", inputs, tmp_path / "whole")
    folder = tmp_path / "stopped"
    folder.mkdir()

    replace = Path.replace
    moved: list[Path] = []

    def replace_one(self: Path, target: Path) -> Path:
        if self.suffix == ".part":
            if moved:
                raise StoppedError
            moved.append(self)
        return replace(self, target)

    with monkeypatch.context() as broken:
        broken.setattr(Path, "replace", replace_one)
        with pytest.raises(StoppedError):
            run("split", open_inputs(inputs), folder / "out.hcpe3")
    assert (folder / "out.hcpe3").exists() != (folder / "other.hcpe3").exists()
    summary = run("split", open_inputs(inputs), folder / "out.hcpe3")
    assert summary.resumed
    assert sum(summary.written.values()) == summary.read
    assert outputs(folder) == expected


@pytest.mark.usefixtures("small_steps")
def test_another_job_is_not_mixed_in(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path, "hcpe")
    out = tmp_path / "out.hcpe"

    def stop(stage: str, done: int, total: int) -> None:
        if done > total / 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        run("shuffle", open_inputs(inputs), out, Calling(stop))
    with pytest.raises(JobError, match=r"another job \(different: job, count\)"):
        run("sample", open_inputs(inputs), out)
    inputs[0].write_bytes(inputs[0].read_bytes() * 2)
    with pytest.raises(JobError, match=r"another job \(different: inputs\)"):
        run("shuffle", open_inputs(inputs), out)


@pytest.mark.usefixtures("small_steps")
def test_what_is_not_as_it_was_written_is_seen(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path, "hcpe")

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "writing" or done == total:
            raise StoppedError

    for verb, damaged in (("shuffle", ".shuffle.hcpe.work/0000.items"), ("merge", ".merge.hcpe.part")):
        out = tmp_path / f"{verb}.hcpe"
        with pytest.raises(StoppedError):
            run(verb, open_inputs(inputs), out, Calling(stop))
        path = tmp_path / damaged
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(JobError, match="has changed since it was written"):
            run(verb, open_inputs(inputs), out)
        assert not out.exists()


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    inputs, out = open_inputs(make_inputs(tmp_path, "hcpe")), tmp_path / "out.hcpe"
    with pytest.raises(LockedError, match="another process is working in"):
        run("merge", inputs, out, Calling(lambda *_: run("merge", inputs, out)))


def test_damage_in_the_middle_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    (path, _) = make_inputs(tmp_path, "hcpe3")
    data = path.read_bytes()
    path.write_bytes(data[:-3])
    with pytest.raises(DataFileError, match=r"in0.hcpe3, game 59.*offset \d+"):
        run("merge", open_inputs([path]), tmp_path / "out.hcpe3")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["in0.hcpe3", "in1.hcpe3"]


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = make_inputs(tmp_path, "hcpe3")
    out = tmp_path / "out.hcpe3"
    stream = Job.stream

    def interrupted(self: Job, *rest: object) -> Iterator[object]:
        yield from stream(self, *rest)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    command = ["data", "merge", *map(str, inputs), "-o", str(out), "--json"]
    with monkeypatch.context() as pressed:
        pressed.setattr(Job, "stream", interrupted)
        found = CliRunner().invoke(app, command)
    assert found.exit_code == 130
    assert "run the same command again to resume" in found.stderr
    assert not out.exists()
    found = CliRunner().invoke(app, command)
    assert json.loads(found.stdout)["resumed"]
    assert out.read_bytes() == inputs[0].read_bytes() + inputs[1].read_bytes()
