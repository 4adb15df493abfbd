"""``fukayomi``: all commands, each of them a function in another file."""

from typing import Annotated

import typer

from fukayomi import __version__
from fukayomi.cli.arena.calibrate import calibrate
from fukayomi.cli.arena.first_move import first_move
from fukayomi.cli.arena.match import match
from fukayomi.cli.arena.positions import balanced, compare
from fukayomi.cli.arena.rate import rate
from fukayomi.cli.arena.sprt import sprt
from fukayomi.cli.arena.strategy import strategy
from fukayomi.cli.common.commands import add_command, flowing
from fukayomi.cli.common.options import spread_options
from fukayomi.cli.data.csa_to_hcpe import csa_to_hcpe
from fukayomi.cli.data.filter import filter_files, fix_eval
from fukayomi.cli.data.formats import check, convert
from fukayomi.cli.data.print import print_file
from fukayomi.cli.data.stats import stats
from fukayomi.cli.data.uniq import average, uniq
from fukayomi.cli.data.verbs import merge, sample, shuffle, split
from fukayomi.cli.engine.analyse import analyse
from fukayomi.cli.engine.bench import bench
from fukayomi.cli.engine.perft import perft
from fukayomi.cli.engine.usi import main as usi
from fukayomi.cli.learning.eval_model import eval_model
from fukayomi.cli.learning.export import export
from fukayomi.cli.learning.train import train

app = typer.Typer(
    name="fukayomi",
    help="fukayomi (深読み): a deep-learning shogi engine and the workshop that makes it stronger.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
_match = typer.Typer(name="match", no_args_is_help=False, subcommand_metavar="[calibrate ...]")
_data = typer.Typer(
    name="data", help="Training data: make it from game records, convert it, check it.", no_args_is_help=True
)
_positions = typer.Typer(
    name="positions", help="Balanced positions (互角局面集) to begin matches from.", no_args_is_help=True
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


add_command(app, analyse)

app.add_typer(_match)
_match.callback(invoke_without_command=True, help=flowing(match))(spread_options(match))
add_command(_match, calibrate)

add_command(app, perft)
add_command(app, bench)
add_command(app, usi, "usi")

app.add_typer(_data)
add_command(_data, convert)
add_command(_data, check)
add_command(_data, stats)
add_command(_data, print_file, "print")
add_command(_data, split)
add_command(_data, sample)
add_command(_data, shuffle)
add_command(_data, merge)
add_command(_data, filter_files, "filter")
add_command(_data, fix_eval)
add_command(_data, uniq)
add_command(_data, average)
add_command(_data, csa_to_hcpe)

app.add_typer(_positions)
add_command(_positions, balanced)
add_command(_positions, compare)

add_command(app, train)
add_command(app, eval_model)
add_command(app, export)
add_command(app, rate)
add_command(app, sprt)
add_command(app, first_move)
add_command(app, strategy)


def main() -> None:
    """Entry point of the program."""
    app()
