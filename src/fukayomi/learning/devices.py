"""The device to compute on, its precision, and the number of CPU threads."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch

from fukayomi.errors import InvalidValueError
from fukayomi.learning.settings import AmpMode


class DeviceError(InvalidValueError):
    """There is no such device."""

    __module__ = "fukayomi.learning"


def choose_device(name: str | torch.device) -> torch.device:
    """The device with this name ("cpu", "cuda", "cuda:1"); "auto" is CUDA if there is one, else the CPU.

    Raises:
        DeviceError: There is no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise DeviceError(f"{str(name)!r} is not a device: use auto, cpu, cuda or cuda:N") from error
    if device.type not in ("cpu", "cuda"):
        raise DeviceError(f"{str(name)!r} is not supported: use auto, cpu, cuda or cuda:N")
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if not torch.cuda.is_available() or (device.index or 0) >= count:
            raise DeviceError(f"there is no device {str(name)!r}: {count} CUDA devices found")
    return device


def choose_precision(mode: AmpMode, device: torch.device) -> str:
    """ "bf16", "fp16" or "off" (float32); "auto" is bfloat16 if the device has instructions for it."""
    if mode != "auto":
        return mode
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "off"
    # Only newer versions of torch have it; without it "auto" means float32.
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return "bf16" if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else "off"


TRIALS = 3
"""Timed steps per number of threads."""
WORTH = 0.9
"""A larger number of threads must need less than this share of the time of a smaller one."""


def measure_threads(step: Callable[[], object], most: int) -> dict[int, float]:
    """Seconds of a step with one thread, half of the threads, and all of them.

    On a busy machine threads wait for each other, and all of them can be ten times slower than one. A number that is
    twice as slow as the best so far is timed once only.

    Args:
        step: What is timed; called once before each measurement.
        most: Number of all threads.
    """
    seconds: dict[int, float] = {}
    for count in sorted({1, max(1, most // 2), most}):
        with use_threads(count):
            step()
            times: list[float] = []
            while len(times) < TRIALS and (not times or times[0] < 2 * min(seconds.values(), default=float("inf"))):
                begin = time.perf_counter()
                step()
                times.append(time.perf_counter() - begin)
        seconds[count] = min(times)
    return seconds


def fastest_threads(seconds: dict[int, float]) -> int:
    """The number of threads to use; more threads only if they are clearly faster."""
    best = min(seconds)
    for count in sorted(seconds):
        if seconds[count] < WORTH * seconds[best]:
            best = count
    return best


@contextmanager
def use_threads(count: int | None) -> Generator[None]:
    """Let torch compute with a number of CPU threads; None leaves it as it is."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
