"""What a network is made of, in four numbers and words."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

Activation = Literal["relu", "silu"]

FEATURES1 = 62
"""Planes that differ from square to square: pieces, attacks, attack counts of both sides."""
FEATURES2 = 57
"""Constant planes: the hands of both sides, and check."""
LABELS = 2187
"""Policy labels: 27 directions times 81 target squares."""


class NetworkConfigError(ValueError):
    """A network configuration that cannot be built."""


@dataclass(frozen=True)
class NetworkConfig:
    """The shape of a `PolicyValueNetwork`.

    Attributes:
        blocks: Residual blocks in the trunk.
        channels: Channels of the trunk.
        activation: "relu" (fast on a CPU, where it is fused into the convolution) or "silu".
        value_hidden: Width of the value head's hidden layer.
    """

    blocks: int = 10
    channels: int = 192
    activation: Activation = "silu"
    value_hidden: int = 256

    def __post_init__(self) -> None:
        for name in ("blocks", "channels", "value_hidden"):
            number = getattr(self, name)
            if not isinstance(number, int) or number < 1:
                raise NetworkConfigError(f"{name} must be a whole number of at least 1, not {number!r}")
        if self.activation not in get_args(Activation):
            raise NetworkConfigError(f"activation must be one of {get_args(Activation)}, not {self.activation!r}")

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain values, for parameter files."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "NetworkConfig":
        """The inverse of `as_dict`; raises NetworkConfigError on fields that are missing or unknown."""
        names = {field.name for field in fields(cls)}
        if set(values) != names:
            raise NetworkConfigError(f"a network configuration has the fields {sorted(names)}, not {sorted(values)}")
        return cls(**values)
