"""A job that is stopped, in whatever way and wherever, goes on and writes the same bytes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command_app import app
from dedup_rows import random_records, run, write
from listeners import Calling
from typer.testing import CliRunner

from fukayomi.data.dedup.run import Stage, run_dedup
from fukayomi.data.dedup.settings import DedupSettings, Mode
from fukayomi.data.jobs.job import JobError
from fukayomi.files.lock import LockedError

# Small chunks, many buckets and checkpoints: a kill finds the job at every kind of place.
PROGRAM = """
import sys
from pathlib import Path
from fukayomi.data.dedup import inputs
from fukayomi.data.dedup.run import Stage, run_dedup
from fukayomi.data.dedup.settings import DedupSettings
from fukayomi.data.jobs import job
inputs.ROWS_AT_ONCE = 2000
job.CHECKPOINT_SECONDS = 0
mode, out, *paths = sys.argv[1:]
print("ready", flush=True)
run_dedup(DedupSettings(mode=mode, inputs=paths, out=out, bucket_bits=6))
"""

# Small chunks, and a checkpoint after each: the work takes its time.
COMMAND = """
import sys
from fukayomi.cli.main import main
from fukayomi.data.dedup import inputs
from fukayomi.data.jobs import job
inputs.ROWS_AT_ONCE = 5000
job.CHECKPOINT_SECONDS = 0
sys.argv[0] = "fukayomi"
main()
"""


class StoppedError(Exception):
    """Stands for whatever stops a program."""


def start(mode: Mode, out: Path, inputs: list[Path]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(mode), str(out), *map(str, inputs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def kill_until_done(mode: Mode, folder: Path, records: np.ndarray, kills: int, seed: int) -> tuple[bytes, int]:
    """The bytes that are there in the end, and how many runs were killed."""
    inputs = [write(folder / f"in{number}.hcpe", part) for number, part in enumerate(np.array_split(records, 3))]
    out = folder / ("out.avg" if mode.writes_averages else "out.hcpe")
    moments = random.Random(seed)
    killed = 0
    while killed < kills:
        with start(mode, out, inputs) as process:
            time.sleep(moments.uniform(0, 0.25))
            process.send_signal(signal.SIGKILL)
            if process.wait() == 0:
                break
        killed += 1
    with start(mode, out, inputs) as process:
        assert process.wait() == 0
    assert not list(folder.glob(".out*"))
    return out.read_bytes(), killed


@pytest.mark.parametrize("mode", [Mode.FIRST_MOVE, Mode.SHARES], ids=str)
def test_kills_change_nothing(tmp_path: Path, mode: Mode) -> None:
    records = random_records(60_000, 1, keys=20_000)
    whole = run(tmp_path, mode, records)
    (tmp_path / ("out.avg" if mode.writes_averages else "out.hcpe")).unlink()
    found, _ = kill_until_done(mode, tmp_path, records, 2, seed=1)
    assert found == whole


@pytest.mark.soak
@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_twenty_kills_change_nothing(tmp_path: Path, mode: Mode, record_property) -> None:
    records = random_records(400_000, 2, keys=200_000)
    whole = run(tmp_path, mode, records)
    (tmp_path / ("out.avg" if mode.writes_averages else "out.hcpe")).unlink()
    found, killed = kill_until_done(mode, tmp_path, records, 20, seed=2)
    record_property("kills", killed)
    assert found == whole


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_every_step_may_be_the_last(tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    records = random_records(2000, 3)
    whole = run(tmp_path, mode, records, bucket_bits=2)
    monkeypatch.setattr("fukayomi.data.dedup.inputs.ROWS_AT_ONCE", 300)
    monkeypatch.setattr("fukayomi.data.jobs.job.CHECKPOINT_SECONDS", 0)
    paths = tuple(write(tmp_path / f"in{number}.hcpe", part) for number, part in enumerate(np.split(records, [900])))
    out = tmp_path / ("out.avg" if mode.writes_averages else "out.hcpe")
    for last in range(1, 100):  # each run gets one step further, and the next goes on from there
        steps = iter(range(last))

        def step(*_: object, left=steps) -> None:
            if next(left, None) is None:
                raise StoppedError

        try:
            summary = run_dedup(DedupSettings(mode=mode, inputs=paths, out=out, bucket_bits=2), listener=Calling(step))
        except StoppedError:
            continue
        assert summary.resumed == (last > 1)
        assert out.read_bytes() == whole
        return
    raise AssertionError("the job never ended")


def test_another_job_is_not_mixed_in(tmp_path: Path) -> None:
    path, out = write(tmp_path / "in.hcpe", random_records(100, 4)), tmp_path / "out.hcpe"

    def stop(*_: object) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        run_dedup(DedupSettings(mode=Mode.MEAN, inputs=(path,), out=out), listener=Calling(stop))
    with pytest.raises(JobError, match=r"another job \(different: mode\)"):
        run_dedup(DedupSettings(mode=Mode.MODE, inputs=(path,), out=out))
    write(path, random_records(101, 4))
    with pytest.raises(JobError, match=r"another job \(different: inputs, rows\)"):
        run_dedup(DedupSettings(mode=Mode.MEAN, inputs=(path,), out=out))


def test_damaged_buckets_are_seen(tmp_path: Path) -> None:
    path, out = write(tmp_path / "in.hcpe", random_records(100, 4)), tmp_path / "out.hcpe"
    job = DedupSettings(mode=Mode.MEAN, inputs=(path,), out=out, bucket_bits=0)

    def stop(stage: str, *_: object) -> None:
        if stage == Stage.REDUCE:
            raise StoppedError

    with pytest.raises(StoppedError):
        run_dedup(job, listener=Calling(stop))
    bucket = job.folder / "0000.hcpe"
    data = bytearray(bucket.read_bytes())
    data[50] ^= 1
    bucket.write_bytes(data)
    with pytest.raises(JobError, match="has changed since it was written"):
        run_dedup(job)
    assert not out.exists()


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    path, out = write(tmp_path / "in.hcpe", random_records(100, 6)), tmp_path / "out.hcpe"
    job = DedupSettings(mode=Mode.MEAN, inputs=(path,), out=out)

    def again(*_: object) -> None:
        run_dedup(job)

    with pytest.raises(LockedError, match="another process is working in"):
        run_dedup(job, listener=Calling(again))


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    path = write(tmp_path / "in.hcpe", np.tile(random_records(100_000, 7, keys=50_000), 10))
    out = tmp_path / "out.hcpe"
    command = [sys.executable, "-c", COMMAND, "data", "uniq", str(path), "-o", str(out), "--mode", "mode", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / ".out.hcpe.work" / "job.json").exists():
            assert process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=600)
    assert process.returncode == 130, said
    assert "run the same command again to resume" in said
    assert "Traceback" not in said
    assert not out.exists()
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600, env=os.environ)
    found = json.loads(done.stdout)
    assert found["resumed"]
    assert found["rows"] == 1_000_000
    assert found["kept"] * 38 == out.stat().st_size


def test_the_command_prints_tables_and_names_errors(tmp_path: Path) -> None:
    path = write(tmp_path / "in.hcpe", random_records(300, 8))
    runner = CliRunner()
    found = runner.invoke(app, ["data", "uniq", str(path), "-o", str(tmp_path / "out.hcpe"), "--mode", "all-fields"])
    assert found.exit_code == 0
    assert "kept" in found.stdout
    found = runner.invoke(app, ["data", "average", str(path), "-o", str(tmp_path / "out.avg"), "--evalfix", "--json"])
    assert found.exit_code == 0
    summary = json.loads(found.stdout)
    assert 64 + summary["kept"] * 64 + summary["moves"] * 16 == (tmp_path / "out.avg").stat().st_size
    found = runner.invoke(app, ["data", "uniq", str(path), "-o", str(tmp_path / "out.avg"), "--mode", "mean"])
    assert found.exit_code == 2
    (tmp_path / "empty.hcpe").touch()
    for verb, out in (("uniq", "none.hcpe"), ("average", "none.avg")):
        found = runner.invoke(app, ["data", verb, str(tmp_path / "empty.hcpe"), "-o", str(tmp_path / out)])
        assert found.exit_code == 1
        assert "nothing to read" in found.stderr
        assert not (tmp_path / out).exists()
    bad = random_records(5, 9)
    bad["gameResult"][3] = 7
    write(path, bad)
    found = runner.invoke(app, ["data", "uniq", str(path), "-o", str(tmp_path / "bad.hcpe")])
    assert found.exit_code == 1
    assert "record 3" in found.stderr
    assert not list(tmp_path.glob(".bad*")), "the repaired input is another job"
    write(path, random_records(5, 9))
    assert runner.invoke(app, ["data", "uniq", str(path), "-o", str(tmp_path / "bad.hcpe")]).exit_code == 0
