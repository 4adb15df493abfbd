"""``fukayomi leaves``: positions that searches asked a network about, or searched themselves, as training data."""

from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from fukayomi.cli.common.errors import exit_stopped
from fukayomi.cli.common.options import AsJson, given_options, options_of
from fukayomi.cli.common.progress import rate_column
from fukayomi.cli.common.text import json_text
from fukayomi.cli.data.verb_command import resumable
from fukayomi.engine.settings import EMBEDDED
from fukayomi.learning.labelling.settings import Plies
from fukayomi.selfplay.settings import LeafSettings
from fukayomi.tabular import counted

if TYPE_CHECKING:
    from fukayomi.engine.network import Network
    from fukayomi.selfplay.leaves import Leaves


@options_of(LeafSettings, "nodes", "plies", "temperature", "searched", panel="Games")
class GameOptions:
    """Options for playing games on."""

    begin: Plies = Plies.ALL
    """Of records and hcpe3, begin before any move, or before those with a score or visits, or (for lists of openings)
    after the last one."""
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1)] = 0
    """Random seed; the same seed gives the same leaves."""


@dataclass(frozen=True)
class NetworkOptions:
    """Networks that search and label."""

    PANEL: ClassVar = "Networks"

    network: Annotated[
        str, typer.Option(metavar="NETWORK", help=f"The network that searches; {EMBEDDED} is <5x64>.")
    ] = EMBEDDED
    teacher: Annotated[list[str] | None, typer.Option(metavar="NETWORK", show_default="the network that searches")] = (
        None
    )
    """A network whose policy and value become the labels; of several the mean. Not with --searched."""
    device: str = "auto"
    """Library and device of all: native, cpu, openvino, cuda, ..."""
    precision: str = "auto"
    """fp32, fp16, bf16, int16 or int8; auto: measured."""
    threads: Annotated[int, typer.Option(min=0)] = 0
    """CPU threads for a batch; 0: measured."""
    batch_size: Annotated[int, typer.Option(min=0)] = 0
    """Positions in a batch; 0: measured."""


@dataclass(frozen=True)
class OutputOptions:
    """Options for what is printed."""

    as_json: AsJson = False


def leaves(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the leaves; it is made.")],
    positions: Annotated[int, typer.Option(min=1, max=10**12, help="Positions to make, with those that are in DIR.")],
    networks: NetworkOptions,
    games: GameOptions,
    output: OutputOptions,
    starts: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[START...]",
            help="Positions to begin at, files of one format: records, also folders and archives; hcpe3, hcpe, hcpe2, "
            "psv, avg, hcp, SFEN.",
            show_default="the start position",
        ),
    ] = None,
) -> None:
    """Play games with short searches, and write all positions that the network evaluates as training data (hcpe3).

    \b
    fukayomi leaves games.hcpe3 -o leaves --positions 10000000
    fukayomi leaves -o leaves --positions 100000 --network a.onnx --teacher b.onnx
    fukayomi leaves -o nodes --positions 1000000 --nodes 4000 --searched 64
    fukayomi train leaves/*.hcpe3 --out run --val-lambda 1

    DIR gets files of some 250,000 positions (leaves-FIRST-LAST.hcpe3, by the numbers of the games that they are from),
    each position once, as a game of one move with the network's policy and value, or with those of --teacher. There are
    no results: train with --val-lambda 1.

    With --searched the positions are the inner ones of the search trees, fewer and labelled by their search: the
    network's own searches teach it. Labels from searches of all leaves cost more: fukayomi label DIR/*.hcpe3
    -o searched.hcpe3 --network FILE --nodes N.

    After a kill or Ctrl-C, run the same command again to resume; with more --positions it goes on after the end.
    """
    from fukayomi.selfplay.leaves import collect_leaves

    with resumable(rate_column("leaves")) as listener, ExitStack() as stack:
        settings = LeafSettings(**given_options(games, "begin", "seed"))
        network = stack.enter_context(_opened([networks.network], networks))
        teacher = stack.enter_context(_opened(networks.teacher, networks)) if networks.teacher else None
        collected = collect_leaves(
            out, network, positions, starts or [], settings,
            begin=games.begin, teacher=teacher, seed=games.seed, listener=listener,
        )  # fmt: skip
    _print(collected, out, positions, as_json=output.as_json)


def _opened(models: list[str], options: NetworkOptions) -> "AbstractContextManager[Network]":
    from fukayomi.engine.evaluators.backends.network_file import precision_for
    from fukayomi.engine.network import Network, same_everywhere

    asked = {precision_for(model, options.precision) for model in models}
    return Network(
        [same_everywhere(model) for model in models],
        device=options.device,
        precision=asked.pop() if len(asked) == 1 else options.precision,
        threads=options.threads,
        batch_size=options.batch_size,
        weights=[1.0] * len(models) if len(models) > 1 else None,
    )


def _print(found: "Leaves", out: Path, positions: int, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_text({
            "out": str(out), "positions": found.positions, "new": found.new, "evaluated": found.evaluated,
            "games": found.games, "files": [str(path) for path in found.parts], "finished": found.finished,
            "seconds": found.seconds,
        }))  # fmt: skip
    elif found.finished:
        how = f"{found.new:,} new, of {found.evaluated:,} that were evaluated" if found.new else "made before"
        typer.echo(f"{out}: {counted(found.positions, 'position')} in {counted(len(found.parts), 'file')}; {how}")
    if not found.finished:
        asked = counted(positions, "position")
        typer.echo(f"stopped after {found.positions:,} of {asked} in {out}. Run the same command to resume", err=True)
        exit_stopped(found.stopped_by)
