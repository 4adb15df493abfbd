"""Files of settings in TOML."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fukayomi.files.inputs import read_input
from fukayomi.settings.model import SettingsError

LARGEST_FILE = 1 << 20
"""Bytes of a file."""


def read_toml(path: Path | str, error: type[ValueError] = SettingsError) -> dict[str, Any]:
    """Read a TOML file; a byte-order mark, which editors on Windows write, is skipped.

    Args:
        path: The file.
        error: What is raised.

    Raises:
        ValueError: The file cannot be read, is not UTF-8, or not valid TOML; of the class `error`.
    """
    try:
        data = read_input(path, LARGEST_FILE)
    except OSError as unreadable:
        raise error(f"cannot read the settings in {path}: {unreadable.strerror}") from unreadable
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise error(f"{path}: not UTF-8, the encoding of TOML (at line {line}): save it as UTF-8") from wrong
    except RecursionError as wrong:
        raise error(f"{path}: tables or lists are nested too deeply") from wrong
    except ValueError as wrong:  # not TOML, or a number of thousands of digits
        raise error(f"{path}: {wrong}") from wrong


def toml_text(values: Mapping[str, Any], comments: Iterable[str] = ()) -> str:
    """Plain values as TOML, below lines of comments."""
    import tomli_w

    head = "".join(f"# {comment}".rstrip() + "\n" for comment in comments)
    return (head and head + "\n") + tomli_w.dumps(values)
