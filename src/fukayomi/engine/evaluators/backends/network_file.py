"""The file of a network, and the int8 file beside it."""

import hashlib
import re
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.library_calls import load_library
from fukayomi.files.sparse_network import SUFFIX as SPARSE_SUFFIX
from fukayomi.files.sparse_network import SparseFile, SparseFileError, read_sparse_file

if TYPE_CHECKING:
    from fukayomi.engine.evaluators.backends.residual_file import OtherNetworkError, ResidualWeights

LARGEST_FILE = 2 << 30
LARGEST_RESIDUAL = 256 << 20
"""Bytes of a file that is read to see whether it holds a residual network."""
INT8_SUFFIX = ".int8.onnx"
# The metadata of an ONNX file are pairs of key and value; between them are the value's field number and length.
SOURCE = re.compile(rb"fukayomi\.fp32_sha256\x12\x40([0-9a-f]{64})")
"""Entry of an int8 file about the file that it was made from (`fukayomi.nn.quantize_onnx`)."""
COLOUR_PLANE = re.compile(rb"colour_plane\x12\x04True")
"""Entry of an exported file of a network that takes the plane of the colour to move (`fukayomi.nn.export_onnx`)."""
SAFETENSORS_SUFFIX = ".safetensors"
PARAMETER_SUFFIXES = (".pt", ".pth", ".npz", ".ckpt", SAFETENSORS_SUFFIX)
"""Names of files that hold parameters without the network: checkpoints and parameter files."""


class NetworkFile:
    """A network's file, with the file beside it that has the same network in int8 (``NAME.int8.onnx``).

    Args:
        path: An ONNX file, a parameter file, or the file of a sparse network.

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

    @property
    def is_sparse(self) -> bool:
        """True if its name says that it holds a sparse network."""
        return self.path.suffix.lower() == SPARSE_SUFFIX

    @property
    def is_onnx(self) -> bool:
        """True if it is to be read as ONNX, as everything is whose name does not say something else."""
        return self.path.suffix.lower() not in (*PARAMETER_SUFFIXES, SPARSE_SUFFIX)

    @cached_property
    def sparse(self) -> SparseFile | SparseFileError:
        """The content of the file of a sparse network, or why it is none."""
        try:
            return read_sparse_file(self.path)
        except SparseFileError as error:
            return error

    @cached_property
    def int8(self) -> "NetworkFile | None":
        """The int8 file beside an ONNX file, unless there is none or it was made from another file."""
        if not self.is_onnx:
            return None
        path = int8_path(self.path)
        if path == self.path or not path.is_file():
            return None
        found = NetworkFile(path)
        return found if found.source in (None, self.sha256) else None

    @cached_property
    def source(self) -> str | None:
        """For an int8 file, the SHA-256 of the file that it was made from; None: it does not say."""
        found = SOURCE.search(self._read(self.path))
        return None if found is None else found[1].decode()

    @cached_property
    def has_colour_plane(self) -> bool:
        """True if an ONNX file of ours takes the plane of the colour to move."""
        return COLOUR_PLANE.search(self._read(self.path)) is not None

    @cached_property
    def residual(self) -> "ResidualWeights | OtherNetworkError":
        """The weights of an ONNX file that holds a residual network, or why it is none."""
        load_library("onnx")
        from fukayomi.engine.evaluators.backends.residual_file import OtherNetworkError, read_residual

        if self.path.stat().st_size > LARGEST_RESIDUAL:
            return OtherNetworkError(f"it has more than {LARGEST_RESIDUAL >> 20} MiB")
        try:
            return read_residual(self.path)
        except OtherNetworkError as error:
            return error

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the file, in hexadecimal digits."""
        return hashlib.sha256(self._read(self.path)).hexdigest()

    @cached_property
    def digest(self) -> str:
        """The first 16 digits of the SHA-256 of the file, and of the weights if they are in a file beside it."""
        weights = self.path.with_name(self.path.name + ".data")
        if not weights.exists():
            return self.sha256[:16]
        sha = hashlib.sha256(self._read(self.path))
        sha.update(self._read(weights))
        return sha.hexdigest()[:16]

    def of(self, precision: str) -> "NetworkFile":
        """The file to open for a precision: for int8 an ONNX file's int8 file, else the file itself.

        Raises:
            EvaluatorError: There is no int8 file, or it was made from another file.
        """
        if precision != "int8" or self.is_sparse:
            return self
        if self.int8 is None:
            path = int8_path(self.path)
            reason = (
                f"{path.name} was made from another file" if path.is_file() else f"there is no {path.name} beside it"
            )
            raise EvaluatorError(
                f"{self.path} cannot be computed in int8: {reason}; make it with fukayomi export --int8"
            )
        return self.int8

    def _read(self, path: Path) -> mmap | bytes:
        """The bytes of a file, which stay on the disk."""
        try:
            with path.open("rb") as file:
                return mmap(file.fileno(), 0, access=ACCESS_READ) if path.stat().st_size else b""
        except OSError as error:
            raise EvaluatorError(f"cannot read the network {self.path}: {error.strerror}") from error


def precision_for(network: Path | str, precision: str) -> str:
    """Precision to ask for where one is meant for several networks: a sparse one has integers of its own.

    >>> precision_for("a.onnx", "fp32"), precision_for("b.sparse", "fp32"), precision_for("<sparse>", "fp32")
    ('fp32', 'auto', 'auto')
    """
    return "auto" if str(network).lower().endswith((SPARSE_SUFFIX, "<sparse>")) else precision


def int8_path(path: Path) -> Path:
    """Path of the int8 file of a network: NAME.int8.onnx beside NAME.onnx."""
    if path.name.endswith(INT8_SUFFIX):
        return path
    return path.with_name(path.stem + INT8_SUFFIX)
