"""``fukayomi train``: from training data to a trained network."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, user_errors
from fukayomi.cli.learning.targets import read_eval_scale
from fukayomi.cli.learning.train_options import NetworkOptions, OptimisationOptions, RunOptions

if TYPE_CHECKING:
    from fukayomi.learning.positions import PositionFiles
    from fukayomi.learning.training import TrainingSettings


def train(
    train_files: Annotated[list[Path], typer.Argument(metavar="TRAIN...", help="hcpe, hcpe2, hcpe3 and avg files.")],
    out: Annotated[Path, typer.Option(help="Folder of the run: its checkpoint and TensorBoard files.")],
    network: NetworkOptions,
    optimisation: OptimisationOptions,
    run: RunOptions,
    test: Annotated[
        list[Path] | None, typer.Option(help="Test positions, likewise; may be given more than once.")
    ] = None,
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
        from fukayomi.learning.training import TrainingRun
        from fukayomi.learning.training import train as run_training
        from fukayomi.nn.config import NetworkConfig

        if optimisation.steps is not None and optimisation.epochs is not None:
            raise typer.BadParameter("give --steps or --epochs, not both")
        if run.threads:
            torch.set_num_threads(run.threads)
        device = choose_device(run.device)
        files = PositionFiles(train_files)
        settings = _settings(optimisation, files, amp=choose_amp(run.amp.value, device))
        tests = PositionFiles(test) if test else None
        result = run_training(
            NetworkConfig(network.blocks, network.channels, network.activation.value, network.value_hidden),
            settings,
            TrainingRun(files, tests, out, device, run.eval_interval, run.checkpoint_interval),
            run.resume,
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


def _settings(given: OptimisationOptions, files: "PositionFiles", *, amp: bool) -> "TrainingSettings":
    from fukayomi.learning.training import TrainingSettings, steps_of_epochs

    epochs = 1.0 if given.epochs is None else given.epochs
    return TrainingSettings(
        steps=given.steps or steps_of_epochs(files, epochs, given.batch),
        batch=given.batch,
        optimizer=given.optimizer.value,
        lr=given.lr,
        warmup=given.warmup,
        weight_decay=given.weight_decay,
        clip=given.clip,
        val_lambda=given.val_lambda,
        temperature=given.temperature,
        eval_scale=read_eval_scale(given.eval_scale),
        seed=given.seed,
        amp=amp,
    )
