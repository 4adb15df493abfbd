"""``fukayomi eval-model``: how well a network predicts the moves and results of other games."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.errors import user_errors
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text
from fukayomi.cli.learning.target_options import Device, TargetOptions

LABELS = {
    "positions": "positions",
    "policy_loss": "policy loss",
    "result_loss": "value loss (result)",
    "search_value_loss": "value loss (search value)",
    "total_loss": "sum of the losses",
    "policy_accuracy": "policy accuracy",
    "value_accuracy": "value accuracy",
    "policy_entropy": "policy entropy",
}


@dataclass(frozen=True)
class EvalModelOptions:
    """Device and output."""

    device: Device = "auto"
    as_json: AsJson = False


def eval_model(
    model: Annotated[Path, typer.Argument(help="A checkpoint, a .safetensors or an .onnx file.")],
    test: Annotated[
        list[Path], typer.Argument(metavar="TEST...", help="Test set: hcpe, hcpe2, hcpe3, psv and avg files.")
    ],
    targets: TargetOptions,
    options: EvalModelOptions,
) -> None:
    """Evaluate a network on positions that it was not trained on. ONNX files are evaluated on the CPU.

    Example: fukayomi eval-model run/checkpoint.pt test.hcpe
    """
    with user_errors():
        from fukayomi.learning.evaluation import evaluate

        device = None if options.device == "auto" else options.device
        data = targets.open(test)
        with StageBars() as listener:
            found = evaluate(model, data, val_lambda=targets.val_lambda, device=device, listener=listener)
        metrics = found.as_dict()
    if options.as_json:
        typer.echo(json_text(metrics))
        return
    for name, label in LABELS.items():
        number = metrics[name]
        typer.echo(f"{label:<26}{number:>10}" if name == "positions" else f"{label:<26}{number:>10.4f}")
