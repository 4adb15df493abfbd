"""The shape of a network, and the sizes of its inputs and outputs."""

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
        for name in ("blocks", "channels", "value_hidden"):
            number = getattr(self, name)
            if not isinstance(number, int) or number < 1:
                raise NetworkConfigError(f"{name} must be an integer of at least 1, not {number!r}")
        if self.activation not in get_args(Activation):
            raise NetworkConfigError(f"activation must be one of {get_args(Activation)}, not {self.activation!r}")

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain values, for parameter files."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "NetworkConfig":
        """The inverse of `as_dict`; raises NetworkConfigError for missing or unknown fields."""
        names = {field.name for field in fields(cls)}
        if set(values) != names:
            raise NetworkConfigError(f"a network configuration has the fields {sorted(names)}, not {sorted(values)}")
        return cls(**values)
