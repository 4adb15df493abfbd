"""Results of the tuner, kept for the backend.

A file holds one result with everything on which it depends: the device, its driver, the source of the kernels, the
network's shapes. A file that is damaged, or holds something else, counts as none.
"""

import contextlib
import hashlib
import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, cast

from fukayomi.engine.evaluators import EvaluatorError
from fukayomi.engine.evaluators.backends.backend import cache_folder
from fukayomi.engine.evaluators.backends.opencl.devices import OpenClDevice
from fukayomi.engine.evaluators.backends.opencl.layers import Layers
from fukayomi.engine.evaluators.backends.opencl.network import source
from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters, Registers, Tiled, Wmma
from fukayomi.engine.evaluators.backends.opencl.tuning.configurations import (
    Limits,
    is_group,
    is_valid_registers,
    is_valid_tiled,
    is_valid_wmma,
)
from fukayomi.engine.evaluators.backends.opencl.tuning.shapes import Shapes
from fukayomi.engine.evaluators.backends.opencl.tuning.trials import limits_of
from fukayomi.engine.evaluators.backends.opencl.tuning.tuned import Tuned
from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import read_input
from fukayomi.files.lock import FolderLock, LockedError

TUNER_VERSION = 1
"""A higher one where the tuner finds something else, so that the results of before are not taken."""
LARGEST_FILE = 1 << 16
KERNEL_FILES = ("common.cl", "gemm_registers.cl", "gemm_tiled.cl", "gemm_wmma.cl", "winograd.cl")


class TunedElsewhereError(EvaluatorError):
    """Another process tunes: two would measure each other."""


def load(device: OpenClDevice, layers: Layers, *, half: bool | None = None) -> Parameters | None:
    """The parameters of a network on a device, as they were tuned; None if they were not.

    Args:
        device: The device.
        layers: The network.
        half: Half floats, at least in memory; None: if they are faster.
    """
    tuned = recall(device, Shapes.of_layers(layers))
    return None if tuned is None else tuned.parameters(half=half)


def recall(device: OpenClDevice, shapes: Shapes) -> Tuned | None:
    """What was found before, or None."""
    key = _key(device, shapes)
    try:
        document: Any = json.loads(read_input(_path(key), LARGEST_FILE))
        tuned = _parse(document["tuned"])
        return tuned if document["key"] == key and can_run(tuned, device) else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError, RuntimeError):
        return None


def remember(device: OpenClDevice, shapes: Shapes, tuned: Tuned) -> Path | None:
    """Keep what was found; returns the file, or None where nothing can be written."""
    key = _key(device, shapes)
    with contextlib.suppress(OSError, RuntimeError):  # the latter where there is no home
        path = _path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps({"key": key, "tuned": asdict(tuned)}, indent=1).encode())
        return path
    return None


@contextmanager
def alone() -> Generator[None]:
    """Keep other processes of this user from tuning in the meantime, where the cache folder can be written.

    Raises:
        TunedElsewhereError: Another one is at it.
    """
    with contextlib.ExitStack() as stack:
        try:
            folder = cache_folder() / "opencl"
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FolderLock(folder))
        except LockedError as error:
            raise TunedElsewhereError("another process is tuning OpenCL: wait until it is done") from error
        except (OSError, RuntimeError):
            pass
        yield


def _key(device: OpenClDevice, shapes: Shapes) -> dict[str, Any]:
    """All that decides which parameters are best, as it comes back from JSON."""
    kernels = hashlib.sha256("".join(source(name) for name in KERNEL_FILES).encode()).hexdigest()
    key = {
        "tuner": TUNER_VERSION,
        "platform": device.handle.platform.version,
        "device": device.name,
        "driver": device.version,
        "kernels": kernels,
        "shapes": [[*(getattr(shape, field.name) for field in fields(shape)), count] for shape, count in shapes.counts],
    }
    return cast("dict[str, Any]", json.loads(json.dumps(key)))


def _path(key: dict[str, Any]) -> Path:
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:32]
    return cache_folder() / "opencl" / f"{name}.json"


def can_run(tuned: Tuned, device: OpenClDevice) -> bool:
    """True if a device can run kernels with these parameters."""
    limits = replace(limits_of(device.handle), sums=Limits().sums)  # a reference may be the best
    return (
        all(is_valid_tiled(tile, limits) for tile in (tuned.x_gemm_direct, tuned.x_gemm, tuned.x_gemm16))
        and all(block is None or is_valid_registers(block) for block in (tuned.registers, tuned.direct_registers))
        and all(len(group) == 3 and is_group(group, limits) for group in (tuned.transform, tuned.untransform))
        and (is_valid_wmma(tuned.wmma, limits) or not tuned.fp16_tensor_cores)
        and tuned.lanes in (1, 2, 4, 8, 16)
        and tuned.output in (3, 4)
        and tuned.tiles in (1, 9)
    )


def _parse(document: dict[str, Any]) -> Tuned:
    """The result in a document; raises ValueError, TypeError or KeyError if it is none."""
    found: dict[str, Any] = {
        name: kind(**_numbers(document[name])) if document[name] is not None else None
        for name, kind in (
            ("x_gemm_direct", Tiled),
            ("x_gemm", Tiled),
            ("x_gemm16", Tiled),
            ("wmma", Wmma),
            ("registers", Registers),
            ("direct_registers", Registers),
        )
    }
    if any(found[name] is None for name in ("x_gemm_direct", "x_gemm", "x_gemm16", "wmma")):
        raise InvalidValueError("a tile is missing")
    for name in ("transform", "untransform"):
        found[name] = tuple(_number(size) for size in document[name])
    for name in ("lanes", "output", "tiles"):
        found[name] = _number(document[name])
    for name in ("fp16_storage", "fp16_compute", "fp16_tensor_cores"):
        if not isinstance(document[name], bool):
            raise InvalidValueError("a flag is neither true nor false")
        found[name] = document[name]
    return Tuned(**found)


def _numbers(values: dict[str, Any]) -> dict[str, int]:
    return {name: _number(value) for name, value in values.items()}


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= 1 << 16:
        raise InvalidValueError("a number out of range")
    return value
