"""KataGo's file of tuned parameters, version 8, as dlshogi's author made one for shogi.

A line ``VERSION=8``, then for each section a line with ``#`` and its name, and one with its values. Sections of
KataGo's that shogi does not need, ``#conv5x5`` and ``#gPool``, are read and ignored. The file holds tiles: blocks in
registers, which CPUs need, have no place in it.
"""

import re
from pathlib import Path
from typing import NoReturn

from fukayomi.engine.evaluators.backends.opencl.parameters import Tiled, Wmma
from fukayomi.engine.evaluators.backends.opencl.tuning.configurations import (
    GEMM_NAMES,
    TRANSFORM_NAMES,
    UNTRANSFORM_NAMES,
    WMMA_NAMES,
    Configuration,
    Limits,
    direct_configuration,
    direct_tile,
    gemm_configuration,
    is_group,
    is_valid_tiled,
    is_valid_wmma,
    transform_configuration,
    transform_group,
    untransform_configuration,
    untransform_group,
)
from fukayomi.engine.evaluators.backends.opencl.tuning.tuned import Tuned
from fukayomi.errors import InvalidValueError
from fukayomi.files.atomic import replace_file
from fukayomi.files.inputs import InputFileError, read_input

VERSION = 8
LARGEST_FILE = 1 << 14
LARGEST_VALUE = 1024
FLAGS = ("shouldUseFP16Storage", "shouldUseFP16Compute", "shouldUseFP16TensorCores")
TILE_NAMES = ("INTILE_XSIZE", "INTILE_YSIZE", "OUTTILE_XSIZE", "OUTTILE_YSIZE")
DIRECT_NAMES = tuple(direct_configuration(Tiled()))
NAMES = {
    "xGemmDirect": DIRECT_NAMES,
    "xGemm": GEMM_NAMES,
    "xGemm16": GEMM_NAMES,
    "hGemmWmma": WMMA_NAMES,
    "conv3x3": (*TILE_NAMES, *TRANSFORM_NAMES, *UNTRANSFORM_NAMES),
}
"""Parameters of each section, in their order."""
IGNORED = ("conv5x5", "gPool")
LARGEST = Limits(group=4096, sides=(4096, 4096, 4096), local=1 << 20)
"""No device of today can do more."""
REMEDY = "make a new one with: fukayomi tune-opencl --output FILE"


def write_parameters(tuned: Tuned, path: Path) -> None:
    """Write the file, completely or not at all.

    Raises:
        OSError: It cannot be written.
    """
    replace_file(path, parameter_text(tuned).encode())


def parameter_text(tuned: Tuned) -> str:
    """The content of the file."""
    inner = tuned.output + 2
    convolution = dict(zip(TILE_NAMES, (inner, inner, tuned.output, tuned.output), strict=True))
    flags = (tuned.fp16_storage, tuned.fp16_compute, tuned.fp16_tensor_cores)
    lines = [f"VERSION={VERSION}"]
    for name, flag in zip(FLAGS, flags, strict=True):
        lines += [f"#{name}", str(int(flag))]
    for name, values in (
        ("xGemmDirect", direct_configuration(tuned.x_gemm_direct)),
        ("xGemm", gemm_configuration(tuned.x_gemm)),
        ("xGemm16", gemm_configuration(tuned.x_gemm16)),
        ("hGemmWmma", tuned.wmma.defines()),
        (
            "conv3x3",
            convolution | transform_configuration(tuned.transform) | untransform_configuration(tuned.untransform),
        ),
    ):
        lines += [f"#{name}", " ".join(f"{key}={value}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def read_parameters(path: Path | str) -> Tuned:
    """The parameters in a file.

    Raises:
        InputFileError: The file cannot be read.
        InvalidValueError: It is no such file, or values are out of range; with the line and the remedy.
    """
    data = read_input(path, LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise InputFileError(path, f"larger than {LARGEST_FILE:,} bytes: no file of parameters; {REMEDY}")
    try:
        return _Reader(str(path), data.decode("ascii")).read()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InvalidValueError(f"{path}, line {line}: not text: no file of parameters; {REMEDY}") from error


class _Reader:
    """Reads the text of a file.

    Args:
        path: The file, for messages.
        text: Its content.
    """

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()
        self._sections: dict[str, tuple[int, str]] = {}

    def read(self) -> Tuned:
        version = self._lines[0].strip() if self._lines else ""
        if version != f"VERSION={VERSION}":
            if re.fullmatch(r"VERSION=\d{1,9}", version):
                self._refuse(1, f"version {version[8:]} of the file; this program reads version {VERSION}")
            self._refuse(1, f"does not begin with VERSION={VERSION}")
        self._divide()
        storage, compute, tensor_cores = (self._flag(name) for name in FLAGS)
        direct, gemm, gemm16 = (
            self._tile("xGemmDirect"),
            self._tile("xGemm"),
            self._tile("xGemm16"),
        )
        convolution = self._values("conv3x3")
        return Tuned(
            x_gemm_direct=direct,
            x_gemm=gemm,
            x_gemm16=gemm16,
            wmma=self._wmma(),
            transform=transform_group(convolution),
            untransform=untransform_group(convolution),
            output=self._output(convolution),
            fp16_storage=storage,
            fp16_compute=compute,
            fp16_tensor_cores=tensor_cores,
        )

    def _divide(self) -> None:
        """Find the sections."""
        known = {*FLAGS, *NAMES, *IGNORED}
        lines = [(number, line.strip()) for number, line in enumerate(self._lines[1:], 2) if line.strip()]
        place = 0
        while place < len(lines):
            number, line = lines[place]
            name = line[1:]
            if not line.startswith("#") or name not in known:
                self._refuse(number, f"{line[:40]!r} is no section of version {VERSION}")
            if name in self._sections:
                self._refuse(number, f"#{name} is there twice")
            if place + 1 == len(lines) or lines[place + 1][1].startswith("#"):
                self._refuse(number, f"#{name} has no values")
            self._sections[name] = lines[place + 1]
            place += 2
        if missing := [name for name in (*FLAGS, *NAMES) if name not in self._sections]:
            self._refuse(len(self._lines), f"#{missing[0]} is missing")

    def _flag(self, name: str) -> bool:
        number, text = self._sections[name]
        if text not in ("0", "1"):
            self._refuse(number, f"#{name} must be 0 or 1, not {text[:40]!r}")
        return text == "1"

    def _values(self, section: str) -> Configuration:
        number, text = self._sections[section]
        found: Configuration = {}
        for word in text.split():
            match = re.fullmatch(r"(\w{1,20})=(\d{1,4})", word)
            if not match or match[1] not in NAMES[section] or match[1] in found:
                self._refuse(number, f"{word[:40]!r} is no parameter of #{section}, or there twice")
            found[match[1]] = int(match[2])
            if found[match[1]] > LARGEST_VALUE:
                self._refuse(number, f"{word} is more than {LARGEST_VALUE}")
        if missing := [name for name in NAMES[section] if name not in found]:
            self._refuse(number, f"{missing[0]} of #{section} is missing")
        return {name: found[name] for name in NAMES[section]}

    def _tile(self, section: str) -> Tiled:
        values = self._values(section)
        tile = direct_tile(values) if section == "xGemmDirect" else Tiled(**values)
        if max(tile.PADA, tile.PADB) > 8 or not is_valid_tiled(tile, LARGEST):
            self._refuse(self._sections[section][0], f"values of #{section} do not fit together")
        return tile

    def _wmma(self) -> Wmma:
        wmma = Wmma(**self._values("hGemmWmma"))
        if not is_valid_wmma(wmma, LARGEST):
            self._refuse(self._sections["hGemmWmma"][0], "values of #hGemmWmma do not fit together")
        return wmma

    def _output(self, values: Configuration) -> int:
        """The size of Winograd's tiles."""
        number = self._sections["conv3x3"][0]
        sizes = tuple(values[name] for name in TILE_NAMES)
        for output in (3, 4):
            if sizes == (output + 2, output + 2, output, output):
                if not is_group(transform_group(values), LARGEST) or not is_group(untransform_group(values), LARGEST):
                    self._refuse(number, "work-groups of #conv3x3 are empty or too large")
                return output
        self._refuse(number, "tiles of #conv3x3 must have INTILE 5 and OUTTILE 3, or 6 and 4")

    def _refuse(self, line: int, reason: str) -> NoReturn:
        raise InvalidValueError(f"{self._path}, line {line}: {reason}; {REMEDY}")
