"""``fukayomi train``: from training data to a trained network.

An option that is not given is None, so that the file of --config or the library decides.
"""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast

import typer

from fukayomi.cli.common.errors import exit_stopped
from fukayomi.cli.common.options import given_options, options_of
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text
from fukayomi.learning.settings import PresetName, RunSettings, TargetSettings, TrainingSettings
from fukayomi.nn.config import NetworkConfig

if TYPE_CHECKING:
    from fukayomi.learning.training.configuration import RunConfiguration
    from fukayomi.learning.training.trainer import TrainingResult


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
    TrainingSettings, "val_lambda", "policy_weight", "value_weight", "val_lambda_decay", "entropy", "critic",
    panel="Loss and targets",
)  # fmt: skip
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

    test: list[str] | None = None
    """Test set, in the same formats; may be given more than once."""
    preset: PresetName | None = None
    """Settings to start from. dlshogi: the defaults of its train.py, lr 0.01 constant, with averages. dlshogi-large:
    batch 4096, 12 epochs, halving, warm-up, bf16, averages. reanalyze: as in MuZero Reanalyze, 2 epochs, --value-weight
    0.25, --n-step 5. sparse: adamw, batch 4096, lr 0.002, the default of sparse networks."""
    config: Annotated[Path | None, typer.Option(metavar="FILE.toml")] = None
    """Read settings from a file, such as the config.toml of another run. Options on the command line win."""
    resume: Annotated[bool, typer.Option("--resume")] = False
    """Go on from the checkpoint in --out, with the settings of its config.toml."""
    as_json: Annotated[bool, typer.Option("--json")] = False
    """Print the result as one JSON object; progress goes to stderr."""


def train(
    out: Annotated[Path, typer.Option(help="Folder of the run, for its checkpoints, settings and curves.")],
    network: NetworkOptions,
    optimisation: OptimisationOptions,
    loss: LossOptions,
    helpers: HelperOptions,
    targets: TargetOptions,
    run: RunOptions,
    source: SourceOptions,
    train_files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TRAIN...",
            help="Training data: hcpe, hcpe2, hcpe3, psv and avg files. 'FILE*2' visits a file twice an epoch, "
            "'FILE*0.5' a half of it, another one each time.",
        ),
    ] = None,
) -> None:
    """Train a network on positions and games, as `fukayomi data convert` and `fukayomi data average` write them.

    \b
    fukayomi train games.hcpe3 --test test.hcpe --out run --network resnet5x64
    fukayomi train 'new.hcpe3*2' old.avg --out new --config run/config.toml
    torchrun --nproc-per-node 8 -m fukayomi train games.hcpe3 --out run

    The loss is the cross-entropy of the move played (in hcpe3 and avg: of the visits) plus that of the value against a
    mix of game result and evaluation. hcpe3 and avg files are checked before training starts; moves of hcpe3 into a
    repetition within 16 plies are left out.

    Ctrl-C, SIGTERM and a closed terminal save a checkpoint and stop; --resume goes on and ends with the same weights as
    an uninterrupted run. A run whose loss rises or is not finite stops with its last good weights. The folder gets
    checkpoint.pt, config.toml with all settings, and curves for TensorBoard and as JSON lines.
    """
    from fukayomi.learning.training.configuration import RunConfiguration
    from fukayomi.learning.training.run_folder import CONFIG_NAME, RunFolder
    from fukayomi.settings import build, read

    if source.resume:
        RunFolder(out).require_begun()
    saved = out / CONFIG_NAME
    file = source.config or (saved if source.resume and saved.is_file() else None)
    settings = read(RunConfiguration, file) if file else {}
    preset = {} if source.preset is None else {"preset": source.preset}
    flags: dict[str, Any] = {
        **({"train": train_files} if train_files else {}),
        **({"test": source.test} if source.test else {}),
        "network": _network(network, given_options(run).get("initial") or _initial_alone(settings)),
        "training": given_options(optimisation) | given_options(loss) | given_options(helpers) | preset,
        "targets": given_options(targets),
        "run": given_options(run),
    }
    configuration = build(RunConfiguration, settings, flags)
    result = _run(configuration, out, source)
    _print(result, configuration, source)


def _initial_alone(settings: dict[str, Any]) -> str | None:
    """The initial network that a file names, if the file says nothing of the network to train."""
    run: Any = settings.get("run")
    initial: Any = cast("dict[str, Any]", run).get("initial") if isinstance(run, dict) else None
    return initial if isinstance(initial, str) and "network" not in settings else None


def _network(options: NetworkOptions, initial: Path | str | None) -> dict[str, Any]:
    """The settings of the network that were given; the shape is by default that of the initial network."""
    found = given_options(options, "network", "heads")
    if initial is not None and options.network is None:
        from fukayomi.learning.models import load_network

        found = load_network(initial).config.as_dict() | found
    if options.network is not None:
        found["name"] = options.network
    if options.heads is not None:
        found["heads"] = [name.strip() for name in options.heads.split(",") if name.strip()]
    return found


def _run(configuration: "RunConfiguration", out: Path, source: SourceOptions) -> "TrainingResult":
    from rich.console import Console

    from fukayomi.cli.learning.train_progress import TrainingProgress
    from fukayomi.learning.listeners import JsonLinesListener, TensorBoardListener
    from fukayomi.learning.training.training import train as run_training
    from fukayomi.listener import fan_out

    with StageBars() as bars:
        data = configuration.open(configuration.train, bars)
        test = configuration.open(configuration.test, bars, as_test=True) if configuration.test else None
    progress = TrainingProgress(Console(stderr=source.as_json))
    return run_training(
        configuration.network,
        data,
        out,
        test=test,
        settings=configuration.training,
        resume=source.resume,
        listener=fan_out(TensorBoardListener(), JsonLinesListener(), progress),
        **dict(configuration.run),
    )


def _print(result: "TrainingResult", configuration: "RunConfiguration", source: SourceOptions) -> None:
    from fukayomi.learning.training.parallel import is_first_process
    from fukayomi.nn.sparse_config import SparseConfig

    if not is_first_process():
        return
    if source.as_json:
        found = result.metrics.as_dict() if result.metrics else None
        metrics = found and {name: value if isfinite(value) else None for name, value in found.items()}
        end = {"step": result.step, "steps": result.steps, "checkpoint": str(result.checkpoint), "metrics": metrics}
        typer.echo(json_text(end))
    elif result.finished:
        file = "network.sparse" if isinstance(configuration.network, SparseConfig) else "network.onnx"
        typer.echo(f"done: {result.checkpoint}\nnext: fukayomi export {result.checkpoint} {file}")
    if not result.finished:
        typer.echo(f"stopped after step {result.step}; run the same command with --resume to go on", err=True)
        exit_stopped(result.stopped_by)
