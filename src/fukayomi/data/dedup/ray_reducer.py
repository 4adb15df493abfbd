"""Reduce buckets on a Ray cluster that this process is connected to (`fukayomi.cluster`), one task per bucket.

The process that runs the job reads the inputs and writes the output. Every node must see the folder of the work under
the same name.
"""

# ray is typed in parts.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.exceptions import RayError, RayTaskError

from fukayomi import __version__
from fukayomi.cluster import ClusterError, last_line, node_name, not_installed, version_problem
from fukayomi.data.dedup.run import Reduced, reduce_bucket
from fukayomi.data.formats.averages import Averages


def reduce_on_cluster(folder: Path, buckets: range) -> Iterator[Reduced]:
    """Reduce buckets in tasks of one CPU each. Ray runs the tasks of a lost node again on others.

    Args:
        folder: The folder of the work.
        buckets: Numbers of the buckets.

    Yields:
        The reduced buckets, in their order.

    Raises:
        ClusterError: A node has another version or does not see the folder, or the cluster is lost.
        ValueError: See `reduce_bucket`.
        OSError: See `reduce_bucket`.
    """
    left = deque(buckets)
    running: deque[Any] = deque()
    try:
        task: Any = ray.remote(_reduce).options(num_cpus=1, scheduling_strategy="SPREAD")
        while left or running:
            # One task per CPU and one in waiting: results that come early would fill the memory of the nodes.
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
    """One task."""
    problem = version_problem(version)
    if not problem and not Path(folder).is_dir():
        problem = f"{folder} is not there; choose a folder for the work that all nodes share (scratch)"
    if problem:
        raise ClusterError(f"node {node_name()}: {problem}")
    return reduce_bucket(Path(folder), bucket)


def _writable(reduced: Reduced) -> Reduced:
    """A copy of what Ray hands out as read-only memory."""
    return Averages(np.array(reduced.positions), reduced.moves) if isinstance(reduced, Averages) else reduced
