"""``fukayomi``: the sub-commands, each in a file of its own."""

from typing import Annotated

import typer

from fukayomi import __version__
from fukayomi.cli import data, match, positions
from fukayomi.cli.analyse import analyse
from fukayomi.cli.bench import bench
from fukayomi.cli.calibrate import calibrate
from fukayomi.cli.eval_model import eval_model
from fukayomi.cli.export import export
from fukayomi.cli.first_move import first_move
from fukayomi.cli.perft import perft
from fukayomi.cli.rate import rate
from fukayomi.cli.sprt import sprt
from fukayomi.cli.strategy import strategy
from fukayomi.cli.train import train
from fukayomi.cli.uniq import average, uniq
from fukayomi.cli.usi import main as usi

app = typer.Typer(
    name="fukayomi",
    help="fukayomi (深読み): a deep-learning shogi engine and the workshop that makes it stronger.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fukayomi {__version__}")
        raise typer.Exit


@app.callback()
def fukayomi(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Play, analyse, learn, measure."""


app.command()(analyse)
app.add_typer(match.app)
match.app.command()(calibrate)
app.command()(perft)
app.command()(bench)
app.command("usi")(usi)
data.app.command()(uniq)
data.app.command()(average)
app.add_typer(data.app)
app.add_typer(positions.app)
app.command()(train)
app.command()(eval_model)
app.command()(export)
app.command()(rate)
app.command()(sprt)
app.command("first-move")(first_move)
app.command()(strategy)


def main() -> None:
    """Entry point of the program."""
    app()
