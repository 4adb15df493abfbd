"""Files of settings in TOML."""

import tomllib
from pathlib import Path
from typing import Any

from fukayomi.files.inputs import read_input

LARGEST_FILE = 1 << 20
"""Bytes of a file."""


def read_toml(path: Path | str) -> dict[str, Any]:
    """Read a TOML file; a byte-order mark, which editors on Windows write, is skipped.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not UTF-8, or not valid TOML. The message does not name the file.
    """
    data = read_input(path, LARGEST_FILE)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"not UTF-8, the encoding of TOML (at line {line}): save it as UTF-8") from error
    return tomllib.loads(text)
