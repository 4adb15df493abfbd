"""Verbs for files of training data: files in, files out, at any size.

Each verb reads hcp, hcpe, psv or hcpe3 files, or game records, all of one format, and writes the same format. After a
kill the same call resumes the work and writes the same bytes.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from fukayomi.data.verbs import DataFormat, open_inputs, split
    >>> from fukayomi.data.formats.hcpe import HCPE
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = np.zeros(1000, HCPE)
    >>> rows["bestMove16"] = 1
    >>> rows.tofile(folder / "rows.hcpe")
    >>> inputs = open_inputs([folder / "rows.hcpe"], DataFormat.HCPE)  # a path will do for files of real positions
    >>> summary = split(inputs, [folder / "train.hcpe", folder / "test.hcpe"], every=10, run=1)
    >>> list(summary.written.values())
    [900, 100]
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.data.conditions import FilterConditions
    from fukayomi.data.convert.blocks import Inputs, VerbError, open_inputs
    from fukayomi.data.formats.kinds import DataFormat, Unit
    from fukayomi.data.jobs.job import Summary
    from fukayomi.data.verbs.filtering import filter, fix_eval
    from fukayomi.data.verbs.shuffling import shuffle
    from fukayomi.data.verbs.splitting import merge, sample, split

__all__ = [
    "DataFormat",
    "FilterConditions",
    "Inputs",
    "Summary",
    "Unit",
    "VerbError",
    "filter",
    "fix_eval",
    "merge",
    "open_inputs",
    "sample",
    "shuffle",
    "split",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "fukayomi.data.convert.blocks": ("Inputs", "VerbError", "open_inputs"),
        "fukayomi.data.conditions": ("FilterConditions",),
        "fukayomi.data.formats.kinds": ("DataFormat", "Unit"),
        "fukayomi.data.jobs.job": ("Summary",),
        ".filtering": ("filter", "fix_eval"),
        ".splitting": ("merge", "sample", "split"),
        ".shuffling": ("shuffle",),
    },
)
