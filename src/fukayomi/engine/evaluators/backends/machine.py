"""Hardware of this computer for networks: CPUs that may be used, their instructions, GPUs."""

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Instructions that decide how fast a network is, by the kernel's names for them.
_FEATURES = {
    "AVX2": ("avx2",),
    "AVX-512": ("avx512f",),
    "VNNI": ("avx512_vnni", "avx_vnni"),
    "BF16": ("avx512_bf16", "amx_bf16"),
    "AMX": ("amx_int8",),
}
_NVIDIA_SMI_S = 10.0


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
    """Names of NVIDIA's GPUs."""

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


@cache
def gpu_names() -> tuple[str, ...]:
    """Names of NVIDIA's GPUs, as the driver's program nvidia-smi gives them."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        done = subprocess.run(
            [program, "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_NVIDIA_SMI_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in done.stdout.splitlines() if line.strip())


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
