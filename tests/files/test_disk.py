"""Disks that are too small, or fill up: said in words, nothing half written, and what resumes goes on."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from command_app import app
from listeners import Calling
from typer.testing import CliRunner
from verb_runs import make_games, make_inputs, run

from fukayomi.data.convert.blocks import open_inputs
from fukayomi.data.dedup import uniq
from fukayomi.data.dedup.run import run_dedup
from fukayomi.data.dedup.settings import DedupSettings, Mode
from fukayomi.data.formats.averages import read_averages
from fukayomi.data.formats.hcpe import HCPE
from fukayomi.data.formats.table import as_rows
from fukayomi.data.jobs import job as job_module
from fukayomi.data.stats.statistics import UniqueCounter
from fukayomi.files import disk as disk_module
from fukayomi.files.atomic import AtomicFile, replace_file
from fukayomi.files.disk import DiskError, Room

OLD = b"what was there before"
needs_limits = pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of file sizes on Windows")


class SmallDisk:
    """A file system in memory, which can grow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(folder)]
        if sys.platform != "linux" or subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("a small file system can be mounted by root on Linux only")

    def grow(self) -> None:
        subprocess.run(["mount", "-o", "remount,size=64m", str(self.folder)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "disk")
    yield disk
    subprocess.run(["umount", str(disk.folder)], check=True)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills up after the work has begun."""
    monkeypatch.setattr(Room, "check", lambda *_: None)


def free(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    usage = disk_module.shutil.disk_usage("/")
    monkeypatch.setattr(disk_module.shutil, "disk_usage", lambda _: usage._replace(free=size))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def real_rows(count: int) -> bytes:
    """Of positions that decode, many of them several times."""
    rows = as_rows(make_games(200, 1)).records
    rows["gameResult"] &= 3
    return np.resize(rows, count).tobytes()


def random_rows(count: int, seed: int = 1) -> np.ndarray:
    rows = np.zeros(count, HCPE)
    rows["hcp"] = np.random.default_rng(seed).integers(0, 256, (count, 32), np.uint8)
    rows["bestMove16"] = 7739
    return rows


def test_too_little_room_is_told_with_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, 3 << 30)
    room = Room(5 << 30, 1 << 30, 6 << 30)
    with pytest.raises(DiskError) as told:
        room.check(tmp_path / "not" / "there", tmp_path, "do this")
    assert str(told.value) == (
        f"up to 6.0 GiB are needed, and 3.0 GiB are free at {tmp_path}; make room, or do this"
    )  # fmt: skip
    Room(2 << 30, 1 << 30, 2 << 30).check(tmp_path, tmp_path, "")


def test_two_disks_are_looked_at_each_on_its_own(small_disk: SmallDisk, tmp_path: Path) -> None:
    with pytest.raises(DiskError, match=rf"free at {small_disk.folder}"):
        Room(1 << 20, 10, 20 << 20).check(small_disk.folder, tmp_path, "")
    with pytest.raises(DiskError, match=rf"free at {small_disk.folder}"):
        Room(10, 1 << 20, 20 << 20).check(tmp_path, small_disk.folder, "")
    small_disk.grow()
    Room(40 << 20, 10, 80 << 20).check(small_disk.folder, tmp_path, "")
    with pytest.raises(DiskError):
        Room(40 << 20, 10, 80 << 20).check(small_disk.folder, small_disk.folder, "")


def test_other_errors_keep_their_words(tmp_path: Path) -> None:
    (tmp_path / "out.hcpe").mkdir()
    with pytest.raises(OSError, match=r"out\.hcpe") as told:
        replace_file(tmp_path / "out.hcpe", OLD)
    assert not isinstance(told.value, DiskError)
    assert names(tmp_path) == ["out.hcpe"]
    (tmp_path / "in.hcpe").write_bytes(random_rows(100).tobytes())
    (tmp_path / ".new.hcpe.part").mkdir()  # where the output grows
    with pytest.raises(OSError, match=r"new\.hcpe\.part") as told:
        uniq(tmp_path / "in.hcpe", tmp_path / "new.hcpe")
    assert not isinstance(told.value, DiskError)
    (tmp_path / ".new.hcpe.part").rmdir()
    assert uniq(tmp_path / "in.hcpe", tmp_path / "new.hcpe").kept == 100
    assert names(tmp_path) == ["in.hcpe", "new.hcpe", "out.hcpe"]


COMMANDS = {
    "uniq": ("uniq", "in.hcpe", "-o", "out.hcpe"),
    "average": ("average", "in.hcpe", "-o", "out.avg"),
    "shuffle": ("shuffle", "in.hcpe", "-o", "out.hcpe"),
    "merge": ("merge", "in.hcpe", "-o", "out.hcpe"),
    "split": ("split", "in.hcpe", "-o", "out.hcpe", "-o", "other.hcpe"),
    "fix-eval": ("fix-eval", "in.hcpe", "-o", "out.hcpe", "--scale", "600"),
    "stats": ("stats", "in.hcpe", "--scratch", ".", "--memory", "0.001"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_do_not_begin_without_room(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.hcpe").write_bytes(real_rows(40_000))
    with monkeypatch.context() as full:
        free(full, 1 << 20)
        found = CliRunner().invoke(app, ["data", *COMMANDS[name]])
    assert found.exit_code == 1
    assert "are needed, and 1.0 MiB are free at" in found.stderr
    assert "make room, or" in found.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.hcpe"]
    if name in ("uniq", "average"):
        free(monkeypatch, 1 << 20)
        found = CliRunner().invoke(app, ["data", *COMMANDS[name], "--no-check-space"])
        assert found.exit_code == 0, found.stderr


@pytest.mark.parametrize("mode", [Mode.MEAN, Mode.SHARES], ids=str)
def test_what_is_asked_for_is_what_is_written(tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows that are all different: the most that lies on the disk at any one time."""
    first, second = tmp_path / "in.hcpe", tmp_path / "in.avg"
    first.write_bytes(random_rows(30_000).tobytes())
    inputs = (first,)
    if mode.writes_averages:
        (tmp_path / "seen.hcpe").write_bytes(random_rows(10_000, 2).tobytes())
        run_dedup(DedupSettings(mode=Mode.SHARES, inputs=(tmp_path / "seen.hcpe",), out=second))
        inputs = (first, second)
    asked: list[Room] = []
    monkeypatch.setattr(Room, "check", lambda room, *_: asked.append(room))
    out, scratch = tmp_path / "out" / "out.x", tmp_path / "scratch"
    scratch.mkdir()
    out.parent.mkdir()
    seen: list[tuple[int, int]] = []
    few = 4096  # the states, which are no rows

    def look(*_: object) -> None:
        sizes = [
            sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.name != "lock")
            for folder in (scratch, out.parent)
        ]
        seen.append((sizes[0], sizes[1]))

    run_dedup(DedupSettings(mode=mode, inputs=inputs, out=out, scratch=scratch, bucket_bits=5), listener=Calling(look))
    (room,) = asked
    assert max(work for work, _ in seen) <= room.work + few
    assert out.stat().st_size <= room.out <= out.stat().st_size + 100
    assert room.work <= 1.1 * max(work for work, _ in seen)
    assert max(map(sum, seen)) <= room.together + few
    if mode.writes_averages:
        moves = len(read_averages(out).moves) * 16
        assert room.together == out.stat().st_size + moves


JOBS = {"uniq": Mode.MEAN, "average": Mode.SHARES}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", JOBS)
def test_a_job_on_a_full_disk_goes_on_when_there_is_room(name: str, small_disk: SmallDisk, tmp_path: Path) -> None:
    path, mode = tmp_path / "in.hcpe", JOBS[name]
    path.write_bytes(random_rows(8000).tobytes())
    run_dedup(DedupSettings(mode=mode, inputs=(path,), out=tmp_path / "expected"))
    job = DedupSettings(mode=mode, inputs=(path,), out=small_disk.folder / "out", bucket_bits=3)
    job.out.write_bytes(OLD)
    with pytest.raises(DiskError, match=rf"^the disk is full \(.* free at .*it resumes the work in {job.folder}"):
        run_dedup(job)
    assert job.out.read_bytes() == OLD
    small_disk.grow()
    assert run_dedup(job).resumed
    assert job.out.read_bytes() == (tmp_path / "expected").read_bytes()
    assert names(small_disk.folder) == ["out"]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("verb", ["split", "shuffle", "merge", "fix-eval"])
def test_a_verb_on_a_full_disk_goes_on_when_there_is_room(
    verb: str, small_disk: SmallDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = open_inputs(make_inputs(tmp_path, "hcpe3", 1000))
    assert inputs.bytes > 160 << 10
    (tmp_path / "expected").mkdir()
    run(verb, inputs, tmp_path / "expected" / "out.hcpe3")
    monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 0)
    out = small_disk.folder / "out.hcpe3"
    out.write_bytes(OLD)
    with pytest.raises(DiskError, match=r"^the disk is full .*it resumes the work in .*/\.out\.hcpe3\.work"):
        run(verb, inputs, out)
    assert out.read_bytes() == OLD
    small_disk.grow()
    run(verb, inputs, out)
    expected = {path.name: path.read_bytes() for path in (tmp_path / "expected").iterdir()}
    assert {path.name: path.read_bytes() for path in small_disk.folder.iterdir()} == expected


@pytest.mark.parametrize("written", [100, 300_000, 3_000_000], ids=lambda size: f"{size} at a time")
def test_a_file_on_a_full_disk_leaves_what_was_there(written: int, small_disk: SmallDisk) -> None:
    path = small_disk.folder / "out.hcpe"
    path.write_bytes(OLD)

    def write() -> None:
        with AtomicFile(path) as file:
            for _ in range(3_000_000 // written):
                file.write(bytes(written))

    with pytest.raises(DiskError, match=r"the disk is full .*out\.hcpe was not changed"):
        write()
    assert path.read_bytes() == OLD
    assert names(small_disk.folder) == ["out.hcpe"]


def test_counting_positions_on_a_full_disk_names_the_remedy(small_disk: SmallDisk) -> None:
    positions = random_rows(10_000)["hcp"]
    with (
        UniqueCounter(50_000, small_disk.folder) as unique,
        pytest.raises(DiskError, match="another folder"),
    ):
        unique.add(positions)
    assert names(small_disk.folder) == []


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
sys.argv = ["fukayomi", *sys.argv[1:]]
from fukayomi.__main__ import main
main()
"""
NOTHING_STAYS = {"convert": ("convert", "in.hcpe3", "-o", "out.hcpe")}
GOES_ON = {"shuffle": ("shuffle", "rows.hcpe", "-o", "out.hcpe")}


@needs_limits
@pytest.mark.parametrize("name", [*NOTHING_STAYS, *GOES_ON])
def test_commands_that_may_not_write_so_much_say_so(name: str, tmp_path: Path) -> None:
    """What a file system does that takes no larger files."""
    make_inputs(tmp_path, "hcpe3", 500)[0].rename(tmp_path / "in.hcpe3")
    (tmp_path / "in1.hcpe3").unlink()
    (tmp_path / "rows.hcpe").write_bytes(real_rows(6000))
    command = ["data", *(NOTHING_STAYS | GOES_ON)[name]]
    target = tmp_path / next(word for word in command if word.startswith("out."))
    target.write_bytes(OLD)
    before = names(tmp_path)
    found = subprocess.run(
        [sys.executable, "-c", LIMITED, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert "the file has reached the limit of its file system" in found.stderr
    assert "Traceback" not in found.stderr
    assert target.read_bytes() == OLD
    if name in NOTHING_STAYS:
        assert names(tmp_path) == before
        return
    assert "run the same job again" in found.stderr
    done = subprocess.run(
        [sys.executable, "-m", "fukayomi", *command, "--json"], cwd=tmp_path, capture_output=True, check=True
    )
    assert json.loads(done.stdout)
    assert target.read_bytes() not in (b"", OLD)
    assert names(tmp_path) == before
