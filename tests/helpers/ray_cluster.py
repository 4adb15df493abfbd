"""A Ray cluster of one node for tests of commands, which run in processes of their own."""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import fukayomi

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(fukayomi.__file__).parent.parent),  # tests may have a relative one
    "RAY_USAGE_STATS_ENABLED": "0",
}
START_S = 300

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None or not Path("/proc/self/cmdline").exists() or " " in sys.executable,
    reason="needs ray (pip install '.[ray]') in a path without spaces, which Ray splits, and Linux's /proc",
)


@dataclass
class Cluster:
    """One node."""

    address: str
    client: str
    """The address for those who are outside."""


@pytest.fixture(scope="module")
def cluster() -> Generator[Cluster]:
    with start_cluster(2) as started:
        yield started


@contextmanager
def start_cluster(cpus: int) -> Generator[Cluster]:
    """A cluster of one node, with a number of CPUs as Ray counts them."""
    with ExitStack() as stack:
        ports = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        gcs, client, dashboard = (port.getsockname()[1] for port in ports)
    folder = Path(tempfile.mkdtemp(prefix="ray-"))  # pytest's own is too long a name for Ray's sockets
    command = [
        sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus", cpus,
        "--port", gcs, "--ray-client-server-port", client, "--dashboard-port", dashboard,
        "--include-dashboard", "false",
        "--object-store-memory", 80_000_000, "--temp-dir", folder, "--disable-usage-stats",
    ]  # fmt: skip
    said = folder / "said"
    with said.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            list(map(str, command)), stdout=file, stderr=file, env=ENVIRONMENT, start_new_session=True
        )
    try:
        wait_until(lambda: "Ray runtime started" in said.read_text(encoding="utf-8") or process.poll() is not None)
        assert process.poll() is None, said.read_text(encoding="utf-8")
        yield Cluster(f"127.0.0.1:{gcs}", f"ray://127.0.0.1:{client}")
    finally:
        process.terminate()  # never `ray stop`, which would stop everybody's
        process.wait(START_S)
        wait_until(lambda: not processes(str(folder)))
        shutil.rmtree(folder, ignore_errors=True)


def processes(mark: str) -> list[int]:
    """Those that have the mark in their command line."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "cmdline").read_bytes().decode("utf-8", "replace"):
                found.append(int(folder.name))
        except OSError:  # it ended
            continue
    return found


def wait_until(is_so: Callable[[], object], seconds: float = START_S) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it never was"
        time.sleep(0.05)
