"""Heads after the trunk: those for policy and value, and further ones that help training alone.

The further heads are never exported, so they cost nothing in play. They make the trunk, and the hidden layer of the
value head, know more than one move and one result:

- "soft-policy": policy logits, whose target is the policy at temperature 4, in which the lesser candidates weigh more
  (KataGo's methods, "auxiliary soft policy target").
- "reply": policy logits of the opponent's next move, on squares as the side to move sees them (Wu 2019,
  arXiv:1902.10565, section 4.2).
- "short-term-value": logits of the win probability that the search will find over the next 6 and 16 plies, averaged
  exponentially (KataGo's methods, "short-term value and score targets").
- "wdl": logits of win, draw and loss.
- "plies-left": plies to the end of the game, in units of 20.
"""

import torch
from torch import Tensor, nn

from fukayomi.nn.blocks import SQUARES, activation_layer, conv1x1, fold_into, norm_layer
from fukayomi.nn.config import LABELS, SHORT_TERM_PLIES, HeadName, NetworkConfig

POLICY_DIRECTIONS = 27
VALUE_CHANNELS = 27
OUTPUTS: dict[HeadName, int] = {"short-term-value": len(SHORT_TERM_PLIES), "wdl": 3, "plies-left": 1}
"""Outputs of the further heads that read the hidden layer of the value head; the others are policies."""


class PolicyHead(nn.Module):
    """[N, C, 9, 9] to policy logits [N, 2187], label = direction * 81 + square."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.conv = conv1x1(config.channels, POLICY_DIRECTIONS)
        self.bias = nn.Parameter(torch.zeros(LABELS))

    def forward(self, x: Tensor) -> Tensor:
        return torch.flatten(self.conv(x), 1).float() + self.bias


class ValueHead(nn.Module):
    """[N, C, 9, 9] to the logit of the side to move's win probability [N, 1]."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.conv = conv1x1(config.channels, VALUE_CHANNELS, bias=config.pre_activation)  # as in dlshogi's wideresnet10
        self.norm = norm_layer(VALUE_CHANNELS, config)
        self.act1 = activation_layer(config.activation)
        self.fc1 = nn.Linear(VALUE_CHANNELS * SQUARES, config.value_hidden)
        self.act2 = activation_layer(config.activation)
        self.fc2 = nn.Linear(config.value_hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.logit(self.hidden(x))

    def hidden(self, x: Tensor) -> Tensor:
        """The hidden layer, [N, value_hidden]."""
        y = self.act1(self.norm(self.conv(x)))
        return self.act2(self.fc1(torch.flatten(y, 1)))

    def logit(self, hidden: Tensor) -> Tensor:
        """The logit [N, 1] that the hidden layer gives."""
        return self.fc2(hidden).float()

    def fold(self) -> None:
        """Put the BatchNorm into the convolution."""
        fold_into(self, "conv", "norm")


class TrainingHeads(nn.ModuleDict):
    """The heads that only training has, by name.

    A head is one layer, without BatchNorm: a `PolicyHead` on the trunk, or a matrix on the hidden layer of the value.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(
            {
                name.replace("-", "_"): nn.Linear(config.value_hidden, OUTPUTS[name])
                if name in OUTPUTS
                else PolicyHead(config)
                for name in config.heads
            }
        )
        self._names = config.heads

    def forward(self, x: Tensor, hidden: Tensor) -> dict[HeadName, Tensor]:
        """Outputs by name, float32: policies [N, 2187], others [N, outputs].

        Args:
            x: Output of the trunk, [N, C, 9, 9].
            hidden: Hidden layer of the value head, [N, value_hidden].
        """
        return {name: self[name.replace("-", "_")](hidden if name in OUTPUTS else x).float() for name in self._names}
