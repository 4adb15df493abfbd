"""``fukayomi train``: from training data to a trained network."""

import enum
import json
from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.errors import INTERRUPTED, user_errors
from fukayomi.cli.targets import DEFAULT_EVAL_SCALE, EVAL_SCALE_HELP, TEMPERATURE_HELP, read_eval_scale

NETWORK = "Network"
OPTIMISATION = "Optimisation"
RUN = "Run"


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
    return typer.Option(min=1, help=text, rich_help_panel=NETWORK)


def train(
    train_files: Annotated[list[Path], typer.Argument(metavar="TRAIN...", help="hcpe, hcpe3 and avg files.")],
    out: Annotated[Path, typer.Option(help="Folder of the run: its checkpoint and TensorBoard files.")],
    test: Annotated[
        list[Path] | None, typer.Option(help="Test positions, likewise; may be given more than once.")
    ] = None,
    blocks: Annotated[int, network_option("Residual blocks.")] = 10,
    channels: Annotated[int, network_option("Channels of the trunk.")] = 192,
    activation: Annotated[
        ActivationName, typer.Option(help="relu is the faster one on a CPU.", rich_help_panel=NETWORK)
    ] = ActivationName.SILU,
    value_hidden: Annotated[int, network_option("Width of the value head's hidden layer.")] = 256,
    batch: Annotated[int, typer.Option(min=1, help="Positions a step.", rich_help_panel=OPTIMISATION)] = 1024,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Steps of the whole run.", rich_help_panel=OPTIMISATION)
    ] = None,
    epochs: Annotated[
        float | None,
        typer.Option(
            help="Passes over the training data, instead of --steps; 1 if neither is given.",
            rich_help_panel=OPTIMISATION,
        ),
    ] = None,
    optimizer: Annotated[
        OptimizerName, typer.Option(help="SGD has Nesterov momentum 0.9.", rich_help_panel=OPTIMISATION)
    ] = OptimizerName.SGD,
    lr: Annotated[
        float, typer.Option(help="Peak learning rate; from there a cosine to zero.", rich_help_panel=OPTIMISATION)
    ] = 0.04,
    warmup: Annotated[int, typer.Option(min=0, help="Steps of linear warm-up.", rich_help_panel=OPTIMISATION)] = 500,
    weight_decay: Annotated[
        float, typer.Option(min=0, help="Not for biases and BatchNorm.", rich_help_panel=OPTIMISATION)
    ] = 1e-4,
    clip: Annotated[float, typer.Option(help="Largest norm of the gradient.", rich_help_panel=OPTIMISATION)] = 10.0,
    val_lambda: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Share of the search value in the value target; the rest is the game's result.",
            rich_help_panel=OPTIMISATION,
        ),
    ] = 0.333,
    temperature: Annotated[float, typer.Option(min=0, help=TEMPERATURE_HELP, rich_help_panel=OPTIMISATION)] = 1.0,
    eval_scale: Annotated[
        str, typer.Option(metavar="CENTIPAWNS|fit", help=EVAL_SCALE_HELP, rich_help_panel=OPTIMISATION)
    ] = DEFAULT_EVAL_SCALE,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the first weights and the order of the data.", rich_help_panel=OPTIMISATION)
    ] = 0,
    amp: Annotated[
        AmpName, typer.Option(help="bfloat16; auto: if the device is fast at it.", rich_help_panel=RUN)
    ] = AmpName.AUTO,
    device: Annotated[
        str, typer.Option(help="cpu, cuda, cuda:1; auto: cuda if there is one.", rich_help_panel=RUN)
    ] = "auto",
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads; all cores if not given.", rich_help_panel=RUN)
    ] = None,
    eval_interval: Annotated[
        int, typer.Option(min=1, help="Steps between two looks at the test set.", rich_help_panel=RUN)
    ] = 1000,
    checkpoint_interval: Annotated[
        int, typer.Option(min=1, help="Steps between two checkpoints.", rich_help_panel=RUN)
    ] = 1000,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on from the checkpoint in --out, with the same options; --steps may differ.",
            rich_help_panel=RUN,
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print how the run ended as one JSON object; progress goes to stderr.")
    ] = False,
) -> None:
    """Train a network on hcpe, hcpe3 and avg files (as `fukayomi data convert` and `average` make them), also together.

    The loss is the cross-entropy of the move played, or of the visits of hcpe3 and avg, plus that of the value
    against a mix of game result and search value. hcpe3 and avg are read and checked first; of hcpe3 a move that
    leads into a repetition within 16 plies is not learnt. Ctrl-C saves and stops; --resume goes on, to the same
    weights as if the run had never stopped.
    """
    with user_errors():
        import torch
        from rich.console import Console

        from fukayomi.learning.devices import choose_amp, choose_device
        from fukayomi.learning.positions import PositionFiles
        from fukayomi.learning.training import TrainingRun, TrainingSettings, steps_of_epochs
        from fukayomi.learning.training import train as run_training
        from fukayomi.nn.config import NetworkConfig

        if steps is not None and epochs is not None:
            raise typer.BadParameter("give --steps or --epochs, not both")
        if threads:
            torch.set_num_threads(threads)
        where = choose_device(device)
        files = PositionFiles(train_files)
        settings = TrainingSettings(
            steps=steps or steps_of_epochs(files, 1.0 if epochs is None else epochs, batch),
            batch=batch,
            optimizer=optimizer.value,
            lr=lr,
            warmup=warmup,
            weight_decay=weight_decay,
            clip=clip,
            val_lambda=val_lambda,
            temperature=temperature,
            eval_scale=read_eval_scale(eval_scale),
            seed=seed,
            amp=choose_amp(amp.value, where),
        )
        result = run_training(
            NetworkConfig(blocks, channels, activation.value, value_hidden),
            settings,
            TrainingRun(files, PositionFiles(test) if test else None, out, where, eval_interval, checkpoint_interval),
            resume,
            Console(stderr=as_json),
        )
    if as_json:
        metrics = result.metrics.as_dict() if result.metrics else None
        end = {"step": result.step, "steps": settings.steps, "checkpoint": str(result.checkpoint), "metrics": metrics}
        typer.echo(json.dumps(end))
    elif result.finished:
        typer.echo(f"done: {result.checkpoint}\nnext: fukayomi export {result.checkpoint} network.onnx")
    if not result.finished:
        typer.echo(f"stopped after step {result.step}; the same command with --resume goes on from there", err=True)
        raise typer.Exit(INTERRUPTED)
