"""The inputs that a caller gives: paths in any form."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from fukayomi.data.convert.blocks import VERB_KINDS, Inputs, open_inputs
from fukayomi.data.formats.kinds import DataFormat

Files: TypeAlias = Inputs | Path | str | Sequence[Path | str]
"""A file, a folder, several of them, or `open_inputs(paths, format)` if the format is to be given."""


def opened(files: Files, taken: Sequence[DataFormat] = VERB_KINDS) -> Inputs:
    """Open the inputs.

    Args:
        files: The inputs.
        taken: The formats that the caller reads.

    Raises:
        ValueError: They have different formats, or one that cannot be read in blocks.
        OSError: A file cannot be read.
    """
    if isinstance(files, Inputs):
        return files
    return open_inputs([Path(path) for path in ([files] if isinstance(files, str | Path) else files)], taken=taken)
