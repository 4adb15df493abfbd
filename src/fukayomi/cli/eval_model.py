"""``fukayomi eval-model``: how well a network predicts the moves and results of other games."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.errors import user_errors

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
    test: Annotated[list[Path], typer.Argument(metavar="TEST.hcpe...", help="Test positions.")],
    val_lambda: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the search value in the sum of the losses.")
    ] = 0.333,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1; auto: cuda if there is one. ONNX: cpu.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Evaluate a network on hcpe files that it was not trained on."""
    with user_errors():
        from fukayomi.learning.batches import PositionFiles
        from fukayomi.learning.devices import choose_device
        from fukayomi.learning.evaluation import evaluate_network
        from fukayomi.learning.models import load_model

        where = choose_device("cpu" if model.suffix == ".onnx" and device == "auto" else device)
        network = load_model(model).to(where)
        metrics = evaluate_network(network, PositionFiles(test), where, val_lambda).as_dict()
    if as_json:
        typer.echo(json.dumps(metrics))
        return
    for name, label in LABELS.items():
        number = metrics[name]
        typer.echo(f"{label:<26}{number:>10}" if name == "positions" else f"{label:<26}{number:>10.4f}")
