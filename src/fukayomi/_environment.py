"""Configuration of the libraries that we use by environment variables, before they are loaded.

- They do not report to their makers: what is analysed or trained is nobody else's business. Besides, OpenVINO reports
  from a fork of the process, which may crash where other threads run.
- torch's threads wait for each other for a moment only before they sleep. By default they spin for milliseconds, and
  where other programs use the cores too, two threads then take several times as long as one.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

VARIABLES = {
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime from 1.31 on also writes a number of the device to ~/.cache/Microsoft
    "RAY_USAGE_STATS_ENABLED": "0",
    "GOMP_SPINCOUNT": "1000",  # of libgomp, which torch has on Linux; without it 300,000
}
"""Also for programs that this one starts."""


def prepare_environment() -> None:
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
