"""Devices that have an OpenCL driver, the best first."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pyopencl as cl

from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters, Registers, Tiled

KINDS = ((cl.device_type.GPU, "GPU", 1_000_000), (cl.device_type.ACCELERATOR, "accelerator", 500_000))
"""Types of devices with their scores; all others are CPUs."""
VENDORS = (
    (re.compile(r"nvidia|advanced micro devices|\bamd\b|apple", re.IGNORECASE), 10_000_000),
    (re.compile(r"intel", re.IGNORECASE), 5_000_000),
)
"""Makers of GPUs with what their cards are worth more than those of others."""
AVX512_LANES = 16


@dataclass(frozen=True, slots=True)
class OpenClDevice:
    """A device with an OpenCL driver."""

    number: int
    """Number among all devices, from 0, the best first: that of DNN_GPU."""
    name: str
    vendor: str
    version: str
    """Version of OpenCL and of the driver."""
    kind: str
    """ "GPU", "accelerator" or "CPU"."""
    score: int
    """How good it is, to choose one: by kind, vendor and version of OpenCL."""
    extensions: str
    """What it has besides OpenCL's core, separated by spaces."""
    platform: int
    """Number of its platform."""
    handle: Any = field(repr=False, compare=False)
    """pyopencl's device."""

    @property
    def is_gpu(self) -> bool:
        """False for a CPU."""
        return self.kind != "CPU"

    def __str__(self) -> str:
        return f"{self.name} ({self.vendor}) (score {self.score})"


@dataclass(frozen=True, slots=True)
class Platform:
    """An OpenCL driver with its devices."""

    number: int
    name: str
    vendor: str
    version: str
    devices: Sequence[OpenClDevice]


@cache
def platforms() -> tuple[Platform, ...]:
    """All platforms with their devices; none where no driver is installed."""
    try:
        handles = cl.get_platforms()
    except cl.Error:  # the loader's answer where there is no driver
        return ()
    devices: list[OpenClDevice] = []
    for number, platform in enumerate(handles):
        with suppress(cl.Error):  # a driver without its card
            devices += [_device(handle, number) for handle in platform.get_devices()]
    ranked = sorted(devices, key=lambda device: -device.score)
    numbered = [replace(device, number=number) for number, device in enumerate(ranked)]
    return tuple(
        Platform(
            number,
            handle.name.strip(),
            handle.vendor.strip(),
            handle.version.strip(),
            tuple(device for device in numbered if device.platform == number),
        )
        for number, handle in enumerate(handles)
    )


def ranked() -> tuple[OpenClDevice, ...]:
    """All devices, the one with the highest score first; of equal ones the first found."""
    devices = [device for platform in platforms() for device in platform.devices]
    return tuple(sorted(devices, key=lambda device: device.number))


def describe() -> list[str]:
    """Lines about all platforms and devices, as the tuner prints them."""
    lines: list[str] = []
    for platform in platforms():
        lines += [
            f"Found OpenCL Platform {platform.number}: {platform.name} ({platform.vendor}) ({platform.version})",
            f"Found {len(platform.devices)} device(s) on platform {platform.number} "
            "with type CPU or GPU or Accelerator",
        ]
    return [*lines, *(f"Found OpenCL Device {device.number}: {device}" for device in ranked())]


def starting_parameters(device: OpenClDevice) -> Parameters:
    """Parameters with which a device begins that was never tuned."""
    if device.is_gpu:
        return Parameters(
            lanes=4, tiles=1, transform=(8, 1, 4), untransform=(8, 1, 4), convolutions=Tiled(), direct=Tiled()
        )
    lanes = min(16, max(4, int(device.handle.native_vector_width_float)))
    block = Registers(8, 3) if lanes == AVX512_LANES else Registers(4, 3)  # 32 or 16 registers
    return Parameters(lanes=lanes, convolutions=block, direct=block)


def _device(handle: Any, platform: int) -> OpenClDevice:
    kind, score = next(
        ((name, score) for flag, name, score in KINDS if handle.type & flag),
        ("CPU", 0),
    )
    vendor = handle.vendor.strip()
    if kind == "GPU":
        score += next((points for pattern, points in VENDORS if pattern.search(vendor)), 0)
    version = re.search(r"(\d+)\.(\d+)", handle.version)
    if version is not None:
        score += 100 * int(version[1]) + int(version[2])
    return OpenClDevice(
        0,
        handle.name.strip(),
        vendor,
        f"{handle.version.strip()}, driver {handle.driver_version.strip()}",
        kind,
        score,
        handle.extensions,
        platform,
        handle,
    )
