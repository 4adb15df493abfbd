"""Options of `fukayomi train`. None means: not given, so that the file of --config or the library decides."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from fukayomi.learning.settings import (
    CHECKPOINT_INTERVAL,
    EVAL_INTERVAL,
    TEMPERATURE,
    AmpMode,
    OptimizerName,
    PresetName,
    ScheduleName,
    TrainingSettings,
)
from fukayomi.nn.config import Activation

_DEFAULT = TrainingSettings()


def option(help: str, default: object = None, **more: Any) -> Any:
    """An option whose default is the library's."""
    return typer.Option(help=help, show_default=False if default is None else str(default), **more)


@dataclass(frozen=True)
class NetworkOptions:
    """The shape of the network."""

    PANEL: ClassVar = "Network"

    network: Annotated[
        str | None,
        option(
            "Network by its name: wideresnet10, resnet10_swish, resnet20x256, senet10, or with modifiers: _relu, "
            "_swish, _fcl128 (--value-hidden), _reduction4 (squeeze-excitation through a quarter of the channels; "
            "senet: an eighth), _lk (large kernels in every fifth block), _tf (a Transformer block at the end), _turn "
            "(a plane of the colour to move). The options below change it. sparse-384x384: a network made for CPUs, "
            "by the accumulators of its policy and its value.",
            "resnet10_swish", metavar="NAME",
        ),
    ] = None  # fmt: skip
    blocks: Annotated[int | None, option("Blocks of the trunk.", min=1)] = None
    channels: Annotated[int | None, option("Channels of the trunk.", min=1)] = None
    activation: Annotated[Activation | None, option("Activation; relu is faster on a CPU.")] = None
    value_hidden: Annotated[int | None, option("Width of the value head's hidden layer.", min=1)] = None
    heads: Annotated[
        str | None,
        option(
            "Further heads that help training and are left out of exported files: soft-policy, short-term-value, wdl, "
            "plies-left, reply. Their losses have weights, such as --reply-weight.",
            metavar="NAME,...",
        ),
    ] = None
    dropout: Annotated[
        float | None, option("Share of the values in the middle of a block that training sets to zero.")
    ] = None


@dataclass(frozen=True)
class OptimisationOptions:
    """Steps, batches and learning rate."""

    PANEL: ClassVar = "Optimisation"

    preset: Annotated[
        PresetName | None,
        option(
            "Settings to start from. dlshogi: the defaults of its train.py, lr 0.01 constant, with averages. "
            "dlshogi-large: batch 4096, 12 epochs, halving, warm-up, bf16, averages. "
            "reanalyze: as in MuZero Reanalyze, 2 epochs, --value-weight 0.25, --n-step 5. "
            "sparse: adamw, batch 4096, lr 0.002, the default of sparse networks."
        ),
    ] = None
    batch: Annotated[int | None, option("Positions per step.", _DEFAULT.batch, min=1)] = None
    steps: Annotated[int | None, option("Steps of the whole run.", min=1)] = None
    epochs: Annotated[
        float | None, option("Passes over the training data, instead of --steps; 1 if neither is given.")
    ] = None
    optimizer: Annotated[
        OptimizerName | None,
        option("Optimiser; sgd has Nesterov momentum 0.9, muon is for blocks beside adamw.", _DEFAULT.optimizer),
    ] = None
    lr: Annotated[float | None, option("Peak learning rate; for adamw and muon 0.001 to 0.01.", _DEFAULT.lr)] = None
    schedule: Annotated[
        ScheduleName | None,
        option("Learning rate: along a cosine to zero, halved by epochs, or constant.", _DEFAULT.schedule),
    ] = None
    halving_epochs: Annotated[
        float | None, option("Epochs between two halvings with --schedule halving.", _DEFAULT.halving_epochs)
    ] = None
    warmup: Annotated[int | None, option("Steps of linear warm-up.", _DEFAULT.warmup, min=0)] = None
    weight_decay: Annotated[
        float | None, option("Weight decay, except of biases and BatchNorm.", _DEFAULT.weight_decay, min=0)
    ] = None
    clip: Annotated[float | None, option("Largest norm of the gradient.", _DEFAULT.clip)] = None
    ema_interval: Annotated[
        int | None,
        option("Steps between two averages of the weights (dlshogi: 250); 0 averages nothing.", 0, min=0),
    ] = None
    ema_averages: Annotated[
        int | None, option("Weight of the old average, n to 1 for the new weights.", _DEFAULT.ema_averages, min=1)
    ] = None
    max_rise: Annotated[
        float | None, option("Stop when the smoothed loss rose by this; 0 never does.", _DEFAULT.max_rise, min=0)
    ] = None
    seed: Annotated[
        int | None, option("Random seed for the initial weights and the data order.", _DEFAULT.seed, min=0)
    ] = None
    amp: Annotated[
        AmpMode | None,
        option("Mixed precision; auto uses bfloat16 if the device is fast at it.", _DEFAULT.amp),
    ] = None
    compile: Annotated[bool | None, option("Compile the network with torch.compile; the first step takes minutes.")] = (
        None
    )


@dataclass(frozen=True)
class LossOptions:
    """What the loss is made of."""

    PANEL: ClassVar = "Loss and targets"

    val_lambda: Annotated[
        float | None,
        option(
            "Share of the evaluation in the value target; the rest is the game's result.",
            _DEFAULT.val_lambda, min=0, max=1,
        ),
    ] = None  # fmt: skip
    value_weight: Annotated[
        float | None, option("Weight of the value loss; the policy loss has 1.", _DEFAULT.value_weight, min=0)
    ] = None
    val_lambda_decay: Annotated[
        float | None, option("Epochs in which --val-lambda falls to 0; 0: it stays.", 0, min=0)
    ] = None
    entropy: Annotated[float | None, option("Reward for each nat of the policy's entropy.", 0)] = None
    critic: Annotated[
        bool | None,
        option("Multiply policy losses by result - evaluation + 0.5, as dlshogi's --use_critic."),
    ] = None


@dataclass(frozen=True)
class HelperOptions:
    """What helps the policy and the value: a teacher, and further heads."""

    PANEL: ClassVar = "Teacher and further heads"

    teacher_weight: Annotated[
        float | None,
        option(
            "Share of the --teacher in the targets; the rest is the data's.",
            _DEFAULT.teacher_weight,
            min=0,
            max=1,
            metavar="SHARE",
        ),
    ] = None
    teacher_temperature: Annotated[
        float | None, option("The --teacher's policy is softmax(logits / this).", _DEFAULT.teacher_temperature)
    ] = None
    soft_policy_weight: Annotated[
        float | None,
        option("Weight of the loss of the head soft-policy.", _DEFAULT.soft_policy_weight, min=0, metavar="WEIGHT"),
    ] = None
    short_term_value_weight: Annotated[
        float | None,
        option(
            "Weight of the loss of the head short-term-value.",
            _DEFAULT.short_term_value_weight,
            min=0,
            metavar="WEIGHT",
        ),
    ] = None
    wdl_weight: Annotated[
        float | None, option("Weight of the loss of the head wdl.", _DEFAULT.wdl_weight, min=0, metavar="WEIGHT")
    ] = None
    plies_left_weight: Annotated[
        float | None,
        option("Weight of the loss of the head plies-left.", _DEFAULT.plies_left_weight, min=0, metavar="WEIGHT"),
    ] = None
    reply_weight: Annotated[
        float | None, option("Weight of the loss of the head reply.", _DEFAULT.reply_weight, min=0, metavar="WEIGHT")
    ] = None


@dataclass(frozen=True)
class TargetOptions:
    """How visits and evaluations become training targets."""

    PANEL: ClassVar = "Loss and targets"

    temperature: Annotated[
        float | None,
        option(
            "In hcpe3 and avg, weigh a move by visits^(1/T) with this T; 0 takes the move with the most visits.",
            TEMPERATURE, min=0,
        ),
    ] = None  # fmt: skip
    eval_scale: Annotated[
        str | None,
        option(
            "Scale of the win probability 1 / (1 + exp(-evaluation / scale)); `fit` fits it to the results of each "
            "file. avg files hold win probabilities and ignore it.",
            "756.086", metavar="CENTIPAWNS|fit",
        ),
    ] = None  # fmt: skip
    layer: Annotated[
        str | None,
        option(
            "Take the targets of hcpe3 files from this layer (fukayomi reanalyze) where they have it. Test sets keep "
            "their own.",
            metavar="ID",
        ),
    ] = None
    n_step: Annotated[
        int | None,
        option(
            "In hcpe3, number of plies between a position and the later evaluation that is its value target, seen from "
            "the position's side to move; where the game ends before that, its result. 0: the position's own "
            "evaluation. Test sets keep their own.",
            0, min=0, max=100,
        ),
    ] = None  # fmt: skip
    weights: Annotated[
        bool | None,
        option(
            "Multiply the losses of each position of games.hcpe3 by its weight in games.weights.npy, if that is there "
            "(fukayomi selfplay, fukayomi reanalyze). Test sets have no weights.",
            "weights",
        ),
    ] = None


@dataclass(frozen=True)
class RunOptions:
    """Device, test set and checkpoints."""

    PANEL: ClassVar = "Run"

    initial: Annotated[
        Path | None,
        option(
            "A network from whose weights training begins, and whose shape it has; with a larger --network it grows, "
            "and plays the same at first. A checkpoint, .safetensors, dlshogi's .npz or .pth, .sparse, or an "
            ".onnx file of fukayomi export; embedded is the embedded residual network."
        ),
    ] = None
    teacher: Annotated[
        Path | None,
        option(
            "A network whose policy and value are mixed into the targets, with the share --teacher-weight; it is "
            "evaluated for every batch. A checkpoint, .safetensors, dlshogi's .npz or .pth, or .onnx or .sparse, which "
            "compute on the CPU; embedded is the embedded residual network."
        ),
    ] = None
    eval_interval: Annotated[int | None, option("Steps between two evaluations.", EVAL_INTERVAL, min=1)] = None
    checkpoint_interval: Annotated[int | None, option("Steps between two checkpoints.", CHECKPOINT_INTERVAL, min=1)] = (
        None
    )
    device: Annotated[
        str | None, option("Where to compute: cpu, cuda, cuda:1, or auto, which is cuda if there is one.", "auto")
    ] = None
    threads: Annotated[
        int | None, option("CPU threads; by default the fastest of one, half and all, measured at the start.", min=1)
    ] = None


@dataclass(frozen=True)
class SourceOptions:
    """Where settings come from, and what is printed."""

    PANEL: ClassVar = "Run"

    test: Annotated[
        list[str] | None, typer.Option(help="Test set, in the same formats; may be given more than once.")
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
