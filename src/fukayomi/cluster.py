"""Connecting to a running Ray cluster. The modules that send work there say what is done."""

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

import ray
from ray.exceptions import RayError

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


def not_installed(error: Exception) -> ClusterError:
    """The error of a node that cannot import fukayomi."""
    return ClusterError(f"every node of the cluster needs fukayomi {__version__}: {last_line(error)}")


def last_line(error: Exception) -> str:
    """The last line of a message by Ray, which says what happened; cut if long."""
    line = str(error).strip().rpartition("\n")[2].strip()
    return line if len(line) <= REASON else f"{line[:REASON]}..."
