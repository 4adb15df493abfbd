"""The shape of a network, its names, and the sizes of its inputs and outputs."""

import re
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import Field, model_validator

from fukayomi.errors import InvalidValueError
from fukayomi.settings import Settings

Activation = Literal["relu", "silu"]
StemKind = Literal["sum", "branches"]
BlockKind = Literal["residual", "pre-activation", "large-kernel", "transformer"]
HeadName = Literal["soft-policy", "short-term-value", "wdl", "plies-left", "reply"]

FEATURES1 = 62
"""Planes that differ from square to square: pieces, attacks, attack counts of both sides."""
FEATURES2 = 57
"""Constant planes: the hands of both sides, and check."""
LABELS = 2187
"""Policy labels: 27 directions times 81 target squares."""
MOST_BLOCKS = 1000
HEAD_WIDTH = 32
Channels = Annotated[int, Field(ge=1, le=4096)]
REQUIRED = ("blocks", "channels", "activation", "value_hidden")
"""Fields that all files have."""
MAX_PARAMETERS = 500_000_000
"""An ONNX file has at most 2 GiB."""
LARGE_KERNEL_INTERVAL = 5
"""Interval that a name with _lk stands for."""
SQUEEZE = 8
"""Reduction of a senet whose name has no _reduction."""
SHORT_TERM_PLIES = (6, 16)
"""Over how many plies the outputs of the head "short-term-value" average the search values."""
USUAL_CHANNELS = {10: 192, 15: 224, 20: 256, 30: 384, 40: 512}
"""Channels by blocks, for names without channels."""
EXAMPLES = "wideresnet10, resnet10_swish, resnet5x64, resnet20x256_swish, senet10 or resnet40x512_swish_lk_tf"


class NetworkConfigError(InvalidValueError):
    """A network configuration is not valid."""

    __module__ = "fukayomi.nn"


class NetworkConfig(Settings):
    """The shape of a `PolicyValueNetwork`; the defaults are those of resnet10_swish.

    >>> NetworkConfig.from_name("resnet15x224_swish") == NetworkConfig(blocks=15, channels=224)
    True

    Raises:
        NetworkConfigError: There can be no such network.
    """

    ERROR: ClassVar = NetworkConfigError

    blocks: Annotated[int, Field(ge=1, le=MOST_BLOCKS)] = 10
    """Blocks of the trunk, of any kind."""
    channels: Channels = 192
    """Channels of the trunk."""
    activation: Activation = "silu"
    """Activation; "relu" is faster on a CPU, where it is fused into the convolution."""
    value_hidden: Annotated[int, Field(ge=1, le=65_536)] = 256
    """Width of the value head's hidden layer."""
    pre_activation: bool = False
    """Normalise and activate before each convolution, as in wide residual networks, instead of after it."""
    squeeze: Annotated[int, Field(ge=0)] = 0
    """Squeeze-excitation in each residual block, through 1/squeeze of the channels; 0: none."""
    large_kernel_interval: Annotated[int, Field(ge=0, le=MOST_BLOCKS)] = 0
    """Every n-th block has parallel 1x9, 9x1 and 1x1 convolutions; 0: none."""
    transformer_blocks: Annotated[int, Field(ge=0)] = 0
    """Number of the blocks, the last ones, that are Transformer blocks."""
    head_width: Channels = HEAD_WIDTH
    """Channels of an attention head in a Transformer block; with fewer channels there is one head."""
    stem: StemKind = "sum"
    """BatchNorm after the "sum" of the stem's convolutions, or on each of its "branches"."""
    colour_plane: bool = False
    """A 58th constant plane: ones if White (後手) is to move."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share of the values in the middle of a block that training sets to zero; large-kernel blocks have no middle."""
    heads: tuple[HeadName, ...] = ()
    """Further heads that help training and are left out of exported files: soft-policy, short-term-value, wdl,
    plies-left, reply. Their losses have weights, such as --reply-weight."""

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if len(set(self.heads)) < len(self.heads):
            raise InvalidValueError(f"heads must be different names, not {', '.join(self.heads)}")
        for name, most in (("squeeze", self.channels), ("transformer_blocks", self.blocks)):
            if getattr(self, name) > most:
                raise InvalidValueError(f"{name} must be at most {most}, not {getattr(self, name)}")
        if self.transformer_blocks and self.channels % self.attention_heads:
            raise InvalidValueError(
                f"{self.channels} channels cannot be divided into attention heads of head_width {self.head_width}"
            )
        if self.pre_activation and (
            self.squeeze or self.large_kernel_interval or self.transformer_blocks or self.stem != "sum"
        ):
            raise InvalidValueError("pre_activation cannot be combined with other blocks or another stem")
        if (count := self.parameters()) > MAX_PARAMETERS:
            raise InvalidValueError(f"{self} has {count:,} parameters; at most {MAX_PARAMETERS:,} are allowed")
        return self

    @classmethod
    def from_name(cls, name: str) -> "NetworkConfig":
        """The network that users of dlshogi know by a name: a family, blocks, channels, and modifiers.

        The families are resnet, senet (squeeze-excitation) and wideresnet (pre-activation). Channels may be left out
        with 10, 15, 20, 30 and 40 blocks. Modifiers, in any order: _relu (the default) or _swish; _fcl128: a hidden
        layer of 128 in the value head; _reduction16: squeeze-excitation through 1/16 of the channels, where senet has
        1/8; _lk: large kernels in every fifth block; _tf: the last block is a Transformer block; _turn: the plane of
        the colour to move. With _lk or _tf each branch of the stem is normalised.

        >>> NetworkConfig.from_name("resnet10_swish") == NetworkConfig()
        True
        >>> NetworkConfig.from_name("resnet20_lk_tf").block_kinds()[-2:]
        ['residual', 'transformer']

        Raises:
            NetworkConfigError: There is no such network; the message has examples.
        """
        family, *modifiers = name.split("_")
        shape = re.fullmatch(r"(resnet|senet|wideresnet)(\d{1,4})(?:x(\d{1,4}))?", family)
        if shape is None:
            raise NetworkConfigError(f"unknown network {name!r}: a name is, for example, {EXAMPLES}")
        blocks = int(shape[2])
        if shape[3] is None and blocks not in USUAL_CHANNELS:
            raise NetworkConfigError(f"network {name!r}: give the channels too, as in {shape[1]}{blocks}x128")
        values: dict[str, Any] = {
            "blocks": blocks,
            "channels": int(shape[3]) if shape[3] else USUAL_CHANNELS[blocks],
            "activation": "relu",
            "pre_activation": shape[1] == "wideresnet",
            "squeeze": SQUEEZE if shape[1] == "senet" else 0,
        }
        for modifier in modifiers:
            values |= _modified(name, modifier)
        return cls(**values)

    @property
    def features2(self) -> int:
        """Constant planes that the network takes: 57, or 58 with the plane of the colour to move."""
        return FEATURES2 + self.colour_plane

    @property
    def attention_heads(self) -> int:
        """Heads of a Transformer block, which share the channels."""
        return max(1, self.channels // self.head_width)

    def block_kinds(self) -> list[BlockKind]:
        """The kind of each block, from the stem up.

        >>> NetworkConfig(blocks=6, large_kernel_interval=3, transformer_blocks=1).block_kinds()
        ['residual', 'residual', 'large-kernel', 'residual', 'residual', 'transformer']
        """
        return [self._kind(number) for number in range(1, self.blocks + 1)]

    def _kind(self, number: int) -> BlockKind:
        """The kind of a block; numbers start at 1."""
        if number > self.blocks - self.transformer_blocks:
            return "transformer"
        if self.large_kernel_interval and number % self.large_kernel_interval == 0:
            return "large-kernel"
        return "pre-activation" if self.pre_activation else "residual"

    def parameters(self) -> int:
        """Number of parameters of the convolutions and the value's hidden layer, which are nearly all.

        >>> NetworkConfig(blocks=15, channels=224).parameters()
        14271136
        """
        residual = 18.0 + (2 / self.squeeze if self.squeeze else 0)
        squares = {"residual": residual, "pre-activation": 18, "large-kernel": 19, "transformer": 12}
        stem = (10 * FEATURES1 + self.features2) * self.channels
        trunk = sum(squares[kind] for kind in self.block_kinds()) * self.channels**2
        policies = 1 + sum(name in ("soft-policy", "reply") for name in self.heads)
        heads = (policies + 1) * 27 * self.channels + LABELS * self.value_hidden
        return stem + round(trunk) + heads

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain values, for parameter files; without `heads` if there are none, as in older files."""
        values = self.model_dump(mode="json")
        return values if self.heads else {name: value for name, value in values.items() if name != "heads"}

    @classmethod
    def from_dict(cls, values: object) -> "NetworkConfig":
        """The inverse of `as_dict`. Files from before a field was added lack it: it has its default then.

        Raises:
            NetworkConfigError: This is no dictionary of these fields.
        """
        given = plain_values(values)
        if not set(REQUIRED) <= set(given):
            raise NetworkConfigError(
                f"a network configuration has the fields {', '.join(REQUIRED)}; this one has "
                f"{', '.join(given) or 'none'}"
            )
        return cls(**given)


def plain_values(values: object) -> dict[str, Any]:
    """Values of a network in a file, by name; empty if it is no dictionary."""
    return (
        {str(name): value for name, value in cast("dict[Any, Any]", values).items()} if isinstance(values, dict) else {}
    )


def _modified(name: str, modifier: str) -> dict[str, Any]:
    """The fields that a part of a name, without its underscore, sets."""
    plain: dict[str, dict[str, Any]] = {
        "relu": {"activation": "relu"},
        "swish": {"activation": "silu"},
        "lk": {"large_kernel_interval": LARGE_KERNEL_INTERVAL, "stem": "branches"},
        "tf": {"transformer_blocks": 1, "stem": "branches"},
        "turn": {"colour_plane": True},
    }
    if modifier in plain:
        return plain[modifier]
    if number := re.fullmatch(r"(fcl|reduction)([1-9]\d{0,4})", modifier):
        return {"value_hidden" if number[1] == "fcl" else "squeeze": int(number[2])}
    raise NetworkConfigError(
        f"network {name!r}: unknown modifier _{modifier}; there are {', '.join(f'_{word}' for word in plain)}, "
        "_fcl and _reduction with a number"
    )
