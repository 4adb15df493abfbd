"""The file of a network, and the int8 file beside it."""

import hashlib
from functools import cached_property
from pathlib import Path

from fukayomi.engine.evaluators import EvaluatorError

LARGEST_FILE = 2 << 30
INT8_SUFFIX = ".int8.onnx"
PARAMETER_SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors")
"""Names of files that hold parameters without the network: checkpoints and parameter files."""


class NetworkFile:
    """A network's file, with the file beside it that has the same network in int8 (``NAME.int8.onnx``).

    Args:
        path: An ONNX file or a parameter file.

    Raises:
        EvaluatorError: The file cannot be read, or is too large.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if path.stat().st_size > LARGEST_FILE:
                raise EvaluatorError(f"{path}: larger than {LARGEST_FILE >> 30} GiB, the limit of ONNX files")
        except OSError as error:
            raise EvaluatorError(f"cannot read the network {path}: {error.strerror}") from error

    @cached_property
    def int8(self) -> "NetworkFile | None":
        """The int8 file beside it, if there is one."""
        path = int8_path(self.path)
        return NetworkFile(path) if path != self.path and path.is_file() else None

    @cached_property
    def digest(self) -> str:
        """The first 16 digits of the SHA-256 of the file, and of the weights if they are in a file beside it."""
        sha = hashlib.sha256()
        try:
            for part in (self.path, self.path.with_name(self.path.name + ".data")):
                if part == self.path or part.exists():
                    with part.open("rb") as file:
                        while block := file.read(1 << 20):
                            sha.update(block)
        except OSError as error:
            raise EvaluatorError(f"cannot read the network {self.path}: {error.strerror}") from error
        return sha.hexdigest()[:16]

    def of(self, precision: str) -> "NetworkFile":
        """The file to open for a precision: the int8 file for int8, else the file itself.

        Raises:
            EvaluatorError: There is no int8 file.
        """
        if precision != "int8":
            return self
        if self.int8 is None:
            name = int8_path(self.path).name
            raise EvaluatorError(f"{self.path} has no int8 file beside it, {name}: make it with fukayomi export --int8")
        return self.int8


def int8_path(path: Path) -> Path:
    """Where the int8 file of a network is: NAME.int8.onnx beside NAME.onnx."""
    if path.name.endswith(INT8_SUFFIX):
        return path
    return path.with_name(path.stem + INT8_SUFFIX)
