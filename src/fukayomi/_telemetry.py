"""Libraries that report to their makers do not do so from here: what is analysed or trained is nobody else's business.

Besides, OpenVINO reports from a fork of the process, which may crash where other threads run.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

VARIABLES = {
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime from 1.31 on also writes a number of the device to ~/.cache/Microsoft
    "RAY_USAGE_STATS_ENABLED": "0",
}
"""Variables of the environment that keep libraries silent, also in programs that this one starts."""


def keep_silent() -> None:
    """Set the variables, but for those that the user has set."""
    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)


@contextmanager
def without_openvino_telemetry() -> Generator[None]:
    """While OpenVINO is imported: it takes its telemetry as not installed."""
    name = "openvino_telemetry"
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # pyright: ignore[reportArgumentType]  # an import of it fails
    try:
        yield
    finally:
        del sys.modules[name]
