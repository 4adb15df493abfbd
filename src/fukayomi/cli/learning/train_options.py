"""The options of `fukayomi train`, by subject."""

import enum
from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from fukayomi.cli.learning.targets import DEFAULT_EVAL_SCALE, EVAL_SCALE_HELP, TEMPERATURE_HELP


class ActivationName(enum.StrEnum):
    """Choices of --activation."""

    RELU = "relu"
    SILU = "silu"


class OptimizerName(enum.StrEnum):
    """Choices of --optimizer."""

    SGD = "sgd"
    ADAMW = "adamw"


class AmpName(enum.StrEnum):
    """Choices of --amp."""

    AUTO = "auto"
    BF16 = "bf16"
    OFF = "off"


def network_option(text: str) -> typer.models.OptionInfo:
    """An option of at least 1 that shapes the network."""
    return typer.Option(min=1, help=text)


@dataclass(frozen=True)
class NetworkOptions:
    """The shape of the network."""

    PANEL: ClassVar = "Network"

    blocks: Annotated[int, network_option("Residual blocks.")] = 10
    channels: Annotated[int, network_option("Channels of the trunk.")] = 192
    activation: Annotated[ActivationName, typer.Option(help="relu is the faster one on a CPU.")] = ActivationName.SILU
    value_hidden: Annotated[int, network_option("Width of the value head's hidden layer.")] = 256


@dataclass(frozen=True)
class OptimisationOptions:
    """What decides the weights, beside the data and the shape."""

    PANEL: ClassVar = "Optimisation"

    batch: Annotated[int, typer.Option(min=1, help="Positions a step.")] = 1024
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of the whole run.")] = None
    epochs: Annotated[
        float | None,
        typer.Option(
            help="Passes over the training data, instead of --steps; 1 if neither is given.",
        ),
    ] = None
    optimizer: Annotated[OptimizerName, typer.Option(help="SGD has Nesterov momentum 0.9.")] = OptimizerName.SGD
    lr: Annotated[float, typer.Option(help="Peak learning rate; from there a cosine to zero.")] = 0.04
    warmup: Annotated[int, typer.Option(min=0, help="Steps of linear warm-up.")] = 500
    weight_decay: Annotated[float, typer.Option(min=0, help="Not for biases and BatchNorm.")] = 1e-4
    clip: Annotated[float, typer.Option(help="Largest norm of the gradient.")] = 10.0
    val_lambda: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of the search value in the value target; the rest is the game's result.",
        ),
    ] = 0.333
    temperature: Annotated[float, typer.Option(min=0, help=TEMPERATURE_HELP)] = 1.0
    eval_scale: Annotated[str, typer.Option(metavar="CENTIPAWNS|fit", help=EVAL_SCALE_HELP)] = DEFAULT_EVAL_SCALE
    seed: Annotated[int, typer.Option(min=0, help="Of the first weights and the order of the data.")] = 0


@dataclass(frozen=True)
class RunOptions:
    """Where and how it is computed."""

    PANEL: ClassVar = "Run"

    amp: Annotated[AmpName, typer.Option(help="bfloat16; auto: if the device is fast at it.")] = AmpName.AUTO
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1; auto: cuda if there is one.")] = "auto"
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads; all cores if not given.")] = None
    eval_interval: Annotated[int, typer.Option(min=1, help="Steps between two looks at the test set.")] = 1000
    checkpoint_interval: Annotated[int, typer.Option(min=1, help="Steps between two checkpoints.")] = 1000
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on from the checkpoint in --out, with the same options; --steps may differ.",
        ),
    ] = False
