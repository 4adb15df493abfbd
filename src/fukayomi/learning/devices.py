"""Where to compute, and in what precision."""

from typing import Any, Literal

import torch

AmpMode = Literal["auto", "bf16", "off"]


class DeviceError(ValueError):
    """A device that does not exist, or cannot do what is asked."""


def choose_device(name: str) -> torch.device:
    """The device of that name ("cpu", "cuda", "cuda:1"); "auto" is CUDA if there is one, else the CPU.

    Raises:
        DeviceError: no such device here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise DeviceError(f"{name!r} is no device: use auto, cpu, cuda or cuda:N") from error
    if device.type not in ("cpu", "cuda"):
        raise DeviceError(f"{name!r} is not supported: use auto, cpu, cuda or cuda:N")
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if not torch.cuda.is_available() or (device.index or 0) >= count:
            raise DeviceError(f"there is no device {name!r} here: {count} CUDA devices were found")
    return device


def choose_amp(mode: AmpMode, device: torch.device) -> bool:
    """Whether to compute in bfloat16: as said, or, with "auto", if the device has instructions for it."""
    if mode != "auto":
        return mode == "bf16"
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    # Newer torch only; without it "auto" means float32.
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
