"""``fukayomi export``: from a checkpoint to a file that engines load."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.errors import user_errors
from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.text import json_text
from fukayomi.tabular import counted


@dataclass(frozen=True)
class ExportOptions:
    """Precision and output."""

    half: Annotated[
        bool,
        typer.Option("--half", help="Store the weights as float16: half the size, still computed in float32."),
    ] = False
    as_json: AsJson = False


def export(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint of `fukayomi train`, or a .safetensors file.")],
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT.onnx", help="File to write; with a name in .safetensors, the parameters alone."),
    ],
    options: ExportOptions,
) -> None:
    """Export a network as one ONNX file for any engine that plays dlshogi's networks.

    Example: fukayomi export run/checkpoint.pt network.onnx

    BatchNorm is folded into the convolutions, and the batch size is free. The outputs of the file are compared with
    torch's on positions from random games.
    """
    with user_errors():
        from fukayomi.learning.models import export_network, load_network

        if out.suffix not in (".onnx", ".safetensors"):
            raise typer.BadParameter(f"{out}: the name must end in .onnx or .safetensors", param_hint="OUT.onnx")
        if options.half and out.suffix != ".onnx":
            raise typer.BadParameter("only ONNX files can be stored as float16", param_hint="--half")
        agreement = export_network(load_network(checkpoint), out, half=options.half)
        size = out.stat().st_size
    if options.as_json:
        typer.echo(json_text({"file": str(out), **(agreement.as_dict() if agreement else {}), "bytes": size}))
        return
    typer.echo(f"{out}: {counted(size, 'byte')}")
    if agreement:
        typer.echo(
            f"agreement with torch on {counted(agreement.positions, 'position')}: "
            f"max |dlogit| {agreement.max_logit_error:.2e}, "
            f"max |dvalue| {agreement.max_value_error:.2e}, top-1 {agreement.top1:.1%}"
        )
