"""``fukayomi eval-model``: how well networks predict the moves and results of other games."""

from itertools import takewhile
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.errors import USAGE, fail
from fukayomi.cli.common.options import AsJson, by_short_name, check_target, given_options, options_of
from fukayomi.cli.common.progress import StageBars, number_table
from fukayomi.cli.common.text import json_text, printable
from fukayomi.engine.settings import is_network_name
from fukayomi.learning.settings import CONFIDENCE, RESAMPLES, RunSettings, TargetSettings, TrainingSettings

if TYPE_CHECKING:
    from fukayomi.learning.evaluation_table import EvaluatedNetwork, EvaluationTable, TestSet

NETWORK_SUFFIXES = (".onnx", ".sparse", ".safetensors", ".pt", ".pth", ".npz")
LABELS = {
    "policy_loss": "policy\nloss",
    "result_loss": "result\nloss",
    "search_value_loss": "search\nloss",
    "total_loss": "sum of\nlosses",
    "policy_accuracy": "policy\naccuracy",
    "value_accuracy": "value\naccuracy",
    "policy_entropy": "policy\nentropy",
}


@options_of(TargetSettings, "temperature", "eval_scale", panel="Targets")
class TargetOptions:
    """Options for turning visits and evaluations into targets."""


@options_of(TrainingSettings, "val_lambda", panel="Targets")
class LossOptions:
    """Options for the parts of the losses."""


@options_of(RunSettings, "device")
class EvalModelOptions:
    """Test sets, device, intervals and output."""

    test: Annotated[list[Path] | None, typer.Option(metavar="FILE", show_default=False)] = None
    """A test set; repeat for several."""
    confidence: Annotated[float, typer.Option(min=1, max=99.99)] = 100 * CONFIDENCE
    """Confidence level of the intervals (%)."""
    resamples: Annotated[int, typer.Option(min=0, max=1_000_000)] = RESAMPLES
    """Random samples for the intervals; 0 omits them."""
    seed: Annotated[int, typer.Option(min=0)] = 0
    """Random seed of the samples."""
    csv: Annotated[Path | None, typer.Option("--csv", "-o", metavar="FILE")] = None
    """Also write the table as CSV."""
    as_json: AsJson = False


def eval_model(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="NETWORK... [TEST...]",
            help="Networks: checkpoints, .safetensors, .sparse and .onnx files, dlshogi's .npz and .pth; embedded is "
            "the embedded residual one. Without --test, the files after them are one test set: hcpe, hcpe2, hcpe3, "
            "psv and avg.",
        ),
    ],
    targets: TargetOptions,
    losses: LossOptions,
    options: EvalModelOptions,
) -> None:
    """Evaluate networks on positions that they were not trained on. ONNX files are evaluated on the CPU.

    \b
    fukayomi eval-model run/checkpoint.pt test.hcpe
    fukayomi eval-model old.onnx new.onnx --test a.hcpe --test b.hcpe3 -o t.csv

    Losses are in nats: of the policy, and of the value against the game's result and against the search value. The
    policy's figures are over the moves of each position, without needless non-promotions, for networks of all kinds.
    Intervals come from random samples of whole games, which hcpe3 files tell apart; in the other formats, of blocks of
    256 consecutive positions. With several networks, the differences to the first one have intervals of their own,
    which are narrower: all networks see the same samples.
    """
    networks, tests = _networks_and_tests(files, options.test)
    if options.csv is not None:
        check_target(options.csv, (*files, *(options.test or [])))
    from fukayomi.files.atomic import replace_file
    from fukayomi.learning.data.dataset import Dataset
    from fukayomi.learning.evaluation_table import evaluate_networks

    target, val_lambda = TargetSettings(**given_options(targets)), TrainingSettings(**given_options(losses)).val_lambda
    scale = None if isinstance(target.eval_scale, str) else target.eval_scale
    with StageBars() as listener:
        data = {
            name: Dataset(
                *paths, temperature=target.temperature, eval_scale=scale, position_weights=False, listener=listener
            )
            for name, paths in tests.items()
        }
        table = evaluate_networks(
            networks,
            data,
            val_lambda=val_lambda,
            device=None if options.device == "auto" else options.device,
            resamples=options.resamples,
            confidence=options.confidence / 100,
            seed=options.seed,
            listener=listener,
        )
    if options.as_json:
        typer.echo(json_text(table.as_dict()))
    else:
        print_evaluation(table)
    if options.csv is not None:  # last: the table must not be lost if the file cannot be written
        replace_file(options.csv, table.csv().encode(errors="backslashreplace"))


def _networks_and_tests(files: list[Path], tests: list[Path] | None) -> tuple[dict[str, Path], dict[str, list[Path]]]:
    """Networks and test sets by name."""
    if tests:
        return _named(files), {name: [path] for name, path in _named(tests).items()}
    networks = files[:1] + list(takewhile(_is_network, files[1:]))
    rest = files[len(networks) :]
    if not rest:
        fail("there is no test set: name its files after the networks, or give --test FILE", USAGE)
    return _named(networks), {" + ".join(_named(rest)): rest}


def _is_network(path: Path) -> bool:
    return path.suffix.lower() in NETWORK_SUFFIXES or is_network_name(str(path))


def _named(paths: list[Path]) -> dict[str, Path]:
    return by_short_name(paths, lambda path: path.name)


def print_evaluation(table: "EvaluationTable") -> None:
    """Print a table for each test set, with the differences to the first network below each other one."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    kinds = {Path(row.network).suffix for row in table.results}
    ending = kinds.pop() if len(kinds) == 1 else ""  # says nothing, and takes the place of a name
    for number, test in enumerate(table.tests):
        if number:
            console.print()
        grid = number_table("network", *LABELS.values(), title=escape(_title(table, test)))
        # Seven numbers and a name fit 80 columns only without frames.
        grid.box, grid.show_edge, grid.pad_edge, grid.padding = box.SIMPLE_HEAD, False, False, (0, 1, 0, 0)
        for column in grid.columns[1:]:
            column.no_wrap = True
        for row in (each for each in table.results if each.test == test.name):
            name = row.network.removesuffix(ending)
            grid.add_row(escape(printable(name)), *(_cell(row, measure) for measure in LABELS))
            for other in table.differences:
                if (other.test, other.network) == (row.test, row.network):
                    minus = escape(printable(f"− {(other.minus or '').removesuffix(ending)}"))
                    grid.add_row(minus, *(_cell(other, measure) for measure in LABELS))
        console.print(grid)


def _title(table: "EvaluationTable", test: "TestSet") -> str:
    title = f"{printable(test.name)}: {test.positions:,} position{'s' if test.positions != 1 else ''}"
    if table.resamples == 0 or test.games + test.blocks < 2:
        return title
    return f"{title}; ± half of the {100 * table.confidence:g} % interval, from {test.resampled()}"


def _cell(row: "EvaluatedNetwork", measure: str) -> str:
    """A metric above half the width of its interval."""
    estimate = row.measures[measure]
    if isnan(estimate.value):
        return ""
    value = f"{estimate.value:.4f}" if row.minus is None else f"{estimate.value:+.4f}"
    return value if estimate.margin is None else f"{value}\n[dim]±{estimate.margin:.4f}[/dim]"
