"""Settings of a training run."""

from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Literal, cast, get_args

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
"""What presets say of the targets."""


class TrainingError(ValueError):
    """Training cannot start or go on: bad settings, a folder in use, too few positions, or a diverged loss."""

    __module__ = "fukayomi.learning"


def plain_value(name: str, value: Any, annotation: Any) -> Any:
    """A setting as its type in plain Python: a number of NumPy's in a checkpoint would make it unreadable.

    Raises:
        TrainingError: It is of another type.
    """
    kinds = get_args(annotation) or (annotation,)
    if value is None and type(None) in kinds:
        return None
    for kind, abstract, wanted in ((float, Real, "a number"), (int, Integral, "an integer")):
        if kind in kinds:
            if isinstance(value, bool) or not isinstance(value, abstract):
                raise TrainingError(f"{name} must be {wanted}, not {value!r}")
            return kind(cast("Any", value))
    if bool in kinds and not isinstance(value, bool):
        raise TrainingError(f"{name} must be True or False, not {value!r}")
    return value


@dataclass(frozen=True)
class TrainingSettings:
    """The settings that determine the weights, besides the data and the network's shape."""

    steps: int | None = None
    """Optimiser steps of the whole run; None: as `epochs` says."""
    epochs: float | None = None
    """Passes over the training data, instead of `steps`; one if neither is given."""
    batch: int = 1024
    """Positions per step."""
    optimizer: OptimizerName = "sgd"
    """"sgd" with Nesterov momentum 0.9, "adamw", or "muon" (blocks by Muon, the rest by AdamW)."""
    lr: float = 0.04
    """Peak learning rate; for "adamw" and "muon" 0.001 to 0.01, the higher the smaller the network."""
    schedule: ScheduleName = "cosine"
    """The learning rate after the warm-up: along a cosine to zero at the last step, halved every `halving_epochs`, or
    constant."""
    halving_epochs: float = 1.0
    """Passes over the data between two halvings of the learning rate."""
    warmup: int = 500
    """Steps of linear warm-up."""
    weight_decay: float = 1e-4
    """Weight decay of matrices and convolutions; biases and BatchNorm have none."""
    clip: float = 10.0
    """Largest norm of the gradient; larger gradients are scaled down."""
    val_lambda: float = VAL_LAMBDA
    """Share of the evaluation in the value target, 0 to 1; the rest is the game's result."""
    val_lambda_decay: float = 0.0
    """Passes over the data in which val_lambda falls linearly to 0; 0: it stays."""
    value_weight: float = 1.0
    """Weight of the value loss beside that of the policy, which is 1."""
    entropy: float = 0.0
    """Reward for each nat of the policy's entropy."""
    critic: bool = False
    """Multiply each position's policy loss by result - evaluation + 0.5."""
    ema_interval: int = 0
    """Steps between two updates of averaged weights, which are then the ones that are evaluated and exported; 0: no
    average. dlshogi and KataGo use 250."""
    ema_averages: int = 10
    """Weights after n updates: n / (n + 1) of the old average plus 1 / (n + 1) of the current weights, with this n."""
    teacher_weight: float = 0.5
    """Share of a teacher's policy and value in the loss, 0 to 1; the rest is the data's. Without a teacher: unused."""
    teacher_temperature: float = 1.0
    """The teacher's policy is softmax(logits / temperature)."""
    soft_policy_weight: float = 8.0
    """Weight of the loss of the head "soft-policy"; 8 as in KataGo. Weights of heads that the network lacks: unused."""
    short_term_value_weight: float = 0.5
    """Weight of the loss of the head "short-term-value"."""
    wdl_weight: float = 0.5
    """Weight of the loss of the head "wdl"."""
    plies_left_weight: float = 0.1
    """Weight of the loss of the head "plies-left"."""
    reply_weight: float = 0.15
    """Weight of the loss of the head "reply"; 0.15 as in KataGo."""
    max_rise: float = 2.0
    """Stop when the smoothed loss is this many nats above the lowest so far; 0: only when it is not finite."""
    seed: int = 0
    """Random seed for the initial weights, the data order and dropout."""
    amp: AmpMode = "auto"
    """Precision: "bf16", "fp16" (with scaled losses), "off" (float32), or "auto": bfloat16 if the device has
    instructions for it."""
    compile: bool = False
    """Compile the network with torch.compile: the first step takes minutes, later ones may be faster on a GPU."""

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, plain_value(field.name, getattr(self, field.name), field.type))
        if self.steps is not None and self.epochs is not None:
            raise TrainingError("give steps or epochs, not both")
        for name in ("steps", "epochs", "batch", "lr", "clip", "halving_epochs", "ema_averages", "teacher_temperature"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise TrainingError(f"{name} must be positive, not {value}")
        heads = (
            "soft_policy_weight", "short_term_value_weight", "wdl_weight", "plies_left_weight", "reply_weight",
        )  # fmt: skip
        others = ("warmup", "weight_decay", "val_lambda_decay", "value_weight", "ema_interval", "max_rise", "seed")
        for name in (*others, *heads):
            if not 0 <= (value := getattr(self, name)) < float("inf"):
                raise TrainingError(f"{name} must be 0 or more, not {value}")
        for name, names in (("optimizer", OptimizerName), ("schedule", ScheduleName), ("amp", AmpMode)):
            if (value := getattr(self, name)) not in get_args(names):
                raise TrainingError(f"{name} must be {' or '.join(get_args(names))}, not {value}")
        for name in ("val_lambda", "teacher_weight"):
            if not 0 <= (value := getattr(self, name)) <= 1:
                raise TrainingError(f"{name} must be between 0 and 1, not {value}")
        if self.seed > LARGEST_SEED:
            raise TrainingError(f"seed must be at most {LARGEST_SEED}, not {self.seed}")
        if not abs(self.entropy) < float("inf"):
            raise TrainingError(f"entropy must be a number, not {self.entropy}")

    def total_steps(self, positions: int) -> int:
        """Steps of a run on this many training positions; the last partial batch of an epoch is left out."""
        if self.steps is not None:
            return self.steps
        epochs = 1.0 if self.epochs is None else self.epochs
        return max(1, round(epochs * (positions // self.batch)))
