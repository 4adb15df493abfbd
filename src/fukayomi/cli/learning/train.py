"""``fukayomi train``: from training data to a trained network."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from fukayomi.cli.common.errors import exit_stopped
from fukayomi.cli.common.options import given_options
from fukayomi.cli.common.text import json_text
from fukayomi.cli.learning.train_options import (
    HelperOptions,
    LossOptions,
    NetworkOptions,
    OptimisationOptions,
    RunOptions,
    SourceOptions,
    TargetOptions,
)

if TYPE_CHECKING:
    from fukayomi.learning.training.configuration import RunConfiguration
    from fukayomi.learning.training.reporter import TrainingResult


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

    from fukayomi.cli.common.progress import StageBars
    from fukayomi.cli.learning.train_progress import TrainingProgress
    from fukayomi.learning.listeners.json_lines import JsonLinesListener
    from fukayomi.learning.listeners.tensorboard import TensorBoardListener
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
