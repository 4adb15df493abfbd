"""Files beside an hcpe3 file: layers with other targets for its positions, and weights of the positions.

| file | content |
|---|---|
| `NAME.hcpe3` | the games as they were played: the original, which never changes |
| `NAME.weights.npy` | how much each position counts in the loss; without the file all weights are 1 |
| `NAME.layer-ID.hcpe3` | the same games, moves and results; evaluations and candidates of some positions are new |
| `NAME.layer-ID.weights.npy` | 1 / chance of each position that was chosen, 0 of the others, only if chances differed |
| `NAME.layer-ID.hcpe3.json` | the sidecar, a `LayerInfo` |

The sidecar comes last: a layer without one does not exist. A layer has a target wherever the original has one, so the
positions of both have the same numbers, and the weights of a chunk of self-play hold for its layers too.

Weights are float32 [N], each 0 or more, one for each move with candidates in the order of the file, also for those that
training leaves out because they lead into a repetition.
"""

import io
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from fukayomi.data.formats.format import DataFileError
from fukayomi.files.inputs import file_sha256, read_input
from fukayomi.settings.problems import first_problem
from fukayomi.tabular import counted

VERSION = 1
"""Version of the sidecar that is written, and the newest that is read."""
LARGEST_SIDECAR = 1 << 20
"""Bytes."""
SUFFIX = ".hcpe3"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_LAYER = re.compile(r"(?P<stem>.+)\.layer-(?P<id>[A-Za-z0-9][A-Za-z0-9_-]{0,63})\.hcpe3", re.DOTALL)

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, lt=1 << 53)]


class LayerError(DataFileError):
    """A layer is missing, damaged, or does not belong to the file that it lies beside."""

    __module__ = "fukayomi.learning"


class LayerInfo(BaseModel):
    """The sidecar of a layer. Fields that a later version of the same number adds are skipped."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    version: Annotated[int, Field(ge=1)] = VERSION
    original_sha256: Sha256
    """Of the file that the layer belongs to."""
    sha256: Sha256
    """Of the layer."""
    bytes: Count
    """Size of the layer."""
    games: Count
    positions: Count
    """Moves with candidates, which are training positions."""
    chosen: Count
    """Positions that were chosen for new targets."""
    changed: Count
    """Positions that got them; a position whose search found nothing keeps the original's."""
    moved: Count
    """Changed positions whose most visited move is another one."""
    network: Annotated[str, Field(min_length=1, max_length=4096)]
    """SHA-256 of the file of the network; of a network without a file, its name."""
    evaluator: Annotated[str, Field(min_length=1, max_length=4096)]
    """Hash of the network with precision and device."""
    build: Annotated[str, Field(min_length=1, max_length=200)]
    """Version of fukayomi."""
    settings: Mapping[str, JsonValue]
    """Settings of the reanalysis, all of them."""
    weights_sha256: Sha256 | None = None
    """Of the weights; None: there are none."""

    def text(self) -> str:
        """The sidecar as JSON, one field a line."""
        return self.model_dump_json(indent=1) + "\n"


def layer_path(original: Path | str, layer: str) -> Path:
    """Path of a layer of a file.

    >>> layer_path("games/w1-000001.hcpe3", "3fa92b1c-n100").as_posix()
    'games/w1-000001.layer-3fa92b1c-n100.hcpe3'

    Raises:
        LayerError: The name of the layer is not 1 to 64 letters, digits, hyphens and underscores.
    """
    if not _ID.fullmatch(layer):
        raise LayerError(f"{layer!r} is not the name of a layer: 1 to 64 of a-z, A-Z, 0-9, - and _")
    path = Path(original)
    return path.with_name(f"{path.name.removesuffix(SUFFIX)}.layer-{layer}{SUFFIX}")


def is_layer(path: Path) -> bool:
    """True if a file is a layer, by its name."""
    return _LAYER.fullmatch(path.name) is not None


def sidecar_of(layer_file: Path) -> Path:
    """Path of a layer's sidecar."""
    return layer_file.with_name(layer_file.name + ".json")


def layers_of(original: Path) -> list[str]:
    """The names of the layers of a file, in order."""
    stem = original.name.removesuffix(SUFFIX)
    names = [match for path in original.parent.iterdir() if (match := _LAYER.fullmatch(path.name))]
    return sorted(m["id"] for m in names if m["stem"] == stem and sidecar_of(original.with_name(m.string)).is_file())


def find_layer(original: Path | str, layer: str) -> Path | None:
    """The file of a layer, compared with its sidecar and with the original; None if there is no such layer.

    Raises:
        LayerError: The layer or its sidecar is damaged, or was made from other games.
        OSError: A file cannot be read.
    """
    file = layer_path(original, layer)
    sidecar = sidecar_of(file)
    if not sidecar.is_file():
        return None
    info = read_layer_info(sidecar)
    remedy = f"remove {file} and {sidecar.name}, and make the layer again (fukayomi reanalyze)"
    if file_sha256(Path(original)) != info.original_sha256:
        raise LayerError(f"{file} does not belong to {original}: it was made from other games; {remedy}")
    if not file.is_file():
        raise LayerError(f"{file} is missing, but {sidecar.name} is there; {remedy}")
    if file.stat().st_size != info.bytes or file_sha256(file) != info.sha256:
        raise LayerError(f"{file} is damaged: it is not the file that its sidecar describes; {remedy}")
    return file


def remove_layer(original: Path | str, layer: str) -> None:
    """Remove a layer, its sidecar first, so that a kill leaves none that looks complete."""
    file = layer_path(original, layer)
    for path in (sidecar_of(file), weights_of(file), file):
        path.unlink(missing_ok=True)


def find_layer_weights(layer_file: Path) -> Path | None:
    """The weights of a layer, compared with its sidecar; None if it has none.

    Raises:
        LayerError: They are missing or damaged, or the sidecar is.
        OSError: A file cannot be read.
    """
    info, file = read_layer_info(sidecar_of(layer_file)), weights_of(layer_file)
    if info.weights_sha256 is None:
        return None
    if not file.is_file() or file_sha256(file) != info.weights_sha256:
        raise LayerError(
            f"{file} is missing or damaged: it is not the file that {sidecar_of(layer_file).name} describes; remove "
            f"{layer_file.name} and {sidecar_of(layer_file).name}, and make the layer again (fukayomi reanalyze)"
        )
    return file


def read_layer_info(sidecar: Path) -> LayerInfo:
    """Read a sidecar.

    Raises:
        LayerError: It is not a sidecar, or one of a later version; the message names the field.
        OSError: It cannot be read.
    """
    try:
        info = LayerInfo.model_validate_json(read_input(sidecar, LARGEST_SIDECAR))
    except ValidationError as error:
        raise LayerError(f"{sidecar}: not the sidecar of a layer: {first_problem(error, 'the file')}") from None
    if info.version > VERSION:
        raise LayerError(f"{sidecar}: version {info.version}; this fukayomi reads versions up to {VERSION}; update it")
    return info


WEIGHTS_SUFFIX = ".weights.npy"
LARGEST_HEADER = 1 << 16
"""Bytes of a .npy file before its numbers, at most."""


def weights_of(games: Path) -> Path:
    """Path of the weights of a file's positions; the file need not exist.

    >>> weights_of(Path("w1-000001.hcpe3")).name
    'w1-000001.weights.npy'
    """
    return games.with_name(games.name.removesuffix(".hcpe3") + WEIGHTS_SUFFIX)


def encode_weights(weights: NDArray[np.floating[Any]]) -> bytes:
    """Weights as the content of their file."""
    file = io.BytesIO()
    np.save(file, weights.astype("<f4"), allow_pickle=False)
    return file.getvalue()


def read_weights(path: Path, positions: int) -> NDArray[np.float32]:
    """Read the weights of a file's positions.

    Args:
        path: The file of the weights.
        positions: Moves with candidates in the games.

    Returns:
        float32 [positions].

    Raises:
        DataFileError: It is not an array of one weight for each position, or a weight is negative or not finite.
        OSError: The file cannot be read.
    """
    limit = 4 * positions + LARGEST_HEADER
    if (size := path.stat().st_size) > limit:
        raise DataFileError(
            f"{path}: {counted(size, 'byte')}, too many for {counted(positions, 'position')} with targets"
        )
    return decode_weights(path, read_input(path, limit), positions)


def decode_weights(path: Path, data: bytes, positions: int) -> NDArray[np.float32]:
    """The weights in the content of their file; arguments and errors as in `read_weights`."""
    stream = io.BytesIO(data)
    try:
        version = npy.read_magic(stream)
        header = npy.read_array_header_1_0(stream) if version == (1, 0) else npy.read_array_header_2_0(stream)
    except ValueError as error:
        raise DataFileError(f"{path}: not an array of NumPy: {error}") from error
    shape, _, dtype = header
    if dtype != np.dtype("<f4"):
        raise DataFileError(f"{path}: not an array of float32, but of {dtype}")
    if (size := len(data) - stream.tell()) != 4 * math.prod(shape):
        raise DataFileError(f"{path}: {counted(size, 'byte')} for weights of shape {shape}; the file is damaged")
    weights = np.frombuffer(data, "<f4", offset=stream.tell()).reshape(shape)
    require_weights(path, weights, positions)
    return weights


def require_weights(path: Path, weights: NDArray[np.float32], positions: int) -> None:
    """Raise DataFileError unless there is a weight for each position, and none is negative or not finite."""
    if weights.shape != (positions,):
        raise DataFileError(
            f"{path}: weights of shape {weights.shape} for {counted(positions, 'position')} with targets"
        )
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise DataFileError(f"{path}: weight {wrong[0]} is {weights[wrong[0]]}, which is negative or not a number")
