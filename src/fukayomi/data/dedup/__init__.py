"""Remove duplicate positions or average them, at any size.

Rows are spread over bucket files by a hash of their position, and each bucket is reduced on its own; the output is
sorted by the hash. One bucket at a time is in memory. After a kill the same call resumes the work and writes the same
bytes.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from fukayomi.data.dedup import average, uniq
    >>> from fukayomi.data.formats.hcpe import HCPE
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = np.zeros(1000, HCPE)
    >>> rows["bestMove16"] = np.arange(1000) % 10 + 1
    >>> rows.tofile(folder / "rows.hcpe")
    >>> summary = uniq(folder / "rows.hcpe", folder / "unique.hcpe", mode="mean")
    >>> summary.read, summary.kept
    (1000, 10)
    >>> average(folder / "rows.hcpe", folder / "rows.avg").found["moves"]
    10
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy
from fukayomi.data.dedup.settings import Mode, Weighing

if TYPE_CHECKING:
    from fukayomi.data.dedup.run import average, uniq
    from fukayomi.data.jobs.job import Summary

__all__ = ["Mode", "Summary", "Weighing", "average", "uniq"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".run": ("average", "uniq"),
        "fukayomi.data.jobs.job": ("Summary",),
    },
)
