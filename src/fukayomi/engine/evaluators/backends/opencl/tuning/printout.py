"""The tuner's printout, in KataGo's words."""

from collections.abc import Callable

from fukayomi.engine.evaluators.backends.opencl.tuning.configurations import Configuration
from fukayomi.engine.evaluators.backends.opencl.tuning.listener import Tried, TuningListener

LINE = "-" * 54
EVERY = 20
"""A line tells that the tuner is at work at every so many configurations..."""
SINCE_BETTER = 10
"""...if the last better one is so many before."""


class TuningPrinter(TuningListener):
    """Prints what the tuner does.

    Args:
        write: Takes each line.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._better = 0

    def note(self, text: str) -> None:
        self._write(text)

    def began(self, device: str, channels: int) -> None:
        self._write(f"Beginning GPU tuning for {device} channels {channels}")

    def layout(self, output: int, lanes: int, tiles: int) -> None:
        self._write(f"Setting winograd3x3TileSize = {output}")
        self._write(f"Setting lanes = {lanes}, tiles = {tiles}")

    def section(self, title: str, count: int) -> None:
        self._write(LINE)
        self._write(f"Tuning {title}")
        self._write(f"Testing {count} different configs")
        self._better = 0

    def tried(self, tried: Tried) -> None:
        place = f"Tuning {tried.number}/{tried.count}"
        if tried.is_better:
            self._better = tried.number
            reference = " (reference)" if tried.number == 0 else ""
            speed = f"Calls/sec {tried.calls_per_s:.6g} L2Error {tried.error:.6g}"
            self._write(f"{place}{reference} {speed} {described(tried.configuration)}")
        elif tried.number % EVERY == 0 and tried.number >= self._better + SINCE_BETTER:
            self._write(f"{place} ...")

    def cut(self, number: int, count: int) -> None:
        self._write(f"Tuning {number}/{count} stopped: the time of this section is over")

    def decided(self, text: str) -> None:
        self._write(text)

    def uses(self, *, storage: bool, compute: bool, tensor_cores: bool) -> None:
        self._write(LINE)
        self._write(f"Using FP{16 if storage else 32} storage!")
        self._write(f"Using FP{16 if compute else 32} compute!")
        if tensor_cores:
            self._write("Using FP16 tensor cores!")

    def ended(self) -> None:
        self._write("Done tuning")
        self._write(LINE)


def described(configuration: Configuration) -> str:
    """A configuration in the words of the printout. Those of the transforms begin with a space there."""
    text = " ".join(f"{name}={value}" for name, value in configuration.items())
    return f" {text}" if "ransLocalSize" in text else text
