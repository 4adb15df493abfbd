"""``fukayomi average-networks``: networks of the same shape as one, the weighted mean of their parameters."""

from pathlib import Path
from typing import Annotated

import typer

from fukayomi.cli.common.errors import INTERRUPTED, fail
from fukayomi.cli.common.options import AsJson, by_short_name, check_target, options_of
from fukayomi.cli.common.progress import StageBars
from fukayomi.cli.common.text import json_text
from fukayomi.cli.learning.eval_model import print_evaluation
from fukayomi.cli.learning.export import print_export, require_suffix
from fukayomi.learning.settings import RunSettings
from fukayomi.tabular import counted

WEIGHT = "write FILE*3 for a network that counts three times"


@options_of(RunSettings, "device")
class AverageOptions:
    """Data for BatchNorm, test sets, and output."""

    data: Annotated[list[Path] | None, typer.Option(metavar="FILE", show_default=False)] = None
    """Training positions to estimate BatchNorm's statistics on, which belong to the weights: hcpe, hcpe2, hcpe3, psv or
    avg; may be repeated. Required but for sparse networks, which have no BatchNorm."""
    test: Annotated[list[Path] | None, typer.Option(metavar="FILE", show_default=False)] = None
    """A test set to evaluate the networks and their mean on; repeat for several."""
    as_json: AsJson = False


def average_networks(
    networks: Annotated[
        list[str],
        typer.Argument(
            metavar="NETWORK[*WEIGHT]...",
            help="Two or more of the same shape: checkpoints, .safetensors, dlshogi's .npz and .pth, .sparse files. "
            "Weights are divided by their sum; without one it is 1.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="OUT", help="File to write: .safetensors, .onnx, .npz, .pth or .sparse."),
    ],
    options: AverageOptions,
) -> None:
    """Write the weighted mean of networks, of their parameters one by one.

    \b
    fukayomi average-networks run/checkpoint-before.pt run/checkpoint.pt
        -o mean.safetensors --data train.hcpe --test test.hcpe
    fukayomi average-networks 'a.pt*0.3' 'b.pt*0.7' -o m.onnx --data train.hcpe

    The mean is good only where the networks are near each other: checkpoints of one run, or runs that began from one
    network; the mean of networks that were trained apart is worse than each. BatchNorm's statistics are estimated
    again, on the first 100,000 positions of the data in random order. A checkpoint with averaged weights gives those.

    With --test the networks and the mean stand in one table, as fukayomi eval-model prints it. Training goes on from
    the mean with fukayomi train --initial.
    """
    from fukayomi.learning.training.configuration import split_weight

    parts = [split_weight(text, WEIGHT) for text in networks]
    files, weights = [path for path, _ in parts], [weight for _, weight in parts]
    require_suffix(out, "--out")
    check_target(out, [*files, *(options.data or []), *(options.test or [])])
    from fukayomi.learning.averaging import average_networks as average
    from fukayomi.learning.data.dataset import Dataset
    from fukayomi.learning.evaluation_table import evaluate_networks

    device = options.device or "auto"
    try:
        with StageBars() as listener:
            tests = {
                name: Dataset(path, position_weights=False, listener=listener)
                for name, path in by_short_name(options.test or [], lambda path: path.name).items()
            }
            data = Dataset(*options.data, listener=listener) if options.data else None
            result = average(files, out, weights=weights, data=data, device=device, listener=listener)
            evaluated = by_short_name([*dict.fromkeys(files), out], lambda path: path.name)
            table = (
                evaluate_networks(evaluated, tests, device=None if device == "auto" else device, listener=listener)
                if tests
                else None
            )
    except KeyboardInterrupt:
        fail("stopped", INTERRUPTED)
    if options.as_json:
        document = {
            "file": str(out),
            "bytes": out.stat().st_size,
            "networks": [
                {"network": str(file), "weight": share} for file, share in zip(files, result.weights, strict=True)
            ],
            "estimation_positions": result.estimation_positions,
            **(result.agreement.as_dict() if result.agreement else {}),
            **({"evaluation": table.as_dict()} if table else {}),
        }
        typer.echo(json_text(document))
        return
    print_export(out, result.agreement)
    if result.estimation_positions:
        typer.echo(f"BatchNorm estimated on {counted(result.estimation_positions, 'position')}")
    if table:
        print_evaluation(table)
