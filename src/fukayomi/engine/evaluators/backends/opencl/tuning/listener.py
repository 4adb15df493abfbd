"""What the tuner tells while it works."""

from dataclasses import dataclass

from fukayomi.engine.evaluators.backends.opencl.tuning.configurations import Configuration
from fukayomi.listener import Listener


@dataclass(frozen=True, slots=True)
class Tried:
    """A configuration that was tried."""

    number: int
    """0 is the reference."""
    count: int
    """Configurations of the section."""
    configuration: Configuration
    calls_per_s: float
    """0: it could not be run, or was stopped for being slow."""
    error: float
    """Relative to float64."""
    is_better: bool
    """True if none before was as good."""


class TuningListener(Listener):
    """Hears of everything that the tuner does; ``progress`` counts the configurations of a section."""

    def began(self, device: str, channels: int) -> None:
        """The tuning begins.

        Args:
            device: Name of the device.
            channels: The network's.
        """

    def layout(self, output: int, lanes: int, tiles: int) -> None:
        """How maps lie in memory is decided, and the size of Winograd's tiles."""

    def section(self, title: str, count: int) -> None:
        """A section begins.

        Args:
            title: What it is for: "xGemm for convolutions".
            count: Configurations.
        """

    def tried(self, tried: Tried) -> None:
        """A configuration was tried."""

    def cut(self, number: int, count: int) -> None:
        """The time of a section is over before configuration ``number`` of ``count``."""

    def decided(self, text: str) -> None:
        """Something was decided by the speeds that were measured."""

    def uses(self, *, storage: bool, compute: bool, tensor_cores: bool) -> None:
        """What is done in half floats is decided."""

    def ended(self) -> None:
        """The tuning is done."""
