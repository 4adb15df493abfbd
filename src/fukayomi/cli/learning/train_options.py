"""Options of `fukayomi train`."""

from dataclasses import dataclass
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

    blocks: Annotated[int, typer.Option(min=1, help="Residual blocks.")] = NetworkConfig.blocks
    channels: Annotated[int, typer.Option(min=1, help="Channels of the trunk.")] = NetworkConfig.channels
    activation: Annotated[Activation, typer.Option(help="Activation function; relu is faster on a CPU.")] = (
        NetworkConfig.activation
    )
    value_hidden: Annotated[int, typer.Option(min=1, help="Width of the hidden layer in the value head.")] = (
        NetworkConfig.value_hidden
    )


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
