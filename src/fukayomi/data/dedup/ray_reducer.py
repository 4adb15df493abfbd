"""Reducing buckets on a Ray cluster that this process is connected to (`fukayomi.cluster`): a bucket is a task.

The inputs are read and the output is written where the job was started. Every node must see the job's folder under the
same name.
"""

# ray is typed in parts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import socket
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.exceptions import RayError, RayTaskError

from fukayomi import __version__
from fukayomi.cluster import ClusterError, last_line, not_installed
from fukayomi.data.dedup.output import Reduced
from fukayomi.data.dedup.reduce import reduce_bucket
from fukayomi.data.formats.averages import Averages


def reduce_on_cluster(folder: Path, buckets: range) -> Iterator[Reduced]:
    """Reduce buckets by tasks of one CPU each. Of a node that is lost, Ray begins the tasks again elsewhere.

    Args:
        folder: The job's.
        buckets: Their numbers.

    Yields:
        What each bucket becomes, in their order.

    Raises:
        ClusterError: A node has another version or does not see the folder, or the cluster is lost.
        ValueError: As `reduce_bucket`.
        OSError: As `reduce_bucket`.
    """
    left = deque(buckets)
    running: deque[Any] = deque()
    try:
        task: Any = ray.remote(_reduce).options(num_cpus=1, scheduling_strategy="SPREAD")
        while left or running:
            # As many as have room, and one to wait: results that came too early would fill the nodes' memory.
            room = int(ray.cluster_resources().get("CPU", 0)) + 1
            while left and len(running) < room:
                running.append(task.remote(str(folder), left.popleft(), __version__))
            yield _writable(ray.get(running.popleft()))
    except ModuleNotFoundError as error:
        raise not_installed(error) from error
    except RayTaskError as error:
        cause = error.cause
        if isinstance(cause, ModuleNotFoundError):
            raise not_installed(cause) from error
        raise cause if isinstance(cause, ValueError | OSError) else error from None
    except RayError as error:
        raise ClusterError(f"the Ray cluster could not reduce all buckets: {last_line(error)}") from error


def _reduce(folder: str, bucket: int, version: str) -> Reduced:
    """The task."""
    node = f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"
    if version != __version__:
        raise ClusterError(f"node {node}: fukayomi is {__version__} here and {version} where the job runs")
    if not Path(folder).is_dir():
        raise ClusterError(f"node {node}: {folder} is not there; the job's folder must be shared (--scratch)")
    return reduce_bucket(Path(folder), bucket)


def _writable(reduced: Reduced) -> Reduced:
    """What Ray hands out is its own memory, which nobody may write to."""
    return Averages(np.array(reduced.positions), reduced.moves) if isinstance(reduced, Averages) else reduced
