"""The shape of a sparse network, its names, and what the two families of networks have in common."""

import re
from dataclasses import asdict, dataclass, fields
from numbers import Integral
from typing import Any, ClassVar, cast

from fukayomi.nn.config import HeadName, NetworkConfig, NetworkConfigError

FAMILY = "sparse"
LIMITS = {"policy": (64, 1024), "value": (64, 1024), "shared": (32, 512), "hidden": (8, 256)}
"""What each width is a multiple of, and its maximum: those of a file (`native/sparse/file.cpp`)."""


@dataclass(frozen=True)
class SparseConfig:
    """The shape of a `SparseNetwork`.

    >>> SparseConfig.from_name("sparse-384x768")
    SparseConfig(policy=384, value=768, shared=64, hidden=32)
    """

    policy: int = 384
    """Accumulators of the policy, a multiple of 64; half as many numbers come out of them."""
    value: int = 384
    """Accumulators of the value, a multiple of 64."""
    shared: int = 64
    """Of the policy's numbers, those that the rows of a move are multiplied with; a multiple of 32."""
    hidden: int = 32
    """Width of the value's two layers, a multiple of 8."""

    heads: ClassVar[tuple[HeadName, ...]] = ()
    """It has no further heads."""

    def __post_init__(self) -> None:
        for name, (multiple, most) in LIMITS.items():
            number: Any = getattr(self, name)  # of a file, it may be anything
            if (
                isinstance(number, bool)
                or not isinstance(number, Integral)
                or not multiple <= int(number) <= most
                or int(number) % multiple
            ):
                raise NetworkConfigError(f"{name} must be a multiple of {multiple}, at most {most}, not {number!r}")
            object.__setattr__(self, name, int(number))
        if self.shared > self.policy // 2:
            raise NetworkConfigError(f"shared must be at most half of policy, {self.policy // 2}, not {self.shared}")

    @classmethod
    def from_name(cls, name: str) -> "SparseConfig":
        """The network of a name with the accumulators of policy and value, such as sparse-384x384.

        Raises:
            NetworkConfigError: There is no such network.
        """
        shape = re.fullmatch(r"sparse-([1-9]\d{0,4})x([1-9]\d{0,4})", name)
        if shape is None:
            raise NetworkConfigError(
                f"unknown network {name!r}: a sparse network's name has the accumulators of policy and value, as "
                "sparse-384x384"
            )
        policy, value = int(shape[1]), int(shape[2])
        return cls(policy, value, shared=min(cls.shared, policy // 2 // 32 * 32 or 32))

    def as_dict(self) -> dict[str, Any]:
        """The fields and the family as plain values, for files."""
        return {"family": FAMILY, **asdict(self)}

    @classmethod
    def from_dict(cls, values: object) -> "SparseConfig":
        """The inverse of `as_dict`.

        Raises:
            NetworkConfigError: This is no dictionary of these fields.
        """
        given: dict[Any, Any] = dict(cast("dict[Any, Any]", values)) if isinstance(values, dict) else {}
        names = {field.name for field in fields(cls)}
        if given.pop("family", None) != FAMILY or set(given) != names:
            raise NetworkConfigError(
                f"the configuration of a sparse network has the fields family, {', '.join(sorted(names))}"
            )
        return cls(**given)


AnyConfig = NetworkConfig | SparseConfig
"""The shape of a network of any family."""


def config_from_name(name: str) -> AnyConfig:
    """The network of a name: of a sparse one, or as `NetworkConfig.from_name`.

    Raises:
        NetworkConfigError: There is no such network.
    """
    return SparseConfig.from_name(name) if name.startswith(FAMILY) else NetworkConfig.from_name(name)


def config_from_dict(values: object) -> AnyConfig:
    """The inverse of `as_dict` of both families.

    Raises:
        NetworkConfigError: This is the configuration of no network.
    """
    if isinstance(values, dict) and "family" in values:
        return SparseConfig.from_dict(cast("object", values))
    return NetworkConfig.from_dict(cast("object", values))
