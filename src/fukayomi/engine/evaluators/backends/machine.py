"""Hardware of this computer for networks: CPUs that may be used, their instructions, GPUs.

GPUs are found without their libraries, which may not be installed: NVIDIA's by the driver's program, others by what the
system knows of them. A GPU that is found so is there; whether a library can use it, the library says.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

# Instructions that decide how fast a network is, by the kernel's names for them.
_FEATURES = {
    "AVX2": ("avx2",),
    "AVX-512": ("avx512f",),
    "VNNI": ("avx512_vnni", "avx_vnni"),
    "BF16": ("avx512_bf16", "amx_bf16"),
    "AMX": ("amx_int8",),
}
_PROGRAM_S = 10.0
"""Programs that take longer to answer are given up."""
_SYSTEMS = {"Darwin": "macOS"}
_VENDORS = {"10de": "NVIDIA", "1002": "AMD", "8086": "Intel", "5143": "Qualcomm", "qcom": "Qualcomm"}
"""By the number in PCI's list, or the name in ACPI's."""
_NUMBERS = ("vendor", "device")
_CARDS, _NODES, _WSL_DEVICE = Path("/sys/class/drm"), Path("/dev/dri"), Path("/dev/dxg")
_PCI_NAMES = (Path("/usr/share/misc/pci.ids"), Path("/usr/share/hwdata/pci.ids"))
_DISPLAY_CLASS = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
"""The drivers of display adapters in Windows' registry."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU, as far as the system knows it."""

    vendor: str
    """NVIDIA, AMD, Intel, Qualcomm or Apple; "" under WSL, where Windows alone knows."""
    name: str


@dataclass(frozen=True, slots=True)
class Machine:
    """A computer, as far as the speed of networks depends on it."""

    cpu: str
    """Name of the CPU; "" where the system does not say."""
    cpus: int
    """CPUs that this process may use."""
    features: tuple[str, ...]
    """Those of AVX2, AVX-512, VNNI, BF16 and AMX that the CPU has."""
    gpus: tuple[str, ...]
    """Names of the GPUs."""

    @property
    def cpu_class(self) -> str:
        """The instructions as text, for example "AVX2, AVX-512, VNNI"."""
        return ", ".join(self.features) or "no AVX2, or not known"


def this_machine() -> Machine:
    """The computer at hand. Takes some milliseconds, with a GPU a tenth of a second."""
    return Machine(_cpu_field("model name") or platform.processor(), usable_cpus(), cpu_features(), gpu_names())


def usable_cpus() -> int:
    """CPUs that this process may use, which in a container may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def cpu_features() -> tuple[str, ...]:
    """Those of the CPU's instructions that matter here. Known on Linux alone; elsewhere there are none."""
    flags = set(_cpu_field("flags").split())
    return tuple(name for name, signs in _FEATURES.items() if flags.intersection(signs))


def system() -> str:
    """The operating system: "Linux", "Windows" or "macOS"."""
    return _SYSTEMS.get(platform.system(), platform.system())


def gpu_names() -> tuple[str, ...]:
    """Names of the GPUs."""
    return tuple(gpu.name for gpu in gpus())


@cache
def gpus() -> tuple[Gpu, ...]:
    """The GPUs, those of NVIDIA first; without a driver of NVIDIA's, its GPUs as the system knows them."""
    nvidia = tuple(Gpu("NVIDIA", name) for name in nvidia_driver_gpus())
    find = {"Linux": _linux_gpus, "Windows": _windows_gpus, "macOS": _mac_gpus}.get(system())
    found = () if find is None else find()
    others = [gpu for gpu in found if not nvidia or gpu.vendor not in ("NVIDIA", "")]
    return (*nvidia, *sorted(others, key=lambda gpu: gpu.vendor != "NVIDIA"))


@cache
def nvidia_driver_gpus() -> tuple[str, ...]:
    """Names of NVIDIA's GPUs, as the driver's program nvidia-smi gives them; none where no driver is installed."""
    lines = _output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def _output(program: str, *arguments: str) -> str:
    """What a program prints; "" if it is not there, fails or hangs."""
    path = shutil.which(program)
    if path is None:
        return ""
    try:
        done = subprocess.run(
            [path, *arguments],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_PROGRAM_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _linux_gpus() -> tuple[Gpu, ...]:
    """Cards of the known vendors, where a process may have them: a container shows cards of which it has no device."""
    if _WSL_DEVICE.exists():
        return (Gpu("", "a GPU of Windows, under WSL"),)
    if not _NODES.is_dir():
        return ()
    found: list[Gpu] = []
    for card in sorted(_CARDS.glob("card*")):
        if re.fullmatch(r"card\d+", card.name):  # the others are its sockets
            with suppress(OSError):
                vendor, device = ((card / "device" / name).read_text("ascii", "replace")[2:6] for name in _NUMBERS)
                if vendor in _VENDORS:
                    found.append(Gpu(_VENDORS[vendor], _pci_name(vendor, device)))
    return tuple(found)


def _pci_name(vendor: str, device: str) -> str:
    """The name in PCI's list, where it is installed: a vendor's number begins a line, its devices follow by tabs."""
    for path in _PCI_NAMES:
        with suppress(OSError):
            section = path.read_text("utf-8", "replace").partition(f"\n{vendor} ")[2]
            for line in section.splitlines()[1:]:
                if not line.startswith(("\t", "#")):
                    break
                if line.startswith(f"\t{device} "):
                    return f"{_VENDORS[vendor]} {line[6:].strip()}"
    return f"{_VENDORS[vendor]} GPU {vendor}:{device}"


def _windows_gpus() -> tuple[Gpu, ...]:
    """The display adapters of Windows' registry: those of the known vendors, each name once."""
    found: dict[str, Gpu] = {}
    with suppress(OSError):
        for identity, name in _adapters(cast("Any", import_module("winreg"))):
            number = re.search(r"VEN_(\w{4})|ACPI\\+(QCOM)", identity, re.IGNORECASE)
            vendor = "" if number is None else _VENDORS.get((number[1] or number[2]).lower(), "")
            if vendor:
                found.setdefault(name, Gpu(vendor, name))
    return tuple(found.values())


def _adapters(winreg: Any) -> Iterator[tuple[str, str]]:
    """Identity and name of each display adapter that has a driver."""
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, _DISPLAY_CLASS) as drivers:
        for index in range(winreg.QueryInfoKey(drivers)[0]):
            with suppress(OSError), winreg.OpenKey(drivers, winreg.EnumKey(drivers, index)) as driver:
                identity, name = (winreg.QueryValueEx(driver, field)[0] for field in ("MatchingDeviceId", "DriverDesc"))
                yield str(identity), str(name)


def _mac_gpus() -> tuple[Gpu, ...]:
    """The GPU in Apple's own processors."""
    if platform.machine() != "arm64":
        return ()
    return (Gpu("Apple", _output("sysctl", "-n", "machdep.cpu.brand_string").strip() or "Apple GPU"),)


@cache
def _cpu_field(name: str) -> str:
    """The first line of this name in Linux's list of CPUs; "" elsewhere."""
    if sys.platform != "linux":
        return ""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return ""
    lines = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for field, _, value in lines if field.strip() == name), "")
