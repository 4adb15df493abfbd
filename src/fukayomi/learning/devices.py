"""The device to compute on, and its precision."""

from typing import Any

import torch

from fukayomi.learning.settings import AmpMode


class DeviceError(ValueError):
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


def choose_amp(mode: AmpMode, device: torch.device) -> bool:
    """Whether to compute in bfloat16; "auto" does if the device has instructions for it."""
    if mode != "auto":
        return mode == "bf16"
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    # Only newer versions of torch have it; without it "auto" means float32.
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
