"""Options of `fukayomi train`. None means: not given, so that the file of --config or the library decides."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from fukayomi.cli.common.options import options_of
from fukayomi.learning.settings import PresetName, RunSettings, TargetSettings, TrainingSettings
from fukayomi.nn.config import NetworkConfig


@options_of(NetworkConfig, "blocks", "channels", "activation", "value_hidden", "heads", "dropout", panel="Network")
class NetworkOptions:
    """The shape of the network."""

    network: Annotated[
        str | None,
        typer.Option(
            help="Network by its name: wideresnet10, resnet10_swish, resnet20x256, senet10, or with modifiers: _relu, "
            "_swish, _fcl128 (--value-hidden), _reduction4 (squeeze-excitation through a quarter of the channels; "
            "senet: an eighth), _lk (large kernels in every fifth block), _tf (a Transformer block at the end), _turn "
            "(a plane of the colour to move). The options below change it. sparse-384x384: a network made for CPUs, "
            "by the accumulators of its policy and its value.",
            show_default="resnet10_swish", metavar="NAME",
        ),
    ] = None  # fmt: skip


@options_of(
    TrainingSettings, "batch", "steps", "epochs", "optimizer", "lr", "schedule", "halving_epochs", "warmup",
    "weight_decay", "clip", "ema_interval", "ema_averages", "max_rise", "seed", "amp", "compile", panel="Optimisation",
)  # fmt: skip
class OptimisationOptions:
    """Steps, batches and learning rate."""


@options_of(
    TrainingSettings, "val_lambda", "value_weight", "val_lambda_decay", "entropy", "critic", panel="Loss and targets"
)
class LossOptions:
    """Options for the parts of the loss."""


@options_of(
    TrainingSettings, "teacher_weight", "teacher_temperature", "soft_policy_weight", "short_term_value_weight",
    "wdl_weight", "plies_left_weight", "reply_weight", panel="Teacher and further heads",
)  # fmt: skip
class HelperOptions:
    """Helpers of the policy and the value: a teacher, and further heads."""


@options_of(TargetSettings, "temperature", "eval_scale", "layer", "n_step", "weights", panel="Loss and targets")
class TargetOptions:
    """Options for turning visits and evaluations into training targets."""


@options_of(RunSettings, "initial", "teacher", "eval_interval", "checkpoint_interval", "device", "threads", panel="Run")
class RunOptions:
    """Device, test set and checkpoints."""


@dataclass(frozen=True)
class SourceOptions:
    """Options for the sources of settings, and for what is printed."""

    PANEL: ClassVar = "Run"

    test: Annotated[
        list[str] | None, typer.Option(help="Test set, in the same formats; may be given more than once.")
    ] = None
    preset: Annotated[
        PresetName | None,
        typer.Option(
            help="Settings to start from. dlshogi: the defaults of its train.py, lr 0.01 constant, with averages. "
            "dlshogi-large: batch 4096, 12 epochs, halving, warm-up, bf16, averages. "
            "reanalyze: as in MuZero Reanalyze, 2 epochs, --value-weight 0.25, --n-step 5. "
            "sparse: adamw, batch 4096, lr 0.002, the default of sparse networks."
        ),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Read settings from a file, such as the config.toml of another run. Options on the command line win.",
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the checkpoint in --out, with the settings of its config.toml."),
    ] = False
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON object; progress goes to stderr.")
    ] = False
