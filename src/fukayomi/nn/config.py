"""The shape of a network, and the sizes of its inputs and outputs."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, cast, get_args

Activation = Literal["relu", "silu"]

FEATURES1 = 62
"""Planes that differ from square to square: pieces, attacks, attack counts of both sides."""
FEATURES2 = 57
"""Constant planes: the hands of both sides, and check."""
LABELS = 2187
"""Policy labels: 27 directions times 81 target squares."""
LARGEST = {"blocks": 1000, "channels": 4096, "value_hidden": 65_536}
MAX_PARAMETERS = 500_000_000
"""An ONNX file has at most 2 GiB."""


class NetworkConfigError(ValueError):
    """A network configuration is not valid."""

    __module__ = "fukayomi.nn"


@dataclass(frozen=True)
class NetworkConfig:
    """The shape of a `PolicyValueNetwork`.

    >>> NetworkConfig(blocks=15, channels=224)
    NetworkConfig(blocks=15, channels=224, activation='silu', value_hidden=256)
    """

    blocks: int = 10
    """Residual blocks in the trunk."""
    channels: int = 192
    """Channels of the trunk."""
    activation: Activation = "silu"
    """"relu", which is faster on a CPU, where it is fused into the convolution, or "silu"."""
    value_hidden: int = 256
    """Width of the hidden layer in the value head."""

    def __post_init__(self) -> None:
        for name, largest in LARGEST.items():
            number = getattr(self, name)
            if not isinstance(number, int) or not 1 <= number <= largest:
                raise NetworkConfigError(f"{name} must be an integer from 1 to {largest}, not {number!r}")
        if self.activation not in get_args(Activation):
            raise NetworkConfigError(f"activation must be one of {get_args(Activation)}, not {self.activation!r}")
        if (count := self.parameters()) > MAX_PARAMETERS:
            raise NetworkConfigError(f"{self} has {count:,} parameters; at most {MAX_PARAMETERS:,} are allowed")

    def parameters(self) -> int:
        """Number of parameters of the convolutions and the value's hidden layer, which are nearly all.

        >>> NetworkConfig(blocks=15, channels=224).parameters()
        14271136
        """
        stem = (10 * FEATURES1 + FEATURES2) * self.channels
        trunk = self.blocks * 2 * 9 * self.channels**2
        heads = 2 * 27 * self.channels + LABELS * self.value_hidden
        return stem + trunk + heads

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain values, for parameter files."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: object) -> "NetworkConfig":
        """The inverse of `as_dict`; raises NetworkConfigError for what is no dictionary of these fields."""
        names = {field.name for field in fields(cls)}
        given: dict[Any, Any] = dict(cast("dict[Any, Any]", values)) if isinstance(values, dict) else {}
        if set(given) != names:
            raise NetworkConfigError(
                f"a network configuration has the fields {sorted(names)}, not {sorted(map(str, given))}"
            )
        return cls(**given)
