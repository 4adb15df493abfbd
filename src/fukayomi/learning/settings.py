"""Settings of a training run."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fukayomi._native import EVAL_SCALE
from fukayomi.engine.settings import network_in_folder
from fukayomi.errors import InvalidValueError
from fukayomi.settings import FromFile, Settings

OptimizerName = Literal["sgd", "adamw", "muon"]
ScheduleName = Literal["cosine", "halving", "constant"]
AmpMode = Literal["auto", "bf16", "fp16", "off"]
PresetName = Literal["dlshogi", "dlshogi-large", "reanalyze", "sparse"]

VAL_LAMBDA = 0.333
TEMPERATURE = 1.0
EVAL_INTERVAL = 1000
CHECKPOINT_INTERVAL = 1000
TEST_POSITIONS = 10_000
LOG_INTERVAL = 50
RESAMPLES = 1000
CONFIDENCE = 0.95
LARGEST_SEED = (1 << 63) - 1

PRESETS: dict[PresetName, dict[str, Any]] = {
    "dlshogi": {
        "batch": 1024, "lr": 0.01, "schedule": "constant", "warmup": 0, "ema_interval": 250, "ema_averages": 10,
    },
    "dlshogi-large": {
        "batch": 4096, "epochs": 12.0, "lr": 0.04, "schedule": "halving", "warmup": 2000, "amp": "bf16",
        "ema_interval": 250, "ema_averages": 10,
    },
    "reanalyze": {"epochs": 2.0, "value_weight": 0.25},
    "sparse": {"batch": 4096, "optimizer": "adamw", "lr": 0.002, "weight_decay": 0.0, "amp": "off"},
}  # fmt: skip
"""Training settings by name. "dlshogi": the defaults of its train.py, with averaged weights. "dlshogi-large": how its
author trained 40 blocks of 512 channels with large kernels and a Transformer: batches of 4096, 12 epochs, the learning
rate halved after each, a warm-up and bfloat16. He names neither the learning rate nor the length of the warm-up; here
the rate is dlshogi's in proportion to the batch. "reanalyze": what MuZero Reanalyze changes (2.0 samples of each state,
value losses times 0.25, and PRESET_TARGETS). The 80 % of renewed policies are the default of `fukayomi reanalyze`; its
network is the target network. "sparse": for sparse networks, which have these without being asked."""
PRESET_TARGETS: dict[PresetName, dict[str, Any]] = {"reanalyze": {"n_step": 5}}
"""Settings of the targets in presets."""


class ModelFileError(InvalidValueError):
    """A file cannot be used as a network."""

    __module__ = "fukayomi.learning"


class TrainingError(InvalidValueError):
    """Training cannot start or go on: bad settings, a folder in use, too few positions, or a diverged loss."""

    __module__ = "fukayomi.learning"


PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]
NotNegativeInt = Annotated[int, Field(ge=0)]
NotNegativeFloat = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class TrainingSettings(Settings):
    """The settings that determine the weights, besides the data and the network's shape."""

    ERROR: ClassVar = TrainingError

    steps: PositiveInt | None = None
    """Optimiser steps of the whole run; None: as `epochs` says."""
    epochs: PositiveFloat | None = None
    """Passes over the training data, instead of `steps`; one if neither is given."""
    batch: PositiveInt = 1024
    """Positions of a step."""
    optimizer: OptimizerName = "sgd"
    """"sgd" with Nesterov momentum 0.9, "adamw", or "muon" (blocks by Muon, the rest by AdamW)."""
    lr: PositiveFloat = 0.04
    """Peak learning rate; for "adamw" and "muon" 0.001 to 0.01, the higher the smaller the network."""
    schedule: ScheduleName = "cosine"
    """The learning rate after the warm-up: along a cosine to zero at the last step, halved every `halving_epochs`, or
    constant."""
    halving_epochs: PositiveFloat = 1.0
    """Passes over the data between two halvings of the learning rate."""
    warmup: NotNegativeInt = 500
    """Steps of linear warm-up."""
    weight_decay: NotNegativeFloat = 1e-4
    """Weight decay of matrices and convolutions; biases and BatchNorm have none."""
    clip: PositiveFloat = 10.0
    """Largest norm of the gradient; larger gradients are scaled down."""
    val_lambda: Share = VAL_LAMBDA
    """Share of the evaluation in the value target, 0 to 1; the rest is the game's result."""
    val_lambda_decay: NotNegativeFloat = 0.0
    """Passes over the data in which `val_lambda` falls linearly to 0; 0: it stays."""
    policy_weight: NotNegativeFloat = 1.0
    """Weight of the policy loss. With 0 the value alone learns; a sparse network, whose heads share nothing, then keeps
    its policy as it is, and a step takes a third of the time."""
    value_weight: NotNegativeFloat = 1.0
    """Weight of the value loss."""
    entropy: float = 0.0
    """Reward for each nat of the policy's entropy."""
    critic: bool = False
    """Multiply each position's policy loss by result - evaluation + 0.5, as dlshogi's --use_critic."""
    ema_interval: NotNegativeInt = 0
    """Steps between two updates of averaged weights, which are then the ones that are evaluated and exported; 0: no
    average. dlshogi and KataGo use 250."""
    ema_averages: PositiveInt = 10
    """Weights after n updates: n / (n + 1) of the old average plus 1 / (n + 1) of the current weights, with this n."""
    teacher_weight: Share = 0.5
    """Share of a teacher's policy and value in the loss, 0 to 1; the rest is the data's. Without a teacher: unused."""
    teacher_temperature: PositiveFloat = 1.0
    """The teacher's policy is softmax(logits / temperature)."""
    soft_policy_weight: NotNegativeFloat = 8.0
    """Weight of the loss of the head "soft-policy"; 8 as in KataGo. Weights of heads that the network lacks: unused."""
    short_term_value_weight: NotNegativeFloat = 0.5
    """Weight of the loss of the head "short-term-value"."""
    wdl_weight: NotNegativeFloat = 0.5
    """Weight of the loss of the head "wdl"."""
    plies_left_weight: NotNegativeFloat = 0.1
    """Weight of the loss of the head "plies-left"."""
    reply_weight: NotNegativeFloat = 0.15
    """Weight of the loss of the head "reply"; 0.15 as in KataGo."""
    max_rise: NotNegativeFloat = 2.0
    """Stop when the smoothed loss is this many nats above the lowest so far; 0: only when it is not finite."""
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0
    """Random seed for the initial weights, the data order and dropout."""
    amp: AmpMode = "auto"
    """Precision: "bf16", "fp16" (with scaled losses), "off" (float32), or "auto": bfloat16 if the device has
    instructions for it."""
    compile: bool = False
    """Compile the network with torch.compile: the first step takes minutes, later ones may be faster on a GPU."""

    @model_validator(mode="after")
    def _ends_and_learns(self) -> Self:
        if self.steps is not None and self.epochs is not None:
            raise InvalidValueError("give steps or epochs, not both")
        if self.policy_weight == self.value_weight == 0:
            raise InvalidValueError("policy_weight and value_weight are both 0: there is nothing to learn")
        return self

    def total_steps(self, positions: int) -> int:
        """Steps of a run on this many training positions; the last partial batch of an epoch is left out."""
        if self.steps is not None:
            return self.steps
        epochs = 1.0 if self.epochs is None else self.epochs
        return max(1, round(epochs * (positions // self.batch)))


def _scale(scale: float | str) -> float | str:
    """The scale; the command line gives it as text."""
    try:
        return scale if scale == "fit" else float(scale)
    except ValueError:
        raise InvalidValueError(f"{scale!r} is neither a number of centipawns nor 'fit'") from None


class TargetSettings(Settings):
    """Settings that turn visits and evaluations into training targets; arguments of `Dataset`."""

    temperature: Annotated[float, Field(ge=0)] = TEMPERATURE
    """T in the weight of a move in hcpe3 and avg, visits^(1/T); 0 takes the move with the most visits."""
    eval_scale: Annotated[float | str, AfterValidator(_scale)] = EVAL_SCALE
    """Centipawns in the win probability 1 / (1 + exp(-evaluation / scale)); "fit" fits them to the results of each
    file. avg files hold win probabilities and ignore it."""
    layer: str | None = None
    """Layer (fukayomi reanalyze) that has the targets of hcpe3 files, where there is one; test files keep their
    own."""
    n_step: Annotated[int, Field(ge=0)] = 0
    """In hcpe3, plies between a position and the later evaluation that is its value target, seen from the position's
    side to move; where the game ends before that, its result. 0: the position's own evaluation. Test files keep their
    own."""
    weights: bool = True
    """Multiply the losses of each position of games.hcpe3 by its weight in games.weights.npy, if that is there
    (fukayomi selfplay, fukayomi reanalyze); test files have no weights."""


class RunSettings(Settings):
    """Arguments of `train` that do not determine the weights, and the networks that help."""

    initial: Annotated[str | None, FromFile(network_in_folder)] = None
    """Network from whose weights training begins, and whose shape it has; with a larger network it grows, and plays the
    same at first. A checkpoint, .safetensors, dlshogi's .npz or .pth, .sparse, or an .onnx file of fukayomi export;
    embedded is the embedded residual network."""
    teacher: Annotated[str | None, FromFile(network_in_folder)] = None
    """Network whose policy and value are mixed into the targets, with the share --teacher-weight; it is evaluated for
    every batch. A checkpoint, .safetensors, dlshogi's .npz or .pth, or .onnx or .sparse, which compute on the CPU;
    embedded is the embedded residual network."""
    device: str = "auto"
    """Device to compute on: cpu, cuda, cuda:1, or auto, which is cuda if there is one."""
    threads: PositiveInt | None = None
    """CPU threads; None: the fastest of one, half and all, measured at the start."""
    eval_interval: PositiveInt = EVAL_INTERVAL
    """Steps between two evaluations."""
    checkpoint_interval: PositiveInt = CHECKPOINT_INTERVAL
    """Steps between two checkpoints."""
    test_positions: PositiveInt = TEST_POSITIONS
    """Test positions of an evaluation before the last one."""
