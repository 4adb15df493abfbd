"""Being part of a Ray cluster that runs already; what is done there is told by the modules that do it."""

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

REACH_S = 10.0  # to find out whether anything answers at an address at all
CONNECT_S = 60.0  # to become part of the cluster; ray itself would try for ever
REASON = 200  # characters of an explanation by Ray


class ClusterError(ValueError):
    """A cluster that cannot be reached, or cannot play. The message names the address, or the node."""


@contextmanager
def connect(address: str) -> Generator[None]:
    """Be part of a cluster that runs already.

    Args:
        address: ``auto``: the one this machine belongs to; ``HOST:PORT``: the same, by name; ``ray://HOST:PORT``: any,
            from outside.

    Raises:
        ClusterError: It does not answer, or is of another version.
    """
    if address != "auto":
        _check_reachable(address)
    with redirect_stdout(sys.stderr):  # ray prints the cluster's troubles, and stdout is for results
        _init(address)
        try:
            yield
        finally:
            ray.shutdown()


def _check_reachable(address: str) -> None:
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ClusterError(f"{address!r} is no address of a Ray cluster: auto, HOST:PORT or ray://HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_S).close()
    except OSError as error:
        raise ClusterError(f"no Ray cluster answers at {address}: {error}") from error


def _init(address: str) -> None:
    """`ray.init`, with an end: it has none of its own where something answers that is not Ray."""
    outcome: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def init() -> None:
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
            outcome.put(None)
        except Exception as error:
            outcome.put(error)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="ray")  # what is wrong comes as an error, too
        threading.Thread(target=init, name="ray.init", daemon=True).start()
        try:
            error = outcome.get(timeout=CONNECT_S)
        except queue.Empty:
            raise ClusterError(f"what answers at {address} is no Ray cluster, or has no time") from None
    if isinstance(error, ConnectionError | RuntimeError | ValueError | RayError):
        raise ClusterError(f"cannot be part of the Ray cluster at {address}: {last_line(error)}") from error
    if error is not None:
        raise error


def not_installed(error: Exception) -> ClusterError:
    """What is said when a node cannot import our code."""
    return ClusterError(f"every node of the cluster needs fukayomi {__version__}: {last_line(error)}")


def last_line(error: Exception) -> str:
    """Ray's messages are long; the last line has the point, at its beginning."""
    line = str(error).strip().rpartition("\n")[2].strip()
    return line if len(line) <= REASON else f"{line[:REASON]}..."
