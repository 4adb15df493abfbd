"""What can be known of the installed torch and of GPUs without importing torch, which takes seconds."""

import ctypes.util
import re
import sys
from functools import cache
from importlib import util
from pathlib import Path

_BUILT_FOR = re.compile(r"^(cuda|hip)\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)
"""A line of torch/version.py; in builds for CPUs both are None."""
_NAMES = {"cuda": "CUDA", "hip": "ROCm"}
_DEVICE_FILES = (
    "/dev/nvidiactl",
    "/dev/nvhost-gpu",  # Jetson
    "/dev/nvgpu",  # Jetson, newer
    "/dev/dxg",  # Windows' Linux
    "/dev/kfd",  # AMD
)
_DRIVERS = ("nvcuda", "amdhip64", "amdhip64_6", "amdhip64_7")
"""Libraries that come with drivers on Windows."""


@cache
def gpu_build() -> str:
    """What the installed torch is built for: "CUDA 13.0" or "ROCm 7.1.2"; "" where it has no code for GPUs."""
    spec = util.find_spec("torch")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    for folder in folders:
        try:
            found = _BUILT_FOR.search((Path(folder) / "version.py").read_text("utf-8"))
        except OSError:
            continue
        if found is not None:
            return f"{_NAMES[found[1]]} {found[2]}"
    return ""


def has_gpu_driver() -> bool:
    """True if the driver of a GPU is there. Elsewhere torch need not be imported to find that there is none."""
    if sys.platform == "win32":
        return any(map(ctypes.util.find_library, _DRIVERS))
    return any(Path(file).exists() for file in _DEVICE_FILES)
