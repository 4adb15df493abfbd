"""Options of `fukayomi train`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from fukayomi.cli.learning.target_options import Device
from fukayomi.learning.settings import (
    CHECKPOINT_INTERVAL,
    EVAL_INTERVAL,
    AmpMode,
    OptimizerName,
    TrainingSettings,
)
from fukayomi.nn.config import Activation, NetworkConfig


@dataclass(frozen=True)
class NetworkOptions:
    """The shape of the network."""

    PANEL: ClassVar = "Network"

    network: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Network by its name: wideresnet10, resnet10_swish, resnet20x256, senet10, or with modifiers: _relu, "
            "_swish, _fcl128 (--value-hidden), _lk (large kernels in every fifth block), _tf (a Transformer block at "
            "the end), _turn (a plane of the colour to move). The options below change it.",
        ),
    ] = "resnet10_swish"
    blocks: Annotated[int | None, typer.Option(min=1, help="Blocks of the trunk.")] = None
    channels: Annotated[int | None, typer.Option(min=1, help="Channels of the trunk.")] = None
    activation: Annotated[Activation | None, typer.Option(help="Activation; relu is faster on a CPU.")] = None
    value_hidden: Annotated[int | None, typer.Option(min=1, help="Width of the value head's hidden layer.")] = None
    dropout: Annotated[
        float | None, typer.Option(help="Share of the values in the middle of a block that training sets to zero.")
    ] = None

    def config(self) -> NetworkConfig:
        """The network's shape.

        Raises:
            NetworkConfigError: There is no such network.
        """
        changes = {name: value for name, value in vars(self).items() if name != "network" and value is not None}
        return replace(NetworkConfig.from_name(self.network), **changes)


@dataclass(frozen=True)
class OptimisationOptions:
    """Steps, batches and learning rate."""

    PANEL: ClassVar = "Optimisation"

    batch: Annotated[int, typer.Option(min=1, help="Positions per step.")] = TrainingSettings.batch
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of the whole run.")] = TrainingSettings.steps
    epochs: Annotated[
        float | None,
        typer.Option(help="Passes over the training data, instead of --steps; 1 if neither is given."),
    ] = TrainingSettings.epochs
    optimizer: Annotated[OptimizerName, typer.Option(help="Optimiser; sgd has Nesterov momentum 0.9.")] = (
        TrainingSettings.optimizer
    )
    lr: Annotated[float, typer.Option(help="Peak learning rate, from which it falls to zero along a cosine.")] = (
        TrainingSettings.lr
    )
    warmup: Annotated[int, typer.Option(min=0, help="Steps of linear warm-up.")] = TrainingSettings.warmup
    weight_decay: Annotated[float, typer.Option(min=0, help="Weight decay, except of biases and BatchNorm.")] = (
        TrainingSettings.weight_decay
    )
    clip: Annotated[float, typer.Option(help="Largest norm of the gradient.")] = TrainingSettings.clip
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the initial weights and the data order.")] = (
        TrainingSettings.seed
    )
    amp: Annotated[
        AmpMode, typer.Option(help="Mixed precision with bfloat16; auto uses it if the device is fast at it.")
    ] = TrainingSettings.amp


@dataclass(frozen=True)
class RunOptions:
    """Device, test set and checkpoints."""

    PANEL: ClassVar = "Run"

    test: Annotated[
        list[Path] | None, typer.Option(help="Test set, in the same formats; may be given more than once.")
    ] = None
    eval_interval: Annotated[int, typer.Option(min=1, help="Steps between two evaluations.")] = EVAL_INTERVAL
    checkpoint_interval: Annotated[int, typer.Option(min=1, help="Steps between two checkpoints.")] = (
        CHECKPOINT_INTERVAL
    )
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint in --out; --steps may differ.")
    ] = False
    device: Device = "auto"
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="CPU threads; by default the fastest of one, half and all, measured at the start."),
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON object; progress goes to stderr.")
    ] = False
