"""Files that are replaced whole or not at all."""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A temporary file beside `path`, to be written in the block; it takes the place of `path` once the block is done.

    Example::

        with replacing(Path("network.onnx")) as temporary:
            temporary.write_bytes(content)
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
