"""``fukayomi eval-model``: how well a network predicts the moves and results of other games."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.errors import user_errors
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.learning.targets import DEFAULT_EVAL_SCALE, EVAL_SCALE_HELP, TEMPERATURE_HELP, read_eval_scale

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


def eval_model(
    model: Annotated[Path, typer.Argument(help="A checkpoint, a .safetensors or an .onnx file.")],
    test: Annotated[list[Path], typer.Argument(metavar="TEST...", help="hcpe, hcpe2, hcpe3 and avg files.")],
    val_lambda: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the search value in the sum of the losses.")
    ] = 0.333,
    temperature: Annotated[float, typer.Option(min=0, help=TEMPERATURE_HELP)] = 1.0,
    eval_scale: Annotated[str, typer.Option(metavar="CENTIPAWNS|fit", help=EVAL_SCALE_HELP)] = DEFAULT_EVAL_SCALE,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1; auto: cuda if there is one. ONNX: cpu.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Evaluate a network on hcpe, hcpe3 and avg files that it was not trained on."""
    with user_errors():
        from fukayomi.learning.devices import choose_device
        from fukayomi.learning.evaluation import evaluate_network
        from fukayomi.learning.models import load_model
        from fukayomi.learning.positions import PositionFiles, TargetSettings

        where = choose_device("cpu" if model.suffix == ".onnx" and device == "auto" else device)
        network = load_model(model).to(where)
        targets = TargetSettings(temperature, read_eval_scale(eval_scale))
        metrics = evaluate_network(network, PositionFiles(test), where, val_lambda, targets=targets).as_dict()
    if as_json:
        typer.echo(json.dumps(metrics))
        return
    for name, label in LABELS.items():
        number = metrics[name]
        typer.echo(f"{label:<26}{number:>10}" if name == "positions" else f"{label:<26}{number:>10.4f}")
