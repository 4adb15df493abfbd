"""The shape of a sparse network, its names, and what the two families of networks have in common."""

import re
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import Field, model_validator

from fukayomi.errors import InvalidValueError
from fukayomi.nn.config import HeadName, NetworkConfig, NetworkConfigError, plain_values
from fukayomi.settings import Settings

FAMILY = "sparse"
SHARED = 64
Accumulators = Annotated[int, Field(multiple_of=64, ge=64, le=1024)]


class SparseConfig(Settings):
    """The shape of a `SparseNetwork`. The limits are those of a file (`native/sparse/file.cpp`).

    >>> SparseConfig.from_name("sparse-384x768")
    SparseConfig(policy=384, value=768, shared=64, hidden=32)

    Raises:
        NetworkConfigError: There can be no such network.
    """

    ERROR: ClassVar = NetworkConfigError

    policy: Accumulators = 384
    """Accumulators of the policy, a multiple of 64; half as many numbers come out of them."""
    value: Accumulators = 384
    """Accumulators of the value, a multiple of 64."""
    shared: Annotated[int, Field(multiple_of=32, ge=32, le=512)] = SHARED
    """Of the policy's numbers, those that the rows of a move are multiplied with; a multiple of 32."""
    hidden: Annotated[int, Field(multiple_of=8, ge=8, le=256)] = 32
    """Width of the value's two layers, a multiple of 8."""

    heads: ClassVar[tuple[HeadName, ...]] = ()
    """It has no further heads."""

    @model_validator(mode="before")
    @classmethod
    def _shares_half_at_most(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        given = cast("dict[str, Any]", values)
        policy = given.get("policy")
        return {"shared": min(SHARED, policy // 64 * 32 or 32), **given} if isinstance(policy, int) else given

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if self.shared > self.policy // 2:
            raise InvalidValueError(f"shared must be at most half of policy, {self.policy // 2}, not {self.shared}")
        return self

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
        return cls(policy=policy, value=value)

    def as_dict(self) -> dict[str, Any]:
        """The fields and the family as plain values, for files."""
        return {"family": FAMILY, **self.model_dump()}

    @classmethod
    def from_dict(cls, values: object) -> "SparseConfig":
        """The inverse of `as_dict`.

        Raises:
            NetworkConfigError: This is no dictionary of these fields.
        """
        given = plain_values(values)
        if given.pop("family", None) != FAMILY or not set(cls.model_fields) <= set(given):
            raise NetworkConfigError(
                f"the configuration of a sparse network has the fields family, {', '.join(cls.model_fields)}"
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
