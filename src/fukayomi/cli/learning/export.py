"""``fukayomi export``: from a checkpoint to a file that engines load, in float32 or in int8."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.options import AsJson
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text
from fukayomi.nn.config import Activation
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.nn.export import Agreement


@dataclass(frozen=True)
class ExportOptions:
    """Precision and output."""

    half: Annotated[bool, typer.Option("--half")] = False
    """Store the weights as float16: half the size, still computed in float32."""
    int8: Annotated[bool, typer.Option("--int8")] = False
    """Compute in int8: much faster on most CPUs, and nearly the same answers."""
    calibration: Annotated[list[Path] | None, typer.Option(metavar="FILE")] = None
    """With --int8: positions of games to measure the network on: hcpe, hcpe2, hcpe3, psv, avg or records; may be
    repeated. By default the network plays games against itself."""
    activation: Activation | None = None
    """Activation of a network in dlshogi's .npz or .pth, whose file may not say it."""
    as_json: AsJson = False


def export(
    network: Annotated[
        Path,
        typer.Argument(
            help="A checkpoint of `fukayomi train`, a .safetensors file, dlshogi's .npz or .pth, a .sparse file, or an "
            ".onnx file: any with --int8, else one of fukayomi export without Transformers, large kernels and "
            "squeeze-excitation."
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="File to write: .onnx; .sparse of a sparse network; with a name in .safetensors, or dlshogi's .npz or "
            ".pth, the parameters alone.",
        ),
    ],
    options: ExportOptions,
) -> None:
    """Export a network as a file that engines play: ONNX for any engine with dlshogi's networks, .sparse for ours.

    Example: fukayomi export run/checkpoint.pt network.onnx

    Example: fukayomi export network.onnx network.int8.onnx --int8 --calibration games.hcpe3

    Example: fukayomi export model.npz network.safetensors --activation silu

    Example: fukayomi export run/checkpoint.pt network.sparse

    A sparse network has no ONNX file; its own, in integers, is what the engine plays (.sparse).

    BatchNorm is folded into the convolutions, and the batch size is free. The outputs of an ONNX file are compared with
    torch's on positions of games; those of an int8 file with float32's, and a warning says if more than 3 % of the best
    moves are other ones.
    """
    require_suffix(out, "OUT")
    if (options.half or options.int8) and out.suffix != ".onnx":
        integers = "; a .sparse file is in integers as it is" if out.suffix == ".sparse" else ""
        raise typer.BadParameter(
            f"only ONNX files can be {'int8' if options.int8 else 'stored as float16'}{integers}",
            param_hint="--int8" if options.int8 else "--half",
        )
    if options.half and options.int8:
        raise typer.BadParameter("choose one of --half and --int8", param_hint="--half")
    if options.calibration and not options.int8:
        raise typer.BadParameter("only --int8 needs positions", param_hint="--calibration")
    if options.int8:
        return _export_int8(network, out, options)
    from fukayomi.learning.models import export_network, load_network

    agreement = export_network(load_network(network, activation=options.activation), out, half=options.half)
    size = out.stat().st_size
    if options.as_json:
        typer.echo(json_text({"file": str(out), **(agreement.as_dict() if agreement else {}), "bytes": size}))
        return
    print_export(out, agreement)


def require_suffix(out: Path, hint: str) -> None:
    """Refuse a name that is of no kind of file that holds a network; `hint` is the parameter."""
    if out.suffix not in (".onnx", ".safetensors", ".npz", ".pth", ".sparse"):
        raise typer.BadParameter(
            f"{out}: the name must end in .onnx, .safetensors, .npz, .pth or .sparse", param_hint=hint
        )


def print_export(out: Path, agreement: "Agreement | None") -> None:
    """Print the size of a file, and how an ONNX file agrees with torch."""
    typer.echo(f"{out}: {counted(out.stat().st_size, 'byte')}")
    if agreement:
        typer.echo(
            f"agreement with torch on {counted(agreement.positions, 'position')}: top-1 {agreement.top1:.1%}, "
            f"KL {agreement.kl:.1e}, |dlogit| max {agreement.max_logit_error:.1e}, "
            f"|dvalue| mean {agreement.value_error:.1e}, max {agreement.max_value_error:.1e}"
        )


def _export_int8(network: Path, out: Path, options: ExportOptions) -> None:
    from fukayomi.learning.int8 import MOST_LOST, export_int8

    with StageBars() as listener:
        result = export_int8(network, out, options.calibration or (), activation=options.activation, listener=listener)
    size, agreement = out.stat().st_size, result.agreement
    if not result.keeps_best_moves:
        advice = "calibrate on positions of games (--calibration FILE), or play in float32"
        if options.calibration:
            advice = "play in float32 if a match shows that int8 is weaker"
        typer.echo(
            f"warning: int8 has another best move in {1 - agreement.top1:.1%} of the positions (more than "
            f"{MOST_LOST:.0%}); {advice}",
            err=True,
        )
    if options.as_json:
        figures = {
            "calibration_positions": result.calibration_positions,
            **agreement.as_dict(),
            "keeps_best_moves": result.keeps_best_moves,
        }
        typer.echo(json_text({"file": str(out), **figures, "bytes": size}))
        return
    typer.echo(f"{out}: {counted(size, 'byte')}, calibrated on {counted(result.calibration_positions, 'position')}")
    typer.echo(
        f"agreement with float32 on {counted(agreement.positions, 'position')}: top-1 {agreement.top1:.1%}, "
        f"KL {agreement.kl:.4f}, |dvalue| mean {agreement.value_error:.4f}, max {agreement.max_value_error:.3f}"
    )
