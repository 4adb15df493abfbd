"""The output of a deduplication, which grows bucket by bucket."""

import zlib

import numpy as np
from numpy.typing import NDArray

from fukayomi.data.dedup.settings import Weighing
from fukayomi.data.formats.averages import HEADER, Averages, header_bytes
from fukayomi.data.jobs.buckets import flat_bytes
from fukayomi.data.jobs.job import Job

_COPIED_AT_ONCE = 1 << 18  # bytes

Reduced = NDArray[np.void] | Averages
"""A reduced bucket: HCPE [N], or positions whose moves count from 0."""


class Output:
    """The rows of hcpe; or positions, with their moves in a spool until they are appended to the positions."""

    def __init__(self, job: Job, weighing: Weighing | None) -> None:
        """Begin, or go on from the job's checkpoint.

        Args:
            job: The job.
            weighing: Weighing of the averages; None for hcpe.
        """
        self._job, self._weighing = job, weighing
        (self._rows,) = job.outputs
        if weighing is not None and self._rows.size == 0:
            self._rows.append(bytes(HEADER.itemsize), 0)

    def append(self, reduced: Reduced) -> None:
        """Add the next bucket."""
        if not isinstance(reduced, Averages):
            self._rows.append(flat_bytes(reduced), len(reduced))
            return
        memory, (moves,) = self._job.memory, self._job.spools
        reduced.positions["first_move"] += moves.items
        data = flat_bytes(reduced.positions)
        self._rows.append(data, len(reduced.positions))
        memory["crc"] = zlib.crc32(data, memory.get("crc", 0))
        moves.append(flat_bytes(reduced.moves), len(reduced.moves))

    def complete(self) -> None:
        """Append the moves of averages, and write the header."""
        found, memory = self._job.found, self._job.memory
        found["moves"] = 0
        if self._weighing is not None:
            (moves,), crc = self._job.spools, memory.get("crc", 0)
            found["moves"] = moves.items
            with moves.path.open("rb") as file:
                while data := file.read(_COPIED_AT_ONCE):
                    self._rows.append(data, 0)
                    crc = zlib.crc32(data, crc)
            self._rows.overwrite(0, header_bytes(self._rows.items, moves.items, crc, self._weighing))
        found["scales"] = memory["scales"]
        found["buckets"] = memory["buckets"]
