"""``fukayomi export``: from a checkpoint to the file that engines load."""

import json
from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.errors import user_errors
from fukayomi.cli.common.options import AsJson

COMPARED_POSITIONS = 256


def export(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint of `fukayomi train`, or a .safetensors file.")],
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT.onnx", help="The file to write; a name in .safetensors: the parameters alone."),
    ],
    half: Annotated[
        bool, typer.Option("--half", help="Store the weights as float16: half the size, still computed in float32.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Export a network as one self-contained ONNX file that any engine for dlshogi's networks can play.

    BatchNorm is folded into the convolutions, the batch size is free, and the file's outputs are compared with
    torch's on positions from random games.
    """
    with user_errors():
        from fukayomi.learning.models import load_network, random_game_features
        from fukayomi.nn.export import check_agreement, compare, export_onnx
        from fukayomi.nn.parameters import save_parameters

        if out.suffix not in (".onnx", ".safetensors"):
            raise typer.BadParameter(f"{out}: the name must end in .onnx or .safetensors", param_hint="OUT.onnx")
        if half and out.suffix != ".onnx":
            raise typer.BadParameter("only ONNX files are stored as float16", param_hint="--half")
        network = load_network(checkpoint)
        report: dict[str, object] = {"file": str(out)}
        if out.suffix == ".safetensors":
            save_parameters(network, out)
        else:
            export_onnx(network, out, half)
            agreement = compare(network, out, *random_game_features(COMPARED_POSITIONS))
            check_agreement(agreement, half)
            report |= agreement.as_dict()
        report["bytes"] = out.stat().st_size
    if as_json:
        typer.echo(json.dumps(report))
        return
    typer.echo(f"{out}: {out.stat().st_size:,} bytes")
    if "positions" in report:
        typer.echo(
            f"agreement with torch on {report['positions']} positions: max |dlogit| {report['max_logit_error']:.2e}, "
            f"max |dvalue| {report['max_value_error']:.2e}, top-1 {report['top1']:.1%}"
        )
