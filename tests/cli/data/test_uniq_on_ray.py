"""``fukayomi data uniq --ray``: the same bytes, from buckets that are reduced in processes of a Ray cluster."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from ray_cluster import ENVIRONMENT, START_S, Cluster, cluster, needs_ray

from fukayomi.data.dedup.run import run_dedup
from fukayomi.data.dedup.settings import DedupSettings, Mode
from fukayomi.data.formats.hcpe import HCPE

__all__ = ["cluster"]  # the fixture

# Several buckets of few rows.
PROGRAM = """
import sys
from fukayomi.data.dedup import run
run.BUCKET_BYTES = 20_000
if "--damage" in sys.argv:  # a byte of a bucket, once all have been written
    sys.argv.remove("--damage")
    read = run._read
    def damaging(job, *rest):
        read(job, *rest)
        path = job.folder.bucket_path(3, "hcpe")
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    run._read = damaging
from fukayomi.cli.main import main
sys.argv[0] = "fukayomi"
main()
"""


def uniq(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", PROGRAM, "data", "uniq", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=START_S, check=False)


@needs_ray
def test_a_cluster_writes_the_same_bytes(tmp_path: Path, cluster: Cluster) -> None:
    rng = np.random.default_rng(1)
    records = np.zeros(3000, HCPE)
    records["hcp"] = rng.integers(0, 256, (500, 32))[rng.integers(0, 500, 3000)]
    records["bestMove16"], records["gameResult"] = rng.integers(1, 9, 3000), rng.integers(0, 3, 3000)
    records["eval"] = rng.integers(-999, 999, 3000)
    source, out, expected = tmp_path / "in.hcpe", tmp_path / "out.avg", tmp_path / "expected.avg"
    source.write_bytes(records.tobytes())
    run_dedup(DedupSettings(mode=Mode.SHARES, inputs=(source,), out=expected))
    done = uniq(source, "-o", out, "--mode", "shares", "--ray", cluster.address, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["buckets"] == 8
    assert out.read_bytes() == expected.read_bytes()
    assert not list(tmp_path.glob(".out*"))
    done = uniq(source, "-o", out, "--mode", "shares", "--ray", cluster.address, "--damage")
    assert done.returncode == 1
    assert "0003.hcpe has changed since it was written" in done.stderr
    assert "Traceback" not in done.stderr


@needs_ray
def test_a_cluster_that_is_not_there_is_said(tmp_path: Path) -> None:
    source = tmp_path / "in.hcpe"
    source.write_bytes(np.zeros(1, HCPE).tobytes())
    done = uniq(source, "-o", tmp_path / "out.hcpe", "--ray", "nowhere")
    assert done.returncode == 1
    assert "is not the address of a Ray cluster" in done.stderr
    assert not list(tmp_path.glob("*out*"))
