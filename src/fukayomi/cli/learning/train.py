"""``fukayomi train``: from training data to a trained network."""

from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, user_errors
from fukayomi.cli.common.text import json_text
from fukayomi.cli.learning.target_options import TargetOptions
from fukayomi.cli.learning.train_options import NetworkOptions, OptimisationOptions, RunOptions


def train(
    train_files: Annotated[
        list[Path], typer.Argument(metavar="TRAIN...", help="Training data: hcpe, hcpe2, hcpe3, psv and avg files.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the run, for its checkpoint and TensorBoard files.")],
    network: NetworkOptions,
    optimisation: OptimisationOptions,
    targets: TargetOptions,
    run: RunOptions,
) -> None:
    """Train a network on positions and games, as `fukayomi data convert` and `fukayomi data average` write them.

    Example: fukayomi train games.hcpe3 --test test.hcpe --out run --network resnet5x64

    The loss is the cross-entropy of the move played (in hcpe3 and avg: of the visits) plus that of the value against a
    mix of game result and evaluation. hcpe3 and avg files are checked before training starts; moves of hcpe3 into a
    repetition within 16 plies are left out.

    Ctrl-C saves a checkpoint and stops; --resume goes on and ends with the same weights as an uninterrupted run.
    """
    with user_errors():
        from rich.console import Console

        from fukayomi.cli.learning.train_progress import TrainingProgress
        from fukayomi.learning.listeners.listener import TrainingListeners
        from fukayomi.learning.listeners.tensorboard import TensorBoardListener
        from fukayomi.learning.settings import TrainingSettings
        from fukayomi.learning.training.loop import train as run_training

        settings = TrainingSettings(**vars(optimisation), val_lambda=targets.val_lambda)
        result = run_training(
            network.config(),
            targets.open(train_files),
            out,
            test=targets.open(run.test) if run.test else None,
            settings=settings,
            device=run.device,
            threads=run.threads,
            eval_interval=run.eval_interval,
            checkpoint_interval=run.checkpoint_interval,
            resume=run.resume,
            listener=TrainingListeners(TensorBoardListener(), TrainingProgress(Console(stderr=run.as_json))),
        )
    if run.as_json:
        metrics = result.metrics.as_dict() if result.metrics else None
        end = {"step": result.step, "steps": result.steps, "checkpoint": str(result.checkpoint), "metrics": metrics}
        typer.echo(json_text(end))
    elif result.finished:
        typer.echo(f"done: {result.checkpoint}\nnext: fukayomi export {result.checkpoint} network.onnx")
    if not result.finished:
        typer.echo(f"stopped after step {result.step}; run the same command with --resume to go on", err=True)
        raise typer.Exit(INTERRUPTED)
