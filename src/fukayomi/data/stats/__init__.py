"""Statistics of files of training data: games, positions, results, lengths, evaluations.

>>> import tempfile
>>> from pathlib import Path
>>> import numpy as np
>>> from fukayomi.data.stats import measure
>>> from fukayomi.data.formats.kinds import DataFormat
>>> from fukayomi.data.convert.blocks import open_inputs
>>> path = Path(tempfile.mkdtemp()) / "positions.hcp"
>>> np.zeros((1000, 32), np.uint8).tofile(path)
>>> found = measure(open_inputs([path], DataFormat.HCP))  # a path will do for files of real positions
>>> found.positions, found.unique
(1000, 1)
"""

from typing import TYPE_CHECKING

from fukayomi._lazy import lazy

if TYPE_CHECKING:
    from fukayomi.data.stats.pictures import write_pictures
    from fukayomi.data.stats.statistics import Statistics, measure

__all__ = ["Statistics", "measure", "write_pictures"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        ".pictures": ("write_pictures",),
        ".statistics": ("Statistics", "measure"),
    },
)
