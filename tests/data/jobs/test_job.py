"""The resumable job by itself: stages, checkpoints, outputs in parts, spools, and what it refuses."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fukayomi.data.jobs import job as job_module
from fukayomi.data.jobs.job import Job, JobError, Summary, read_job
from fukayomi.files.lock import LockedError


class StoppedError(Exception):
    """Stands for whatever stops a program."""


@pytest.fixture(autouse=True)
def checkpoints_at_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 0)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("".join(f"line {number}\n" for number in range(10)))
    return path


def copy_lines(source: Path, out: Path, stop_after: int | None = None, **options: object) -> Summary:
    """Copies the lines; those with an even number are counted in memory and go to a spool first."""

    def lines(place: int | None) -> Iterator[tuple[bytes, int]]:
        text = source.read_bytes().splitlines(keepends=True)
        return ((line, number + 1) for number, line in enumerate(text) if number >= (place or 0))

    with Job("copy", [source], [out], options, spools=["even"]) as job:
        for line in job.stream("copying", lines):
            if job.read == stop_after:
                job.outputs[0].append(b"a torn li", 1)  # after the checkpoint
                raise StoppedError
            job.read += 1
            job.outputs[0].append(line, 1)
            if job.read % 2:
                job.spools[0].append(line, 1)
                job.memory["even"] = job.memory.get("even", 0) + 1
        if not job.is_done("appending"):
            assert job.memory["even"] == job.spools[0].items
            job.outputs[0].append(job.spools[0].path.read_bytes(), job.spools[0].items)
            job.found["even"] = job.memory["even"]
        return job.finish()


def test_a_job_goes_on_where_it_was_stopped(tmp_path: Path, source: Path) -> None:
    whole = copy_lines(source, tmp_path / "whole.txt")
    assert (whole.job, whole.read, whole.kept, whole.found, whole.resumed) == ("copy", 10, 15, {"even": 5}, False)
    out = tmp_path / "out.txt"
    for stop_after in (0, 3, 4, 9):
        with pytest.raises(StoppedError):
            copy_lines(source, out, stop_after)
        assert not out.exists()
    summary = copy_lines(source, out)
    assert summary.resumed
    assert (summary.read, summary.kept, summary.found) == (10, 15, {"even": 5})
    assert out.read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt", "whole.txt"]


def test_another_job_or_changed_files_are_refused(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.txt"
    with pytest.raises(StoppedError):
        copy_lines(source, out, 5, seed=1)
    with pytest.raises(JobError, match=r"another job \(different: seed\)"):
        copy_lines(source, out, seed=2)
    with pytest.raises(JobError, match=r"another job \(different: seed\)"):
        copy_lines(source, out)
    part = tmp_path / ".out.txt.part"
    part.write_bytes(part.read_bytes()[:3])
    with pytest.raises(JobError, match="part has changed since it was written"):
        copy_lines(source, out, seed=1)
    for name in ("state.json", "synced.json"):
        (tmp_path / ".out.txt.work" / name).write_text("{")
    with pytest.raises(JobError, match=r"synced\.json is damaged; remove"):
        copy_lines(source, out, seed=1)


def test_after_a_power_cut_a_job_goes_on_from_what_the_disk_has(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(count: int, *, fails: bool) -> None:
        with Job("write", [source], [tmp_path / "out.txt"], {}) as job:
            for number in range(job.place("writing") or 0, count):
                job.outputs[0].append(b"%d" % number, 1)
                monkeypatch.setattr(job_module, "CHECKPOINT_SECONDS", 0 if number == 3 else 1000)
                job.reached("writing", number + 1, now=True)
            if fails:
                raise StoppedError
            job.finish()

    with pytest.raises(StoppedError):
        write(8, fails=True)
    part = tmp_path / ".out.txt.part"
    assert part.read_bytes() == b"01234567"
    part.write_bytes(part.read_bytes()[:5])  # the checkpoint after 3 has waited for the disk, that after 7 has not
    write(9, fails=False)
    assert (tmp_path / "out.txt").read_bytes() == b"012345678"


def test_outputs_must_differ_from_each_other_and_from_inputs(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out.txt"
    with pytest.raises(JobError, match="two outputs have the same name"):
        Job("copy", [source], [out, tmp_path / "." / "out.txt"], {})
    with pytest.raises(JobError, match=r"in\.txt is both input and output"):
        Job("copy", [source], [source], {})
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_a_helper_reads_the_description_and_the_memory(tmp_path: Path, source: Path) -> None:
    with Job("copy", [source], [tmp_path / "out.txt"], {"seed": 3}) as job:
        job.memory["buckets"] = [1, 2]
        job.reached("copying", None, now=True)
        description, memory = read_job(job.folder)
        assert (description["job"], description["seed"], memory) == ("copy", 3, {"buckets": [1, 2]})
        with pytest.raises(LockedError), Job("copy", [source], [tmp_path / "out.txt"], {"seed": 3}):
            pass
        assert json.loads((job.folder.path / "state.json").read_text())["finished"] is False


def test_a_summary_is_a_table(tmp_path: Path, source: Path) -> None:
    summary = copy_lines(source, tmp_path / "out.txt")
    assert summary.rows() == [{"output": str(tmp_path / "out.txt"), "written": 15, "read": 10, "share": 1.5}]
    assert str(summary).splitlines()[0].split() == ["output", "written", "read", "share"]
