"""The libraries that ONNX Runtime needs on a GPU: CUDA, cuDNN and TensorRT, MIGraphX, plug-ins.

ONNX Runtime lists CUDA and TensorRT also where their libraries are missing; a session then falls back to the CPU. It
does not find those that pip installed, unless the process has loaded them before. Newer versions start CUDA without
cuDNN, and say so themselves when a network needs it.
"""

import contextlib
import ctypes
import io
import re
from functools import cache
from importlib import import_module, util
from pathlib import Path
from typing import Any, cast

from fukayomi.engine.evaluators.library_calls import load_library
from fukayomi.errors import by_pip

_MISSING = re.compile(r"(lib[^/:]+): cannot open shared object file")
"""Message of Linux's loader about a library that it does not find."""


@cache
def library_problem(provider: str) -> str | None:
    """Load the libraries that one of ONNX Runtime's providers needs.

    Args:
        provider: The word in the name of its library, "cuda", "tensorrt" or "migraphx".

    Returns:
        The library that cannot be loaded, with the remedy. None: nothing is missing, or it is not known, as on Windows.
    """
    load_library("onnxruntime")
    ort = cast("Any", import_module("onnxruntime"))  # first: the libraries below crash without what it prepares
    _load_installed(ort, provider)
    folder = Path(ort.__file__).parent / "capi"
    library = folder / f"libonnxruntime_providers_{provider}.so"
    if not library.is_file():
        return None
    try:
        ctypes.CDLL(str(folder / "libonnxruntime_providers_shared.so"), ctypes.RTLD_GLOBAL)
        ctypes.CDLL(str(library))
    except OSError as error:
        missing = _MISSING.match(str(error))
        if missing is None:
            return f"{library.name} cannot be loaded: {error}"
        return f"the library {missing[1]} is not installed: {_remedy(missing[1], ort)}"
    return None


def _load_installed(ort: Any, provider: str) -> None:
    """Load CUDA, cuDNN and TensorRT as pip installs them; silent where there are none."""
    if hasattr(ort, "preload_dlls"):  # since 1.21
        with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does not find
            ort.preload_dlls()
    if provider == "tensorrt" and util.find_spec("tensorrt_libs"):
        import_module("tensorrt_libs")  # it loads them


def _remedy(library: str, ort: Any) -> str:
    """Remedy for a missing library: "libnvinfer.so.10" comes with TensorRT 10."""
    name, _, version = library.partition(".so.")
    if name == "libcuda":
        return "it comes with NVIDIA's driver"
    if name.startswith(("libnvinfer", "libnvonnxparser")):
        cuda = str(getattr(ort, "cuda_version", None) or "12").partition(".")[0]
        return by_pip(f'install "tensorrt-cu{cuda}=={version.partition(".")[0]}.*"')
    if name.startswith(("libmigraphx", "libamdhip", "libhip", "libroc", "libhsa")):
        return "it comes with AMD's ROCm and its package migraphx"
    if name.startswith(("libcu", "libnv")):
        return by_pip('install "onnxruntime-gpu[cuda,cudnn]>=1.21"')
    return "install it by the system's package manager"


@cache
def find_plugin(module: str) -> Any:
    """Load a provider that is a plug-in of ONNX Runtime, and find its device.

    Args:
        module: The installed module that knows its library and its name.

    Returns:
        ONNX Runtime's object for the first device; text: the reason why there is none, with the remedy.
    """
    load_library("onnxruntime")
    ort, plugin = cast("Any", import_module("onnxruntime")), cast("Any", import_module(module))
    if not hasattr(ort, "register_execution_provider_library"):  # since 1.22
        return f"the installed ONNX Runtime {ort.__version__} takes no plug-ins: {by_pip('install -U onnxruntime')}"
    try:
        ort.register_execution_provider_library(module, plugin.get_library_path())
        found = [device for device in ort.get_ep_devices() if device.ep_name == plugin.get_ep_name()]
    except Exception as error:  # ONNX Runtime's errors have no common base
        return f"ONNX Runtime cannot load it: {error}"
    return found[0] if found else "it finds no GPU: install the driver of the GPU, on Linux with Vulkan (libvulkan1)"
