"""Connecting to a running Ray cluster, and starting processes there; the modules that send work say what is done."""

# ray is typed in parts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import logging
import queue
import socket
import sys
import threading
import warnings
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError

from fukayomi import __version__
from fukayomi.errors import InvalidValueError

REACH_S = 10.0
"""Time to find out whether anything answers at an address."""
CONNECT_S = 60.0
"""Time to connect; Ray itself would try forever."""
REASON = 200
"""Characters kept of an explanation by Ray."""


class ClusterError(InvalidValueError):
    """A cluster that cannot be reached or used. The message names the address or the node."""


@contextmanager
def connect(address: str) -> Generator[None]:
    """Connect to a running cluster.

    Args:
        address: ``auto`` for the cluster that this machine belongs to, ``HOST:PORT`` to name it, or
            ``ray://HOST:PORT`` for any cluster, from outside.

    Raises:
        ClusterError: The cluster does not answer, or has another version of Ray.
    """
    if address != "auto":
        _check_reachable(address)
    with redirect_stdout(sys.stderr):  # ray prints warnings, and stdout is for results
        _init(address)
        try:
            yield
        finally:
            ray.shutdown()


def _check_reachable(address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ClusterError(f"{address!r} is not the address of a Ray cluster: auto, HOST:PORT or ray://HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_S).close()
    except OSError as error:
        raise ClusterError(f"no Ray cluster answers at {address}: {error}") from error


def _init(address: str) -> None:
    """Call `ray.init` with a time limit: it has none of its own if something answers that is not Ray."""
    outcome: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def init() -> None:
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
            outcome.put(None)
        except Exception as error:
            outcome.put(error)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="ray")  # errors are raised as well
        threading.Thread(target=init, name="ray.init", daemon=True).start()
        try:
            error = outcome.get(timeout=CONNECT_S)
        except queue.Empty:
            raise ClusterError(f"{address} is not a Ray cluster, or is too busy to answer") from None
    if isinstance(error, ConnectionError | RuntimeError | ValueError | RayError):
        raise ClusterError(f"cannot connect to the Ray cluster at {address}: {last_line(error)}") from error
    if error is not None:
        raise error


def nodes() -> list[dict[str, float]]:
    """Resources of each node that is alive, used or not: CPU, GPU, memory."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def node_name() -> str:
    """Name and address of the node that calls it."""
    return f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"


def version_problem(version: str) -> str:
    """Reason why a node cannot do the work of a process with a version of fukayomi; empty if it can."""
    return "" if version == __version__ else f"fukayomi is {__version__} here and {version} where the work comes from"


def start_actor(kind: type, *, cpus: int, gpus: float = 0.0, threads: int = 1) -> Any:
    """Start an actor on some node; Ray does not start it again: a new one is as good, and may find another node.

    Args:
        kind: Its class.
        cpus: CPUs that it reserves.
        gpus: GPUs that it reserves.
        threads: Threads in which it answers.

    Raises:
        ClusterError: fukayomi is not installed where it starts.
    """
    try:
        return (
            ray.remote(kind)
            .options(
                scheduling_strategy="SPREAD", num_cpus=cpus, num_gpus=gpus, max_concurrency=threads, max_restarts=0
            )
            .remote()
        )
    except ModuleNotFoundError as error:  # ray:// unpickles it at once
        raise not_installed(error) from error


def loss_of(actor: Any, error: Exception | None) -> str:
    """Reason why an actor was lost. It is ended for good: it may be out of reach, but alive.

    Args:
        actor: The actor.
        error: What its work ended with; None: it ended without an error.

    Raises:
        ClusterError: fukayomi is not installed where it started.
    """
    ray.kill(actor)
    if error is None:
        return "it ended"
    if isinstance(error, RayActorError) and error.actor_init_failed:
        raise not_installed(error) from error
    return last_line(error)


def not_installed(error: Exception) -> ClusterError:
    """The error of a node that cannot import fukayomi."""
    return ClusterError(f"every node of the cluster needs fukayomi {__version__}: {last_line(error)}")


def last_line(error: Exception) -> str:
    """The last line of a message by Ray, which says what happened; cut if long."""
    line = str(error).strip().rpartition("\n")[2].strip()
    return line if len(line) <= REASON else f"{line[:REASON]}..."
