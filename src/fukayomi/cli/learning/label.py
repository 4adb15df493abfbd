"""``fukayomi label``: positions searched by an engine, as training data with soft policies."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fukayomi.cli.common.errors import exit_at_sigterm
from fukayomi.cli.common.options import AsJson, given_options, options_of, parse_time
from fukayomi.cli.common.progress import rate_column
from fukayomi.cli.data.verb_command import print_findings, print_json, resumable
from fukayomi.engine.settings import EMBEDDED
from fukayomi.learning.labelling.settings import WORKERS, LabelSettings
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.engine.network import Network
    from fukayomi.usi.engine import UsiEngine


@dataclass(frozen=True)
class EngineOptions:
    """Options for the engine that searches."""

    PANEL: ClassVar = "Engine (one of --engine and --network)"

    engine: Annotated[str | None, typer.Option(metavar="COMMAND")] = None
    """A USI engine: program and arguments."""
    option: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE")] = None
    """A USI option of the engine; repeat for several."""
    undeclared_options: Annotated[bool, typer.Option("--undeclared-options")] = False
    """Send options all the same that the engine does not declare."""
    engine_dir: Annotated[Path | None, typer.Option(metavar="PATH")] = None
    """Working directory of the engine."""
    network: Annotated[
        str | None,
        typer.Option(metavar="NETWORK", help=f"A network for our own search; {EMBEDDED} is <5x64>."),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=1024, show_default=f"{WORKERS}; with --network, as many as fill its batches"),
    ] = None
    """Positions at once: processes of the engine, or trees that share the network's batches."""


@options_of(
    LabelSettings,
    "nodes",
    "multipv",
    "temperature",
    "eval_scale",
    panel="Search (--nodes, --time or both, or --byoyomi)",
)
class SearchOptions:
    """Options for the search of each position, and for the policy that is made from scores."""

    time_ms: Annotated[int | None, typer.Option("--time", metavar="TIME", parser=parse_time, show_default=False)] = None
    """Time of each search: 1s, 500ms, 1m; a bare number is milliseconds."""
    byoyomi_ms: Annotated[
        int | None, typer.Option("--byoyomi", metavar="TIME", parser=parse_time, show_default=False)
    ] = None
    """Byoyomi of each search, for USI engines that know neither `go nodes` nor `go movetime` (--time), such as gpsusi;
    they may use less."""


@options_of(LabelSettings, "plies", panel="Positions")
class PositionOptions:
    """Options that select what is labelled."""


@dataclass(frozen=True)
class OutputOptions:
    """The output."""

    again: Annotated[bool, typer.Option("--again")] = False
    """Label again what is finished, and replace the output."""
    as_json: AsJson = False


def label(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="IN...",
            help="Files of one format: records, also folders and archives; hcpe3, hcpe, hcpe2, psv, avg, hcp, SFEN.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE.hcpe3", help="File to write.")],
    engine: EngineOptions,
    search: SearchOptions,
    positions: PositionOptions,
    output: OutputOptions,
) -> None:
    """Search positions and write them as training data (hcpe3): values and soft policies.

    \b
    fukayomi label games.hcpe3 -o labels.hcpe3 --engine YaneuraOu --nodes 1000
    fukayomi label games/ -o labels.hcpe3 --network embedded --nodes 800
    fukayomi label openings.sfen -o labels.hcpe3 --plies last \\
      --engine YaneuraOu --option USI_Hash=64 --time 100ms --workers 2

    Games stay whole, with their results; any other position becomes a game of one move. Positions without a result
    count as draws: train on them with --val-lambda 1. docs/labelling.md has the details.

    An engine that dies, hangs or plays an illegal move is started again. After a kill or Ctrl-C, run the same command
    again to resume; --workers may differ. An output that is finished stays as it is without --again.
    """
    from fukayomi.learning.labelling.labelling import label_positions

    exit_at_sigterm()
    with resumable(rate_column("positions")) as listener, _opened(engine) as found:
        settings = LabelSettings(**given_options(search), **given_options(positions))
        summary = label_positions(
            inputs, out, found, settings, workers=engine.workers, again=output.again, listener=listener
        )
    if output.as_json:
        print_json(summary)
        return
    print_findings(summary)
    for path, count in summary.written.items():
        typer.echo(f"{path}: {counted(count, 'game')}")


@contextmanager
def _opened(options: EngineOptions) -> "Generator[UsiEngine | Network]":
    """The engine that the options name."""
    from fukayomi.cli.arena.match_options import split_option
    from fukayomi.engine.network import Network, same_everywhere
    from fukayomi.learning.labelling.settings import LabelError
    from fukayomi.usi.engine import UsiEngine

    if bool(options.engine) == bool(options.network):
        raise LabelError("give an engine (--engine COMMAND) or a network (--network FILE)")
    if options.engine:
        given = dict(split_option("--option", text, "=", "KEY=VALUE") for text in options.option or [])
        yield UsiEngine(
            options.engine,
            options=given,
            directory=options.engine_dir,
            undeclared_options=options.undeclared_options,
        )
        return
    if options.option or options.engine_dir:
        raise LabelError("--option and --engine-dir belong to --engine")
    with Network(same_everywhere(str(options.network))) as network:
        yield network
