"""``fukayomi reanalyze``: new targets from a newer network, as layers beside games."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fukayomi.cli.common.options import AsJson, given_options, options_of
from fukayomi.cli.common.progress import rate_column
from fukayomi.cli.common.text import json_text
from fukayomi.cli.data.verb_command import resumable
from fukayomi.engine.settings import EMBEDDED
from fukayomi.learning.reanalysis.settings import ReanalysisSettings
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.learning.reanalysis.reanalysis import Reanalysis

CACHE_MB = 64
"""Memory for evaluations that searches share (MiB)."""


@options_of(ReanalysisSettings, "nodes", "root", "gumbel_moves", "multipv", panel="Search")
class SearchOptions:
    """Options for the targets of each position."""

    workers: Annotated[int | None, typer.Option(min=1, max=1024, show_default="as many as fill its batches")] = None
    """Searches at once, which share the network's batches. 1 searches without a cache: the output is then the same
    every time."""


@options_of(ReanalysisSettings, "share", selection="--select", seed="--seed", panel="Selection")
class SelectionOptions:
    """Options that select the positions that get new targets."""


@dataclass(frozen=True)
class OutputOptions:
    """Name of the layers, and what is printed."""

    layer: Annotated[
        str | None,
        typer.Option(metavar="ID", show_default="first digits of the network's hash, and the nodes: 3fa92b1c-n100"),
    ] = None
    """Name of the layer: letters, digits, - and _."""
    as_json: AsJson = False


def reanalyze(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="GAMES.hcpe3...", help="Games in hcpe3, or folders. Layers are passed over.")
    ],
    network: Annotated[str, typer.Option(metavar="NETWORK", help=f"The newer network; {EMBEDDED} is <5x64>.")],
    search: SearchOptions,
    selection: SelectionOptions,
    output: OutputOptions,
) -> None:
    """Search stored positions again with a newer network, and keep the new targets as a layer beside the games.

    \b
    fukayomi reanalyze games.hcpe3 --network new.onnx --layer new
    fukayomi reanalyze chunks/ --network new.onnx --nodes 0 --share 1
    fukayomi train games.hcpe3 --out run --layer new

    NAME.hcpe3 gets NAME.layer-ID.hcpe3, with the same games, moves and results: evaluations and visits of the chosen
    positions are new, the others stay. NAME.layer-ID.hcpe3.json says how it was made. The games themselves never
    change. docs/reanalysis.md has the details.

    After a kill or Ctrl-C, run the same command again to resume. Layers that are there already are left alone, so the
    same command also makes those of new files.
    """
    from fukayomi.engine.network import Network, same_everywhere
    from fukayomi.learning.reanalysis.reanalysis import reanalyze as run

    with resumable(rate_column("positions")) as listener:
        settings = ReanalysisSettings(**given_options(search, "workers"), **given_options(selection))
        cache_mb = 0 if search.workers == 1 else CACHE_MB
        with Network(same_everywhere(network), cache_mb=cache_mb) as loaded:
            result = run(inputs, loaded, settings, layer=output.layer, workers=search.workers, listener=listener)
    _print(result, as_json=output.as_json)


def _print(result: "Reanalysis", *, as_json: bool) -> None:
    from fukayomi.learning.layers import layer_path

    if as_json:
        layers = [
            {"file": path, "layer": str(layer_path(path, result.layer)), **info.model_dump(mode="json")}
            for path, info in result.layers.items()
        ]
        typer.echo(json_text({"layer": result.layer, "made": result.made, "layers": layers}))
        return
    for path, info in result.layers.items():
        share = f", {info.moved / info.changed:.1%} with another best move" if info.changed else ""
        typer.echo(
            f"{layer_path(path, result.layer)}: {info.changed:,} of {counted(info.positions, 'position')} have new "
            f"targets{share}"
        )
    if there := len(result.layers) - result.made:
        typer.echo(f"{counted(there, 'layer')} had been made before")
    typer.echo(f"next: fukayomi train GAMES.hcpe3 --out RUN --layer {result.layer}")
